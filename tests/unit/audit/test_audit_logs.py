"""An audit of what machines have said: logs, snapshots, terms, generations, leases."""

import json

import pytest

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.generations import Generations, cut_of
from fscrawl.storage.layout import again_path, log_path, term_path
from tests.support.audits import BAD, ONE, SEED, TWO, WHEN, flipped_body

LOG = log_path("m-1-aa", 0)


def repaired(made):
    """Repair, and look again: nothing may be wrong then."""
    report = made.audit(repair=True)
    assert report.ok, report
    assert made.audit().found == {}
    return report


def reason_of(made):
    generations = Generations(made.tree.files)
    return generations.reason(generations.newest())


# -- what was told


def test_links_of_a_page_that_is_not_told_wait(made):
    """A machine was killed between storing a page and telling it: the next crawl does that, so nothing is lost."""
    made.page("http://a.example/untold", ("http://a.example/new", "http://a.example/new", ONE))
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)


def test_after_the_rules_became_wider_all_links_wait(made):
    """Marks of narrower rules do not count: the links that those rules left out are told by the next crawl."""
    made.page(TWO, ("http://a.example/new",))
    narrow = Settings(crawl=CrawlSettings(scope="host", deny=("new",)))
    (made.root / LOG).unlink()
    made.tell(narrow)
    (made.root / ".fscrawl/machines/m-1-aa.log").unlink()
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)
    made.tell()
    assert made.audit().found == {"lost_urls": 1}


def test_marks_whose_rules_are_not_known_do_not_count(made):
    """If the file of a term is gone its marks count for nobody, so its pages are told again."""
    made.page(TWO, ("http://a.example/new",))
    (made.root / term_path(made.term().digest)).write_bytes(b"{")
    made.tell(Settings(crawl=CrawlSettings(scope="any", deny=("x",))))
    assert made.audit(settings=Settings(crawl=CrawlSettings(scope="any", deny=("y",)))).found == {"damaged_rules": 1}


@pytest.mark.parametrize("in_snapshot", [False, True])
def test_page_that_was_told_and_is_gone(made, in_snapshot):
    """A page whose record somebody has deleted is not fetched again by itself, so it is lost; a repair helps."""
    if in_snapshot:
        made.snapshots()
    made.file("links", ONE).unlink()
    made.file("htmls", ONE).unlink()
    report = made.audit()
    assert (report.found, report.pending) == ({"lost_urls": 1}, 0)
    assert repaired(made).generation == 1
    assert set(made.put_back()) == {ONE}
    assert made.audit().pending == 1


def test_page_that_is_gone_and_that_nothing_links_to(made):
    """Such a page is found by the line that once found it; and a seed without any."""
    made.page("http://a.example/alone", ())
    made.tell()
    for url in ("http://a.example/alone", SEED):
        made.file("links", url).unlink()
        made.file("htmls", url).unlink()
    assert made.audit().found == {"lost_urls": 2}
    repaired(made)


@pytest.mark.parametrize("in_snapshot", [False, True])
def test_failure_that_is_gone(made, in_snapshot):
    """A failure whose record is gone is put back with its time, since a failure counts in every generation."""
    if in_snapshot:
        made.snapshots()
        (made.root / LOG).write_bytes((made.root / LOG).read_bytes().splitlines(keepends=True)[0])
        Generations(made.tree.files).ensure({"reason": "cut", "log": "m-1-aa", "expected": [0, 10**6]})
    made.file("errs", BAD).unlink()
    assert made.audit().found == {"lost_urls": 1}
    assert repaired(made).put_back == 1
    (found,) = [line for line in made.lines_put_back() if line.url == BAD]
    assert found.flags.retry_of == WHEN
    assert made.audit().pending == 1


def test_depths_count_where_there_is_a_limit(made):
    """A page that was told deeper than it is known now is not told; one that is known too deep does not wait."""
    settings = Settings(crawl=CrawlSettings(scope="any", max_depth=2))
    made.tell(settings)
    made.snapshots(settings)
    made.page("http://a.example/deep", ("http://a.example/deeper",), depth=2)
    made.page(TWO, ("http://a.example/lost",))
    report = made.audit(settings=settings)
    assert (report.examples, report.pending) == ({"lost_urls": ["http://a.example/lost"]}, 0)
    made.say(TWO, depth=0)
    report = made.audit(settings=settings)
    assert (report.found, report.pending) == ({}, 1)


def test_what_is_outside_the_scope_does_not_wait(made):
    """A line that is set aside, because its URL is outside the scope, is not counted as waiting."""
    made.say("http://a.example/inside", "http://c.example/outside")
    assert made.audit(settings=Settings(crawl=CrawlSettings(scope="domain"))).pending == 1


def test_what_waits_in_a_snapshot(made):
    """What waits, and what has failed, is read from snapshots where the logs do not have it any more."""
    made.say("http://a.example/waits")
    made.snapshots()
    for path in (made.root / ".fscrawl/log").glob("*/0.log"):
        path.rename(path.with_name("1.log"))
        path.with_name("1.log").write_bytes(f"L {path.parent.name} 1 {10**4}\n".encode())
    for path in (made.root / ".fscrawl/machines").iterdir():
        path.unlink()
    assert made.audit().pending == 1


# -- logs


def cut_by_heartbeat(made):
    path = made.root / LOG
    path.write_bytes(path.read_bytes()[:-100])


def gone_log(made):
    (made.root / LOG).unlink()


def hole(made):
    path = made.root / LOG
    data = path.read_bytes()
    path.write_bytes(data[:60] + b"\0" * 40 + data[100:])


def cut_by_snapshot(made):
    made.snapshots()
    (made.root / ".fscrawl/machines/m-1-aa.log").unlink()
    cut_by_heartbeat(made)


def cut_by_next_segment(made):
    (made.root / ".fscrawl/machines/m-1-aa.log").unlink()
    size = (made.root / LOG).stat().st_size
    (made.root / log_path("m-1-aa", 1)).write_bytes(f"L m-1-aa 1 {size + 7}\n".encode())


def missing_segment(made):
    (made.root / log_path("m-1-aa", 2)).write_bytes(b"L m-1-aa 2 500\n")


def removed_too_early(made):
    made.snapshots()
    made.say(ONE)
    (machine,) = made.first - {"m-1-aa"}
    (made.root / log_path(machine, 0)).rename(made.root / log_path(machine, 1))
    (made.root / log_path(machine, 1)).write_bytes(f"L {machine} 1 {10**4}\n".encode())
    (made.root / f".fscrawl/machines/{machine}.log").unlink()


@pytest.mark.parametrize(
    "damage",
    [cut_by_heartbeat, gone_log, hole, cut_by_snapshot, cut_by_next_segment, missing_segment, removed_too_early],
)
def test_damaged_logs(made, damage):
    """A log of which a part is missing is found; a repair makes a generation, by which all machines forgive it."""
    damage(made)
    assert made.audit().found == {"damaged_logs": 1}
    repaired(made)
    log, _ = cut_of(reason_of(made))
    assert (made.root / f".fscrawl/log/{log}").name == log


def torn_block(made):
    with (made.root / LOG).open("ab") as file:
        file.write(b"B 500 0 1:500\nu 1 - http://a.exam")


def zeros(made):
    with (made.root / LOG).open("ab") as file:
        file.write(b"\0" * 500)


def torn_first_line(made):
    path = made.root / log_path("m-2-bb", 0)
    path.parent.mkdir()
    path.write_bytes(b"L m-2")


def empty_segment(made):
    torn_first_line(made)
    (made.root / log_path("m-2-bb", 0)).write_bytes(b"")


@pytest.mark.parametrize("damage", [torn_block, zeros, torn_first_line, empty_segment])
def test_torn_tails(made, damage):
    """What a machine was writing when it was killed counts for nobody, and is nothing wrong."""
    damage(made)
    made.say("http://a.example/later")
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)


def test_segments_that_snapshots_have(made):
    """A log may begin with a later segment if all snapshots have what stood before it."""
    made.say("http://a.example/waits")
    made.snapshots()
    for machine in made.first:
        end = made.end_of(machine)
        (made.root / log_path(machine, 1)).write_bytes(f"L {machine} 1 {end.bytes}\n".encode())
    made.snapshots()
    for machine in made.first:
        (made.root / log_path(machine, 0)).unlink()
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)


def test_cut_that_is_over(made, monkeypatch):
    """A log that seemed to be cut, and is whole at a second look, is nothing wrong: a share had shown an old state."""
    from fscrawl.admin.audit import scanner

    whole = (made.root / LOG).read_bytes()
    cut_by_heartbeat(made)
    monkeypatch.setattr(scanner, "caches_live_s", lambda root: (made.root / LOG).write_bytes(whole) * 0.0)
    assert made.audit().ok


def test_log_whose_machine_has_lost_it(made):
    """A machine whose own log was lost has begun a generation, and goes on under another id: nothing is wrong."""
    size = (made.root / LOG).stat().st_size
    gone_log(made)
    Generations(made.tree.files).advance({"reason": "cut", "log": "m-1-aa", "expected": [0, size]})
    assert made.audit().ok


# -- snapshots


def snapshot_of_a(made):
    return made.snapshots()[made.shard(SEED)]


def torn_snapshot(made):
    path = snapshot_of_a(made)
    path.write_bytes(path.read_bytes()[:-10])


def flipped_snapshot(made):
    path = snapshot_of_a(made)
    data = bytearray(path.read_bytes())
    data[-80] ^= 1
    path.write_bytes(data)


def old_snapshot(made):
    path = snapshot_of_a(made)
    snapshot_of_a(made)
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [torn_snapshot, flipped_snapshot, old_snapshot])
def test_damaged_snapshots(made, damage):
    """A snapshot that is damaged is found, also an old one; a repair removes it, and lets all be told anew."""
    damage(made)
    before = set((made.root / ".fscrawl/snap").iterdir())
    assert made.audit().found == {"damaged_snapshots": 1}
    assert repaired(made).generation == 1
    assert len(before - set((made.root / ".fscrawl/snap").iterdir())) == 1


def test_snapshot_that_is_not_sorted(made):
    """A snapshot whose digest is right, and which is not in order, was written by a wrong program: it is found."""
    import hashlib

    path = snapshot_of_a(made)
    head, _, rest = path.read_bytes().partition(b"\n")
    count = json.loads(head)["told"]
    numbers = [rest[8 * n : 8 * n + 8] for n in range(count)]
    assert count > 1
    body = b"".join([head, b"\n", *reversed(numbers), rest[8 * count : -65]])
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")
    assert made.audit().found == {"damaged_snapshots": 1}


# -- small files


def test_small_files(made):
    """A term, a generation and a lease that cannot be read are found; a repair leaves none of them."""
    term = made.root / term_path("0" * 16)
    term.write_bytes((made.root / term_path(made.term().digest)).read_bytes())
    (made.root / again_path(1)).write_bytes(b"")
    (made.root / ".fscrawl/leases/1.1").write_bytes(b"{}")
    kinds = ("damaged_rules", "damaged_generations", "torn_leases")
    assert made.audit().found == dict.fromkeys(kinds, 1)
    repaired(made)
    assert Generations(made.tree.files).newest() == 1
    assert not term.exists()


# -- generations


def test_repair_of_a_page_makes_a_generation(made):
    """A page that is to be fetched again was told: only a new generation lets machines do so."""
    flipped_body(made)
    assert repaired(made).generation == 1
    assert reason_of(made) == {"reason": "repair"}
    assert made.audit(repair=True).generation == 0


def test_repair_of_what_was_never_told_makes_none(made):
    """A lost URL that no log knows needs a line only."""
    made.page(TWO, ("http://a.example/lost",))
    assert repaired(made).generation == 0
