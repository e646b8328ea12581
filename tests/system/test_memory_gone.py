"""`.fscrawl`, or a part of it, is deleted or replaced under machines: they end, and the same command goes on."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawling import Done, Running, check_tree, command, crawl, pages
from tests.support.web import Web, linked_site, slowly

HOSTS = ["127.0.43.1", "127.0.43.2"]
PAGES = 20
SETTINGS = {"fleet.beat": "0.25", "fleet.dead_after": "2", "politeness.robots": "false"}
THREADS = 2
AGAIN = "while this machine ran; nothing stored is lost: start the same command again"


def _start(root: Path, web: Web) -> Running:
    seeds = [web.url(host) for host in HOSTS]
    return Running(command(root, seeds=seeds, settings=SETTINGS, workers=1, threads=THREADS))


def _wanted(web: Web) -> set[str]:
    return {web.url(host, f"/{n}") for host in HOSTS for n in ["", *range(PAGES)]}


def _beating(root: Path) -> int:
    """Count the machines that have begun to beat."""
    return sum(log.read_bytes().count(b'"beat"') > 1 for log in (root / ".fscrawl/machines").glob("*.log"))


def _has_ended(done: Done, path: Path | str, what: str) -> None:
    """Check that a run has ended by one line, and nothing else."""
    said = [line for line in done.err.splitlines() if "fscrawl: " in line]
    assert (done.code, len(said)) == (75, 1), done
    assert f"{path}" in said[0], said
    assert f": {what} {AGAIN}" in said[0], said
    assert "Traceback" not in done.err


def _is_complete(root: Path, web: Web, machines: int = 1) -> None:
    """Check that nothing is lost, and that nothing was asked for twice but what was in flight."""
    assert set(pages(root)) == _wanted(web)
    check_tree(root)
    assert sum(n - 1 for n in web.duplicates().values()) <= machines * THREADS


def test_deleted_while_it_runs(root: Path) -> None:
    """Two machines end when `.fscrawl` is deleted, and two new ones wait, make it again, and complete the crawl."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        with _start(root, web) as first:
            first.until(lambda: web.count() > 5, "a few requests")
            with Running(command(root, workers=1, threads=THREADS)) as second:
                second.until(lambda: _beating(root) == 2, "a second machine")
                shutil.rmtree(root / ".fscrawl", ignore_errors=True)
                for running in (first, second):
                    _has_ended(running.wait(), root / ".fscrawl", "it was deleted")
        began, asked = time.monotonic(), web.count()
        words = command(root, workers=1, threads=THREADS)
        with Running(words) as first, Running(words) as second:
            first.until((root / ".fscrawl/tree.json").exists, "a new .fscrawl")
            assert time.monotonic() - began >= 2, "a machine of the old one may be at work for so long"
            assert web.count() == asked
            done = [running.wait() for running in (first, second)]
        assert [each.code for each in done] == [0, 0], done
        assert "tree.json is missing: waiting 2 s, as machines may still be fetching" in done[0].err
        _is_complete(root, web, machines=2)


def _delete_heartbeats(root: Path) -> tuple[Path, str]:
    (log,) = (root / ".fscrawl/machines").glob("*.log")
    log.unlink()
    return log, "it was deleted"


def _delete_a_lease(root: Path) -> tuple[str, str]:
    lease = next((root / ".fscrawl/leases").iterdir())
    lease.unlink()
    return f".fscrawl/leases/{lease.name}", "it was deleted"


def _put_a_backup_back(root: Path) -> tuple[Path, str]:
    """It has not what the machine has written since."""
    (root / ".fscrawl").rename(root.parent / "aside")
    (root.parent / "backup").rename(root / ".fscrawl")
    return root / ".fscrawl/machines", "it is not what this machine has written"


@pytest.mark.parametrize("harm", [_delete_heartbeats, _delete_a_lease, _put_a_backup_back])
def test_a_part_is_gone(root: Path, harm: Callable[[Path], tuple[Path | str, str]]) -> None:
    """The line names the file, and the same command goes on at once."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        with _start(root, web) as running:
            running.until(lambda: web.count() > 5 and _beating(root), "a few requests")
            shutil.copytree(root / ".fscrawl", root.parent / "backup", ignore=shutil.ignore_patterns("*.tmp", ".*"))
            running.until(lambda: web.count() > 15, "more requests")
            path, what = harm(root)
            done = running.wait()
        if harm is _put_a_backup_back:  # whatever is found first
            assert (done.code, done.err.count(AGAIN)) == (75, 1), done
        else:
            _has_ended(done, path, what)
        assert crawl(root, workers=1, threads=THREADS).code == 0
        _is_complete(root, web)


def test_ctrl_c_while_it_waits(root: Path) -> None:
    """The wait for machines of a deleted `.fscrawl` ends at once."""
    with Web(linked_site(2, 1), HOSTS) as web:
        assert crawl(root, seeds=[web.url(HOSTS[0])], settings=SETTINGS | {"fleet.dead_after": "60"}).code == 0
        shutil.rmtree(root / ".fscrawl")
        said = root.parent / "err"
        with said.open("wb") as err, Running(command(root, workers=1), stderr=err) as running:
            running.until(lambda: "waiting 60 s" in said.read_text(), "the wait")
            running.signal(signal.SIGINT)
            assert running.wait().code == 130
        assert not (root / ".fscrawl").exists()


def test_the_share_is_gone(root: Path) -> None:
    """Where the whole tree is missing, the machine ends as ever, and makes no new tree in the empty directory."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        with _start(root, web) as running:
            running.until(lambda: web.count() > 5, "a few requests")
            root.rename(root.with_name("elsewhere"))
            root.mkdir()
            done = running.wait()
        assert done.code == 75, done
        assert "is the share mounted?" in done.err
        assert list(root.iterdir()) == []
