"""`fscrawl pack`, `unpack` and `compact`: each kind of record, and what is odd in a tree."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from fscrawl import merge, urls
from fscrawl.admin.packing import convert
from fscrawl.config import settings
from fscrawl.errors import TreeError, UsageError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.heartbeat import Heartbeat, Permit
from fscrawl.fleet.machinery import Machinery
from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.packs import Packs
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from tests.support.crawling import fscrawl
from tests.support.layouts import contents, page_files, record_of
from tests.support.trees import Grown

A = "http://a.example/"
PDF = {"content-type": "application/pdf"}


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sync", lambda: None)


@pytest.fixture
def grown(root: Path) -> Grown:
    """A tree with each kind of record."""
    tree = Grown(root)
    tree.many(2, 30)
    tree.page(A, "<p>ünï".encode("utf-16"))
    tree.page(f"{A}empty", b"")
    tree.page(f"{A}a.pdf", b"%PDF-1.7 \r\n\r\n \x00\xff\r\n\r\n", file="pdf", headers=PDF)
    tree.rendered(f"{A}app", b"<div>", b"<div>seen \r\n\r\n", b"\x89PNG\r\n\r\n")
    tree.redirect(f"{A}old", A)
    tree.skipped(f"{A}x.zip")
    tree.fail(f"{A}gone")
    tree.fail("http://only.failures.example/")
    tree.fail(f"{A}old")  # and it is stored
    return tree


def do(command: str, root: Path) -> str:
    done = fscrawl(command, "--root", root)
    assert (done.code, done.warnings) == (0, []), done
    return done.out


def test_there_and_back(grown: Grown) -> None:
    root, before, files = grown.root, contents(grown.root), page_files(grown.root)
    assert do("pack", root).startswith("put into packs: 66 pages, 3 failures; files removed: ")
    assert contents(root) == before
    packs = page_files(root)
    assert len(packs) <= 5
    assert all("+" in path for path in packs)
    assert not any((root / "htmls").glob("*.example"))
    assert record_of(root).layout == "packs"
    assert do("compact", root).startswith("compacted: 66 pages, 3 failures; files removed: ")
    assert contents(root) == before
    assert not set(page_files(root)) & set(packs)
    assert do("unpack", root).startswith("taken out of packs: 66 pages, 3 failures; files removed: ")
    assert contents(root) == before
    assert page_files(root) == files
    assert record_of(root).layout == "files"
    assert record_of(root).change is None
    assert [path.name for path in (root / ".fscrawl/machines").iterdir()] == []


def test_bytes_of_files_are_the_same(grown: Grown) -> None:
    """Records, bodies, DOMs and pictures come back byte for byte."""
    before = {path: (grown.root / path).read_bytes() for path in page_files(grown.root)}
    do("pack", grown.root)
    do("unpack", grown.root)
    assert {path: (grown.root / path).read_bytes() for path in page_files(grown.root)} == before


def test_nothing_to_do(grown: Grown) -> None:
    assert do("unpack", grown.root) == "nothing to do: the pages are in files; files removed: 0, in 0.0 s\n"
    do("pack", grown.root)
    assert do("pack", grown.root).startswith("nothing to do: the pages are in packs")


def test_compact_needs_packs(grown: Grown) -> None:
    done = fscrawl("compact", "--root", grown.root)
    assert done.code == 2
    assert "its pages are in files" in done.err


def test_odd_files_stay(grown: Grown) -> None:
    """What is no page, or cannot be read as one, stays where it is, and is named."""
    root = grown.root
    grown.file("links", f"{A}empty").write_bytes(b'{"url":"http://a.ex')
    grown.rewrite(f"{A}old", urls.key(f"{A}old").encode(), urls.key(f"{A}other").encode())  # of another URL
    grown.file("htmls", A).unlink()
    (root / "links/a.example/notes.txt").write_text("mine")
    (root / f"htmls/a.example/{'ab' * 12}.html").write_bytes(b"an orphan")
    (root / f"links/a.example/{'cd' * 12}.json").symlink_to("/etc/passwd")
    os.mkfifo(root / f"errs/a.example/{'ef' * 12}.json")
    temporary = root / "links/a.example/.0a0a0a0a0a0a0a0a0a0a0a0a.json.other-1-aa.5a0c66e2b9f1d374.tmp"
    assert temporary_owner(temporary.name)
    temporary.write_bytes(b"{")
    out = do("pack", root)
    assert "64 pages, 3 failures" in out
    # the two records, and what was planted in place of two more
    assert "records that cannot be read, or are of another URL; they are no pages in packs: 4" in out
    assert "bodies that are missing: 1\n    htmls/a.example/" in out
    stay = {path for path in page_files(root) if "+" not in path}
    empty, old = (urls.key(f"{A}{name}") for name in ("empty", "old"))
    expected = {f"links/a.example/{empty}.json", f"links/a.example/{old}.json", f"htmls/a.example/{empty}.html"}
    expected |= {"links/a.example/notes.txt", f"htmls/a.example/{'ab' * 12}.html"}
    expected |= {f"links/a.example/{'cd' * 12}.json", f"errs/a.example/{'ef' * 12}.json"}
    assert stay == expected
    assert f"files that are not removed, since they belong to no page that was copied: {len(expected)}" in out
    there = contents(root)
    _, digests, bodies = there["links", "a.example", urls.key(A)]
    assert (digests, bodies) == ({f"htmls/a.example/{urls.key(A)}.html": None}, [])
    do("unpack", root)
    assert contents(root)["links", "a.example", empty] is None  # torn still, with its body
    assert grown.file("htmls", f"{A}empty").read_bytes() == b""


def test_damaged_bodies_stay_damaged(grown: Grown) -> None:
    """A body that is not what its record says is copied as it is: an audit finds it in both layouts."""
    grown.rewrite(f"{A}app", b"<div>", b"<dix>", "htmls")
    before = contents(grown.root)
    do("pack", grown.root)
    assert contents(grown.root) == before
    do("compact", grown.root)
    do("unpack", grown.root)
    assert contents(grown.root) == before


def test_torn_lines(grown: Grown) -> None:
    """A line that is cut, as after a power loss, is no page; one that was edited is a torn record in files, too."""
    root = grown.root
    do("pack", root)
    [lines] = (root / "links").glob("*/0.jsonl")
    next((root / "links").glob("*/0.index")).unlink()
    with lines.open("ab") as file:
        file.write(b'{"host":"a.example","key":"' + b"ab" * 12 + b'","version":1}\n{"host":"a.exa')
    before = contents(root)
    assert before["links", "a.example", "ab" * 12] is None
    do("compact", root)
    assert contents(root) == before
    assert "they are no pages in packs: 1" in do("unpack", root)
    assert contents(root) == before


def refreshed(grown: Grown) -> None:
    """Pages of packs of which there are several versions: with other bodies, the same one, and a changed record."""
    tree = grown.tree = Tree(grown.root, "m-2-bb")
    tree.hosts("links")  # who stores a page again has looked for it
    for number in range(3):
        grown.page(A, b"<p>version %d" % number)
        grown.page(f"{A}same", b"<p>same", title=str(number))
    tree.close()
    tree = grown.tree = Tree(grown.root, "m-3-cc")
    tree.hosts("links")
    tree.put_record("a.example", msgspec.structs.replace(grown.records[f"{A}app"], checked_status=304))
    tree.files.remove(tree.tree_path("links", "a.example", urls.key(f"{A}x.zip")))
    grown.fail(f"{A}gone", attempts=7)
    tree.close()


def versions_of(root: Path, url: str) -> list[tuple[int, str | None, bytes | None]]:
    tree = Tree(root, "m-8-ee")
    packs = tree.files.packs
    found = packs.versions("links", urls.host(url), urls.key(url))
    records = [(entry, PageRecord.from_json(packs.line((of, entry)))) for of, entry in found]
    bodies = [packs.at(each) and packs.block(packs.at(each), "body", None) for each in found]
    return [(entry.version, record.title, body) for (entry, record), body in zip(records, bodies, strict=True)]


def answers(root: Path) -> list[tuple[str, str]]:
    """Give URL and date of all answers that the packs hold; of one whose body an older one had, too."""
    found: list[tuple[str, str]] = []
    kinds = WarcRecordType.response | WarcRecordType.revisit
    for path in root.glob("htmls/*+*/*.warc.gz"):
        with path.open("rb") as file:
            each = (record.headers for record in ArchiveIterator(file, kinds))
            found += [(headers["WARC-Target-URI"], headers["WARC-Date"]) for headers in each]
    return sorted(found)


@pytest.mark.parametrize("keep", [None, 2, 1])
def test_versions(grown: Grown, keep: int | None) -> None:
    root = grown.root
    do("pack", root)
    refreshed(grown)
    if keep is not None:
        text = (root / "crawl.toml").read_text()
        (root / "crawl.toml").write_text(f"{text}[store]\nversions = {keep}\n")
    before = contents(root)
    assert ("links", "a.example", urls.key(f"{A}x.zip")) not in before
    same, other = versions_of(root, f"{A}same"), versions_of(root, A)
    assert [version for version, *_ in other] == [1, 2, 3, 4]
    size = sum(path.stat().st_size for path in (root / "htmls").glob("*/*.warc.gz"))
    out = do("compact", root)
    assert contents(root) == before
    told = answers(root)
    tree = Tree(root, "m-8-ee")
    for url in grown.records:
        records = [each.record for each in tree.versions(urls.host(url), urls.key(url))]
        pages = [record for record in records if isinstance(record, PageRecord)]
        assert {(url, page.fetched_at) for page in pages if page.sha256 or page.redirect} <= {*told}
    assert [each for each in {*told} if told.count(each) > 1 and each[0] != A] == []  # A changes within a second
    most = keep or 99
    assert versions_of(root, f"{A}same") == same[-most:]
    assert versions_of(root, A) == other[-most:]
    assert sum(path.stat().st_size for path in (root / "htmls").glob("*/*.warc.gz")) < size
    assert len({at.body for at in all_at(root, f"{A}same")}) == 1  # a body that versions share is there once
    lost = {None: 1, 2: 1 + 2 + 1, 1: 1 + 3 + 2 + 1}[keep]  # and the one that was removed
    assert f"older versions that are not kept: {lost}" in out
    lines = b"".join(path.read_bytes() for path in (root / "links").glob("*/*.jsonl"))
    assert lines.count(b'"gone":true') == 1  # the next version of that page counts from there
    left = sum(len(versions_of(root, url)) - 1 for url in grown.records if url != f"{A}x.zip")
    told = do("unpack", root)
    assert (f"older versions that are not kept: {left}" in told) == bool(left)
    assert contents(root) == before


def test_a_body_that_cannot_be_read_now(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compact removes no pack if a body that is there seems to be missing, as shares show for a moment."""
    do("pack", grown.root)
    before = contents(grown.root)
    with monkeypatch.context() as changed:
        changed.setattr(Packs, "member", lambda *_: b"")
        with pytest.raises(TreeError, match="cannot be read now"):
            convert(grown.root, "compact", print)
    do("compact", grown.root)
    assert contents(grown.root) == before


def test_a_body_that_is_another_file(grown: Grown) -> None:
    """A line may name any file as the one with its body; compact copies none but bodies."""
    root = grown.root
    do("pack", root)
    (root / "crawl.toml").write_text('[politeness]\nuser_agent = "secret"\n')
    [lines] = (root / "links").glob("*/*.jsonl")
    head = json.loads(lines.read_bytes().splitlines()[0])
    head["version"], head["at"] = 9, {"pack": "crawl.toml", "body": [0, 20]}
    with lines.open("ab") as file:
        file.write(json.dumps(head).encode() + b"\n")
    assert "missing" in do("compact", root)
    assert not [path for path in root.rglob("*") if path.suffix == ".gz" and b"user_agent" in path.read_bytes()]


def all_at(root: Path, url: str) -> list[object]:
    packs = Tree(root, "m-8-ee").files.packs
    return [packs.at(each) for each in packs.versions("links", urls.host(url), urls.key(url))]


# -- who else is there


def test_machine_runs(grown: Grown) -> None:
    """A machine that runs is named, and goes on: nothing has changed for it."""
    machine = Tree(grown.root, f"{os.uname().nodename}-{os.getpid()}-aa")
    machinery = Machinery(machine)
    machinery.take_name()
    heart = Heartbeat(machinery.heartbeat_log(), machine.machine, Beat, beat_s=5.0, lease_s=30.0, permit=Permit())
    before = (grown.root / ".fscrawl/tree.json").read_bytes()
    done = fscrawl("pack", "--root", grown.root)
    heart.stop()
    assert done.code == 2
    assert f"no machine may run meanwhile: {machine.machine}" in done.err
    assert (grown.root / ".fscrawl/tree.json").read_bytes() == before
    do("pack", grown.root)


class CutError(Exception):
    """Ends a command where it is, as a kill would."""


def cut(grown: Grown, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a command, and end it before the switch."""

    def stop() -> None:
        raise CutError

    with monkeypatch.context() as patch:
        patch.setattr(os, "sync", stop)
        with pytest.raises(CutError):
            convert(grown.root, command, print)


def test_refused_meanwhile(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is half done, each command says how to go on."""
    cut(grown, "pack", monkeypatch)
    for words in (
        ["crawl"],
        ["status"],
        ["show", A],
        ["audit"],
        ["merge", "--out", str(grown.root) + "-out"],
        ["retry"],
    ):
        done = fscrawl(words[0], "--root", grown.root, *words[1:])
        assert done.code == 75, words
        assert "fscrawl pack has begun, and is not done; to go on:" in done.err
        assert len(done.err.splitlines()) == 1
    done = fscrawl("compact", "--root", grown.root)
    assert (done.code, len(done.err.splitlines())) == (2, 1)


@pytest.mark.parametrize(("command", "undo"), [("pack", "unpack"), ("unpack", "pack")])
def test_undone(grown: Grown, monkeypatch: pytest.MonkeyPatch, command: str, undo: str) -> None:
    if command == "unpack":
        do("pack", grown.root)
    before, files = contents(grown.root), page_files(grown.root)
    cut(grown, command, monkeypatch)
    assert len(page_files(grown.root)) > len(files)
    assert do(undo, grown.root).startswith("undone: ")
    assert (contents(grown.root), page_files(grown.root)) == (before, files)
    do(command, grown.root)
    assert contents(grown.root) == before


def test_reader_of_before_learns_it(grown: Grown) -> None:
    """Who had opened the tree before gets an error, and no dataset that lacks pages."""
    reader = Tree(grown.root, "merge")
    reader.check_directories()
    do("pack", grown.root)
    with pytest.raises(TreeError, match="the layout of its pages has changed meanwhile"):
        reader.check_directories()
    reader = Tree(grown.root, "merge")
    do("compact", grown.root)
    with pytest.raises(TreeError, match="the layout of its pages has changed meanwhile"):
        reader.check_there()


def test_merge_of_before_ends(grown: Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that has listed the pages, and then finds them gone, fails; the next one gives the same rows."""
    expected = grown.merge(tmp_path / "before").rows()
    real, packed = merge.extract_batch, threading.Event()

    def late(*args: object, **more: object) -> object:
        if not packed.is_set():
            packed.set()
            convert(grown.root, "pack", print)
        return real(*args, **more)

    monkeypatch.setattr(merge, "extract_batch", late)
    with pytest.raises(TreeError, match="has changed meanwhile"):
        grown.merge(tmp_path / "amid")
    monkeypatch.undo()
    rows = grown.merge(tmp_path / "amid", rebuild=True).rows()
    assert {row.pop("page_version") for row in rows} == {1}  # files have no versions
    assert [{**row, "page_version": None} for row in rows] == expected
    convert(grown.root, "unpack", print)
    assert grown.merge(tmp_path / "after").rows() == expected


# -- crawl.toml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[crawl]\n", "[crawl]\n"),
        (
            '# layout = "files"\n[store]\nlayout = "files"  # as is\n',
            '# layout = "files"\n[store]\nlayout = "packs"  # as is\n',
        ),
        ("store.layout='files'\n", "store.layout='packs'\n"),
        ("[render]\nwhen = 'never'\n[store]\nfsync = false\n", "[render]\nwhen = 'never'\n[store]\nfsync = false\n"),
    ],
)
def test_settings_follow(grown: Grown, text: str, expected: str) -> None:
    """Only that word changes, in the same file."""
    path = grown.root / "crawl.toml"
    path.write_text(text)
    path.chmod(0o600)
    number = path.stat().st_ino
    grown.tree.controls.keep_copy(settings.render(settings.parse(text)), "")
    do("pack", grown.root)
    assert path.read_text() == expected
    assert (path.stat().st_ino, path.stat().st_mode & 0o777) == (number, 0o600)
    kept = (grown.root / ".fscrawl/settings.toml").read_text()
    assert settings.parse(kept).store.layout == "packs"
    do("unpack", grown.root)
    assert path.read_text() == text


def test_settings_in_utf_16(grown: Grown) -> None:
    path = grown.root / "crawl.toml"
    path.write_bytes('# ü\n[store]\nlayout = "files"\n# é\n'.encode("utf-16"))
    do("pack", grown.root)
    assert path.read_bytes() == '# ü\n[store]\nlayout = "packs"\n# é\n'.encode("utf-16")


def test_settings_that_cannot_follow(grown: Grown) -> None:
    """It is said before anything is done."""
    (grown.root / "crawl.toml").write_text('store = {layout = "files"}\n')
    before = (page_files(grown.root), record_of(grown.root))
    done = fscrawl("pack", "--root", grown.root)
    assert done.code == 2
    assert "crawl.toml: store.layout: must stand on a line of its own" in done.err
    assert (page_files(grown.root), record_of(grown.root)) == before


def test_packs_beside_files(grown: Grown) -> None:
    """Packs that nobody has made here would count after the switch."""
    (grown.root / "links/m-1-aa+0a1b2c3d").mkdir()
    with pytest.raises(UsageError, match="a pack, which nobody reads"):
        convert(grown.root, "pack", print)
    assert record_of(grown.root).change is None
