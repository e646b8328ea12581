"""`.fscrawl` is deleted or restored under machines, or is of an older format: nothing is lost, little comes twice."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.crawling import Running, check_tree, command, pages
from tests.support.web import Web, linked_site, slowly

HOSTS = ["127.0.43.1", "127.0.43.2"]
PAGES = 40
SETTINGS = {"fleet.beat": "0.5", "fleet.dead_after": "6", "politeness.robots": "false"}
FLAGS = ("--log-json",)


def _wanted(web: Web) -> set[str]:
    return {web.url(host, f"/{n}") for host in HOSTS for n in ["", *range(PAGES)]}


def _beating(root: Path) -> int:
    """Count the machines that have begun to beat."""
    return sum(log.read_bytes().count(b'"beat"') > 1 for log in (root / ".fscrawl/machines").glob("*.log"))


def test_deleted_while_it_runs(root: Path) -> None:
    """Two machines go on under new ids when `.fscrawl` is deleted, and together store every page once."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        words = command(root, *FLAGS, seeds=[web.url(host) for host in HOSTS], settings=SETTINGS, workers=1, threads=2)
        with Running(words) as first:
            first.until(lambda: web.count() > 5, "a few requests")
            with Running(command(root, *FLAGS, workers=1, threads=2)) as second:
                second.until(lambda: _beating(root) == 2, "a second machine")
                second.until(lambda: web.count() > 20, "more requests")
                shutil.rmtree(root / ".fscrawl", ignore_errors=True)
                done = [running.wait(100) for running in (first, second)]
        assert [each.code for each in done] == [0, 0], done
        assert all("joining anew, what is stored stays" in each.err for each in done), done
        assert set(pages(root)) == _wanted(web)
        check_tree(root)
        in_flight = 2 * 2
        assert sum(n - 1 for n in web.duplicates().values()) <= in_flight


def test_an_old_copy_is_put_back(root: Path) -> None:
    """A backup of `.fscrawl` is put in its place: it has not what the machine has written since."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        words = command(root, *FLAGS, seeds=[web.url(host) for host in HOSTS], settings=SETTINGS, workers=1, threads=2)
        with Running(words) as running:
            running.until(lambda: web.count() > 5, "a few requests")
            shutil.copytree(root / ".fscrawl", root / "backup", ignore=shutil.ignore_patterns("*.tmp"))
            running.until(lambda: web.count() > 20, "more requests")
            (root / ".fscrawl").rename(root / "aside")
            (root / "backup").rename(root / ".fscrawl")
            done = running.wait(100)
        shutil.rmtree(root / "aside")
        assert done.code == 0, done
        assert "joining anew" in done.err
        assert set(pages(root)) == _wanted(web)
        assert sum(n - 1 for n in web.duplicates().values()) <= 2


def test_the_share_is_gone(root: Path) -> None:
    """Where the whole tree is missing, the machine ends as ever, and makes no new tree in the empty directory."""
    with Web(slowly(linked_site(PAGES, 3), 0.1), HOSTS) as web:
        words = command(root, *FLAGS, seeds=[web.url(HOSTS[0])], settings=SETTINGS, workers=1, threads=2)
        with Running(words) as running:
            running.until(lambda: web.count() > 5, "a few requests")
            root.rename(root.with_name("elsewhere"))
            root.mkdir()
            done = running.wait(100)
        assert done.code == 75, done
        assert "joining anew" not in done.err
        assert list(root.iterdir()) == []
