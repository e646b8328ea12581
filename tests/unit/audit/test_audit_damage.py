"""What an audit finds in small trees, and what its repair does to them."""

import errno
import os
from pathlib import Path

import pytest

from fscrawl import urls
from fscrawl.errors import PlantedError
from fscrawl.request import Request, spelling
from fscrawl.storage.probe_directory import ProbeDirectory
from tests.support.audits import (
    BAD,
    ELSEWHERE,
    MOVED,
    ONE,
    SEED,
    TWO,
    bad_escape,
    error_beside,
    flipped_body,
    halved_url,
    left_probe,
    lost,
    misplaced_copy,
    misplaced_error,
    misplaced_host,
    misplaced_key,
    missing_body,
    orphan,
    other_url,
    short_body,
    temporary,
    temporary_lease,
    temporary_settings,
    temporary_tree,
    torn_error,
    torn_head,
    torn_record,
    torn_robots,
    unexpected_body,
)


def test_whole_tree(any_made):
    """In a tree of which all is right nothing is found, and everything is counted."""
    report = any_made.audit()
    assert report.found == {}
    assert report.ok
    assert (report.records, report.pages, report.redirects, report.others) == (6, 4, 1, 1)
    assert (report.hosts, report.errors, report.robots, report.pending, report.bytes) == (2, 1, 1, 0, 28)
    assert list(report.lines())[-1] == "nothing is wrong"


DAMAGES = [
    (torn_record, {"torn_records": 1}, {ONE}),
    (torn_head, {"torn_records": 1}, {ONE}),
    (bad_escape, {"torn_records": 1}, {ONE}),
    (other_url, {"torn_records": 1}, {ONE}),
    (misplaced_host, {"misplaced_records": 1, "orphan_bodies": 1}, {TWO}),
    (misplaced_copy, {"misplaced_records": 1}, set()),
    (misplaced_key, {"misplaced_records": 1}, {ELSEWHERE}),
    (halved_url, {"torn_records": 1}, {ONE}),
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
    """Each damage is found as what it is; a repair mends it, and what is to be fetched is put back."""
    made = any_made
    damage(made)
    before = made.files()
    assert made.audit().found == found
    assert made.files() == before  # a look changes nothing
    report = made.audit(repair=True)
    assert report.found == report.mended == found
    assert set(made.put_back()) == put_back
    assert report.put_back == len(put_back)
    again = made.audit()
    assert again.found == {}
    assert again.pending == len(put_back)
    assert again.errors == len([url for url in [BAD] if url not in put_back])


def test_what_is_put_back_keeps_its_place(made):
    """A page is put back with the depth and the referrer that its record had, torn or not."""
    torn_record(made)
    missing_body(made)
    made.audit(repair=True)
    assert made.put_back() == {ONE: (1, urls.key(SEED)), TWO: (1, urls.key(SEED))}


def test_torn_seed_is_not_searched(made):
    """A seed whose record is torn waits by itself: it is removed and nothing is put back."""
    made.file("links", SEED).write_bytes(b"")
    report = made.audit(repair=True)
    assert (report.ok, report.put_back) == (True, 0)
    assert not made.file("htmls", SEED).exists()


def test_torn_record_of_a_known_url(made):
    """A torn record whose URL waits in a log is put back from there."""
    url = "http://a.example/unlinked"
    made.say(url)
    made.page(url, ())
    made.file("links", url).write_bytes(b"{")
    report = made.audit(repair=True)
    assert (report.ok, set(made.put_back())) == (True, {url})
    assert made.audit().pending == 1


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
    assert list(report.lines())[-1] == "repaired: 0 of 1"


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
    assert made.audit().pending == 1


def test_strays(made):
    """A file that does not belong to the crawl is reported, and left by a repair; one that NFS keeps is not."""
    (made.root / "htmls/a.example/.nfs0001").write_bytes(b"")
    strays = [
        "htmls/note.txt",
        "links/a.example/x.html",
        "errs/a.example/a.json",
        ".fscrawl/robots/x",
        ".fscrawl/generations/f",
        ".fscrawl/generations/1/f",
        ".fscrawl/generations/1/log/f",
        ".fscrawl/generations/1/snap/f",
    ]
    (made.root / ".fscrawl/feed").mkdir()
    for stray in strays:
        (made.root / stray).write_bytes(b"")
    (made.root / "htmls/a.example/directory").mkdir()
    os.mkfifo(made.root / "links/a.example" / f"{'0' * 24}.json")
    report = made.audit(repair=True)
    assert report.found == {"strays": 9, "planted": 1}
    assert report.mended.total() == 0
    assert all((made.root / stray).exists() for stray in strays)


def test_planted(made):
    """What stands in place of files and is none is counted, and named with what it is, in text and as JSON."""
    (made.root / "private").write_bytes(b"mine")
    (made.root / "links/a.example" / f"{'1' * 24}.json").mkdir()
    (made.root / "links/b.link").symlink_to(made.root / "links")
    (made.root / "errs/a.example" / f"{'2' * 24}.json").symlink_to("/dev/zero")
    (made.root / ".fscrawl/leases/3.1").mkdir()
    logs = made.root / ".fscrawl/generations/1/log"
    (logs / "loop").symlink_to("loop")
    (logs / "m-2-bb.log").touch()
    os.truncate(logs / "m-2-bb.log", 1 << 40)
    (made.root / ".fscrawl/robots/b.example.json").symlink_to(made.root / "private")
    os.mkfifo(made.root / ".fscrawl/waited")
    report = made.audit()
    assert report.found["planted"] == 8
    assert set(report.found) <= {"planted", "damaged_logs"}
    text = "\n".join(report.lines())
    assert "links, FIFOs, directories and the like in place of files: 8" in text
    assert "    links/b.link: a symbolic link" in text
    assert report.as_json()["found"]["planted"]["count"] == 8
    assert all(": " in example for example in report.as_json()["found"]["planted"]["examples"])


def test_planted_in_place_of_pages(made):
    """A repair fetches again what a link or a directory has taken the place of, and leaves the rest to a person."""
    for url in (ONE, TWO):
        made.file("links", url).unlink()
    made.file("links", ONE).symlink_to("/dev/zero")
    made.file("links", TWO).mkdir()
    (made.file("links", TWO) / "inside").write_bytes(b"mine")
    made.file("htmls", SEED).unlink()
    os.mkfifo(made.file("htmls", SEED))
    (made.root / "links/loop").symlink_to("loop")
    report = made.audit(repair=True)
    assert (report.found["planted"], report.found["damaged_bodies"], report.mended["planted"]) == (4, 1, 3)
    assert set(made.put_back()) == {SEED, ONE, TWO}
    assert not any(made.tree.files.exists(made.tree.tree_path("links", urls.host(u), urls.key(u))) for u in (ONE, TWO))
    assert [path.read_bytes() for path in (made.root / "links").rglob("inside")] == [b"mine"]
    assert made.audit().found["planted"] == 2  # the loop, and the directory that was set aside


def test_planted_probes(made):
    """What somebody calls like the directory of a probe does not end a repair, and nothing behind a link is touched."""
    private = made.root.parent / "private"
    private.mkdir()
    (private / "page").write_bytes(b"mine")
    machinery = made.root / ".fscrawl"
    (machinery / "probe-a-1-aa").write_bytes(b"")
    (machinery / "probe-b-1-bb/directory").mkdir(parents=True)
    (machinery / "probe-c-1-cc").symlink_to(private)
    (machinery / "probe-d-1-dd").mkdir()
    (machinery / "probe-d-1-dd/page").symlink_to(private / "page")
    report = made.audit(repair=True)
    assert report.found == {"strays": 1, "planted": 1, "dead_temporaries": 2}
    assert report.mended == {"dead_temporaries": 1}
    assert (private / "page").read_bytes() == b"mine"
    assert sorted(path.name for path in machinery.glob("probe-*")) == ["probe-a-1-aa", "probe-b-1-bb", "probe-c-1-cc"]


def test_a_probe_that_becomes_a_link(made):
    """Neither is it if the link appears between the look and the repair."""
    private = made.root.parent / "private"
    private.mkdir()
    (private / "page").write_bytes(b"mine")
    probe = made.root / ".fscrawl/probe-a-1-aa"
    probe.symlink_to(private)
    directory = ProbeDirectory(made.tree.files, "a-1-aa")
    assert not directory.clear()
    assert not directory.clear(["page"])
    with pytest.raises(PlantedError):
        directory.append("log", b"x\n")
    assert {path.name: path.read_bytes() for path in private.iterdir()} == {"page": b"mine"}


def test_links_of_the_user(made, tmp_path):
    """A link that a user has put into the root for himself is none of the crawl's business; others are."""
    (made.root / "dataset").symlink_to(tmp_path)
    assert made.audit().ok
    (made.root / ".hidden.tmp").symlink_to(tmp_path)
    (made.root / ".fscrawl/notes").symlink_to(tmp_path)
    assert made.audit().found == {"planted": 2}


@pytest.mark.parametrize("directory", ["links", "htmls", "errs"])
def test_what_may_not_be_read(made, directory, monkeypatch):
    """A file of another user may be whole: it is named, and a repair leaves it and what belongs to it."""
    path = made.file(directory, BAD if directory == "errs" else ONE)
    real = os.open

    def denied(name, flags, *more, **options):
        if name == path.name and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "permission denied")
        return real(name, flags, *more, **options)

    before = made.files()
    monkeypatch.setattr(os, "open", denied)
    report = made.audit(repair=True)
    monkeypatch.undo()
    assert report.found == {"planted": 1}
    assert "permission denied" in "\n".join(report.lines())
    assert report.mended.total() == report.put_back == 0
    assert before.items() <= made.files().items()


def test_a_body_that_is_much_too_long(made, monkeypatch):
    """Of a body that is longer than its record says nothing is read: it may be as long as a disk."""
    body, real, most = made.file("htmls", ONE), os.read, []

    def read(descriptor, count):
        most.append(count)
        return real(descriptor, count)

    os.truncate(body, 1 << 30)
    monkeypatch.setattr(os, "read", read)
    report = made.audit()
    assert report.found == {"damaged_bodies": 1}
    assert "1,073,741,824 bytes, but the record says 7" in "\n".join(report.lines())
    assert max(most) < 1 << 20


def test_a_request_whose_record_is_torn(made):
    """A request of which only rules of a site have told is found again by its key, and is put back as it is."""
    asked = spelling(Request("http://a.example/search", form={"q": "a b"}))
    listing = made.page("http://a.example/list", (), requests=(asked,))
    made.page(asked, ())
    made.file("links", asked).write_bytes(b"{")
    made.known.pop(asked)
    made.tell()
    report = made.audit(repair=True)
    assert report.found["torn_records"] == 1
    assert made.put_back() == {asked: (2, listing.key)}
    assert not made.file("links", asked).exists()
