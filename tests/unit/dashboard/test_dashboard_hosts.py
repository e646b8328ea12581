"""The dashboard's table of hosts, and the look that all who ask share."""

from __future__ import annotations

import shutil
import threading
from unittest import mock

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.monitor.dashboard.hosts import Hosts, Query
from fscrawl.monitor.dashboard.latest import Latest
from fscrawl.store import Tree
from tests.support.trees import Grown

# -- hosts


def test_hosts_are_counted_behind(grown: Grown) -> None:
    """A request does not wait for counts, which come one by one, those of the rows that are looked at first."""
    go = threading.Event()
    asked: list[str] = []
    real = Tree.keys

    def slow(tree: Tree, room: str, host: str) -> list[str]:
        asked.append(host)
        assert go.wait(20)
        return real(tree, room, host)

    hosts = Hosts(grown.tree)
    with mock.patch.object(Tree, "keys", slow):
        table = hosts.table(Query(sort="host", descending=False))
        assert [(row["host"], row["records"]) for row in table["rows"]] == [
            ("a.example", None),
            ("p.example_8080", None),
        ]
        go.set()
        while (table := hosts.table(Query()))["counted"] < 2:
            pass
    assert [tuple(row.values()) for row in table["rows"]] == [
        ("a.example", "a.example", 4, 2),
        ("p.example_8080", "p.example:8080", 1, 0),
    ]
    assert asked[0] == "a.example"
    hosts.close()


def test_a_host_that_is_gone(grown: Grown) -> None:
    """A host whose directories somebody removes while the page is open leaves the table, and its counts go with it."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    while hosts.table(Query())["counted"] < 2:
        pass
    for room in ("links", "errs"):
        shutil.rmtree(grown.root / room / "a.example")
    now = 30.0
    while (table := hosts.table(Query()))["hosts"] == 2:
        pass
    assert [row["host"] for row in table["rows"]] == ["p.example_8080"]
    assert table["counted"] <= table["hosts"] == table["found"] == 1
    hosts.close()


def test_counts_grow_old(grown: Grown) -> None:
    """The rows that are looked at are counted again after some seconds, names listed anew; a pass takes its time."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    while hosts.table(Query())["counted"] < 2:
        pass
    grown.page("http://new.example/")
    assert hosts.table(Query())["hosts"] == 2
    now = 30.0
    while not (table := hosts.table(Query()))["hosts"] == table["counted"] == 3:
        pass
    assert table["pages"] == 1
    hosts.close()


def test_hosts_of_an_empty_mount_point(grown: Grown) -> None:
    """Hosts that all of a sudden have nothing are not counted as empty: the tree is gone."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    while hosts.table(Query())["counted"] < 2:
        pass
    away = grown.root.rename(grown.root.with_name("away"))
    grown.root.mkdir()
    now = 15.0  # counts are old, names are not

    def look_on() -> None:
        while hosts.table(Query()):
            pass

    with pytest.raises(TreeError, match="is the share mounted"):
        look_on()
    grown.root.rmdir()
    away.rename(grown.root)
    assert hosts._counts["a.example"].records == 4
    hosts.close()


def test_hosts_of_a_tree_that_goes(grown: Grown) -> None:
    """Hosts that cannot be listed are an error, and come back."""
    hosts = Hosts(grown.tree)
    with mock.patch.object(Tree, "hosts", side_effect=TreeBusyError("stale")), pytest.raises(TreeBusyError):
        hosts.table(Query())
    for _ in range(100_000):
        try:
            assert hosts.table(Query())["hosts"] == 2
            break
        except TreeBusyError:  # of the time before
            continue
    hosts.close()
    hosts.close()


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

    with mock.patch.object(latest, "check", hang):
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
