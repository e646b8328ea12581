"""A file system that hangs or fails for long: the machine waits, says so, can be left, and goes on where it stood."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, pages
from tests.support.faults import Fault
from tests.support.faulty import coherent
from tests.support.faulty.trials import HOSTS, PATIENCE_S, SETTINGS, THREADS, WORKERS, Tally
from tests.support.faulty.waiting import published, wait_for
from tests.support.fleet import DYING
from tests.support.passthrough import Passthrough, missing
from tests.support.web import Pages, Web, linked_site

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"not here: {', '.join(missing())}"),
    pytest.mark.timeout(240),
]

SEED = int(os.environ.get("FSCRAWL_SEED") or time.time() // 86400)
PROGRAM = Path(coherent.__file__)
DEAD_AFTER_S = DYING["fleet.dead_after"]
HANGS_S = 2 * DEAD_AFTER_S
DELAY_S = 0.2
PAGES = 30  # of each host
LANES = WORKERS * THREADS
HANGS = {
    "all calls": Fault("hang", every=1),
    "pages": Fault("hang", path="/(htmls|links)/", every=1),
    "beats": Fault("hang", path="/machines/", every=1),
    "logs and leases": Fault("hang", path="/(log|leases)/", every=1),
}

CHANGING = ("create", "write", "rename", "link", "unlink")
SLOW = {  # by how long: some of the calls that change something, spread over the crawl
    1.0: Fault("slow", ops=CHANGING, seconds=1.0, first=20, every=20),
    5.0: Fault("slow", ops=CHANGING, seconds=5.0, first=20, every=80),
    30.0: Fault("slow", ops=CHANGING, seconds=30.0, first=100, every=200),
}


@pytest.fixture
def backing(tmp_path: Path) -> Path:
    made = tmp_path / "backing"
    made.mkdir()
    return made


@pytest.fixture
def mount(backing: Path) -> Iterator[Passthrough]:
    with Passthrough(backing, seed=SEED) as mounted:
        yield mounted


def hang_site() -> Pages:
    """Enough pages that the crawl is in their middle for longer than the hang lasts."""
    return linked_site(PAGES, 3, body_bytes=2000)


def whole_site(web: Web) -> set[str]:
    return {web.url(host, path) for host in HOSTS for path in ("/", *(f"/{n}" for n in range(PAGES)))}


def words(root: Path, web: Web) -> list[str]:
    seeds = [web.url(host, "/") for host in HOSTS]
    return command(
        root,
        "--quiet",
        seeds=seeds,
        settings={**SETTINGS, "politeness.delay": DELAY_S},
        workers=WORKERS,
        threads=THREADS,
    )


def judge(tally: Tally, web: Web, tree: Path, repeats: int) -> None:
    """Everything is stored and whole; no more than `repeats` fetches came a second time."""
    stored = set(pages(tree))
    tally.pages, tally.duplicates = len(stored), sum(web.duplicates().values()) - len(web.duplicates())
    tally.lost = len(whole_site(web) - stored)
    check_tree(tree)
    if tally.lost or tally.duplicates > repeats:
        tally.problems.append(f"lost {tally.lost}, fetched twice {web.duplicates()}")
    tally.conclude()


@pytest.mark.parametrize("what", HANGS)
def test_hang(mount: Passthrough, backing: Path, what: str) -> None:
    """A file system that hangs for twice `dead_after` is waited for; then the crawl goes on and loses nothing."""
    root = mount.path / "tree"
    tally = Tally(f"hang of {what}", runs=1)
    with Web(hang_site(), HOSTS) as web, Running(words(root, web)) as running:
        running.until(lambda: web.count() >= 4, "some pages")
        before = mount.injected()
        mount.inject(HANGS[what])
        wait_for(mount.hanging, "a call that hangs")
        time.sleep(HANGS_S)
        assert running.process.poll() is None, running.wait()
        quiet_from, again = time.monotonic() - HANGS_S + DEAD_AFTER_S + 1, published(mount)
        late = [each.path for each in web.requests() if each.arrived > quiet_from]
        mount.heal()
        tally.recovery_s = wait_for(lambda: again() or running.process.poll() is not None, "a page after the hang")
        done = running.wait()
        tally.faults = (mount.injected() - before).total()
    assert done.code == 0, done
    assert "Traceback" not in done.err
    assert late == [], "a machine that can neither store nor beat goes on fetching"
    judge(tally, web, backing / "tree", repeats=LANES)


@pytest.mark.parametrize("seconds", SLOW)
def test_slow_calls(mount: Passthrough, backing: Path, seconds: float) -> None:
    """Calls that take 1 to 30 s cost time and nothing else: no page is lost, and none is fetched twice."""
    tally = Tally(f"calls of {seconds:g} s", runs=1)
    with Web(hang_site(), HOSTS) as web, Running(words(mount.path / "tree", web)) as running:
        running.until((backing / "tree" / ".fscrawl" / "tree.json").exists, "the tree")
        mount.inject(SLOW[seconds])
        done = running.wait(200)
        tally.faults = mount.injected().total()
    assert done.code == 0, done
    assert "Traceback" not in done.err
    assert tally.faults > 1
    judge(tally, web, backing / "tree", repeats=0)


def test_a_word_about_it(mount: Passthrough) -> None:
    """A machine whose file system hangs for long says so in one line, and in another one that it is over."""
    root = mount.path / "tree"
    with Web(hang_site(), HOSTS) as web, Running(words(root, web)) as running:
        running.until(lambda: web.count() >= 4, "some pages")
        mount.inject(HANGS["all calls"])
        wait_for(mount.hanging, "a call that hangs")
        time.sleep(20)
        mount.heal()
        done = running.wait()
    assert done.code == 0, done
    told = done.err.splitlines()
    assert sum(f"{root} has not answered" in line for line in told) == 1, told
    assert sum(f"{root} answers again" in line for line in told) == 1, told
    assert len(told) <= 4, "two about the tree, two about the beats"


def test_ctrl_c_twice_while_it_hangs(mount: Passthrough, backing: Path) -> None:
    """Ctrl-C twice leaves at once with exit code 130, though every call hangs; a later run completes the crawl."""
    root = mount.path / "tree"
    with Web(hang_site(), HOSTS) as web:
        with Running(words(root, web)) as running:
            running.until(lambda: web.count() >= 4, "some pages")
            mount.inject(HANGS["all calls"])
            wait_for(mount.hanging, "a call that hangs")
            running.signal(signal.SIGINT, group=True)
            time.sleep(1)
            assert running.process.poll() is None
            running.signal(signal.SIGINT, group=True)
            done = running.wait(10)
        assert done.code == 130, done
        assert "Traceback" not in done.err
        mount.heal()
        assert crawl(root, "--quiet", workers=WORKERS, threads=THREADS, program=PROGRAM).code == 0
        assert set(pages(backing / "tree")) == whole_site(web)
        check_tree(backing / "tree")


def test_patience_is_at_an_end(mount: Passthrough, backing: Path) -> None:
    """A fault that does not pass within `store.patience` is waited out no longer: exit code 75, and what to see to."""
    root = mount.path / "tree"
    tally = Tally("EIO for longer than store.patience", runs=1, faults=1)
    with Web(hang_site(), HOSTS) as web:
        with Running(words(root, web)) as running:
            running.until(lambda: web.count() >= 4, "some pages")
            mount.inject(Fault("error", errno.EIO, every=1))
            began = time.monotonic()
            done = running.wait(PATIENCE_S + 20)
        assert done.code == 75, done
        assert time.monotonic() - began >= PATIENCE_S, "it gave up too early"
        assert "Traceback" not in done.err
        last = done.err.splitlines()[-1]
        assert last.startswith(f"fscrawl: {root}"), done.err
        assert "input/output error" in last, done.err
        mount.heal()
        assert crawl(root, "--quiet", workers=WORKERS, threads=THREADS, program=PROGRAM).code == 0
        stored = set(pages(backing / "tree"))
        tally.pages, tally.lost = len(stored), len(whole_site(web) - stored)
        tally.duplicates = sum(web.duplicates().values()) - len(web.duplicates())
        check_tree(backing / "tree")
    if tally.lost or tally.duplicates > LANES:
        tally.problems.append(f"lost {tally.lost}, fetched twice {web.duplicates()}")
    tally.conclude()
