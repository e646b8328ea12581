"""The dashboard's tables of tasks and of shards, and what it makes of the machines' files about their hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet.host_figures import Said
from fscrawl.fleet.leases import Lease, Machinery
from fscrawl.frontier.host_figures import Cause, Figures, HostFigure
from fscrawl.monitor.dashboard import reasons, shards
from fscrawl.monitor.dashboard.paces import HostNow, PaceReader, Paces, of_snapshot
from fscrawl.monitor.dashboard.shards import Shards
from fscrawl.monitor.dashboard.tables import Query
from fscrawl.monitor.dashboard.tasks import Tasks
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.storage.records import timestamp
from tests.support.beats import Clock, Logs

NO_PACES = Paces({}, {})


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


def write(logs: Logs, name: str, text: str | dict[str, Any]) -> None:
    path = logs.root / ".fscrawl" / "machines" / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def labels_of(logs: Logs, machine: str, **labels: dict[str, int]) -> None:
    write(logs, f"{machine}.labels.json", labels)


# -- tasks


class Watched:
    """Tasks of a tree, looked at again and again."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._observer = logs.observer()
        self.tasks = Tasks(logs.clock)

    def look(self, at: float, query: Query) -> dict[str, Any]:
        self._logs.clock.now = at
        self._logs.write("a", [self._logs.beat(at)])
        return self.tasks.table(self._observer.look(self._logs.at(at)), query)


def shown(table: dict[str, Any], *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in ("label", *fields)) for row in table["rows"]]


def test_tasks_and_their_states(logs: Logs) -> None:
    """Tasks are open, done or stopped; one that was stopped before anything was found is listed, too."""
    (logs.root / "crawl.toml").write_text('[crawl]\nstopped_labels = ["late", "b"]\n')
    labels_of(logs, "a", a={"stored": 5, "failed": 1, "pending": 4}, b={"pending": 9}, c={"stored": 2, "other": 1})
    watched = Watched(logs)
    table = watched.look(10, Query(sort="pending"))
    assert shown(table, "state", "found", "stored", "failed", "pending") == [
        ("b", "stopped", 9, 0, 0, 9),
        ("a", "open", 10, 5, 1, 4),
        ("c", "done", 3, 2, 0, 0),
        ("late", "stopped", 0, 0, 0, 0),
    ]
    assert (table["tasks"], table["states"]) == (4, {"open": 1, "done": 1, "stopped": 2})
    assert shown(watched.look(11, Query("A", sort="label", descending=False))) == [("a",), ("late",)]
    assert shown(watched.look(12, Query(sort="label", only="done"))) == [("c",)]


def test_a_label_that_is_removed_from_the_settings(logs: Logs) -> None:
    """While the page is open, a task that is stopped no more is open again, and one that nothing knows is gone."""
    settings = logs.root / "crawl.toml"
    settings.write_text('[crawl]\nstopped_labels = ["a", "never begun"]\n')
    labels_of(logs, "a", a={"stored": 5, "pending": 4})
    watched = Watched(logs)
    before = watched.look(10, Query(sort="label", descending=False))
    assert shown(before, "state") == [("a", "stopped"), ("never begun", "stopped")]
    settings.write_text("[crawl]\n")
    assert shown(watched.look(12, Query(sort="label")), "state") == [("a", "open")]
    settings.write_text("[crawl\n")  # while somebody edits it, what was good before holds
    assert shown(watched.look(14, Query(sort="label")), "state") == [("a", "open")]


def test_rates_of_tasks(logs: Logs) -> None:
    """A rate is what was stored while somebody looked; it is not known at once, and not after a long pause."""
    watched, query = Watched(logs), Query(sort="rate")
    labels_of(logs, "a", a={"stored": 100, "pending": 50}, b={"stored": 7})
    assert shown(watched.look(0, query), "rate", "ends_in_s") == [("a", None, None), ("b", None, None)]
    labels_of(logs, "a", a={"stored": 120, "pending": 30}, b={"stored": 7}, c={"stored": 30})
    assert shown(watched.look(10, query), "rate")[0] == ("a", None)
    assert shown(watched.look(20, query), "rate", "ends_in_s") == [("c", 1.5, None), ("a", 1.0, 30), ("b", 0.0, None)]
    labels_of(logs, "a", a={"stored": 90})  # fewer than before: a page was replaced by a failure
    assert dict(shown(watched.look(30, query), "rate"))["a"] == 0
    assert dict(shown(watched.look(130, query), "rate"))["a"] is None


def test_tasks_without_a_machine(logs: Logs) -> None:
    """On a tree on which no machine runs, the figures of the last ones stand, without rates."""
    logs.write("a", [logs.beat(10), logs.bye(20, pages=5, pending=4)])
    labels_of(logs, "a", a={"stored": 5, "pending": 4})
    tasks, observer = Tasks(logs.clock), logs.observer()
    for at in (1000, 1020, 1040):
        logs.clock.now = at
        table = tasks.table(observer.look(logs.at(at)), Query(sort="pending"))
    assert (table["running"], shown(table, "state", "stored", "pending", "rate")) == (
        False,
        [("a", "open", 5, 4, None)],
    )


def test_a_thousand_tasks(logs: Logs) -> None:
    """Of a thousand tasks an answer has fifty, and each page has others."""
    labels_of(logs, "a", **{f"day {n:04}": {"stored": n} for n in range(1000)})
    watched = Watched(logs)
    table = watched.look(1, Query(sort="stored", page=3))
    assert (table["found"], table["pages"], len(table["rows"])) == (1000, 20, 50)
    assert table["rows"][0]["label"] == "day 0849"
    assert len(json.dumps(table)) < 15_000


def test_others_have_no_pages(logs: Logs) -> None:
    """What machines count together is no task whose pages could be searched for."""
    labels_of(logs, "a", **{"(others)": {"stored": 5}})
    assert shown(Watched(logs).look(1, Query(sort="stored")), "has_pages") == [("(others)", False)]


# -- shards


def lease(logs: Logs, shard: int, epoch: int, text: str | dict[str, Any]) -> None:
    path = logs.root / ".fscrawl" / "leases" / f"{shard}.{epoch}"
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def fleet(logs: Logs, at: float = 100) -> Snapshot:
    """Four machines: alive, paused, left, dead. The clock of the one that is alive is an hour ahead."""
    logs.write("a", [logs.beat(3600 + at - 10)])
    logs.write("p", [logs.beat(at - 5, state="paused")])
    logs.write("l", [logs.bye(at - 50, pages=0)])
    logs.write("d", [logs.beat(0.5)])
    observer = logs.observer()
    observer.look(logs.at(at))
    logs.write("a", [logs.beat(3600 + at + 1)])
    logs.clock.now = 3
    return observer.look(logs.at(at + 3))


def rows(table: dict[str, Any], *fields: str) -> dict[int, tuple[Any, ...]]:
    return {row["shard"]: tuple(row[name] for name in fields) for row in table["rows"]}


def test_who_holds_which_shard(logs: Logs) -> None:
    """Each shard says who holds it, or why nobody does."""
    for shard, holder in enumerate(["a", "p", "l", "d", "nobody"]):
        lease(logs, shard, 1, {"holder": holder})
    lease(logs, 5, 1, {"holder": "a"})
    lease(logs, 5, 2, '{"holder": "')  # a lease that was cut in half
    lease(logs, 6, 1, {"holder": "d"})
    lease(logs, 6, 2, {"holder": "a"})
    told = Paces({}, {"a": {0: 40}})
    made = Shards(Machinery(logs.tree), 8, logs.clock)
    table = made.table(fleet(logs), told, Query(sort="shard", descending=False, only="all"))
    assert rows(table, "words", "holder", "epoch", "pending") == {
        0: ("held", "a", 1, 40),
        1: ("held, paused", "p", 1, None),
        2: ("free: its holder has left", "l", 1, None),
        3: ("free: its holder is dead", "d", 1, None),
        4: ("free: its holder has no log", "nobody", 1, None),
        5: ("not known: the lease cannot be read", None, 2, None),
        6: ("held", "a", 2, 0),
        7: ("empty: no URL of it was found", None, 0, None),
    }
    counts = {name: table[name] for name in ("shards", "held", "holders", "free", "empty", "torn", "unread")}
    assert counts == {"shards": 8, "held": 3, "holders": 2, "free": 3, "empty": 1, "torn": 1, "unread": 0}


def test_ages_by_one_clock(logs: Logs) -> None:
    """A machine whose clock is an hour ahead was heard of when its log was seen to grow."""
    lease(logs, 0, 1, {"holder": "a"})
    table = Shards(Machinery(logs.tree), 1, logs.clock).table(fleet(logs), NO_PACES, Query(sort="shard"))
    assert rows(table, "beat_at") == {0: (logs.at(103),)}


def test_shards_searched_and_sorted(logs: Logs) -> None:
    """A search finds a number or a part of a machine's name; free shards can be shown alone."""
    for shard in range(100):
        lease(logs, shard, 1, {"holder": "ap"[shard % 2]})
    lease(logs, 104, 1, {"holder": "l"})
    made, view = Shards(Machinery(logs.tree), 110, logs.clock), fleet(logs)

    def found(query: Query) -> list[int]:
        return [row["shard"] for row in made.table(view, Paces({}, {"p": {7: 3, 9: 8}}), query)["rows"]]

    assert found(Query("7", sort="shard")) == [7]
    assert found(Query("P", sort="pending"))[:2] == [9, 7]
    assert found(Query(sort="shard", descending=False, only="free")) == [104]
    assert len(found(Query(sort="holder", only="held"))) == 50
    assert found(Query(sort="shard", page=2)) == [0]
    assert found(Query(sort="shard", descending=False, page=2, only="all")) == list(range(100, 110))


def test_a_lease_that_is_torn_is_read_again(logs: Logs) -> None:
    """A lease that was being written is read again after a while; one that can be read is read once."""
    asked: list[tuple[int, int]] = []

    class Counted(Machinery):
        def lease(self, shard: int, epoch: int) -> Lease:
            asked.append((shard, epoch))
            return super().lease(shard, epoch)

    lease(logs, 0, 1, {"holder": "a"})
    lease(logs, 1, 1, "")
    made, view, query = Shards(Counted(logs.tree), 2, logs.clock), fleet(logs), Query(sort="shard", descending=False)
    for at in (10, 11, 30, 31):
        logs.clock.now = at
        table = made.table(view, NO_PACES, query)
        lease(logs, 1, 1, {"holder": "p"})
    assert rows(table, "holder") == {0: ("a",), 1: ("p",)}
    assert sorted(asked) == [(0, 1), (1, 1), (1, 1)]
    (logs.root / ".fscrawl" / "leases" / "0.1").unlink()
    logs.clock.now = 40
    assert rows(made.table(view, NO_PACES, query), "state") == {1: ("held",)}


def test_reading_leases_stops_in_time(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that could not be read in time are said to be unread, and read the next time."""
    monkeypatch.setattr(shards, "_AT_A_TIME", 2)
    slow = Clock()

    class Slow(Machinery):
        def lease(self, shard: int, epoch: int) -> Lease:
            slow.now += 0.6
            return super().lease(shard, epoch)

    for shard in range(6):
        lease(logs, shard, 1, {"holder": "a"})
    made, view, query = Shards(Slow(logs.tree), 6, slow), fleet(logs), Query(sort="shard")
    assert [made.table(view, NO_PACES, query)["unread"] for _ in range(4)] == [4, 2, 0, 0]


def test_a_tree_that_hangs(logs: Logs) -> None:
    """While one request waits for the tree, others are answered with what is known; what fails is tried again."""

    class Broken(Machinery):
        fails = True

        def leases(self) -> list[tuple[int, int]]:
            if self.fails:
                raise TreeBusyError("no answer")
            return super().leases()

        def lease(self, shard: int, epoch: int) -> Lease:
            raise TreeBusyError("no answer")

    lease(logs, 0, 1, {"holder": "a"})
    broken = Broken(logs.tree)
    made, view, query = Shards(broken, 1, logs.clock), fleet(logs), Query(sort="shard")
    with made._lock:
        assert made.table(view, NO_PACES, query)["rows"] == []
    with pytest.raises(TreeError):
        made.table(view, NO_PACES, query)
    broken.fails = False
    assert rows(made.table(view, NO_PACES, query), "state") == {0: ("unread",)}


def test_no_machine_runs(logs: Logs) -> None:
    """On a tree on which no machine was ever, all shards are empty."""
    view, query = logs.observer().look(logs.at(0)), Query(sort="shard", only="all")
    table = Shards(Machinery(logs.tree), 512).table(view, NO_PACES, query)
    assert (table["running"], table["held"], table["empty"], len(table["rows"])) == (False, 0, 512, 50)


# -- what machines say about their hosts


def test_until_by_one_clock(logs: Logs) -> None:
    """A rest ends by the dashboard's clock, however wrong the machine's is; a machine that is gone says nothing."""
    view = fleet(logs)
    for machine, at in (("a", 3600 + 96), ("p", 85), ("d", 0)):
        hosts = {f"{machine}.example": {"pending": 7, "wait": 60, "why": "retry-after"}, "all.example": {"pending": 1}}
        write(logs, f"{machine}.hosts.json", {"at": timestamp(logs.at(at)), "shards": {"3": 4}, "hosts": hosts})
    paces = of_snapshot(PaceReader(Machinery(logs.tree).host_figures, logs.clock), view)
    assert {name: (host.machine, host.until) for name, host in paces.hosts.items()} == {
        "a.example": ("a", logs.at(103 + 60 - 5)),
        "p.example": ("p", logs.at(95 + 60 - 10)),
        "all.example": ("a", 0),
    }
    assert paces.hosts["all.example"].figure.pending == 2  # with `partition = "url"` two machines have a host
    assert paces.pending == {"a": {3: 4}, "p": {3: 4}}
    assert reasons.why(paces.hosts["p.example"]) == "the crawl is paused"


def test_files_are_read_seldom_and_in_time(logs: Logs) -> None:
    """A file is read every ten seconds, what cannot be read keeps what it said, and reading ends after a second."""
    view, clock, asked, said = fleet(logs), Clock(), [], Said(1.0, Figures({1: 2}, {}))
    trouble = False

    def read(machine: str) -> Said:
        asked.append(machine)
        clock.now += 2.0
        if trouble:
            raise TreeBusyError("no answer")
        return said

    reader = PaceReader(read, clock)
    assert of_snapshot(reader, view).pending["a"] == {1: 2}
    assert asked == ["a"]
    of_snapshot(reader, view)
    assert asked == ["a", "p"]
    assert of_snapshot(reader, view).pending == {"a": {1: 2}, "p": {1: 2}}
    assert asked == ["a", "p"]
    clock.now, trouble = 100.0, True
    assert of_snapshot(reader, view).pending["a"] == {1: 2}
    with reader._lock:
        assert of_snapshot(reader, view).pending["a"] == {1: 2}
    assert reader.ask([], 0.0) == Paces({}, {})


@pytest.mark.parametrize("cause", list(Cause))
def test_each_cause_has_words(cause: Cause) -> None:
    """Each cause is said in words, and one of a newer version as it is."""
    host = HostNow("m", HostFigure(cause=cause, failures=3), 0.0, "")
    assert " " in reasons.why(host)
    newer = host._replace(figure=HostFigure(cause="eclipse", set_by="moon"))
    assert (reasons.why(newer), reasons.set_by(newer)) == ("eclipse", "moon")


def test_what_keeps_a_machine_keeps_its_hosts() -> None:
    """If a machine has no network, its hosts wait for that; one that was given up does not."""
    waits = HostNow("m", HostFigure(cause=Cause.DELAY), 0.0, "no network")
    assert reasons.why(waits) == "its machine has no network"
    assert reasons.why(waits._replace(figure=HostFigure(cause=Cause.GIVEN_UP))) == "given up: it failed for too long"
    failing = waits._replace(figure=HostFigure(cause=Cause.FAILING, failures=12), doing="")
    assert reasons.why(failing) == "rests: it failed too often (12 in a row)"
