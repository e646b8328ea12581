"""Why hosts are asked nothing now: what the frontier says, what a machine writes, and what others read."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from fscrawl.errors import TreeError
from fscrawl.fleet import host_figures
from fscrawl.fleet.host_figures import NOTHING, HostTeller, read_hosts
from fscrawl.frontier.host_figures import Cause, Figures, HostFigure
from tests.support.frontiers import A, B, C, fail, fill, give_up, take_and_finish

PATH = ".fscrawl/machines/m.hosts.json"


def causes(frontier, now):
    return {name: (each.cause, each.wait_s) for name, each in frontier.host_figures(now, 99).hosts.items()}


# -- the frontier


def test_delay_turn_and_nothing(make_frontier):
    """A host waits for its turn, for its delay, or for what it has in flight; of one without URLs there is little."""
    frontier = make_frontier("politeness.delay=10")
    fill(frontier, A + "1", A + "2", B + "1")
    assert causes(frontier, 0) == {"a.example": (Cause.TURN, 0), "b.example": (Cause.TURN, 0)}
    take_and_finish(frontier, 0)
    task = frontier.take(1)
    assert causes(frontier, 4) == {"a.example": (Cause.DELAY, 6), "b.example": (Cause.NOTHING, 0)}
    frontier.finish(task, 1)
    frontier.take(20)
    fill(frontier, A + "3")
    assert causes(frontier, 21)["a.example"] == (Cause.PER_HOST, 0)


def test_rests_and_why(make_frontier):
    """Who asked for a rest is remembered, of the longer one, and of hosts that were not met, too."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1", B + "1", C + "1")
    frontier.scheduler.rest("a.example", 50, "retry-after")
    frontier.scheduler.rest("a.example", 20, "probed")
    frontier.rest("b.example", 30)
    frontier.rest("not-met.example", 70)
    for _ in range(10):
        fail(frontier, 0, name="c.example")
    assert causes(frontier, 5) == {
        "a.example": (Cause.RETRY_AFTER, 45),
        "b.example": (Cause.TOLD, 25),
        "c.example": (Cause.FAILING, 5),
        "not-met.example": ("told", 65),
    }
    frontier.forget_what_is_over(60)
    assert frontier.scheduler.why_it_rests("a.example") == "told"  # forgotten
    assert causes(frontier, 60)["a.example"] == (Cause.TURN, 0)


def test_paused_and_given_up(make_frontier):
    """A sign and a failure for long come before all other causes."""
    frontier = make_frontier("politeness.delay=1", "politeness.give_up_after=30")
    fill(frontier, A + "1", B + "1")
    give_up(frontier)
    frontier.scheduler.paused = frozenset({"b.example"})
    assert {name: cause for name, (cause, _) in causes(frontier, 70).items()} == {
        "a.example": Cause.GIVEN_UP,
        "b.example": Cause.PAUSED,
    }


def test_robots_come_first(make_frontier):
    """A host whose robots.txt is not known waits for that."""
    frontier = make_frontier("politeness.robots=true")
    fill(frontier, A + "1")
    assert causes(frontier, 0)["a.example"] == (Cause.ROBOTS, 0)
    frontier.take(0)
    assert causes(frontier, 0)["a.example"] == (Cause.ROBOTS, 0)


@pytest.mark.parametrize(
    ("few", "slow", "cause"),
    [
        ({"PER_SITE": 1}, None, Cause.SITE),
        ({}, 1, Cause.SLOW),
        ({"PER_ADDRESS": 1}, None, Cause.ADDRESS),
    ],
)
def test_places(make_frontier, few_places, few, slow, cause):
    """A host that finds no place says which limit it waits for."""
    few_places(**few)
    frontier = make_frontier("politeness.delay=0")
    if slow:
        frontier.scheduler.places.limit_slow(slow)
    hosts = (
        ["http://127.0.0.1:81/", "http://127.0.0.1:82/"]
        if cause is Cause.ADDRESS
        else [
            "http://x.wild.example/",
            "http://y.wild.example/",
        ]
    )
    fill(frontier, *hosts)
    assert frontier.take(0) is not None
    assert frontier.take(0) is None
    assert Counter(each for each, _ in causes(frontier, 0).values()) == {Cause.NOTHING: 1, cause: 1}


def test_delays_and_what_sets_them(make_frontier):
    """The delay of a host is set by the settings, by its robots.txt, by slow answers, or by failures."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1")

    def delay():
        figure = frontier.host_figures(0, 1).hosts["a.example"]
        return figure.delay_s, figure.set_by

    assert delay() == (1, "settings")
    frontier.scheduler.open("a.example", 3.0, 0)
    assert delay() == (3, "robots")
    frontier.scheduler.answered("a.example", 5.0)
    assert delay() == (5, "answers")
    fail(frontier, 0)
    assert delay() == (10, "failures")


def test_the_worst_and_the_largest(make_frontier):
    """Of many hosts those are told of that are in trouble, and then those with most URLs; shards have all."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(f"http://h{n}.example/{page}" for n in range(9) for page in range(n + 1)))
    frontier.rest("h0.example", 9)
    frontier.rest("elsewhere.example", 5)
    found = frontier.host_figures(0, 3)
    assert list(found.hosts) == ["h0.example", "h8.example", "h7.example"]
    assert sum(found.shards.values()) == 45
    assert found.hosts["h8.example"].pending == 9
    assert "elsewhere.example" in frontier.host_figures(0, 99).hosts


def test_hosts_without_a_shard(make_frontier):
    """With `partition = "url"` hosts have no shard, and there are no figures of shards."""
    frontier = make_frontier('crawl.partition="url"')
    fill(frontier, A + "1")
    found = frontier.host_figures(0, 3)
    assert (list(found.hosts), dict(found.shards)) == (["a.example"], {})


# -- the file


class Files:
    machine = "m"

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.writes = 0
        self.trouble = False

    def publish(self, path: str, data: bytes) -> None:
        self._check()
        self.writes += 1
        self.data[path] = data

    def read_or_torn(self, path: str) -> bytes | None:
        return self.data.get(path)

    def remove(self, path: str) -> None:
        self._check()
        del self.data[path]

    def _check(self) -> None:
        if self.trouble:
            raise TreeError("no space")


SOME = Figures(
    {3: 40},
    {
        "a.example": HostFigure(40, 1, 2.5, "robots", 35.04, Cause.RETRY_AFTER, 2),
        "b.example_8080": HostFigure(cause=Cause.TURN),
    },
)


def teller(files: Files, figures: Figures = SOME, costs_s: float = 0.0) -> HostTeller:
    clock = iter([0.0, *(15.0 * n + costs_s for n in range(1, 99))])
    return HostTeller(files, lambda now, most: figures, lambda: next(clock))


def test_written_and_read() -> None:
    """What is written is read back, and the file goes when the machine leaves."""
    files = Files()
    tells = teller(files)
    tells.tell(14.9)
    assert files.writes == 0  # a short crawl has no file
    tells.tell(15.0)
    said = read_hosts(files, "m")
    assert said.at > 1.7e9
    assert said.figures.shards == {3: 40}
    assert said.figures.hosts["a.example"] == HostFigure(40, 1, 2.5, "robots", 35.0, "retry-after", 2)
    assert said.figures.hosts["b.example_8080"] == HostFigure(cause="turn")
    tells.remove()
    assert files.data == {}
    assert read_hosts(files, "m") == NOTHING


def test_nothing_to_say() -> None:
    """A machine without hosts has no file, and one that leaves needs none to remove."""
    files = Files()
    tells = teller(files, Figures({}, {}))
    tells.tell(15.0)
    tells.remove()
    assert files.writes == 0


def test_seldom_if_it_costs_much() -> None:
    """What takes half a second to put together is written every hundred seconds."""
    files = Files()
    tells = teller(files, costs_s=0.5)
    tells.tell(15.0)
    tells.tell(100.0)
    assert files.writes == 1
    tells.tell(115.0)
    assert files.writes == 2


def test_a_tree_that_takes_nothing() -> None:
    """The crawl goes on if the file can be neither written nor removed."""
    files = Files()
    tells = teller(files)
    files.trouble = True
    tells.tell(15.0)
    files.trouble = False
    tells.tell(30.0)
    files.trouble = True
    tells.remove()
    assert files.writes == 1


def test_few_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many shards those with most URLs are told of."""
    monkeypatch.setattr(host_figures, "_MOST_SHARDS", 2)
    files = Files()
    teller(files, Figures({1: 5, 2: 7, 3: 6}, {})).tell(15.0)
    assert read_hosts(files, "m").figures.shards == {2: 7, 3: 6}


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "7", "{}", '{"at": 7}', '{"at": "noon"}', '{"at": "0001-01-01T00:00:00"}', "[" * 100_000, "\xff"],
)
def test_what_is_no_file(text: str) -> None:
    """A file that was cut or written by somebody else says nothing."""
    files = Files()
    files.data[PATH] = text.encode("latin-1")
    assert read_hosts(files, "m") == NOTHING


def test_a_file_cut_in_half() -> None:
    """Wherever a file is cut, it says nothing, or what it said before."""
    files = Files()
    teller(files).tell(15.0)
    whole = files.data[PATH]
    for end in range(len(whole) - 2):
        files.data[PATH] = whole[:end]
        assert read_hosts(files, "m") == NOTHING
    files.data[PATH] = whole + b" " * (1 << 20)
    assert read_hosts(files, "m") == NOTHING


def test_what_somebody_wrote() -> None:
    """Numbers that are none, hosts that are none and words that cannot be shown are left out."""
    files = Files()
    host = {
        "pending": "1",
        "in_flight": True,
        "delay": -1,
        "wait": 1e99,
        "why": "\x1b[31m",
        "set_by": 7,
        "failures": 1.5,
    }
    said = {
        "shards": {"x": 1, "4": "y", "5": 6},
        "hosts": {"a.example": host, "..": {}, "b.example": {"wait": 1e18}, "A/B": 1},
    }
    files.data[PATH] = json.dumps({"at": "2026-01-01T00:00:00Z", **said}).encode()
    figures = read_hosts(files, "m").figures
    assert figures.shards == {4: 0, 5: 6}
    assert figures.hosts == {"a.example": HostFigure(failures=1), "b.example": HostFigure(wait_s=1e9)}
    files.data[PATH] = json.dumps({"at": "2026-01-01T00:00:00Z", "shards": [], "hosts": 7}).encode()
    assert read_hosts(files, "m").figures == Figures({}, {})
