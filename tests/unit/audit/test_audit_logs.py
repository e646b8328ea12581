"""An audit of what machines have said: logs, generations, leases."""

import pytest

from fscrawl.admin.audit import scanner
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.generations import Generations
from fscrawl.frontier.flags import NO_FLAGS
from fscrawl.storage.layout import log_path, rules_path
from tests.support.audits import BAD, ONE, SEED, SETTINGS, TWO, flipped_body

LOG = log_path(1, "m-1-aa")
DENYING = Settings(crawl=CrawlSettings(scope="any", deny=("new",)))


def repaired(made):
    """Repair, and look again: nothing may be wrong then."""
    report = made.audit(repair=True)
    assert report.ok, report
    assert made.audit().found == {}
    return report


# -- what was told


def test_links_of_a_page_that_is_not_told_wait(made):
    """A machine was killed between storing a page and telling it: the next crawl does that, so nothing is lost."""
    made.page("http://a.example/untold", ("http://a.example/new", "http://a.example/new", ONE))
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)


def test_after_the_rules_became_wider_all_links_wait(made):
    """What was told by narrower rules does not count: the links that they left out are told by the next crawl."""
    made.page(TWO, ("http://a.example/new",))
    made.begin(DENYING)
    made.tell()
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)
    made.begin()
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)
    made.tell()
    assert made.audit().found == {"lost_urls": 1}
    assert made.audit(settings=DENYING).found == {}


def test_page_that_was_told_and_is_gone(made):
    """A page whose record somebody has deleted is not fetched again by itself, so it is lost; a repair helps."""
    made.file("links", ONE).unlink()
    made.file("htmls", ONE).unlink()
    report = made.audit()
    assert (report.found, report.pending) == ({"lost_urls": 1}, 0)
    assert repaired(made).generation == 2
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


def test_failure_that_is_gone(made):
    """A failure whose record is gone is fetched again in a new generation, which knows nothing of it."""
    made.file("errs", BAD).unlink()
    assert made.audit().found == {"lost_urls": 1}
    assert repaired(made).put_back == 1
    (found,) = [line for line in made.lines_put_back() if line.url == BAD]
    assert found.flags is NO_FLAGS
    assert made.audit().pending == 1


def test_depths_count_where_there_is_a_limit(made):
    """A page that was told deeper than it is known now is not told; one that is known too deep does not wait."""
    settings = Settings(crawl=CrawlSettings(scope="any", max_depth=2))
    made.begin(settings)
    made.tell()
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


# -- logs


def cut(made):
    path = made.root / LOG
    path.write_bytes(path.read_bytes()[:-100])


def gone_log(made):
    (made.root / LOG).unlink()


def hole(made):
    path = made.root / LOG
    data = path.read_bytes()
    path.write_bytes(data[:60] + b"\0" * 40 + data[100:])


@pytest.mark.parametrize("damage", [cut, gone_log, hole])
def test_damaged_logs(made, damage):
    """A log of which a part is missing is found; a repair begins a generation, in which all is told again."""
    damage(made)
    assert made.audit().found == {"damaged_logs": 1}
    assert repaired(made).generation == 2


def torn_block(made):
    with (made.root / LOG).open("ab") as file:
        file.write(b"B 500 0 1:500\nu 1 - http://a.exam")


def zeros(made):
    with (made.root / LOG).open("ab") as file:
        file.write(b"\0" * 500)


def empty_log(made):
    (made.root / log_path(1, "m-2-bb")).write_bytes(b"")


@pytest.mark.parametrize("damage", [torn_block, zeros, empty_log])
def test_torn_tails(made, damage):
    """What a machine was writing when it was killed counts for nobody, and is nothing wrong."""
    damage(made)
    made.say("http://a.example/later")
    report = made.audit()
    assert (report.found, report.pending) == ({}, 1)


def test_cut_that_is_over(made, monkeypatch):
    """A log that seemed to be cut, and is whole at a second look, is nothing wrong: a share had shown an old state."""
    whole = (made.root / LOG).read_bytes()
    cut(made)
    monkeypatch.setattr(scanner, "caches_live_s", lambda root: (made.root / LOG).write_bytes(whole) * 0.0)
    assert made.audit().ok


def test_logs_of_older_generations_do_not_count(made):
    """What is wrong in them is nothing wrong: all is told again from the records."""
    gone_log(made)
    made.begin()
    made.tell()
    assert made.audit().ok


# -- small files


def test_small_files(made):
    """Rules and a lease that cannot be read are found; a repair leaves neither, and nobody works by such rules."""
    made.begin()
    (made.root / rules_path(2)).write_bytes(b"")
    (made.root / ".fscrawl/leases/1.1").write_bytes(b"{}")
    (made.root / ".fscrawl/leases/2.1").write_bytes(b'{"holder": "\xff"}')
    assert made.audit().found == {"damaged_rules": 1, "torn_leases": 2}
    assert made.audit(repair=True).ok
    newest = Generations(made.tree.files).newest()
    assert (newest.number, newest.reason, newest.links is None) == (3, "repair", False)


def test_snapshots_are_not_read(made):
    """They are only a cache: whoever finds one damaged reads the logs."""
    (made.root / ".fscrawl/generations/1/snap/1.1.1").write_bytes(b"noise")
    assert made.audit().ok


# -- generations


def test_repair_of_a_page_makes_a_generation(made):
    """A page that is to be fetched again was told: only a new generation lets machines do so."""
    flipped_body(made)
    assert repaired(made).generation == 2
    newest = Generations(made.tree.files).newest()
    assert (newest.reason, newest.refresh_before) == ("repair", "")
    assert made.audit(repair=True).generation == 0


def test_a_repair_goes_by_the_wider_rules(made):
    """Those of the newest generation stay, if they cover the settings; else those of the settings are its rules."""
    for settings in (SETTINGS, DENYING):
        made.begin(settings)
        made.tell()
        flipped_body(made)
        assert made.audit(repair=True, settings=SETTINGS).ok
        assert not Generations(made.tree.files).newest().links.deny
        made.page(ONE, ())
        made.page(ONE, (SEED,))
