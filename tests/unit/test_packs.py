"""Pages in packs: what is put is read, whatever the disk, other processes, a crash or a stranger do to the files."""

import errno
import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from pathlib import Path

import msgspec
import pytest
from cdxj_indexer.main import CDXJIndexer
from fastwarc.warc import ArchiveIterator, WarcRecordType

from fscrawl import store, urls
from fscrawl.errors import FscrawlError, TreeError
from fscrawl.storage import pack_writer, packed_files, packs
from fscrawl.storage.layout import BODIES, INDEX, LINES
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RenderRecord, TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.storage.warc import gzip_member
from fscrawl.store import Tree, TreeFiles

HOST = "a.example"
RECORD = TreeRecord(FORMAT, "c1", "t", 512, "host", "0" * 32, layout="packs")
WHEN, LATER = "2026-11-28T22:00:00.000Z", "2026-11-29T22:00:00.000Z"


@pytest.fixture
def root(tmp_path):
    store.create(tmp_path / "root", RECORD, "", "")
    return tmp_path / "root"


@pytest.fixture
def tree(root):
    return opened(root)


def opened(root, machine="m-1-aa", **options):
    """A process's view of the tree; another one is another process's, which shares nothing with it."""
    return Tree(root, machine, **options)


def page_of(number, body=b"", host=HOST, **fields):
    url = f"http://{host}/{number}"
    said = {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest() if body else ""}
    plain = PageRecord(url, urls.key(url), 0, "", WHEN, "m-1-aa", 200, {"content-type": "text/html"}, 0, "", 0.1, ())
    return msgspec.structs.replace(plain, **{**said, **fields})


def body_of(number):
    return f"<p>page {number} ".encode() * (1 + number % 7)


def failure_of(number, message="no answer", host=HOST):
    url = f"http://{host}/{number}"
    return ErrorRecord(url, urls.key(url), 0, "", WHEN, "m-1-aa", "timeout", message, 1)


def put(tree, number, body=None, **fields):
    body = body_of(number) if body is None else body
    record = page_of(number, body, **fields)
    tree.put_page(urls.host(record.url), record, body)
    return record


def the(root, directory, suffix):
    """The only file of its kind."""
    [path] = (root / directory).glob(f"*+*/*{suffix}")
    return path


def stored(tree, host=HOST):
    """Give what a reader finds: path of each page → its body, which must be the one of its record."""
    found = {}
    for key in tree.keys("links", host):
        record = tree.page(host, key)
        assert record.key == key
        if record.sha256:
            body = tree.body(host, key, record.bytes, record.file)
            assert hashlib.sha256(body).hexdigest() == record.sha256
            found[record.url] = body
        else:
            found[record.url] = None
    return found


def numbered(*numbers):
    return {f"http://{HOST}/{number}": body_of(number) for number in numbers}


# -- what is put is read


def test_pages(tree, root):
    """A page, a redirect, a skipped one and a document, read by their writer and by others, also after its end."""
    html, pdf = put(tree, 1), put(tree, 2, b"%PDF-1", file="pdf")
    moved = page_of(3, status=301, redirect=f"http://{HOST}/1")
    skipped = page_of(4, skipped="type")
    for record in (moved, skipped):
        tree.put_page(HOST, record, None)
    for reader in (tree, opened(root), (tree.close(), opened(root))[1]):
        assert [reader.page(HOST, key) for key in reader.keys("links", HOST)] == [html, pdf, moved, skipped]
        assert reader.body(HOST, html.key) == body_of(1)
        assert reader.body(HOST, pdf.key, 6, "pdf") == b"%PDF-1"
        assert reader.keys("htmls", HOST) == [html.key]
        assert reader.keys("files", HOST) == [pdf.key]
        assert reader.hosts("links") == reader.hosts("htmls") == reader.hosts("files") == [HOST]
        assert (reader.hosts("errs"), reader.all_pages()) == ([], 2)
        assert list(reader.sorted_keys("links", HOST)) == sorted(each.key for each in (html, pdf, moved, skipped))
        with pytest.raises(TreeError) as error:
            reader.body(HOST, moved.key)
        assert error.value.is_missing
    assert not list(root.glob("*/a.example"))


def test_a_page_that_is_a_picture(tree, root):
    """A picture that is the body of a page is no screenshot of one."""
    record = put(tree, 1, b"\x89PNG", file="png")
    reader = opened(root)
    assert reader.body(HOST, record.key, 4, "png") == b"\x89PNG"
    assert reader.files.size_if_there(reader.body_path(HOST, record.key, "png")) == 4


def test_what_is_rendered(tree, root):
    """DOM and picture stand beside the body, and go when the page has them no more."""
    dom, picture = b"<p>dom", b"\x89PNG"
    how = RenderRecord("host", "done", 0.5, len(dom), hashlib.sha256(dom).hexdigest(), screenshot=len(picture))
    record = page_of(1, b"<p>sent", rendered=how)
    beside = {tree.dom_path(HOST, record.key): dom, tree.body_path(HOST, record.key, "png"): picture}
    tree.put_page(HOST, record, b"<p>sent", beside)
    reader = opened(root)
    assert (reader.body(HOST, record.key), reader.dom(HOST, record.key)) == (b"<p>sent", dom)
    assert reader.body(HOST, record.key, file="png") == picture
    assert reader.files.size_if_there(tree.dom_path(HOST, record.key)) == len(dom)
    plain = put(tree, 1)
    tree.drop_bodies(HOST, record, plain)
    assert not opened(root).files.exists(tree.dom_path(HOST, record.key))
    assert opened(root).body(HOST, record.key) == body_of(1)


def test_other_tools_read_the_bodies(tree, root):
    """A pack is a WARC file: a record says which file it is, then come the answers."""
    put(tree, 1)
    tree.put_page(HOST, page_of(2, status=301, redirect=f"http://{HOST}/1"), None)
    with the(root, "htmls", BODIES).open("rb") as file:
        found = [
            (record.record_type, record.headers.get("WARC-Target-URI"), record.reader.read())
            for record in ArchiveIterator(file)
        ]
    assert [(kind, url) for kind, url, _ in found] == [
        (WarcRecordType.warcinfo, None),
        (WarcRecordType.response, f"http://{HOST}/1"),
        (WarcRecordType.response, f"http://{HOST}/2"),
    ]
    assert found[1][2] == body_of(1)


def test_the_indexer_of_replay_reads_packs(tree, root):
    """cdxj-indexer finds each version, also in packs that are written to, by names that differ from pack to pack."""
    put(tree, 1)
    other = opened(root, "m-2-bb")
    other.is_done(HOST, page_of(1).key)
    put(other, 1, fetched_at=LATER)
    put(other, 1, b"changed")
    out = io.StringIO()
    CDXJIndexer(out, [str(root / "htmls")], sort=True, dir_root=str(root / "htmls")).process_all()
    found = [json.loads(line.split(" ", 2)[2]) for line in out.getvalue().splitlines()]
    mimes = [each["mime"] for each in found]
    assert sorted(mimes) == ["text/html", "text/html", "warc/revisit"]
    assert {each["filename"] for each in found} == {f"{path.parent.name}/0.warc.gz" for path in root.glob("htmls/*/*")}
    for each in found:
        with (root / "htmls" / each["filename"]).open("rb") as file:
            file.seek(int(each["offset"]))
            assert next(iter(ArchiveIterator(file))).headers["WARC-Target-URI"] == each["url"]


def test_the_newest_version_counts(tree, root):
    """Of several answers the last one counts, and the older ones stay."""
    for body in (b"one", b"two", b"three"):
        record = put(tree, 1, body)
    assert opened(root).body(HOST, record.key) == b"three"
    found = opened(root).files.packs.versions("links", HOST, record.key)
    assert [entry.version for _, entry in found] == [1, 2, 3]
    assert tree.keys("links", HOST) == [record.key]


def test_the_same_body_is_stored_once(tree, root):
    """A page that is fetched again and has not changed refers to the body that is there, if it is."""
    put(tree, 1)
    tree.is_done(HOST, page_of(1).key)
    record = put(tree, 1, fetched_at=LATER)
    assert opened(root).page(HOST, record.key).fetched_at == LATER
    with the(root, "htmls", BODIES).open("rb") as file:
        _, _, again = ArchiveIterator(file)
        assert again.record_type == WarcRecordType.revisit
        said = [again.headers[f"WARC-{name}"] for name in ("Date", "Refers-To-Date", "Refers-To-Target-URI")]
        assert said == [LATER, WHEN, record.url]
    assert stored(opened(root)) == numbered(1)
    the(root, "htmls", BODIES).unlink()
    again = opened(root, "m-2-bb")
    again.is_done(HOST, record.key)
    put(again, 1)
    assert stored(opened(root)) == numbered(1)


def test_failures(tree, root):
    """A failure counts until its page is stored, or it is removed; the newer one of two counts."""
    tree.put_error(HOST, failure_of(1, "first"))
    tree.put_error(HOST, failure_of(1, "second"))
    key = failure_of(1).key
    assert opened(root).failure(HOST, key).message == "second"
    put(tree, 1)
    assert (opened(root).failure(HOST, key), opened(root).keys("errs", HOST)) == (None, [])
    tree.put_error(HOST, failure_of(1, "third"))  # of a refresh: both are there
    assert opened(root).failure(HOST, key).message == "third"
    assert opened(root).is_done(HOST, key)
    tree.drop_error(HOST, key)
    assert opened(root).failure(HOST, key) is None
    assert opened(root).is_done(HOST, key)


def test_a_failure_before_a_removal_is_over(tree, root):
    """A page that was stored after its failure, and removed, has not failed, whether its host was listed or not."""
    tree.put_error(HOST, failure_of(1))
    record = put(tree, 1)
    tree.files.remove(tree.tree_path("links", HOST, record.key))
    reader = opened(root)
    assert reader.failure(HOST, record.key) is None
    assert reader.keys("errs", HOST) == []
    assert reader.failure(HOST, record.key) is None


def test_gone(tree, root):
    """A page that was removed is there no more, for all; one that is stored then is there again, whoever stores it."""
    record = put(tree, 1)
    remover = opened(root, "m-2-bb")
    remover.files.remove(remover.tree_path("links", HOST, record.key))
    for reader in (remover, opened(root)):
        assert not reader.is_done(HOST, record.key)
        assert (reader.keys("links", HOST), reader.keys("htmls", HOST)) == ([], [])
    other = opened(root, "m-3-cc")  # it has looked at nothing
    put(other, 1)
    assert stored(opened(root)) == numbered(1)
    assert stored(other) == numbered(1)


def test_gone_while_others_are_at_work(tree, root):
    """Who has begun before a page was removed, and hears that, stores it again, and it counts."""
    put(tree, 2)
    other = opened(root, "m-3-cc")
    put(other, 3)
    record = put(tree, 1)
    tree.files.remove(tree.tree_path("links", HOST, record.key))
    other.look_anew()
    put(other, 1)
    assert stored(opened(root)) == numbered(1, 2, 3)


def test_a_failure_after_a_removal_counts(tree, root):
    """Versions are counted over pages and failures together."""
    record = put(tree, 1)
    tree.files.remove(tree.tree_path("links", HOST, record.key))
    opened(root, "m-2-bb").put_error(HOST, failure_of(1))
    assert opened(root).failure(HOST, record.key) is not None


# -- other processes

_CHILD = """
import sys
from tests.unit.test_packs import opened, put, stored
tree = opened(sys.argv[1], "m-9-ff")
for line in sys.stdin:
    put(tree, int(line))
    print(len(stored(tree)), flush=True)
"""


@pytest.mark.parametrize("look_s", [0.0, pytest.param(1.0, marks=pytest.mark.gate)])
def test_two_processes_see_each_other(root, tree, look_s):
    """What one has stored the other finds: at once on a local disk, elsewhere within a second."""
    tree.files.packs._look_s = look_s
    assert tree.hosts("links") == []
    words = [sys.executable, "-c", _CHILD, str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        for number in (1, 2, 3):
            child.stdin.write(f"{number}\n")
            child.stdin.flush()
            assert int(child.stdout.readline()) >= number
            until = time.monotonic() + look_s + 0.2
            while not (found := tree.is_done(HOST, page_of(number).key)) and time.monotonic() < until:
                assert look_s, "not at once"
                time.sleep(0.02)
            assert found
        put(tree, 4)
        child.stdin.close()
        assert child.wait(20) == 0
    assert stored(opened(root)) == numbered(1, 2, 3, 4)


def test_many_threads(tree, root, monkeypatch):
    """Threads that put at once share writes, and each page is there once."""
    wait_for_groups(tree, monkeypatch)
    writes, real = [], os.write
    monkeypatch.setattr(os, "write", lambda *of: writes.append(of) or real(*of))
    pages_of_threads(tree, range(8), 10)
    assert len(writes) < 8 * 10  # a group takes two
    assert stored(opened(root)) == numbered(*range(80))
    assert not [
        version
        for key in opened(root).keys("links", HOST)
        for version in opened(root).files.packs.versions("links", HOST, key)[1:]
    ]


def wait_for_groups(tree, monkeypatch):
    """Let pages wait for each other, as on a file server, but for a shorter time."""
    tree.files.writer._is_local = False
    monkeypatch.setattr(pack_writer, "_GROUP_S", 0.05)
    monkeypatch.setattr(pack_writer, "_ALONE_S", 0.01)


def pages_of_threads(tree, threads, pages):
    """Put pages from many threads; give the numbers of those that were reported as stored, and the errors."""
    told, errors = [], []

    def work(thread):
        for number in range(pages * thread, pages * (thread + 1)):
            try:
                with tree.at_work():
                    put(tree, number)
                told.append(number)
            except (FscrawlError, MemoryError) as error:
                errors.append(error)

    running = [threading.Thread(target=work, args=(thread,)) for thread in threads]
    for each in running:
        each.start()
    for each in running:
        each.join(20)
        assert not each.is_alive()
    return told, errors


@pytest.mark.parametrize("since", [1, 2, 3, 6])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("times", [1, 1000])
def test_a_write_that_fails(root, monkeypatch, since, code, times):
    """Who was told "stored" is stored, all others get a TreeError, and nothing stands behind a torn line."""
    tree = opened(root, retrying=Retrying(0.03 if times > 1 else 5.0))
    wait_for_groups(tree, monkeypatch)
    real, calls = os.write, []

    def write(descriptor, data):
        calls.append(descriptor)
        if since <= len(calls) < since + times:
            if len(calls) % 2 and len(data) > 1:
                return real(descriptor, data[: len(data) // 2])  # short, and the next one fails
            raise OSError(code, os.strerror(code))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    told, errors = pages_of_threads(tree, range(4), 2)
    assert all(isinstance(error, TreeError) for error in errors)
    assert len(told) + len(errors) == 8
    if code == errno.EIO and times == 1:
        assert errors == []
    assert numbered(*told).items() <= stored(opened(root)).items()
    for path in (root / "links").rglob("*.jsonl"):
        *whole, _torn = path.read_bytes().split(b"\n")
        assert all(json.loads(line) for line in whole)
    monkeypatch.setattr(os, "write", real)
    put(tree, 100)
    assert numbered(100, *told).items() <= stored(opened(root)).items()


@pytest.mark.parametrize("suffix", [BODIES, LINES])
def test_a_file_that_is_made_twice(root, monkeypatch, suffix):
    """A file server that repeats a request says that the file is there: then the pages are in the next segment."""
    tree, real, made = opened(root), pack_writer.open_to_append, []

    def twice(place, flags):
        found = real(place, flags)
        if flags & os.O_EXCL and place.path.endswith(suffix) and not made:
            made.append(place)
            os.close(found[0])
            return real(place, flags)
        return found

    monkeypatch.setattr(pack_writer, "open_to_append", twice)
    put(tree, 1)
    assert made
    put(tree, 2)
    assert stored(tree) == stored(opened(root)) == numbered(1, 2)


def test_a_full_disk_is_not_filled_with_names(root, monkeypatch):
    """As long as nothing can be written, no files come up."""
    tree = opened(root, retrying=Retrying(0.3))
    real = os.write

    def write(descriptor, data):
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(TreeError):
        put(tree, 1)
    monkeypatch.setattr(os, "write", real)
    assert not [path for path in root.glob("[hl]*/*+*/*") if path.is_file()]
    put(tree, 1)
    assert stored(opened(root)) == numbered(1)


def test_an_error_of_another_kind(tree, root, monkeypatch):
    """Whatever goes wrong with a group, nobody of it is told that its page is stored."""
    wait_for_groups(tree, monkeypatch)

    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(pack_writer.Writer, "_write_once", broken)
    told, errors = pages_of_threads(tree, range(4), 1)
    assert told == []
    assert {type(error) for error in errors} == {MemoryError}


def test_fsync(root, monkeypatch):
    """With fsync, bodies are on the disk before lines are written, and each file has its name there, too."""
    calls = []

    def note(name):
        real = getattr(os, name)

        def noted(descriptor, *of):
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            calls.append((name, str(path).removeprefix(f"{root}/")))
            return real(descriptor, *of) if name == "write" else None

        monkeypatch.setattr(os, name, noted)

    note("write")
    note("fsync")
    put(opened(root, fsync=True), 1)
    bodies, lines = (str(the(root, *of).relative_to(root)) for of in (("htmls", BODIES), ("links", LINES)))
    assert calls.index(("fsync", bodies)) < calls.index(("write", lines)) < calls.index(("fsync", lines))
    for path in (bodies, lines):
        directory = path.rpartition("/")[0]
        assert ("fsync", directory) in calls
        assert ("fsync", directory.rpartition("/")[0]) in calls


# -- what a crash leaves


def cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)


def test_torn_lines(tree, root):
    """Of a file of lines that ends anywhere, the whole ones count."""
    for number in range(3):
        put(tree, number)
    path = the(root, "links", LINES)
    data = path.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(data)):
        cut(path, size)
        assert stored(opened(root)) == numbered(0, 1)
        path.write_bytes(data)
    other = opened(root, "m-2-bb")
    cut(path, last + 40)
    put(other, 5)
    assert stored(opened(root)) == numbered(0, 1, 5)


def test_torn_bodies(tree, root):
    """A body of which a part is missing is not there; those before it are."""
    for number in range(2):
        put(tree, number)
    path = the(root, "htmls", BODIES)
    data = path.read_bytes()
    at = opened(root).files.packs.head(opened(root).files.packs.find("links", HOST, page_of(1).key)).at
    for size in range(at.body[0], len(data)):
        cut(path, size)
        reader = opened(root)
        paths = [reader.body_path(HOST, page_of(number).key, None) for number in (0, 1)]
        assert [reader.files.read(path) for path in paths] == [body_of(0), None]
        assert [reader.files.size_if_there(path) for path in paths] == [len(body_of(0)), None]
        path.write_bytes(data)


def test_damaged_bytes(tree, root):
    """A line or a body whose bytes have become others is given to nobody as whole."""
    for number in range(3):
        put(tree, number)
    path = the(root, "links", LINES)
    first = path.read_bytes()
    length = first.index(b"\n")
    path.write_bytes(b"\0" * length + first[length:])
    assert stored(opened(root)) == numbered(1, 2)
    path.write_bytes(first)
    bodies = the(root, "htmls", BODIES)
    data = bytearray(bodies.read_bytes())
    data[-30] ^= 0xFF
    bodies.write_bytes(data)
    assert opened(root).body(HOST, page_of(2).key) != body_of(2)


# -- indexes


@pytest.fixture
def indexed(tree, root):
    """A tree of 50 pages with an index, of which one has two versions, and one is gone."""
    for number in range(50):
        put(tree, number)
        put(tree, number, host="b.example")
    put(tree, 0)
    tree.files.remove(tree.tree_path("links", HOST, page_of(49).key))
    tree.close()
    return the(root, "links", INDEX)


def test_an_index_is_used(indexed, root, monkeypatch):
    """With an index no line is parsed but those that are asked for."""
    reader = opened(root)
    monkeypatch.setattr(packs.Packs, "_take_in", None)
    assert len(reader.keys("links", HOST)) == 49
    assert reader.page(HOST, page_of(7).key).url == f"http://{HOST}/7"
    assert not reader.is_done(HOST, page_of(49).key)
    assert not reader.is_done(HOST, "ff" * 12)
    assert not reader.is_done("c.example", "00" * 12)


def _truncated(path):
    cut(path, path.stat().st_size - 1)


def _half(path):
    cut(path, path.stat().st_size // 2)


def _zeros(path):
    path.write_bytes(bytes(path.stat().st_size))


def _garbage(path):
    path.write_bytes(struct.pack(">Q", 1 << 62) + os.urandom(999))


def _rotten(path):
    data = bytearray(path.read_bytes())
    data[-40:] = os.urandom(40)
    path.write_bytes(data)


def _lies(path):
    """A head that claims that the rows of the host are somewhere else."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8])
    head = json.loads(data[12 : 12 + size])
    head["hosts"] = [["../x", 1, 255, 0], [HOST, 2**40, 255, 0], ["b.example", -5, 255, 0]]
    new = json.dumps(head).encode()
    path.write_bytes(len(new).to_bytes(8) + zlib.crc32(new).to_bytes(4) + new + data[12 + size :])


def _empty(path):
    path.write_bytes(b"")


def _directory(path):
    path.unlink()
    path.mkdir()


def _fifo(path):
    path.unlink()
    os.mkfifo(path)


def _link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


def _missing(path):
    path.unlink()


BAD = [_missing, _empty, _truncated, _half, _zeros, _garbage, _lies, _directory, _fifo, _link]


def test_an_index_with_wrong_rows_is_replaced(indexed, root):
    """Who finds that rows are not those that were written, writes the index anew: others look for single keys there."""
    _rotten(indexed)
    assert stored(opened(root), "b.example").keys() == {f"http://b.example/{number}" for number in range(50)}
    reader = opened(root, "m-2-bb")
    assert all(reader.is_done("b.example", page_of(number, host="b.example").key) for number in range(50))


@pytest.mark.parametrize("spoil", [*BAD, _rotten], ids=lambda each: each.__name__.strip("_"))
def test_a_bad_index(indexed, root, spoil):
    """Without its index, or with a bad one, the lines say all."""
    spoil(indexed)
    reader = opened(root)
    assert stored(reader) == numbered(*range(49))
    assert len(stored(reader, "b.example")) == 50
    assert reader.hosts("links") == [HOST, "b.example"]


def test_a_stale_index(tree, root):
    """An index that knows a part of the lines is not all that is read; nor one of a file that has been cut since."""
    for number in range(10):
        put(tree, number)
    packs_of = tree.files.packs
    [lines] = packs_of._lines["links"].values()
    packs_of.write_index(lines, closed=False)
    for number in range(10, 20):
        put(tree, number)
    assert stored(opened(root)) == stored(tree) == numbered(*range(20))
    path = the(root, "links", LINES)
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data[:5]))
    assert stored(opened(root)) == numbered(*range(5))


def test_an_index_of_a_closed_file_that_was_cut(indexed, root):
    """What is cut off is missing, and not named as there; all before it is whole."""
    path = the(root, "links", LINES)
    data = path.read_bytes().splitlines(keepends=True)
    looking = opened(root)
    assert len(looking.keys("links", HOST)) == 49
    path.write_bytes(b"".join(data[:20]))
    assert stored(opened(root)) == numbered(*range(10))
    with pytest.raises(TreeError):
        looking.page(HOST, page_of(40).key)


def test_listed_pages_are_found_without_an_index(indexed, root, monkeypatch):
    """Who has listed the pages and the failures of a host finds each page without reading an index again."""
    reader = opened(root)
    listed = {directory: reader.keys(directory, HOST) for directory in ("links", "errs")}
    assert [len(keys) for keys in listed.values()] == [49, 0]
    monkeypatch.setattr(packs.Packs, "_rows", None)
    assert len([reader.page(HOST, key) for key in listed["links"]]) == 49


def test_an_index_that_another_replaces(indexed, root, monkeypatch):
    """A reader that has opened an index goes on when another process has replaced it."""
    reader = opened(root)
    assert len(reader.keys("links", HOST)) == 49
    other = opened(root, "m-2-bb")
    other.hosts("links")
    [lines] = other.files.packs._lines["links"].values()
    lines.forget()
    other.files.packs._advance(lines)
    other.files.packs.write_index(lines, closed=False)
    reader.files.packs._reader.forget(str(indexed.relative_to(root)))  # as when many other files were read since
    reader.files.packs._forget_lines()
    assert stored(reader) == numbered(*range(49))
    assert len(stored(reader, "b.example")) == 50


def test_a_share_that_shows_old_sizes(tree, root, monkeypatch):
    """Where the name of a file has an old size for a while, lines are seen all the same, and none is read twice."""
    put(tree, 1)
    sizes, real, taken = {}, packed_files.PackedFiles.size_if_there, []
    monkeypatch.setattr(TreeFiles, "size_if_there", lambda self, path: sizes.setdefault(path, real(self, path)))
    take_in = packs.Packs._take_in
    monkeypatch.setattr(
        packs.Packs, "_take_in", lambda self, lines, data: taken.append(data.count(b"\n")) or take_in(self, lines, data)
    )
    reader = opened(root, "m-2-bb")
    for number in range(2, 5):
        reader.files.packs.look(0.0)
        assert stored(reader) == numbered(*range(1, number))
        put(tree, number)
    reader.files.packs.look(0.0)
    assert stored(reader) == numbered(1, 2, 3, 4)
    assert sum(taken) == 4


def test_memory(tree, root):
    """What is known of a line that no index has takes less than 500 bytes."""
    for number in range(2_000):
        tree.put_page(HOST, page_of(number, status=301, redirect=f"http://{HOST}/"), None)
    for is_writer in (False, True):
        tracemalloc.start()
        reader = opened(root)
        if is_writer:
            for number in range(2_000, 4_000):
                reader.put_page(HOST, page_of(number, status=301, redirect=f"http://{HOST}/"), None)
        else:
            reader.files.packs.look()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(size / 2_000)
        assert size < 2_000 * 500 * (1 + is_writer)


def test_segments(tree, root, monkeypatch):
    """A new segment begins when one is full; each that is full has an index, and all are read."""
    monkeypatch.setattr(pack_writer, "SEGMENT_BYTES", 2_000)
    for number in range(40):
        put(tree, number)
        if number % 4 == 0:
            tree.put_error(HOST, failure_of(1000 + number))
    segments = len(list(root.glob("links/*/*.jsonl")))
    assert segments > 5
    assert len(list(root.glob("links/*/*.index"))) == segments - 1
    for reader in (tree, opened(root)):
        assert stored(reader) == numbered(*range(40))
        assert len(reader.keys("errs", HOST)) == 10


@pytest.mark.parametrize("may_write", [True, False])
def test_many_lines_without_an_index(tree, root, monkeypatch, may_write):
    """Who has read many lines writes the index; where that is not possible, it is tried rarely, and all goes on."""
    for number in range(40):
        put(tree, number)
    monkeypatch.setattr(packs, "_MANY_LINES", 10)
    tries = []
    if not may_write:

        def refused(*of, **more):
            tries.append(of)
            raise TreeError("no")

        monkeypatch.setattr(TreeFiles, "publish_chunks", refused)
    reader = opened(root, "m-2-bb")
    for _ in range(3):
        reader.files.packs.look(0.0)
        assert stored(reader) == numbered(*range(40))
    assert len(list(root.glob("links/*/*.index"))) == may_write
    assert len(tries) <= 1
    assert stored(opened(root)) == numbered(*range(40))


# -- strangers


@pytest.mark.parametrize("spoil", [_directory, _fifo, _link, _missing], ids=lambda each: each.__name__.strip("_"))
@pytest.mark.parametrize("what", [("links", LINES), ("htmls", BODIES), ("links", ""), ("htmls", "")])
def test_planted_files(tree, root, spoil, what):
    """What stands in place of a pack's file or directory is read by nobody, and its pages are missing."""
    put(tree, 1)
    other = opened(root, "m-2-bb")
    put(other, 2)
    directory, suffix = what
    [pack] = (root / directory).glob("m-1-aa+*")
    path = next(pack.glob(f"*{suffix}")) if suffix else pack
    if not suffix:
        path.rename(root / "aside")
        path.touch()
    spoil(path)
    reader = opened(root)
    if directory == "links":
        assert stored(reader) == numbered(2)
    else:
        with pytest.raises(FscrawlError):
            reader.body(HOST, page_of(1).key)
        assert reader.body(HOST, page_of(2).key) == body_of(2)
        assert reader.files.size_if_there(reader.body_path(HOST, page_of(1).key, None)) is None


SECRET = gzip.compress(b"WARC/1.1\r\n\r\nHTTP/1.1 200\r\n\r\nsecret", mtime=0)
HOSTILE = [
    {"host": "../../etc"},
    {"host": "A.example"},
    {"host": ""},
    {"host": 5},
    {"key": "../" * 8},
    {"key": "0A" * 12},
    {"key": "0a" * 13},
    {"key": "0a " * 12},
    {"key": ""},
    {"version": -1},
    {"version": 0},
    {"version": 1 << 40},
    {"version": 1 << 80},
    {"version": "1"},
    {"file": "../x"},
    {"file": "much-too-long"},
    {"file": "\u00e4"},
    {"gone": "yes"},
    {"at": {"pack": 5}},
    {"at": {"pack": "x", "body": [1]}},
    {"bytes": -1},
]


@pytest.mark.parametrize("said", HOSTILE, ids=lambda said: repr(said)[:30])
def test_hostile_lines(tree, root, said):
    """A line that no writer writes counts as none, and harms no other."""
    put(tree, 1)
    line = json.loads(the(root, "links", LINES).read_bytes())
    line.update(url=f"http://{HOST}/9", key=page_of(9).key)
    path = root / "links/m-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    path.write_bytes(json.dumps({**line, **said}).encode() + b"\n")
    put(tree, 2)
    reader = opened(root)
    assert stored(reader) == numbered(1, 2)
    assert reader.hosts("links") == [HOST]
    put(tree, 9)
    assert stored(opened(root)) == numbered(1, 2, 9)


def test_a_line_of_many_levels(tree, root):
    """A line that no parser can hold counts as none."""
    put(tree, 1)
    line = the(root, "links", LINES).read_bytes().rstrip(b"}\n")
    path = root / "links/m-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    path.write_bytes(line + b',"version":5,"more":' + 100_000 * b"[" + 100_000 * b"]" + b"}\n")
    assert stored(opened(root)) == numbered(1)


def test_a_line_with_the_highest_version(tree, root):
    """A page with a version that nobody reaches by counting can still be stored, and is read without a mistake."""
    put(tree, 1)
    line = json.loads(the(root, "links", LINES).read_bytes())
    path = root / "links/a-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    for version in ((1 << 31) - 1, (1 << 32) - 1, 1 << 31):
        path.write_bytes(json.dumps({**line, "version": version}).encode() + b"\n")
        writer = opened(root)
        writer.is_done(HOST, page_of(1).key)
        put(writer, 1, b"new")
        writer.close()
        assert list(stored(opened(root))) == [f"http://{HOST}/1"]


def test_a_line_of_another_host(tree, root):
    """A line that names another host for a key shadows no page."""
    put(tree, 1)
    line = json.loads(the(root, "links", LINES).read_bytes())
    path = root / "links/m-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    path.write_bytes(json.dumps({**line, "host": "b.example", "version": 7, "gone": True}).encode() + b"\n")
    assert stored(opened(root)) == numbered(1)
    put(tree, 1, b"again")
    assert opened(root).body(HOST, page_of(1).key) == b"again"


@pytest.mark.parametrize(
    "at",
    [
        {"pack": "../../../etc/passwd", "body": [0, 100]},
        {"pack": "/etc/passwd", "body": [0, 100]},
        {"pack": "crawl.toml", "body": [0, 10]},
        {"pack": "htmls/\0", "body": [0, 10]},
        {"pack": "secret.gz", "body": [0, len(SECRET)]},
        {"body": [1 << 63, 10]},
        {"body": [1 << 80, 10]},
        {"body": [-5, 10]},
        {"body": [0, -1]},
        {"body": [0, 0]},
        {"body": [0, 1 << 31]},
        {"body": [3, 50]},
        {"body": None},
    ],
    ids=str,
)
def test_hostile_places(tree, root, at):
    """A place that is none, or is not in a pack, has no body: one clear error, and no memory."""
    first = put(tree, 1)
    (root / "secret.gz").write_bytes(SECRET)
    line = json.loads(the(root, "links", LINES).read_bytes())
    place = {**line["at"], **at}
    path = root / "links/z-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    path.write_bytes(json.dumps({**line, "version": 2, "depth": 5, "at": place}).encode() + b"\n")
    reader = opened(root)
    record = reader.page(HOST, page_of(1).key)
    tracemalloc.start()
    try:
        assert reader.body(HOST, record.key, record.bytes) in (b"", *([body_of(1)] if record == first else []))
    except FscrawlError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 20
    reader.files.size_if_there(reader.body_path(HOST, record.key, None))


def test_a_bomb(tree, root):
    """A member that unpacks to more than its record says is not unpacked."""
    put(tree, 1)
    bomb = gzip_member(b"WARC/1.1\r\n\r\nHTTP/1.1 200\r\n\r\n" + bytes(16 << 20))
    path = the(root, "htmls", BODIES)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bomb)
    line = json.loads(the(root, "links", LINES).read_bytes())
    line["at"]["body"] = [size, len(bomb)]
    the(root, "links", LINES).write_bytes(json.dumps(line).encode() + b"\n")
    tracemalloc.start()
    with pytest.raises(TreeError):
        opened(root).body(HOST, page_of(1).key, line["bytes"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_line_without_end(tree, root):
    """A file of lines that is one endless line takes no memory, and what others have is read."""
    put(tree, 1)
    path = root / "links/m-8-ee+00000000/0.jsonl"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(200 << 20)  # a hole: it has no blocks
        file.seek(200 << 20)
        file.write(b"\n")
        put(tree, 2)
        file.write(next((root / "links").glob("m-1-aa+*/0.jsonl")).read_bytes().splitlines(keepends=True)[1])
    next((root / "links").glob("m-1-aa+*/0.jsonl")).unlink()
    tracemalloc.start()
    reader = opened(root)
    assert stored(reader) == numbered(2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20


def test_names_that_are_no_packs(tree, root):
    """Strange names beside the packs and inside them are no pages."""
    put(tree, 1)
    [pack] = (root / "links").glob("*+*")
    for name in ("01.jsonl", "-1.jsonl", "9.jsonl.tmp", ".5.jsonl", "x.jsonl"):
        (pack / name).write_bytes(the(root, "links", "0.jsonl").read_bytes())
    for name in ("x", "+00000000", "m+xyz", "a.example"):
        (root / "links" / name).mkdir()
    assert stored(opened(root)) == numbered(1)
    assert opened(root).hosts("links") == [HOST]


def test_zeros_for_a_moment(tree, root):
    """On NFS, bytes that are under way read as zeros: what stands there is read when it is there."""
    put(tree, 1)
    reader = opened(root)
    reader.files.packs._is_local = False
    assert stored(reader) == numbered(1)
    put(tree, 2)
    put(tree, 3)
    path = the(root, "links", LINES)
    whole = path.read_bytes()
    first, second, third = whole.splitlines(keepends=True)
    path.write_bytes(first + b"\0" * len(second) + third)
    reader.files.packs.look(0.0)
    assert stored(reader) == numbered(1)
    path.write_bytes(whole)
    reader.files.packs.look(0.0)
    assert stored(reader) == numbered(1, 2, 3)


def test_zeros_that_stay(tree, root):
    """What a power loss has left is passed over."""
    for number in (1, 2, 3):
        put(tree, number)
    path = the(root, "links", LINES)
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"\0" * (len(second) - 1) + b"\n" + third)
    os.utime(path, (1, 1))
    reader = opened(root)
    reader.files.packs._is_local = False
    assert stored(reader) == numbered(1, 3)


def test_a_closed_index_of_a_part(tree, root):
    """An index that is closed, and does not cover its file, hides nothing."""
    for number in (1, 2):
        put(tree, number)
    known = tree.files.packs.own("links", the(root, "links", LINES).parent.name, 0)
    tree.files.packs.write_index(known, closed=True)
    put(tree, 3)
    assert stored(opened(root)) == numbered(1, 2, 3)


def test_a_line_that_cannot_be_read_now(tree, root, monkeypatch):
    """A record that is brought up to date loses no body if the line of before seems to be missing for a moment."""
    record = put(tree, 1)
    reader = opened(root)
    assert reader.is_done(HOST, record.key)
    with monkeypatch.context() as changed:
        changed.setattr(packs.Packs, "head", lambda *_: None)
        with pytest.raises(TreeError, match="cannot be read now"):
            reader.put_record(HOST, msgspec.structs.replace(record, checked_status=304))
    reader.put_record(HOST, msgspec.structs.replace(record, checked_status=304))
    assert stored(opened(root)) == numbered(1)
