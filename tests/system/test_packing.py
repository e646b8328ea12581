"""Trees that are converted by processes which are killed at any moment, on a full disk, and while others come.

FSCRAWL_KILLS in the environment says how often each command is killed (3 without it), FSCRAWL_SEED chooses the moments.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fscrawl import urls
from fscrawl.store import Tree
from tests.support.crawling import Done, Running, command, crawl
from tests.support.layouts import contents, page_files, record_of
from tests.support.trees import Grown
from tests.support.web import Web, linked_site

KILLS = int(os.environ.get("FSCRAWL_KILLS", "3"))
HOSTS = ["127.0.61.1", "127.0.61.2"]


def words(verb: str, root: Path) -> list[str]:
    return [sys.executable, "-m", "fscrawl", verb, "--root", str(root)]


def do(verb: str, root: Path) -> Done:
    with Running(words(verb, root)) as running:
        return running.wait(60.0)


def killed(verb: str, root: Path, after_s: float) -> bool:
    """Begin a command and kill it; tell whether it was not over before."""
    with Running(words(verb, root)) as running:
        time.sleep(after_s)
        is_killed = running.process.poll() is None
        if is_killed:
            running.kill()
        else:
            done = running.wait()
            assert done.code == 0, done
    return is_killed


@pytest.mark.parametrize("verb", ["pack", "unpack", "compact"])
def test_killed_at_any_moment(tmp_path: Path, verb: str) -> None:
    """Whenever it is killed, all pages are there; the same command ends with them, and with nothing else."""
    grown = Grown(tmp_path / "grown")
    settings = grown.root / "crawl.toml"
    settings.write_text(f"{settings.read_text()}[fleet]\nbeat = 0.5\ndead_after = 3\n")  # killed ones are waited for
    grown.many(6, 60)
    grown.rendered("http://a.example/app", b"<div>", b"<div>seen", b"\x89PNG")
    grown.fail("http://a.example/gone")
    if verb != "pack":
        assert do("pack", grown.root).code == 0
        for number in range(4):  # as many writers, and versions
            tree = grown.tree = Tree(grown.root, f"m-{number}-bb")
            tree.hosts("links")
            for page in range(8 * number):
                grown.page(f"http://h0.example/{page}", b"<p>%d" % (number + page % 2))
            key = urls.key(f"http://h1.example/{number}")
            tree.files.remove(tree.tree_path("links", "h1.example", key))
            tree.close()
    root, before = tmp_path / "tree", contents(grown.root)
    shutil.copytree(grown.root, root)
    began = time.monotonic()
    assert do(verb, root).code == 0
    duration_s, files = time.monotonic() - began, len(page_files(root))
    moments = random.Random(int(os.environ.get("FSCRAWL_SEED", time.time_ns())))
    kills = 0
    while kills < KILLS:
        shutil.rmtree(root)
        shutil.copytree(grown.root, root)
        for _ in range(moments.randint(1, 4)):
            kills += killed(verb, root, moments.uniform(0.1, 1.1 * duration_s))
            assert contents(root) == before
        done = do(verb, root)
        assert done.code == 0, done
        assert contents(root) == before
        assert record_of(root).change is None
        assert len(page_files(root)) <= files + 12, "what a killed process has left"  # packs of several processes
        assert verb != "unpack" or len(page_files(root)) == files
        assert not [path for path in page_files(root) if path.endswith(".tmp")]


@pytest.mark.root
@pytest.mark.parametrize("verb", ["pack", "unpack", "compact"])
def test_full_disk(mount: Callable[[str], Path], verb: str) -> None:
    """One line says so, and the tree is as it was."""
    point = mount("size=64m")
    grown = Grown(point / "tree")
    for number in range(300):
        grown.page(f"http://a.example/{number}", random.Random(number).randbytes(40_000))
    if verb != "pack":
        assert do("pack", grown.root).code == 0
    before, files = contents(grown.root), page_files(grown.root)
    free = os.statvfs(point)
    with (point / "ballast").open("wb") as file:
        file.write(bytes(free.f_bavail * free.f_frsize - (4 << 20)))
    done = do(verb, grown.root)
    assert (done.code, len(done.err.splitlines())) == (75, 1), done
    assert "the disk is full" in done.err
    assert record_of(grown.root).change is None
    assert (contents(grown.root), page_files(grown.root)) == (before, files)
    (point / "ballast").unlink()
    assert do(verb, grown.root).code == 0
    assert contents(grown.root) == before


def test_crawl_goes_on(root: Path) -> None:
    """A crawl is packed, goes on, is unpacked, and goes on: no page is fetched twice, and none is lost."""
    with Web(linked_site(60, 5), HOSTS) as web:
        seeds = [web.url(host) for host in HOSTS]
        crawl(root, seeds=seeds, workers=1, settings={"crawl.max_pages": 20})
        for number, verb in enumerate(["pack", "compact", "unpack", "pack", "unpack"], 1):
            before = contents(root)
            assert 20 * number <= len(before) < 2 * 61
            done = do(verb, root)
            assert done.code == 0, done
            assert contents(root) == before
            text = (root / "crawl.toml").read_text()
            more = text.replace(f"max_pages = {20 * number}\n", f"max_pages = {20 * (number + 1)}\n")
            assert more != text
            (root / "crawl.toml").write_text(more)
            crawl(root, workers=1)
            assert contents(root).items() >= before.items()
        (root / "crawl.toml").write_text(more.replace("max_pages", "# max_pages"))
        done = crawl(root, workers=1)
        assert done.code == 0, done
        assert web.duplicates() == {}
        assert len(contents(root)) == 2 * 61


def test_crawl_runs(root: Path) -> None:
    """While a machine runs, the command says so, and the machine goes on to its end."""
    with Web(linked_site(60, 5), HOSTS) as web:
        seeds = [web.url(host) for host in HOSTS]
        with Running(command(root, seeds=seeds, settings={"politeness.delay": "0.05"})) as running:
            running.until(lambda: len(list((root / "links").glob("*/*.json"))) > 5, "pages")
            done = do("pack", root)
            assert (done.code, len(done.err.splitlines())) == (2, 1), done
            assert "no machine may run meanwhile" in done.err
            assert running.wait().code == 0
        assert do("pack", root).code == 0
        assert crawl(root, workers=1).code == 0
        assert web.duplicates() == {}


def test_crawl_begins_amid(root: Path) -> None:
    """A crawl that is started while the tree is half converted leaves at once; the command goes on."""
    grown = Grown(root)
    grown.many(4, 300)
    before = contents(root)
    with Running(words("pack", root)) as running:
        running.until(lambda: record_of(root).change is not None, "it has begun")
        running.signal(signal.SIGSTOP, group=True)
        change = record_of(root).change
        done = crawl(root, workers=1)
        assert (done.code, len(done.err.splitlines())) == (75, 1), done
        assert "fscrawl pack has begun, and is not done; to go on:" in done.err
        assert change == record_of(root).change
        second = do("pack", root)  # and so does a second one
        assert (second.code, len(second.err.splitlines())) == (2, 1), second
        running.signal(signal.SIGCONT, group=True)
        assert running.wait().code == 0
    assert contents(root) == before


def test_machine_that_read_tree_json_before(root: Path) -> None:
    """A machine that has opened the tree, and says hello after the command has looked, leaves before it fetches."""
    with Web(linked_site(10, 5), HOSTS) as web:
        seeds = [web.url(HOSTS[0])]
        assert crawl(root, "--max-pages", "3", seeds=seeds, workers=1).code in (0, 3)
        stored, asked = contents(root), len(web.requests())
        late = (
            "import sys, time\n"
            "from fscrawl.fleet import membership\n"
            "real = membership.Membership.join\n"
            "def join(self):\n"
            "    print('opened', flush=True)\n"
            "    sys.stdin.readline()\n"
            "    real(self)\n"
            "membership.Membership.join = join\n"
            "from fscrawl.cli import main\n"
            f"sys.exit(main(['crawl', '--root', {str(root)!r}, '--workers', '0']))\n"
        )
        with Running([sys.executable, "-c", late], stdin=subprocess.PIPE) as running:
            assert running.process.stdout is not None
            while b"opened" not in running.process.stdout.readline():
                pass
            log = next(iter(p for p in (root / ".fscrawl/machines").glob("*.log") if p.stat().st_size == 0))
            log.unlink()  # so the command sees nobody, as if it had looked before
            record = record_of(root)
            (root / ".fscrawl/tree.json").write_bytes(msgspec.structs.replace(record, changes=1).to_json())
            assert running.process.stdin is not None
            running.process.stdin.write(b"\n")
            running.process.stdin.flush()
            done = running.wait()
        assert done.code == 75, done
        assert "the layout of the pages has changed while this machine ran" in done.err
        assert len(web.requests()) == asked
        assert contents(root) == stored
