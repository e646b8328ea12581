"""What an audit finds in small trees, and what its repair does to them."""

import errno
import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from fscrawl import cli, store, urls
from fscrawl.admin.audit import KINDS, audit, scanner
from fscrawl.config.settings import CrawlSettings, FleetSettings, Settings
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet import feed, heartbeat
from fscrawl.fleet.leases import Machinery
from fscrawl.storage.layout import TREE_RECORD
from fscrawl.storage.records import ErrorRecord, PageRecord, RobotsRecord, TreeRecord
from fscrawl.store import Tree, TreeFiles
from tests.support.beats import facts_of

CHECKOUT = Path(__file__).parents[2]
SEED = "http://a.example/"
ONE, TWO, MOVED, TYPE, BAD = (f"http://a.example/{name}" for name in ("one", "two", "moved", "type", "bad"))
ELSEWHERE = "http://b.example/x"
SETTINGS = Settings(crawl=CrawlSettings(scope="any"), fleet=FleetSettings(beat=10.0, dead_after=60.0))
SHARDS = 16


class Time:
    """A clock that only sleeping moves; `meanwhile` happens at each sleep."""

    def __init__(self, meanwhile=lambda: None):
        self.now = 0.0
        self.meanwhile = meanwhile

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile()


class Made:
    """A small tree, as machine `m-1-aa` of long ago left it."""

    def __init__(self, root, fanout=0, partition="host"):
        self.root = root
        record = TreeRecord(format=1, crawl="c1", created_at="t", shards=SHARDS, fanout=fanout, partition=partition)
        store.create(root, record, '[crawl]\nscope = "any"\n', f"{SEED}\n")
        self.tree = Tree(root, "m-1-aa")
        self.log("m-1-aa", {"hello": "m-1-aa"}, {"bye": True})
        self.page(SEED, (ONE, TWO, MOVED, TYPE, BAD), depth=0)
        self.page(ONE, (SEED, ELSEWHERE))
        self.page(TWO, ())
        self.page(ELSEWHERE, (), depth=2)
        self.page(MOVED, (SEED,), body=None, redirect=SEED)
        self.page(TYPE, (), body=None, skipped="type application/pdf")
        self.fail(BAD)
        self.tree.put_robots("a.example", RobotsRecord("http://a.example/robots.txt", "t", 200, ""))

    def page(self, url, links, *, depth=1, body=b"<p>text", **more):
        data = body or b""
        digest = hashlib.sha256(data).hexdigest() if data else ""
        referrer = urls.key(SEED) if depth else ""
        record = PageRecord(
            url, urls.key(url), depth, referrer, "t", "m-1-aa", 200, {}, len(data), digest, 0.1, tuple(links), **more
        )
        self.tree.put_page(urls.host(url), record, body)
        return record

    def fail(self, url):
        record = ErrorRecord(url, urls.key(url), 1, urls.key(SEED), "t", "m-1-aa", "timeout", "no answer", 1)
        self.tree.put_error(urls.host(url), record)

    def file(self, room, url):
        return Path(self.tree.path_of(room, urls.host(url), urls.key(url)))

    def log(self, machine, *lines):
        with (self.root / f".fscrawl/machines/{machine}.log").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def feed(self, *found, machine="m-1-aa"):
        writer = feed.FeedWriter(Machinery(Tree(self.root, machine)))
        for url in found:
            writer.add(feed.Found(urls.shard(urls.host(url), SHARDS), 1, "", url))
        writer.flush()
        writer.close()

    def fed(self):
        """URLs that any machine has written into a feed, with depth and referrer."""
        reader = feed.FeedReader(Machinery(self.tree), "nobody")
        return {found.url: (found.depth, found.referrer) for found in reader.read(range(SHARDS))}

    def audit(self, *, repair=False, time=None, settings=SETTINGS, seeds=(SEED,), **more):
        """Audit as a machine of its own."""
        time = time or Time()
        machine = heartbeat.new_machine_id()
        return audit(Tree(self.root, machine), settings, seeds, repair=repair, clock=time, sleep=time.sleep, **more)

    def files(self):
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture(params=[(0, "host"), (1, "host"), (0, "url")], ids=["flat", "fanout", "by url"])
def any_made(request, tmp_path):
    return Made(tmp_path / "root", *request.param)


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path / "root")


# -- what is wrong


def test_whole_tree(any_made):
    """In a tree of which all is right nothing is found, and everything is counted."""
    report = any_made.audit()
    assert report.found == {}
    assert report.ok
    assert (report.records, report.pages, report.redirects, report.skipped) == (6, 4, 1, 1)
    assert (report.hosts, report.errors, report.robots, report.waiting, report.bytes) == (2, 1, 1, 0, 28)
    assert list(report.lines())[-1] == "nothing is wrong"


def torn_record(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes()[:-20])


def torn_head(made):
    made.file("links", ONE).write_bytes(b'{"url":"http://a.exa')


def bad_escape(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes().replace(b'"url":"http:', rb'"url":"\xttp:'))


def other_url(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes()[:-20].replace(b"/one", b"/two"))


def misplaced_host(made):
    path = made.file("links", TWO)
    target = Path(made.tree.path_of("links", "b.example", urls.key(TWO)))
    target.parent.mkdir(exist_ok=True)
    path.rename(target)


def misplaced_copy(made):
    target = Path(made.tree.path_of("links", "b.example", urls.key(TWO)))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(made.file("links", TWO).read_bytes())


def misplaced_key(made):
    path = made.file("links", ELSEWHERE)
    path.write_bytes(path.read_bytes().replace(urls.key(ELSEWHERE).encode(), b"0" * 24))


def misplaced_url(made):
    """A lone surrogate, by somebody's hand."""
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes().replace(b'"url":"http://a.example/one"', rb'"url":"http://a.example/\ud800"'))


def missing_body(made):
    made.file("htmls", TWO).unlink()


def short_body(made):
    made.file("htmls", ONE).write_bytes(b"<p>te")


def flipped_body(made):
    made.file("htmls", ONE).write_bytes(b"<p>tezt")


def unexpected_body(made):
    made.file("htmls", MOVED).parent.mkdir(exist_ok=True)
    made.file("htmls", MOVED).write_bytes(b"of an earlier answer")


def orphan(made):
    made.file("htmls", "http://a.example/orphan").parent.mkdir(exist_ok=True)
    made.file("htmls", "http://a.example/orphan").write_bytes(b"nobody's")


def error_beside(made):
    made.fail(ONE)


def torn_error(made):
    made.file("errs", BAD).write_bytes(b"\0\0\0\0")


def misplaced_error(made):
    target = Path(made.tree.path_of("errs", "b.example", urls.key(BAD)))
    target.parent.mkdir(parents=True)
    made.file("errs", BAD).rename(target)


def torn_robots(made):
    (made.root / ".fscrawl/robots/a.example.json").write_bytes(b"{")


def temporary(made):
    (made.file("links", ONE).parent / f".{urls.key(ONE)}.json.m-1-aa.31-0.tmp").write_bytes(b"{")


def temporary_lease(made):
    (made.root / ".fscrawl/leases/.1.2.m-1-aa.31-0.tmp").write_bytes(b"")


def temporary_settings(made):
    (made.root / ".crawl.toml.m-1-aa.31-0.tmp").write_bytes(b"")


def temporary_tree(made):
    (made.root / ".fscrawl/.tree.json.m-1-aa.31-0.tmp").write_bytes(b"")


def left_probe(made):
    (made.root / ".fscrawl/probe-m-1-aa").mkdir()
    (made.root / ".fscrawl/probe-m-1-aa/page").write_bytes(b"")


def lost(made):
    made.page(TWO, ("http://a.example/lost",))


DAMAGES = [
    (torn_record, {"torn_records": 1}, {ONE}),
    (torn_head, {"torn_records": 1}, {ONE}),
    (bad_escape, {"torn_records": 1}, {ONE}),
    (other_url, {"torn_records": 1}, {ONE}),
    (misplaced_host, {"misplaced_records": 1, "orphan_bodies": 1}, {TWO}),
    (misplaced_copy, {"misplaced_records": 1}, set()),
    (misplaced_key, {"misplaced_records": 1}, {ELSEWHERE}),
    (misplaced_url, {"misplaced_records": 1}, {ONE}),
    (missing_body, {"missing_bodies": 1}, {TWO}),
    (short_body, {"damaged_bodies": 1}, {ONE}),
    (flipped_body, {"damaged_bodies": 1}, {ONE}),
    (unexpected_body, {"unexpected_bodies": 1}, set()),
    (orphan, {"orphan_bodies": 1}, set()),
    (error_beside, {"errors_beside_pages": 1}, set()),
    (torn_error, {"damaged_errors": 1}, {BAD}),
    (misplaced_error, {"damaged_errors": 1}, {BAD}),
    (torn_robots, {"torn_robots": 1}, set()),
    (temporary, {"dead_temporaries": 1}, set()),
    (temporary_lease, {"dead_temporaries": 1}, set()),
    (temporary_settings, {"dead_temporaries": 1}, set()),
    (temporary_tree, {"dead_temporaries": 1}, set()),
    (left_probe, {"dead_temporaries": 1}, set()),
    (lost, {"lost_urls": 1}, {"http://a.example/lost"}),
]


@pytest.mark.parametrize(("damage", "found", "put_back"), DAMAGES, ids=[damage.__name__ for damage, _, _ in DAMAGES])
def test_damage(any_made, damage, found, put_back):
    """Each damage is found as what it is; a repair mends it and feeds what is to be fetched; then nothing is wrong."""
    made = any_made
    damage(made)
    before = made.files()
    assert made.audit().found == found
    assert made.files() == before  # a look changes nothing
    report = made.audit(repair=True)
    assert report.found == report.mended == found
    assert set(made.fed()) == put_back
    assert report.put_back == len(put_back)
    again = made.audit()
    assert again.found == {}
    assert again.waiting == len(put_back)
    assert again.errors == len([url for url in [BAD] if url not in put_back])


def test_what_is_put_back_keeps_its_place(made):
    """A page put back is fed with the depth and the referrer that its record had, torn or not."""
    torn_record(made)
    missing_body(made)
    made.audit(repair=True)
    assert made.fed() == {ONE: (1, urls.key(SEED)), TWO: (1, urls.key(SEED))}


def test_torn_seed_is_not_searched(made):
    """A seed whose record is torn waits by itself: it is removed and nothing is fed."""
    made.file("links", SEED).write_bytes(b"")
    report = made.audit(repair=True)
    assert (report.ok, report.put_back) == (True, 0)
    assert not made.file("htmls", SEED).exists()


def test_torn_record_of_a_fed_url(made):
    """A torn record whose URL is in a feed is removed, and the line that is there is enough."""
    made.feed(ONE)
    torn_head(made)
    report = made.audit(repair=True)
    assert (report.ok, report.put_back) == (True, 0)
    assert made.audit().waiting == 1


def test_torn_record_that_nothing_names(made):
    """A torn record of which nothing tells the URL is set aside: its page is not done any more, and it is not gone."""
    url = "http://a.example/unlinked"
    made.page(url, ())
    made.file("links", url).write_bytes(b"\0" * 9)
    report = made.audit(repair=True)
    assert not report.ok
    assert not made.tree.is_done("a.example", urls.key(url))
    assert made.file("links", url).with_suffix(".json.torn").read_bytes() == b"\0" * 9
    assert made.file("htmls", url).exists()
    assert list(report.lines())[-1] == "mended: 0 of 1, 1 are left"


@pytest.mark.parametrize("again", [False, True])
def test_what_was_set_aside(made, again):
    """What was set aside is wrong until its page is stored again, and is then removed by the next repair."""
    url = "http://a.example/unlinked"
    made.page(url, ())
    made.file("links", url).write_bytes(b"")
    made.audit(repair=True)
    if again:
        made.page(url, ())
    report = made.audit(repair=True)
    assert (report.ok, report.found["set_aside"]) == (again, 1)
    assert made.file("links", url).with_suffix(".json.torn").exists() is not again
    assert made.audit().ok is again


def test_failure_that_nothing_names(made):
    """A failure that cannot be read, and of which nothing tells the URL, is set aside as well."""
    url = "http://a.example/unlinked"
    made.fail(url)
    made.file("errs", url).write_bytes(b"")
    assert not made.audit(repair=True).ok
    assert made.file("errs", url).with_suffix(".json.torn").exists()
    made.fail(url)
    assert made.audit(repair=True).ok


def test_record_of_no_url(made):
    """A record whose URL is none, where nothing is linked to its place, is set aside."""
    path = Path(made.tree.path_of("links", "b.example", "0" * 24))
    path.write_bytes(made.file("links", MOVED).read_bytes().replace(b'"url":"http://a', b'"url":"gopher://a'))
    report = made.audit(repair=True)
    assert report.found == {"misplaced_records": 1}
    assert not report.ok


def test_error_beside_a_torn_record(made):
    """A failure beside a torn record goes with it, or the page would count as failed and never be fetched."""
    torn_record(made)
    error_beside(made)
    assert made.audit(repair=True).ok
    assert not made.file("errs", ONE).exists()
    assert made.audit().waiting == 1


def test_strays(made):
    """A file that does not belong to the crawl is reported, and left by a repair; one that NFS keeps is not."""
    (made.root / "htmls/a.example/.nfs0001").write_bytes(b"")
    strays = [
        "htmls/note.txt",
        "links/a.example/x.html",
        "errs/a.example/a.json",
        ".fscrawl/robots/x",
        ".fscrawl/feed/f",
    ]
    for stray in strays:
        (made.root / stray).write_bytes(b"")
    (made.root / "htmls/a.example/directory").mkdir()
    os.mkfifo(made.root / "links/a.example" / f"{'0' * 24}.json")
    report = made.audit(repair=True)
    assert report.found == {"strays": 7}
    assert report.mended.total() == 0
    assert all((made.root / stray).exists() for stray in strays)


def test_strays_of_a_fanned_out_tree(tmp_path):
    """Where a host's files are fanned out, one that is not in the directory of its first digits is a stray."""
    made = Made(tmp_path / "root", fanout=1)
    made.file("htmls", ONE).rename(made.root / "htmls/a.example" / made.file("htmls", ONE).name)
    (made.root / "links/a.example/00/zz").mkdir(parents=True)
    (made.root / "links/a.example/00" / f"{'1' * 24}.json").write_bytes(b"{}")
    (made.root / "links/a.example/more").mkdir()
    assert made.audit().found == {"strays": 4, "missing_bodies": 1}


# -- linked URLs


@pytest.mark.parametrize(
    ("links", "crawl", "found"),
    [
        (["http://a.example/new"], {}, 1),
        (["http://a.example/new", "http://a.example/new"], {}, 1),
        (["http://c.example/new"], {"scope": "domain"}, 0),
        (["http://a.example/new"], {"deny": ("new",)}, 0),
        (["http://a.example/new"], {"max_depth": 1}, 0),
        (["http://a.example/new"], {"max_depth": 2}, 1),
        (["HTTP://A.example/new"], {}, 0),
        (["http://a.example/\ud800"], {}, 0),
        ([ONE, BAD, SEED, MOVED], {}, 0),
    ],
)
def test_lost_urls(made, links, crawl, found):
    """A URL is lost if it is linked within the scope and the depth, and neither stored, failed nor waiting."""
    record = made.page(TWO, ())
    data = json.loads(record.to_json())
    made.file("links", TWO).write_text(json.dumps({**data, "links": links}))
    report = made.audit(settings=Settings(crawl=CrawlSettings(**{"scope": "any", **crawl})))
    assert report.found["lost_urls"] == found


def test_waiting_urls(made):
    """A linked URL that is in a feed or among the seeds waits, and is not lost."""
    made.page(TWO, ("http://a.example/fed", "http://a.example/seed"))
    made.feed("http://a.example/fed", ONE)
    report = made.audit(seeds=[SEED, "http://a.example/seed"])
    assert (report.found, report.waiting) == ({}, 2)


def test_navigation_is_looked_up_once(made, monkeypatch):
    """A link that many pages share is looked up once, and again when the memory of that was full."""
    asked = []
    real = scanner.fingerprint
    monkeypatch.setattr(scanner, "fingerprint", lambda url: asked.append(url) or real(url))
    for number in range(9):
        made.page(f"http://a.example/{number}", (ONE, TWO))
    made.audit()
    assert asked.count(ONE) == asked.count(TWO) == 1
    asked.clear()
    monkeypatch.setattr(scanner, "_CHECKED_MEMORY", 1)
    made.audit()
    assert asked.count(ONE) > 1


def test_unreadable_lines_of_feeds(made):
    """A line that a killed machine left half-written is noted, and is nothing wrong."""
    (made.root / ".fscrawl/feed/m-1-aa.log").write_bytes(b"\0\0\0\n")
    report = made.audit()
    assert report.ok
    assert any("feeds" in note for note in report.notes)


def test_many_urls_are_fed_in_pieces(made, monkeypatch):
    """However many URLs are put back, the feed is written now and then."""
    from fscrawl.admin.audit import repair

    monkeypatch.setattr(repair, "_FLUSH_EVERY", 3)
    new = [f"http://a.example/new{number}" for number in range(10)]
    made.page(TWO, new)
    assert made.audit(repair=True).put_back == 10
    assert set(made.fed()) == set(new)


# -- other machines


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
    assert "temporaries of machines that are at work: 1" in report.notes


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
    assert "temporaries of machines that are at work: 1" in report.notes


def test_what_a_live_machine_writes_meanwhile(made):
    """A link that a live machine feeds, stores or fails a moment later is not lost; nor is a body then an orphan."""
    running(made)
    fed, stored, failed, lost_one = (f"http://a.example/{name}" for name in ("fed", "stored", "failed", "lost"))
    made.page(TWO, (fed, stored, failed, lost_one))
    orphan(made)

    def write():
        made.feed(fed)
        made.page(stored, ())
        made.fail(failed)
        made.page("http://a.example/orphan", (), body=b"nobody's")

    report = made.audit(time=Time(write))
    assert report.found == {"lost_urls": 1}
    assert report.examples == {"lost_urls": [lost_one]}


def test_page_that_is_replaced_meanwhile(made, monkeypatch):
    """What is wrong at first and right on a second look was being replaced, and is nothing wrong."""
    real, seen = TreeFiles.read, []

    def read(self, place):
        data = real(self, place)
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
    monkeypatch.setattr(TreeFiles, "read", lambda self, path: real(self, path) if path == TREE_RECORD else None)
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


def test_hiccups_of_the_file_system(made, monkeypatch):
    """A read that fails in passing is tried again; one that goes on failing ends the audit."""
    real, failures = TreeFiles.read, [2]

    def read(self, place):
        if failures[0] and place != TREE_RECORD:
            failures[0] -= 1
            raise TreeBusyError("stale")
        return real(self, place)

    monkeypatch.setattr(TreeFiles, "read", read)
    assert made.audit().ok
    failures[0] = 1000
    with pytest.raises(TreeBusyError):
        made.audit()


def test_log_of_a_repair(made):
    """Whoever reads the log of a repair finds a machine that has left, and that sent what its feed holds."""
    lost(made)
    before = {path.name for path in (made.root / ".fscrawl/machines").iterdir()}
    made.audit(repair=True)
    (path,) = [p for p in (made.root / ".fscrawl/machines").iterdir() if p.name not in before]
    hello, bye = map(json.loads, path.read_text().splitlines())
    assert hello["hello"] == path.stem
    assert bye["bye"]
    assert bye["sent"] == (made.root / f".fscrawl/feed/{path.name}").stat().st_size


def test_removal_that_fails(made, monkeypatch):
    """A tree that has become read-only ends a repair with that reason."""
    flipped_body(made)

    def failing(path):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(TreeError, match="read-only"):
        made.audit(repair=True)


# -- the report


def test_examples_are_few_and_plain(made):
    """Of each kind five examples are shown, and no terminal obeys what came from the web."""
    for number in range(8):
        (made.root / f"htmls/a.example/\x1b[31m{number}").write_bytes(b"")
    report = made.audit()
    lines = list(report.lines())
    assert "files that do not belong to the crawl: 8" in lines
    assert len([line for line in lines if line.startswith("    htmls/a.example/?[31m")]) == 5
    assert "\x1b" not in "".join(lines)
    assert lines[-1].startswith("wrong: 8; ")


def test_words_of_a_repair(made):
    """A repair says how much of each kind it mended, and how to fetch what was put back."""
    flipped_body(made)
    error_beside(made)
    lines = list(made.audit(repair=True).lines())
    assert "bodies that differ from their record: 1, 1 mended" in lines
    assert lines[-1] == (f"mended: all 2; to fetch the 1 URLs that were put back:  fscrawl crawl --root {made.root}")


def test_bar(made, capsys):
    """The bar is on standard error, and gone at the end."""
    made.audit(bar=True)
    assert "records" in capsys.readouterr().err


# -- the command


def run(made, *words):
    return cli.main(["audit", "--root", str(made.root), *words])


def test_exit_codes(made, capsys):
    """Exit 0 says that nothing is wrong, 1 that something is, and 0 again that all has been mended."""
    assert run(made) == 0
    flipped_body(made)
    assert run(made) == 1
    assert "bodies that differ from their record: 1" in capsys.readouterr().out
    assert run(made, "--repair") == 0
    assert run(made) == 0


def test_json(made, capsys):
    """--json prints one object, with all kinds."""
    orphan(made)
    assert run(made, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert set(told["found"]) == set(KINDS)
    assert told["found"]["orphan_bodies"]["count"] == 1
    assert (told["ok"], told["records"], told["repaired"]) == (False, 6, False)


@pytest.mark.parametrize("there", [True, False])
def test_no_tree(tmp_path, capsys, there):
    """A directory that is no tree, or is not there, is exit code 75."""
    root = tmp_path if there else tmp_path / "none"
    assert cli.main(["audit", "--root", str(root)]) == 75
    assert "is the share mounted" in capsys.readouterr().err


def test_torn_tree_json(made, capsys):
    """A tree whose tree.json cannot be read is exit code 75."""
    (made.root / ".fscrawl/tree.json").write_bytes(b"{")
    assert run(made) == 75


def test_tree_that_cannot_be_read(made, monkeypatch, capsys):
    """An input/output error is exit code 75, with the place."""

    def failing(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "scandir", failing)
    assert run(made) == 75
    assert "input/output error" in capsys.readouterr().err


def test_documented(capsys):
    """The command line reference names every option of the audit, and the how-to every kind it knows."""
    with pytest.raises(SystemExit):
        cli.main(["audit", "--help"])
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert {"--root", "--repair", "--json"} <= options
    reference = (CHECKOUT / "docs/reference/cli.md").read_text(encoding="utf-8").partition("## fscrawl audit")[2]
    assert {option for option in options if f"`{option}" not in reference} == set()
    how_to = (CHECKOUT / "docs/how-to/audit.md").read_text(encoding="utf-8")
    assert {kind for kind in KINDS if f"`{kind}`" not in how_to} == set()
