"""The dashboard's table of hosts, and the look that all who ask share."""

from __future__ import annotations

import shutil
import threading
from unittest import mock

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.monitor.dashboard.app import Latest
from fscrawl.monitor.dashboard.hosts import Hosts, Query
from fscrawl.store import Tree
from tests.support.trees import Grown

# -- hosts


def names(hosts: Hosts) -> list[str]:
    return [row["host"] for row in hosts.table(Query(sort="host", descending=False), {}, 0.0)["rows"]]


def test_only_what_is_shown_is_counted(grown: Grown) -> None:
    """The hosts of a page have their numbers of records and failures, and no other directory is listed for it."""
    grown.many(hosts=60, pages=1)
    asked: set[str] = set()
    real = Tree.keys

    def keys(tree: Tree, directory: str, host: str) -> list[str]:
        asked.add(host)
        return real(tree, directory, host)

    with mock.patch.object(Tree, "keys", keys):
        table = Hosts(grown.tree).table(Query("example", "host", descending=False), {}, 0.0)
    assert (table["hosts"], table["pages"], len(table["rows"])) == (62, 2, 50)
    assert asked == {row["host"] for row in table["rows"]}
    assert tuple(table["rows"][0].values()) == ("a.example", "a.example", 4, 2)


def test_names_are_listed_seldom(grown: Grown) -> None:
    """Hosts that come or go are in the table after some seconds."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    assert names(hosts) == ["a.example", "p.example_8080"]
    grown.page("http://new.example/")
    for directory in ("links", "errs"):
        shutil.rmtree(grown.root / directory / "a.example")
    assert len(names(hosts)) == 2
    now = 30.0
    assert names(hosts) == ["new.example", "p.example_8080"]


def test_hosts_are_counted_seldom(grown: Grown) -> None:
    """A page is asked for each second while it is shown: the files of a large host are not listed each time."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    names(hosts)
    with mock.patch.object(Tree, "keys", side_effect=AssertionError("listed")):
        names(hosts)
    grown.page("http://a.example/new")
    now = 30.0
    assert hosts.table(Query("a.example", "host"), {}, 0.0)["rows"][0]["records"] == 5


def test_hosts_of_a_tree_that_goes(grown: Grown) -> None:
    """Hosts that cannot be listed are an error, and come back."""
    hosts = Hosts(grown.tree)
    with mock.patch.object(Tree, "hosts", side_effect=TreeBusyError("stale")), pytest.raises(TreeBusyError):
        names(hosts)
    assert len(names(hosts)) == 2


# -- the latest


def test_looks_are_shared(grown: Grown) -> None:
    """Questions within a second are about one look."""
    now = 0.0
    latest = Latest(grown.root, lambda: now)
    first = latest.ask(id)
    now = 0.5
    assert latest.ask(id) == first
    looks = mock.Mock(wraps=latest._observer.look)
    latest._observer.look = looks  # type: ignore[method-assign]
    now = 1.5
    latest.ask(id)
    latest.ask(id)
    assert looks.call_count == 1


def test_tree_that_hangs(grown: Grown) -> None:
    """While one look hangs, others are told for how long."""
    now = 0.0
    latest = Latest(grown.root, lambda: now, limit_s=0.01)
    entered, go = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        assert go.wait(20)

    with mock.patch.object(latest.tree, "check_there", hang):
        thread = threading.Thread(target=latest.ask, args=[id])
        thread.start()
        assert entered.wait(20)
        now = 12.0
        with pytest.raises(TreeError, match="no answer for 12 s; does the share hang"):
            latest.ask(id)
        go.set()
        thread.join(20)
    assert latest.ask(id)


def test_settings_that_are_wrong(grown: Grown) -> None:
    """A mistake in crawl.toml is told with the state."""
    (grown.root / "crawl.toml").write_text("nonsense = 1")
    assert "nonsense" in Latest(grown.root).ask(lambda view: view.settings_trouble)
