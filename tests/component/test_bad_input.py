"""What a user can give wrongly, and what a file system can do: one line that helps, the right exit code, no debris.

The variants of a mistake are made in this process in `make test`, which takes a hundredth of the time; and with the
whole program where all is tried (see `tests/support/effort.py`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.commands import crawl as crawl_command
from fscrawl.config.settings import END
from tests.support import effort
from tests.support.crawling import SETTINGS, Done, Running, check_tree, command, crawl, lines_of, pages, run
from tests.support.web import Request, Response, Web, linked_site

HOSTS = ["127.0.7.1", "127.0.7.2", "127.0.7.3"]
SEED = ("--seed", "http://127.0.7.9:8/")
Mount = Callable[[str], Path]
Program = Callable[[Sequence[str]], Done]


def complains(done: Done, code: int, *words: str) -> None:
    """Assert the exit code, and exactly one line on standard error, with these words in it."""
    assert done.code == code, done
    assert "Traceback" not in done.err
    (line,) = (line for line in lines_of(done.err) if not line.startswith("politeness.user_agent has no contact"))
    assert line.startswith("fscrawl: "), line
    for word in words:
        assert word in line
    assert done.out == ""


def refused(root: Path, flags: Sequence[str], code: int, *words: str, by: Program = run) -> None:
    """Run with these flags; assert that it complains, and that nothing is where nothing was."""
    there = sorted(root.parent.rglob("*"))
    complains(by(["--root", str(root), *flags]), code, *words)
    assert sorted(root.parent.rglob("*")) == there


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """Give a `run` in this process, for what is refused before a machine starts; the real one where all is tried."""
    if effort.FULL:
        return run
    monkeypatch.setattr(crawl_command, "_warm_up", lambda: None)  # no worker will be needed

    def run_here(words: Sequence[str]) -> Done:
        capfd.readouterr()
        try:
            code = cli.main(["crawl", *words])
        except SystemExit as end:  # of argparse
            code = int(str(end.code))
        return Done(code, *capfd.readouterr(), elapsed_s=0.0)

    return run_here


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a finished tree, for copies."""
    root = tmp_path_factory.mktemp("finished") / "tree"
    with Web(linked_site(3, 2), HOSTS) as web:
        done = crawl(root, seeds=[web.url(HOSTS[0])])
    assert done.code == 0, done
    return root


@pytest.fixture
def tree(root: Path, finished: Path) -> Path:
    """Give a finished tree."""
    return Path(shutil.copytree(finished, root))


# -- no seeds, no tree


def test_nothing_given(root: Path) -> None:
    """A root that is missing, without seeds, is a mistake."""
    refused(root, [], 2, str(root), "--seed")


def test_unmounted(root: Path) -> None:
    """An existing directory without tree and seeds is what an unmounted share looks like."""
    root.mkdir()
    refused(root, [], 75, str(root), "mounted")


def test_root_is_a_file(root: Path) -> None:
    """A root that is a file is refused."""
    root.write_text("mine")
    refused(root, SEED, 75, str(root), "file")
    assert root.read_text() == "mine"


def test_below_a_file(root: Path) -> None:
    """A root below a file is refused."""
    root.write_text("mine")
    complains(run(["--root", str(root / "tree"), *SEED]), 75, str(root))
    assert root.read_text() == "mine"


def test_parent_is_missing(root: Path) -> None:
    """No directory above the root is ever made."""
    refused(root / "a" / "b", SEED, 75, str(root / "a" / "b"))
    assert not root.exists()


def test_no_root() -> None:
    """A crawl needs a root."""
    complains(run([*SEED]), 2, "--root")


def test_seeds_txt_without_seeds(root: Path) -> None:
    """A seeds.txt with nothing but comments is no seed."""
    root.mkdir()
    (root / "seeds.txt").write_text("# nothing\n")
    complains(run(["--root", str(root)]), 2, "seeds.txt", "--seed")


# -- flags


@pytest.mark.parametrize(
    ("flag", "number"),
    [
        *(("--workers", number) for number in ("0", "-3", "many", "1.5", "\u0663")),
        ("--threads", "0"),
        ("--threads", ""),
    ],
)
def test_bad_number(root: Path, flag: str, number: str, here: Program) -> None:
    """A number of workers or threads is a whole one, 1 or more."""
    refused(root, [*SEED, f"{flag}={number}"], 2, flag, "whole number", by=here)


def test_unknown_flag(root: Path) -> None:
    """An unknown flag is named."""
    refused(root, [*SEED, "--worker", "3"], 2, "--worker")


@pytest.mark.parametrize(
    "seed", ["nonsense", "example.org", "mailto:me@example.org", "http://", "", "ftp://a.example/"]
)
def test_bad_seed(root: Path, seed: str, here: Program) -> None:
    """A --seed that is no URL is refused, with an example of one."""
    refused(root, [f"--seed={seed}"], 2, f"--seed {seed}", "https://example.org/", by=here)


def test_seeds_file_that_is_missing(root: Path, tmp_path: Path) -> None:
    """A seeds file that cannot be read is named."""
    refused(root, ["--seeds", str(tmp_path / "missing")], 2, str(tmp_path / "missing"))


@pytest.mark.parametrize("content", [b"# no URL\n", b"", b"\xff\xfe\0h\0t"])
def test_seeds_file_without_seeds(root: Path, tmp_path: Path, content: bytes, here: Program) -> None:
    """A seeds file with no URL in it, or that is no text, is refused."""
    (tmp_path / "seeds").write_bytes(content)
    refused(root, ["--seeds", str(tmp_path / "seeds")], 2, str(tmp_path / "seeds"), by=here)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("politeness.delai=1", ("politeness.delai", "did you mean politeness.delay?")),
        ("nonsense", ("section.name=value",)),
        ("a.b=c", ("a.b",)),
        ("politeness.delay=fast", ("politeness.delay", "a number")),
        ("politeness.delay=-1", ("politeness.delay", "0 or more")),
        ("politeness.per_host=0", ("politeness.per_host", "1 or more")),
        ("crawl.scope=world", ("crawl.scope", '"host", "domain", "any"')),
        ('crawl.deny=["("]', ("crawl.deny", "regular expressions")),
        ('crawl.allow=["a{99999999999}"]', ("crawl.allow", "regular expressions")),
        ("crawl.allow=.*", ("crawl.allow", "a list of strings")),
        ("fetch.max_bytes=many", ("fetch.max_bytes", "a whole number")),
        ("fleet.dead_after=1", ("fleet.dead_after",)),
    ],
)  # fmt: skip
def test_bad_setting(root: Path, assignment: str, words: Sequence[str], here: Program) -> None:
    """A bad --set is refused with the name of the setting and what would be right."""
    refused(root, [*SEED, "--set", assignment], 2, *words, by=here)


def test_set_on_an_existing_tree(tree: Path) -> None:
    """--set on a tree that has its settings is refused with the advice to edit them."""
    refused(tree, ["--set", "politeness.delay=9"], 2, "--set", f"{tree}/crawl.toml")


# -- a tree that was tampered with


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[politeness]\ndelai = 1\n", ("politeness.delai", "politeness.delay?")),
        ("[crawl]\ndeny = ['(']\n", ("crawl.deny",)),
        (f'[crawl]\npartition = "url"\n{END}', ("crawl.partition", '"host"', "tree.json")),
        ("[fetch\n", ("not valid TOML",)),
        ("delay = 1\n", ("section",)),
        ("[fetch]\ntimeout = 0\n", ("fetch.timeout", "more than 0")),
        ("\udcff", ("TOML",)),
    ],
)
def test_bad_crawl_toml(tree: Path, text: str, words: Sequence[str], here: Program) -> None:
    """A mistake in crawl.toml is said with file, key and what would be right."""
    (tree / "crawl.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(tree, [], 2, f"{tree}/crawl.toml", *words, by=here)


def test_mistake_in_crawl_toml_ends_the_program(tree: Path) -> None:
    """So it is with the whole program."""
    (tree / "crawl.toml").write_text("delay = 1\n")
    refused(tree, [], 2, f"{tree}/crawl.toml", "section")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "1"}', "\0" * 100])
def test_torn_tree_json(tree: Path, text: str, here: Program) -> None:
    """A damaged tree.json is named, and nothing is done to the tree."""
    (tree / ".fscrawl" / "tree.json").write_text(text)
    refused(tree, [], 75, f"{tree}/.fscrawl/tree.json", by=here)


def test_newer_format(tree: Path) -> None:
    """A tree of a newer format is left alone."""
    path = tree / ".fscrawl" / "tree.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    refused(tree, [], 75, "99", "update")


@pytest.mark.parametrize("gone", ["crawl.toml", "links", "htmls"])
def test_part_of_the_tree_is_gone(tree: Path, gone: str) -> None:
    """A tree without one of its parts is not crawled into as if it were new: the part is named."""
    (tree / gone).rename(tree.parent / "away")
    with Web(linked_site(3, 2), HOSTS) as web:
        complains(crawl(tree, seeds=[web.url(HOSTS[1])]), 75, f"{tree}/{gone}")
    assert not (tree / gone).exists()


def test_torn_record_is_warned_of(tree: Path) -> None:
    """A damaged record is named when the tree is read again, and costs no other page anything."""
    torn = min((tree / "links").rglob("*.json"))
    torn.write_text('{"url": "http')
    done = run(["--root", str(tree), "--workers", "1", "--reseed"])
    assert done.code == 0, done
    (line,) = lines_of(done.err)
    assert str(torn) in line


# -- what a file system does


def test_unwritable_root(root: Path) -> None:
    """A root in which nothing may be written is refused."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    root.mkdir(mode=0o555)
    refused(root, SEED, 75, str(root), "permission denied")


@pytest.mark.root
def test_read_only_root(mount: Mount) -> None:
    """A root on a file system that is mounted read-only is refused."""
    refused(mount("ro,size=1m"), SEED, 75, "read-only")


@pytest.mark.root
def test_tree_that_becomes_read_only(mount: Mount) -> None:
    """An existing tree on a file system that is read-only now ends the crawl with that reason."""
    root = mount("rw,size=1m") / "tree"
    with Web(linked_site(5, 2), HOSTS) as web:
        assert crawl(root, seeds=[web.url(HOSTS[0])]).code == 0
        (root / "seeds.txt").write_text(web.url(HOSTS[0]) + "\n" + web.url(HOSTS[1]) + "\n")
        mount("ro")
        done = crawl(root)
    complains(done, 75, "read-only")
    check_tree(root)


def _large_pages(request: Request) -> Response:
    """Forty pages of fifty kilobytes, in a chain of fives."""
    return linked_site(40, 5, body_bytes=50_000)(request)


@pytest.mark.root
def test_full_disk(mount: Mount) -> None:
    """A full disk ends the crawl with one line, nothing is torn, and with more room a second run completes it."""
    root = mount("rw,size=1m") / "tree"
    with Web(_large_pages, HOSTS) as web:
        done = crawl(root, seeds=[web.url(HOSTS[0])])
        complains(done, 75, "the disk is full", "run the same command again")
        check_tree(root, whole=False)
        assert sorted(root.rglob("*.tmp")) == []
        stored = len(pages(root))
        assert 0 < stored < 41
        mount("size=16m")
        done = crawl(root)
        assert done.code == 0, done
        assert len(pages(root)) == 41
        assert web.count(path="/39") == 1
    check_tree(root)


@pytest.mark.root
def test_no_room_for_a_tree(mount: Mount) -> None:
    """Where there is no room even for an empty tree, nothing is left of the attempt."""
    point = mount("rw,nr_inodes=6")
    complains(run(["--root", str(point / "tree"), *SEED]), 75, "full")
    assert list(point.iterdir()) == []


def test_tree_that_vanishes(root: Path, tmp_path: Path) -> None:
    """A tree that is gone in the middle of a crawl ends it, and no new one is made in its place."""
    site = linked_site(60, 8)

    def serve(request: Request) -> Response:
        answer = site(request)
        return Response(answer.status, answer.headers, answer.body, delay_s=0.02)

    with Web(serve, HOSTS) as web:
        with Running(command(root, seeds=[web.url(host) for host in HOSTS])) as running:
            running.until(lambda: web.count() >= 20, "20 requests")
            root.rename(tmp_path / "away")
            done = running.wait()
        complains(done, 75, "is the share mounted")
        assert not root.exists()
        check_tree(tmp_path / "away", whole=False)
        (tmp_path / "away").rename(root)
        assert crawl(root).code == 0
        assert len(pages(root)) == 61 * len(HOSTS)
        assert len(web.duplicates()) <= 2 * 4  # what was in flight
    check_tree(root)


def test_settings_of_the_tests_are_settings() -> None:
    """The settings that all crawls of the tests share are accepted, or the refusals above would mean nothing."""
    assert set(SETTINGS) >= {"politeness.delay", "fetch.allow_private_addresses"}
