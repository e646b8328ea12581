"""An audit while other machines may be at work, and what changes on the tree meanwhile."""

import errno
import json
import os
import re

import pytest

from fscrawl import urls
from fscrawl.admin.audit.report import Report
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet import heartbeat
from fscrawl.fleet.machinery import Machinery
from fscrawl.storage.layout import TREE_RECORD, log_path, rules_path
from fscrawl.storage.records import RobotsRecord
from fscrawl.store import TreeFiles
from fscrawl.util.installed import command
from tests.support.audits import (
    BAD,
    ELSEWHERE,
    ONE,
    SEED,
    SHARDS,
    TWO,
    Time,
    flipped_body,
    lost,
    orphan,
    temporary,
    temporary_lease,
    torn_error,
    torn_record,
    torn_robots,
)
from tests.support.beats import facts_of


def running(made, machine="here-1-bb"):
    """Let this process be a machine that is at work."""
    made.log(machine, facts_of(heartbeat.hello(machine)), {"beat": 0})
    return machine


def elsewhere(made, machine="there-1-cc"):
    """Let a machine of another host be there, of which nothing tells whether it runs."""
    made.log(machine, {**facts_of(heartbeat.hello(machine)), "boot": "another"}, {"beat": 0})
    return machine


def hold(made, host, machine):
    Machinery(made.tree).claim_lease(urls.shard(host, SHARDS), 1, "m-1-aa")
    Machinery(made.tree).claim_lease(urls.shard(host, SHARDS), 2, machine)


def test_shard_of_a_live_machine(made):
    """What a live machine may be writing is left alone; in a shard that nobody holds the same is mended."""
    hold(made, "a.example", running(made))
    flipped_body(made)
    made.file("links", ELSEWHERE).write_bytes(b"{")
    made.fail(SEED)
    report = made.audit(repair=True)
    assert report.found == {"damaged_bodies": 1, "torn_records": 1, "errors_beside_pages": 1}
    assert report.mended == {"torn_records": 1}
    assert made.file("htmls", ONE).exists()
    assert any("here-1-bb" in note for note in report.notes)


def test_shard_of_which_the_lease_cannot_be_read(made):
    """A lease that is torn, or listed and not found, may be that of a live machine: its shard is left alone."""
    running(made)
    (made.root / f".fscrawl/leases/{urls.shard('a.example', SHARDS)}.2").write_bytes(b"{")
    flipped_body(made)
    report = made.audit(repair=True)
    assert report.found == {"damaged_bodies": 1, "torn_leases": 1}
    assert report.mended.total() == 0


def test_orphans_beside_a_live_machine(made):
    """A body without a record, and a torn robots.txt, stay while any machine lives: it may be about to write them."""
    running(made)
    orphan(made)
    torn_robots(made)
    report = made.audit(repair=True)
    assert report.found == {"orphan_bodies": 1, "torn_robots": 1}
    assert report.mended.total() == 0


def test_temporaries_of_a_live_machine(made):
    """A temporary of a machine that runs is nothing wrong, and stays."""
    machine = running(made)
    path = made.root / f"links/a.example/.x.json.{machine}.31-0.tmp"
    path.write_bytes(b"")
    temporary(made)
    report = made.audit(repair=True)
    assert report.found == report.mended == {"dead_temporaries": 1}
    assert path.exists()
    assert "temporary files of live machines, not removed: 1" in report.notes


def test_doubtful_machine_is_watched(made):
    """A repair waits `dead_after` seconds for a machine's log to grow, says so, and then takes it for dead."""
    machine, time, said = elsewhere(made), Time(), []
    path = made.root / f"links/a.example/.x.json.{machine}.31-0.tmp"
    path.write_bytes(b"")
    orphan(made)
    report = made.audit(repair=True, time=time, warn=said.append)
    assert 60 < time.now < 61 + 2
    assert machine in said[0]
    assert report.found == report.mended == {"orphan_bodies": 1, "dead_temporaries": 1}
    assert not path.exists()


def test_doubtful_machine_with_longer_settings(made):
    """A repair waits as long as a machine's own `dead_after`, if that is longer than the one of crawl.toml."""
    machine, time, said = elsewhere(made), Time(), []
    made.log(machine, {"beat": 1, "dead_after": 200.0})
    orphan(made)
    report = made.audit(repair=True, time=time, warn=said.append)
    assert 200 < time.now < 201 + 2
    assert "for up to 200 s" in said[0]
    assert report.mended == {"orphan_bodies": 1}


def test_doubtful_machine_that_beats(made):
    """A log that grows under the watch is a live machine's, and the watch is over at once."""
    machine = elsewhere(made)
    time = Time(lambda: made.log(machine, {"beat": 1}))
    orphan(made)
    report = made.audit(repair=True, time=time)
    assert time.now < 5
    assert report.mended.total() == 0


def test_a_look_does_not_watch(made):
    """Without --repair nobody waits for a doubtful machine: its temporaries are noted, and are nothing wrong."""
    time = Time()
    (made.root / f"links/a.example/.x.json.{elsewhere(made)}.31-0.tmp").write_bytes(b"")
    report = made.audit(time=time)
    assert time.now == 0
    assert report.found == {}
    assert any("--repair finds out" in note for note in report.notes)


def test_repair_of_a_whole_tree_does_not_watch(made):
    """Where nothing is wrong a repair waits for nobody and writes nothing."""
    elsewhere(made)
    time, before = Time(), made.files()
    assert made.audit(repair=True, time=time).ok
    assert time.now == 0
    assert made.files() == before


def test_temporary_without_a_log(made):
    """A temporary of a machine that left no log is removed after a watch in which none appeared."""
    (made.root / "links/a.example/.x.json.other-1-dd.31-0.tmp").write_bytes(b"")
    time = Time()
    assert made.audit(repair=True, time=time).mended == {"dead_temporaries": 1}
    assert time.now > 60


def test_temporary_of_this_host_without_a_log(made):
    """A temporary of this host whose process does not run needs no watch."""
    machine = re.sub(r"-\d+-", "-4194305-", heartbeat.new_machine_id())
    (made.root / f"links/a.example/.x.json.{machine}.31-0.tmp").write_bytes(b"")
    time = Time()
    assert made.audit(repair=True, time=time).mended == {"dead_temporaries": 1}
    assert time.now == 0


def test_machine_that_begins_under_the_watch(made):
    """A machine that appears during the watch is live."""
    (made.root / "links/a.example/.x.json.late-1-ee.31-0.tmp").write_bytes(b"")
    elsewhere(made)
    orphan(made)
    time = Time()
    time.meanwhile = lambda: time.now > 30 and made.log("late-1-ee", {"hello": "late-1-ee", "boot": "another"})
    report = made.audit(repair=True, time=time)
    assert report.found == {"orphan_bodies": 1}
    assert report.mended.total() == 0
    assert "temporary files of live machines, not removed: 1" in report.notes


def test_what_a_live_machine_writes_meanwhile(made):
    """A link that a live machine says, stores or fails a moment later is not lost; nor is a body then an orphan."""
    running(made)
    fed, stored, failed, lost_one = (f"http://a.example/{name}" for name in ("fed", "stored", "failed", "lost"))
    made.page(TWO, (fed, stored, failed, lost_one))
    orphan(made)

    def write():
        made.say(fed)
        made.page(stored, ())
        made.fail(failed)
        made.page("http://a.example/orphan", (), body=b"nobody's")

    report = made.audit(time=Time(write))
    assert report.found == {"lost_urls": 1}
    assert report.examples == {"lost_urls": [lost_one]}


def test_page_that_is_replaced_meanwhile(made, monkeypatch):
    """What is wrong at first and right on a second look was being replaced, and is nothing wrong."""
    real, seen = TreeFiles.read, []

    def read(self, place, most=None):
        data = real(self, place, most)
        if place.endswith(f"{urls.key(ONE)}.html") and not seen:
            seen.append(place)
            return data[:3]
        return data

    monkeypatch.setattr(TreeFiles, "read", read)
    assert made.audit().ok
    assert seen


def test_files_that_vanish_meanwhile(made, monkeypatch):
    """A record, a failure or a robots.txt that is gone when it is read is nothing wrong."""
    real = TreeFiles.read
    monkeypatch.setattr(
        TreeFiles,
        "read",
        lambda self, path, most=None: real(self, path, most) if path in (TREE_RECORD, rules_path(1)) else None,
    )
    assert made.audit().ok


def test_mended_by_somebody_else(made, monkeypatch):
    """What is right by the time it is to be mended is left alone."""
    torn_record(made)
    torn_error(made)
    torn_robots(made)
    orphan(made)

    def mend():
        made.page(ONE, ())
        made.fail(BAD)
        made.tree.put_robots("a.example", RobotsRecord("http://a.example/robots.txt", "t", 200, ""))
        made.page("http://a.example/orphan", (), body=b"nobody's")

    elsewhere(made)
    time = Time()
    time.meanwhile = lambda: time.now > 10 and mend()  # under the watch of a repair
    report = made.audit(repair=True, time=time)
    assert report.ok
    assert made.file("links", ONE).exists()
    assert made.file("errs", BAD).exists()
    assert (made.root / ".fscrawl/robots/a.example.json").exists()
    assert made.file("htmls", "http://a.example/orphan").exists()


def test_a_file_system_that_fails(made, monkeypatch):
    """A read that fails for longer than `Retrying` waits ends the audit."""
    real = TreeFiles.read

    def read(self, place, most=None):
        if place not in (TREE_RECORD, rules_path(1)):
            raise TreeBusyError("stale")
        return real(self, place, most)

    monkeypatch.setattr(TreeFiles, "read", read)
    with pytest.raises(TreeBusyError):
        made.audit()


def test_log_of_a_repair(made):
    """Whoever reads the log of a repair finds a machine that has left, and how long its log is."""
    lost(made)
    before = {path.name for path in (made.root / ".fscrawl/machines").iterdir()}
    made.audit(repair=True)
    (path,) = [p for p in (made.root / ".fscrawl/machines").iterdir() if p.name not in before]
    hello, bye = map(json.loads, path.read_text().splitlines())
    assert hello["hello"] == path.stem
    assert bye["bye"]
    assert bye["log"] == (made.root / log_path(bye["generation"], path.stem)).stat().st_size > 0


def test_removal_that_fails(made, monkeypatch):
    """A tree that has become read-only ends a repair with that reason."""
    flipped_body(made)

    def failing(path):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(TreeError, match="read-only"):
        made.audit(repair=True)


# -- what the next crawl puts right


def unfinished(made, url="http://a.example/new"):
    """What a full disk leaves of a URL that waits: a body without a record, and what was being written."""
    made.say(url)
    body = made.file("htmls", url)
    body.parent.mkdir(exist_ok=True)
    body.write_bytes(b"<p>no room for the record")
    (made.file("links", url).parent / f".{urls.key(url)}.json.m-1-aa.31-0.tmp").write_bytes(b"{")
    temporary_lease(made)


def test_what_the_next_crawl_puts_right_is_nothing_wrong(made):
    """What is left of URLs that wait, and half-written files of .fscrawl, are counted, and no problem."""
    unfinished(made)
    report = made.audit()
    assert report.found == report.by_crawl == {"orphan_bodies": 1, "dead_temporaries": 2}
    assert (report.ok, report.pending) == (True, 1)
    (*_, last) = report.lines()
    assert last == f"nothing is wrong; the next crawl does the rest (3):  {command()} crawl --root {made.root}"
    assert report.as_json()["found"]["orphan_bodies"]["by_crawl"] == 1
    report = made.audit(repair=True)
    assert report.found == report.mended
    assert report.ok


def test_a_repair_in_part_hides_no_problem():
    """If some of a kind were repaired, those that are left count as wrong: the next crawl may not put them right."""
    report = Report("root", repaired=True)
    report.add("orphan_bodies", "a", by_crawl=True)
    report.add("orphan_bodies", "b")
    report.mended["orphan_bodies"] += 1
    assert not report.ok


def test_what_no_crawl_puts_right_is_wrong(made):
    """A body that nobody will fetch again, and a half-written file of a page that is stored, are problems."""
    unfinished(made)
    orphan(made)
    temporary(made)
    report = made.audit()
    assert report.by_crawl == {"orphan_bodies": 1, "dead_temporaries": 2}
    assert not report.ok
    (*_, last) = report.lines()
    assert last.startswith("problems: 2; 3 more that the next crawl puts right by itself; to repair them:  ")
