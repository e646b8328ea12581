"""What `fscrawl status` says of a look, to people and to programs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from fscrawl.monitor import status
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.storage.records import timestamp
from fscrawl.util.humanize import count, size
from fscrawl.util.installed import command
from tests.support.beats import Logs, busy

HOSTILE = "[red]a\x1b[31m\u202eexample[/red]"


def printed(view: Snapshot, width: int = 80, root: str = "/shared") -> str:
    """Give the table as a pipe gets it."""
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False, highlight=False, emoji=False).print(
        status.as_table(view, root, width)
    )
    return stream.getvalue()


def lines(view: Snapshot, width: int = 80) -> list[str]:
    return [line.rstrip() for line in printed(view, width).split("\n")]


# -- for people


def fleet(logs: Logs) -> Snapshot:
    """Twenty machines at work, one dead and one that has left."""
    for number in range(20):
        name = f"a-machine-of-a-long-name-{number:02}-31337-abcdef"
        logs.write(name, [{"beat": n, **busy(n)} for n in (990, 1000)])
    logs.write("dead", [logs.beat(10, pages=5)])
    logs.write("left", [logs.bye(10, pages=5)])
    return logs.observer().look(logs.at(10_001))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_fits(logs: Logs, width: int) -> None:
    """At 80 columns and more no line is wider than that, and every machine's name is there whole, if on two lines."""
    text = printed(fleet(logs), width)
    assert max(map(len, text.split("\n"))) <= width
    if width > 80:
        assert "a-machine-of-a-long-name-19-31337-abcdef" in text
    assert "a-machine-of-a-long-na" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [32, 40, 60])
def test_a_narrow_terminal(logs: Logs, width: int) -> None:
    """On a narrow terminal the machine, what it does and its rate stay, and nothing is cut off."""
    text = printed(fleet(logs), width)
    assert max(map(len, text.split("\n"))) <= width
    assert "…" not in text
    [heads] = [line.split() for line in text.split("\n") if line.startswith("machine")]
    assert heads == ["machine", "state", "pages/s"]
    assert text.count("a-mach") == 20


def test_what_the_table_says(logs: Logs) -> None:
    """The table says of a machine what it does, how fast, and what it has; and sums it up above."""
    digest = logs.observer().look(logs.at(0)).settings_digest
    now = {"settings": digest, "settings_at": timestamp(logs.at(60))}
    one = {
        "pages": 1234,
        "bytes": 5000000,
        "pending": 40,
        "in_flight": 3,
        "memory": 9 * 10**7,
        "shards": 12,
        "hosts": 7,
    }
    worse = {
        "resting": 2,
        "gave_up": 1,
        "errors": {"robots": 2},
    }
    logs.say("m-1-aa", hosts={"s.example": {"latency_s": 3.25}, "127.0.0.1_81": {"failures": 4}})
    logs.write("m-1-aa", [logs.beat(40, pages=1214, **now), logs.beat(50, **one, **worse, **now)])
    logs.write("m-2-bb", [logs.beat(50, state="no network", settings_at="never")])
    logs.tree.controls.put_sign("PAUSE.x.example")
    view = logs.observer().look(logs.at(51))
    facts = status.facts(view)
    assert facts.pop("disk").endswith(" free")
    assert facts == {
        "pages": "1,234 stored, 5.0 MB",
        "pages/s": "1 min: 2.0   5 min: 2.0   60 min: 2.0",
        "failures": "2: 2 robots",
        "pending": "40 URLs, 3 in flight; done in about 1 min, if nothing new is found",
        "hosts": "7 known, 2 resting, 1 given up",
        "slow": "s.example 3.25 s",
        "failing": "127.0.0.1:81 4 in a row",
        "signs": "PAUSE.x.example",
    }
    since = status.clock(timestamp(logs.at(60)), logs.at(60))
    rows = [line.split() for line in lines(view) if line.startswith("m-")]
    assert rows == [
        ["m-1-aa", "fetching", "2.0", "3", "40", "90", "MB", "12", since],
        ["m-2-bb", "no", "network", "0.0", "0", "0", "0", "B", "0"],
    ]
    assert status.remarks(view, "/shared") == [f"to go on there:  {command()} resume --root /shared --host x.example"]


def test_what_was_left_is_pending(logs: Logs) -> None:
    """Where no machine is alive what the last one left is pending; no host rests; and it says how to crawl on."""
    logs.write("m", [logs.bye(1, pages=1, pending=9)])
    view = logs.observer().look(logs.at(2))
    assert set(status.facts(view)) == {"pages", "pages/s", "failures", "pending", "disk"}
    assert status.facts(view)["pending"] == "9 URLs"
    assert status.remarks(view, "/shared") == [f"to continue:  {command()} crawl --root /shared"]


def test_machines_that_are_gone_are_few(logs: Logs) -> None:
    """Of those that died or left the last ten are shown, and how many more there were."""
    for number in range(13):
        logs.write(f"m{number:02}", [logs.bye(number, pages=1)])
    told = lines(logs.observer().look(logs.at(100)))
    assert [line.split()[0] for line in told if line.endswith("left")] == [f"m{n:02}" for n in range(12, 2, -1)]
    assert "and 3 more gone" in [" ".join(line.split()) for line in told]


def test_remarks_on_settings_and_the_dead(logs: Logs) -> None:
    """An edit that is not taken up, settings that are wrong, and the dead among the living are remarked on."""
    logs.write("m", [logs.beat(99, settings="0" * 8)])
    logs.write("dead", [logs.beat(1)])
    logs.tree.controls.put_sign("STOP")
    dead = "1 dead: the other machines take over their work, and nothing is lost"
    resume = f"to go on:  {command()} resume --root R"
    observer = logs.observer()
    view = observer.look(logs.at(100))
    behind = "crawl.toml was edited; not in use yet on 1 of 1 (marked !)"
    assert status.remarks(view, "R") == [behind, dead, resume]
    assert any(line.startswith("m ") and line.endswith("!") for line in lines(view))
    (logs.root / "crawl.toml").write_text("no = toml = at all")
    trouble, *others = status.remarks(observer.look(logs.at(101)), "R")
    assert trouble.endswith("; machines keep the last valid settings")
    assert others == [dead, resume]


def test_what_the_web_says_is_no_markup(logs: Logs) -> None:
    """Hosts, machine states and signs with terminal escapes or markup are printed as the text that they are."""
    logs.write("m", [logs.beat(9, errors={HOSTILE: 1}, state=HOSTILE, settings_at=HOSTILE)])
    logs.say("m", hosts={HOSTILE: {"latency_s": 2.0}}, labels={HOSTILE: {}})
    (logs.root / "PAUSE.\x1b[31m").touch()
    view = logs.observer().look(logs.at(10))
    text = printed(view, 200)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert "[red]a?[31m?example[/red]" in text
    told = json.dumps(status.as_json(view), ensure_ascii=False)
    assert "\x1b" not in told
    assert "\\u001b" not in told
    assert "\u202e" not in told


def test_a_time_of_another_day_is_a_date() -> None:
    """A time of the last day is shown by its hour, an older one by its day, and nonsense not at all."""
    at = timestamp(1_790_000_000)
    assert len(status.clock(at, 1_790_000_100)) == len("12:00:00")
    assert status.clock(at, 1_790_900_000)[:3].isalpha()
    assert status.clock("x", 0) == ""


def test_numbers_keep_short() -> None:
    """Numbers and sizes stay within eight characters up to an exabyte."""
    assert max(len(told(10.0**n)) for n in range(12) for told in (count, size)) <= 8


# -- for programs


def machines_of(logs: Logs, facts: dict, now: dict) -> list[dict]:
    """Give what the object says of a machine at work with these counters, and of one that has left."""
    at_work = {
        "name": "m",
        "state": "alive",
        "doing": "",
        "finished": False,
        "last_beat": timestamp(logs.at(10)),
        "pages_per_s": 3.0,
        **facts,
        "errors": 2,
        **now,
        "settings_differ": True,
    }
    left = {
        "name": "z",
        "state": "left",
        "doing": "",
        "finished": True,
        "last_beat": timestamp(logs.at(5)),
        "pages_per_s": 0.0,
        **dict.fromkeys(facts, 0),
        "pages": 1,
        "errors": 0,
        "settings": "",
        "settings_at": "",
        "settings_differ": False,
    }
    return [at_work, left]


def test_the_object(logs: Logs) -> None:
    """The object has every number of the look, in seconds and bytes."""
    now = {"settings": "0" * 8, "settings_at": timestamp(logs.at(0))}
    facts = {"pages": 30, "bytes": 7, "pending": 6, "in_flight": 2, "memory": 11, "shards": 5, "hosts": 4}
    logs.write("m", [logs.beat(0), logs.beat(10, **facts, **now, errors={"dns": 2})])
    logs.say("m", hosts={"s": {"latency_s": 1.5}, "f": {"failures": 3}})
    logs.write("z", [logs.bye(5, pages=1, finished=True)])
    told = status.as_json(logs.observer().look(logs.at(11)))
    assert told.pop("free_bytes") > 0
    assert len(told.pop("settings")) == 8
    assert json.loads(json.dumps(told)) == {
        "at": timestamp(logs.at(11)),
        "crawl": "c1",
        "state": "running",
        "exact": True,
        "alive": 1,
        "dead": 0,
        "left": 1,
        "pages": 31,
        "bytes": 7,
        "errors": {"dns": 2},
        "pending": 6,
        "pending_exact": True,
        "in_flight": 2,
        "hosts": 4,
        "pages_per_s": {"1 min": 3.0, "5 min": 3.0, "60 min": 3.0},
        "resting": 0,
        "gave_up": 0,
        "signs": [],
        "slow": {"s": 1.5},
        "failing": {"f": 3},
        "ends_in_s": 2.0,
        "settings_trouble": "",
        "labels": {},
        "other_types": {},
        "like_html": 0,
        "left_out": {},
        "seeds_astray": {},
        "given_up": {},
        "machines": machines_of(logs, facts, now),
    }


def test_a_machine_that_idles(logs: Logs) -> None:
    """While others have URLs, a machine without any is explained; one that waits for the end is not."""
    logs.write("idle", [logs.beat(10, idle=True)])
    logs.write("busy", [logs.beat(10, pending=5)])
    (line,) = status.remarks(logs.observer().look(logs.at(11)), "/shared")
    assert line.startswith("1 idle: each host belongs to one machine, and all are taken")
    logs.write("busy", [logs.beat(11, pending=5, ready=3, needed=4)])
    assert status.remarks(logs.observer().look(logs.at(12)), "/shared") == []  # hosts are on their way
    logs.write("busy", [logs.beat(12, pending=0, idle=True)])
    assert status.remarks(logs.observer().look(logs.at(13)), "/shared") == []


def test_a_limit_that_is_reached(logs: Logs) -> None:
    """A crawl that max_pages ended says that, since it would end so again; one that was stopped earlier does not."""
    (logs.root / "crawl.toml").write_text("[crawl]\nmax_pages = 7\n")
    logs.write("m", [logs.bye(1, pages=6, pending=9)])
    go_on = f"to continue:  {command('crawl', '/shared')}"
    assert status.remarks(logs.observer().look(logs.at(2)), "/shared") == [go_on]
    logs.write("n", [logs.bye(3, pages=1, pending=9)])
    reached = "crawl.max_pages = 7 is reached; to get more, raise it in crawl.toml"
    assert status.remarks(logs.observer().look(logs.at(4)), "/shared") == [reached, go_on]


# -- labels


def test_labels(logs: Logs) -> None:
    """Figures are summed over machines; what is pending counts for those at work; the most pending stand first."""
    logs.write("a", [logs.beat(10, pending=5)])
    logs.write("b", [logs.bye(5, pages=5, pending=9, finished=False)])
    logs.say("a", labels={"one": {"stored": 1, "pending": 2}, "two": {"failed": 1, "pending": 3}})
    logs.say("b", labels={"one": {"stored": 4, "other": 1, "pending": 9}})
    logs.say("nobody", labels={"one": {"stored": 100}})
    observer = logs.observer()
    told = status.as_json(observer.look(logs.at(11)))["labels"]
    assert told == {
        "two": {"found": 4, "stored": 0, "other": 0, "failed": 1, "pending": 3, "stopped": False},
        "one": {"found": 8, "stored": 5, "other": 1, "failed": 0, "pending": 2, "stopped": False},
    }
    rows = [line.split() for line in lines(observer.look(logs.at(11)))]
    assert [row for row in rows if row[:1] in (["one"], ["two"])] == [["two", *"4013"], ["one", *"8502"]]
    logs.say("a", labels={"one": {"stored": 2, "pending": 1}})
    logs.say("b", labels={"one": {"stored": 1000}})  # it has left, so nothing of it is read again
    logs.clock.now += 6  # the files of machines that are alive are read every five seconds
    assert status.as_json(observer.look(logs.at(12)))["labels"]["one"]["stored"] == 6


def test_hosts_that_are_taken_over(logs: Logs) -> None:
    """While nobody knows all that waits, neither the crawl nor a task is done, and there is no estimate."""
    logs.write("a", [logs.beat(0, ready=1, needed=2), logs.beat(10, stored=50, pending=5, ready=1, needed=2)])
    logs.say("a", labels={"one": {"stored": 1, "pending": 0}})
    view = logs.observer().look(logs.at(11))
    told = status.as_json(view)
    assert (told["pending"], told["pending_exact"], told["ends_in_s"]) == (None, False, None)
    assert told["labels"]["one"] == {
        "found": None, "stored": 1, "other": 0, "failed": 0, "pending": None, "stopped": False
    }  # fmt: skip
    assert "pending   ? (at least 5: hosts are being taken over), 0 in flight" in printed(view)
    assert ["one", "?", "1", "0", "?"] in [line.split() for line in lines(view)]
    logs.write("b", [logs.beat(11, ready=1, needed=2)])
    told = status.as_json(logs.observer().look(logs.at(12)))
    assert (told["pending"], told["labels"]["one"]["pending"]) == (5, None)  # b has not said yet what it has of tasks
    logs.say("b", labels={"one": {"pending": 7}})
    assert status.as_json(logs.observer().look(logs.at(12)))["labels"]["one"]["pending"] == 7


def test_what_is_left_of_a_stop(logs: Logs) -> None:
    """What several machines left is an upper bound; what a killed one left is not certain."""
    logs.write("a", [logs.bye(10, pages=1, pending=5)])
    assert status.facts(logs.observer().look(logs.at(11)))["pending"] == "5 URLs"
    logs.write("b", [logs.bye(10, pages=1, pending=6)])
    view = logs.observer().look(logs.at(11))
    assert status.facts(view)["pending"] == "at most 11 URLs"
    assert (status.as_json(view)["pending"], status.as_json(view)["pending_exact"]) == (11, False)
    logs.write("b", [logs.beat(12, pending=7)])
    assert status.facts(logs.observer().look(logs.at(900)))["pending"] == "about 12 URLs"


def test_many_labels(logs: Logs) -> None:
    """The table has twenty of them, and says how many more there are."""
    logs.write("a", [logs.beat(10)])
    logs.say("a", labels={**{f"label {number:02}": {"stored": 1} for number in range(30)}})
    shown = lines(logs.observer().look(logs.at(11)))
    assert len([line for line in shown if line.startswith(("label 0", "label 1"))]) == 20
    assert "and 10 more; --json names all" in shown
