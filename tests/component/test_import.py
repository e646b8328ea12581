"""`fscrawl import`: the archives of other programs become a tree, on which all other commands work."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brotli
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fscrawl.admin import importing
from fscrawl.engine import parsing
from fscrawl.handlers import costs
from fscrawl.storage.records import PageRecord
from tests.support.crawling import SETTINGS, Done, body, check_tree, crawl, errors, fscrawl, pages
from tests.support.web import Request, Response, Web

HOST = "127.0.87.1"
HTML = "text/html; charset=utf-8"
DAY, NEXT_DAY = "2026-01-02T03:04:05Z", "2026-01-03T03:04:05Z"
A, B, C = (f"http://a.example/{name}" for name in "abc")


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


def site(request: Request) -> Response:
    linked = "<title>Seite ä</title><a href=/a>a</a> <a href=/old>old</a> <a href=/gone>gone</a> <a href=/pdf>pdf</a>"
    zipped = gzip.compress(b"<title>zipped</title><a href=/b>b</a>")
    found = {
        "/": Response(200, {"Content-Type": "text/html; charset=iso-8859-1"}, linked.encode("latin-1")),
        "/a": Response(200, {"Content-Type": HTML, "Content-Encoding": "gzip"}, zipped),
        "/b": Response(200, {"Content-Type": HTML, "Transfer-Encoding": "chunked"}, chunked(b"<title>chunked</title>")),
        "/old": Response(301, {"Location": "/a"}, b""),
        "/pdf": Response(200, {"Content-Type": "application/pdf"}, b"%PDF-1.7 none"),
    }
    return found.get(request.path, Response(404, {"Content-Type": "text/plain"}, b"nothing here"))


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(site, [HOST]) as web:
        yield web


def imported(root: Path, *words: str | Path, settings: dict[str, str] | None = None) -> Done:
    """Import into a tree, which is made if it is not there."""
    given = {} if (root / "crawl.toml").exists() else {**SETTINGS, **(settings or {})}
    return fscrawl("import", "--root", root, *(f"--set={name}={value}" for name, value in given.items()), *words)


def essence(record: PageRecord) -> tuple[Any, ...]:
    """Give what of a record does not depend on when and how it was fetched."""
    seen = (record.title, record.links, record.encoding, record.encoding_source, record.sha256, record.bytes)
    return (record.status, record.kind, record.redirect, record.skipped, record.robots, record.canonical, *seen)


def essences(root: Path) -> dict[str, tuple[Any, ...]]:
    return {url: essence(record) for url, record in pages(root).items() if not url.endswith("/robots.txt")}


def audited(root: Path) -> dict[str, Any]:
    done = fscrawl("audit", "--root", root, "--json")
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


class Warc:
    """Writes an archive by warcio."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = io.BytesIO()
        self._writer = WARCWriter(self._file, gzip=path.suffix == ".gz", warc_version="1.1")

    def add(
        self,
        url: str | None,
        block: bytes = b"<title>it</title>",
        kind: str = "response",
        *,
        status: str | None = "200 OK",
        headers: dict[str, str] | None = None,
        date: str = DAY,
        **fields: str,
    ) -> str:
        """Add a record, and give its id. `status`, `headers`: of the HTTP answer; None: it is none.

        `fields`: of the record, "_" for "-".
        """
        http = None
        if status is not None:
            found = {"Content-Type": HTML, **(headers or {})} if kind != "request" else headers or {}
            http = StatusAndHeaders(status, list(found.items()), protocol="HTTP/1.1", is_http_request=kind == "request")
        named = {"WARC-Date": date, **{name.replace("_", "-"): value for name, value in fields.items()}}
        record = self._writer.create_warc_record(
            url,
            kind,
            payload=io.BytesIO(block),
            length=len(block),
            http_headers=http,
            warc_headers_dict=named,
            warc_content_type=named.pop("Content-Type", ""),
        )
        self._writer.write_record(record)
        record.raw_stream.close()
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def done(self) -> Path:
        self.path.write_bytes(self.data)
        return self.path

    @property
    def data(self) -> bytes:
        return self._file.getvalue()


# -- archives of programs


@pytest.mark.gate
@pytest.mark.parametrize("compressed", [True, False])
def test_what_wget_has_made(web: Web, tmp_path: Path, compressed: bool) -> None:
    """A tree of wget's archive has what a crawl has; all commands work on it, and a crawl goes on from there."""
    if shutil.which("wget") is None:
        pytest.skip("there is no wget")
    flags = [] if compressed else ["--no-warc-compression"]
    words = ["wget", "-q", "-r", "-l", "1", "--compression=auto", "--warc-file", tmp_path / "w", *flags, web.url(HOST)]
    subprocess.run(words, cwd=tmp_path, timeout=30, check=False)  # it complains of what is gone
    root, archive = tmp_path / "tree", tmp_path / ("w.warc.gz" if compressed else "w.warc")
    done = imported(root, archive)
    assert done.code == 0, done
    assert done.out.startswith("imported: 2 pages, 1 redirect, 1 of other types, 2 failures; not: "), done.out
    assert errors(root)[web.url(HOST, "/gone")].class_ == "http-4xx"
    home = pages(root)[web.url(HOST)]
    assert (home.title, home.encoding, home.ip, home.depth, home.referrer) == ("Seite ä", "windows-1252", HOST, 0, "")
    check_tree(root)
    audited(root)
    shown = fscrawl("show", "--root", root, web.url(HOST))
    assert shown.code == 0, shown
    assert f"fetched   {home.fetched_at}" in shown.out
    merged = fscrawl("merge", "--root", root, "--out", tmp_path / "dataset", "--format", "jsonl")
    assert merged.code == 0, merged

    before = len(web.exchanges)
    went_on = crawl(root, seeds=[web.url(HOST)])
    assert went_on.code == 0, went_on
    assert sorted(each.path for each in web.exchanges[before:]) == ["/b", "/robots.txt"]  # only a link beyond `-l 1`
    audited(root)
    crawl(tmp_path / "own", seeds=[web.url(HOST)])
    assert essences(root) == essences(tmp_path / "own")
    assert errors(root).keys() - {web.url(HOST, "/robots.txt")} == errors(tmp_path / "own").keys()


def test_own_archives(web: Web, tmp_path: Path) -> None:
    """A crawl, exported as WARC and imported, is the same crawl."""
    first, second = tmp_path / "first", tmp_path / "second"
    crawl(first, seeds=[web.url(HOST)])
    assert fscrawl("merge", "--root", first, "--out", tmp_path / "out", "--format", "warc").code == 0
    done = imported(second, tmp_path / "out" / "warc")
    assert done.code == 0, done
    assert done.out.startswith("imported: 3 pages, 1 redirect, 1 of other types, 0 failures; not: ")
    assert essences(second) == essences(first)
    one, other = pages(first), pages(second)
    assert {url: (each.fetched_at, each.ip) for url, each in other.items()} == {
        url: (each.fetched_at, each.ip) for url, each in one.items()
    }
    check_tree(second)
    audited(second)


def test_own_archives_with_revisits(tmp_path: Path) -> None:
    """A page that another one repeats has its body, too, though the archive has only one of both."""
    same = Response(200, {"Content-Type": HTML}, b"<title>same</title><a href=/2>2</a>" + b"text " * 99)
    with Web(lambda request: same if request.path in ("/", "/2") else Response(404), [HOST]) as web:
        crawl(tmp_path / "first", seeds=[web.url(HOST)])
    fscrawl("merge", "--root", tmp_path / "first", "--out", tmp_path / "out", "--format", "warc")
    [archive] = (tmp_path / "out" / "warc").iterdir()
    assert gzip.decompress(archive.read_bytes()).count(b"WARC-Type: revisit") == 1
    for name in ("second", "third"):
        done = imported(tmp_path / name, archive)
        assert done.out.startswith("imported: 2 pages, 0 redirects"), done
        assert essences(tmp_path / name) == essences(tmp_path / "first")
    again = imported(tmp_path / "third", archive)
    assert again.out.startswith("imported: 0 pages, 0 redirects, 0 of other types, 0 failures; not: 2 stored already")
    audited(tmp_path / "third")


def test_wacz_like_browsertrix(tmp_path: Path) -> None:
    """Of a WACZ with the records that a browser leaves, the answers over HTTP become pages, and all else is counted."""
    warc = Warc(tmp_path / "rec.warc.gz")
    warc.add(None, b"software: it\r\n", "warcinfo", status=None, Content_Type="application/warc-fields")
    renamed = {"x-orig-content-encoding": "br", "x-orig-transfer-encoding": "chunked"}
    extra = {"WARC_Page_ID": "b0c1", "WARC_Resource_Type": "document", "WARC_JSON_Metadata": '{"a":1}'}
    id_ = warc.add(A, b"<title>shown</title><a href=b>", headers=renamed, **extra)
    warc.add(A, b"", "request", status="GET /a HTTP/1.1", WARC_Concurrent_To=id_)
    posted = warc.add(B, b"<title>posted</title>", **extra)
    warc.add(B, b"q=1", "request", status="POST /b HTTP/1.1", WARC_Concurrent_To=posted)
    warc.add(f"urn:view:{A}", b"\x89PNG", "resource", status=None, Content_Type="image/png")
    warc.add(f"urn:text:{A}", b"shown", "resource", status=None, Content_Type="text/plain")
    warc.add(f"urn:pageinfo:{A}", b"{}", "resource", status=None, Content_Type="application/json")
    warc.add(C, b"<title>a resource</title>", "resource", status=None, Content_Type="text/html")
    with zipfile.ZipFile(tmp_path / "it.wacz", "w") as wacz:
        wacz.write(warc.done(), "archive/rec.warc.gz")
        wacz.writestr("pages/pages.jsonl", "{}")
        wacz.writestr("archive/../../evil.warc", "")
    done = imported(tmp_path / "tree", tmp_path / "it.wacz")
    assert done.code == 0, done
    assert done.out.startswith(
        "imported: 2 pages, 0 redirects, 0 of other types, 0 failures;"
        " not: 1 of other methods than GET, 6 no answers over HTTP, in "
    )
    assert {url: each.title for url, each in pages(tmp_path / "tree").items()} == {A: "shown", C: "a resource"}
    audited(tmp_path / "tree")


# -- answers

PAGE = b"<title>a page</title><a href=/linked>x</a>"


def deflated(data: bytes) -> bytes:
    return zlib.compress(data)


@pytest.mark.parametrize(
    ("headers", "block"),
    [
        ({}, PAGE),
        ({"Content-Length": "3"}, PAGE),
        ({"Content-Encoding": "gzip"}, gzip.compress(PAGE)),
        ({"Content-Encoding": "deflate"}, deflated(PAGE)),
        ({"Content-Encoding": "br", "Content-Length": "7"}, brotli.compress(PAGE)),
        ({"Transfer-Encoding": "chunked"}, chunked(PAGE)),
        ({"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"}, chunked(gzip.compress(PAGE))),
        ({"Transfer-Encoding": "chunked", "Content-Encoding": "br"}, PAGE),  # decoded, and the head as it was
        ({"Content-Encoding": "gzip"}, PAGE),
    ],
    ids=itertools.count(),
)
def test_codings(tmp_path: Path, headers: dict[str, str], block: bytes) -> None:
    """Codings are undone; where the archive has undone them, and left the head as it was, the body is as it stands."""
    warc = Warc(tmp_path / "it.warc.gz")
    warc.add(A, block, headers=headers)
    done = imported(tmp_path / "tree", warc.done())
    assert done.code == 0, done
    found = pages(tmp_path / "tree")[A]
    assert (found.title, found.links, found.bytes) == ("a page", ("http://a.example/linked",), len(PAGE))
    assert body(tmp_path / "tree", A) == PAGE
    check_tree(tmp_path / "tree")


def test_what_an_answer_is(tmp_path: Path) -> None:
    """An answer becomes what a crawl would make of it, with the time and the address of the archive."""
    warc = Warc(tmp_path / "it.warc")
    warc.add("<http://user:pw@A.example:80/./a#top>", PAGE, WARC_IP_Address="192.0.2.7")  # as by GNU Wget 1.19
    warc.add("http://a.example/old", b"", status="302 Found", headers={"Location": "/a"})
    warc.add("http://a.example/pdf", b"%PDF-1.7", headers={"Content-Type": "application/pdf"})
    warc.add("http://a.example/gone", b"", status="404 Not Found")
    warc.add("http://a.example/busy", b"", status="503 Service Unavailable", headers={"Retry-After": "60"})
    warc.add("http://a.example/part", PAGE, status="206 Partial Content", headers={"Content-Range": "bytes 0-9/100"})
    warc.add("http://a.example/cut", PAGE, WARC_Truncated="length")
    warc.add("http://a.example/same", b"", status="304 Not Modified")
    warc.add("http://a.example/noindex", b"<p>", headers={"X-Robots-Tag": "noindex"}, WARC_IP_Address="none\r")
    warc.add("dns:a.example", b"20260102\n", status=None, Content_Type="text/dns")
    warc.add("http://a.example/txt", b"text", "resource", status=None, Content_Type="text/plain")
    warc.add("ftp://a.example/", PAGE)
    warc.add("http:///", PAGE)
    warc.add(B, PAGE, date="yesterday")
    root = tmp_path / "tree"
    done = imported(root, warc.done())
    assert done.code == 1, done  # a date is damaged
    assert "http://a.example/b: a record of it has the WARC-Date 'yesterday', which is no time" in done.err
    assert done.out.startswith(
        "imported: 2 pages, 1 redirect, 1 of other types, 3 failures; not: 1 without the body of an earlier answer,"
        " 1 cut off by their crawler, 4 no answers over HTTP, 1 damaged, in "
    )
    found, failed = pages(root), errors(root)
    assert (found[A].fetched_at, found[A].ip, found[A].elapsed) == ("2026-01-02T03:04:05.000Z", "192.0.2.7", 0.0)
    assert found["http://a.example/old"].redirect == A
    assert found["http://a.example/pdf"].skipped == "type application/pdf"
    assert (found["http://a.example/noindex"].robots, found["http://a.example/noindex"].ip) == (("noindex",), None)
    assert {url: (each.class_, each.failed_at, each.attempts) for url, each in failed.items()} == {
        "http://a.example/gone": ("http-4xx", "2026-01-02T03:04:05.000Z", 1),
        "http://a.example/busy": ("http-5xx", "2026-01-02T03:04:05.000Z", 1),
        "http://a.example/part": ("protocol", "2026-01-02T03:04:05.000Z", 1),
    }
    check_tree(root)
    audited(root)


def test_settings_of_the_tree_count(tmp_path: Path) -> None:
    """A type that the settings accept is stored; URLs are spelled by them."""
    warc = Warc(tmp_path / "it.warc.gz")
    warc.add("http://a.example/pdf?x=1", b"%PDF-1.7", headers={"Content-Type": "application/pdf"})
    root = tmp_path / "tree"
    settings = {"fetch.accept": '["text/html", "application/pdf"]', "crawl.drop_query": "true"}
    done = imported(root, warc.done(), settings=settings)
    assert done.out.startswith("imported: 1 page, ")
    assert pages(root)["http://a.example/pdf"].file == "pdf"
    check_tree(root)
    refused = fscrawl("import", "--root", root, "--set", "crawl.scope=host", tmp_path)
    assert refused.code == 2
    assert "crawl.scope" in refused.err


def test_the_last_answer_stays(tmp_path: Path) -> None:
    """Of several answers the last fetched one stays, whatever the order; a failure takes no page away."""
    shapes: list[dict[str, Any]] = [
        {"url": A, "block": b"<title>old</title>", "date": DAY},
        {"url": A, "block": b"<title>new</title>", "date": NEXT_DAY},
        {"url": A, "block": b"", "status": "404 Not Found", "date": "2026-01-04T03:04:05Z"},
        {"url": B, "block": PAGE, "date": DAY},
        {"url": B, "block": b"", "status": "301 Moved", "headers": {"Location": "/c"}, "date": NEXT_DAY},
        {"url": C, "block": b"", "status": "404 Not Found", "date": NEXT_DAY},
        {"url": C, "block": b"", "status": "410 Gone", "date": DAY},
    ]
    trees = []
    for number, order in enumerate(itertools.islice(itertools.permutations(shapes), 0, 5040, 840)):
        root = tmp_path / str(number)
        for at, shape in enumerate(order):
            warc = Warc(tmp_path / f"{number}-{at}.warc.gz")
            warc.add(**shape)
            warc.done()
        done = imported(root, *sorted(tmp_path.glob(f"{number}-*.warc.gz")))
        assert done.code == 0, done
        check_tree(root)
        trees.append((essences(root), {url: each.status for url, each in errors(root).items()}))
        before = {path: path.stat().st_mtime_ns for path in (root / "links").rglob("*.json")}
        assert imported(root, *sorted(tmp_path.glob(f"{number}-*.warc.gz"))).out.startswith("imported: 0 pages, 0 red")
        assert before == {path: path.stat().st_mtime_ns for path in (root / "links").rglob("*.json")}
    found, failed = trees[0]
    assert all(tree == trees[0] for tree in trees)
    assert (found[A][6], found[B][2], failed) == ("new", C, {C: 404})


def test_revisits(tmp_path: Path) -> None:
    """A revisit has the body of the answer that it names, also from an archive behind it; else it is counted."""
    before, after = Warc(tmp_path / "1.warc.gz"), Warc(tmp_path / "2.warc.gz")
    refers = {"WARC_Refers_To_Target_URI": A, "WARC_Refers_To_Date": DAY}
    before.add(B, b"", "revisit", headers={"X-Of": "b"}, date=NEXT_DAY, **refers)
    before.add(C, b"", "revisit", date=NEXT_DAY, WARC_Refers_To_Target_URI="http://a.example/none")
    before.add(A, b"", "revisit", status=None, date="2026-01-04T00:00:00Z", **refers)  # it has not changed
    before.add("http://a.example/old", b"", "revisit", status="301 Moved", headers={"Location": "/a"})
    after.add(A, PAGE)
    before.done(), after.done()
    root = tmp_path / "tree"
    for stored in (2, 0):
        done = imported(root, tmp_path)
        assert done.code == 0, done
        assert done.out.startswith(f"imported: {stored} page"), done.out
        assert "1 without the body of an earlier answer" in done.out
        found = pages(root)
        assert set(found) == {A, B, "http://a.example/old"}
        assert essence(found[B])[6:] == essence(found[A])[6:]
        assert (found[B].fetched_at, found[B].headers["x-of"]) == ("2026-01-03T03:04:05.000Z", "b")
        assert (found[A].fetched_at, found[A].checked_at) == ("2026-01-02T03:04:05.000Z", "2026-01-04T00:00:00.000Z")
        check_tree(root)
    audited(root)


def test_more_pages_for_a_crawl_that_has_begun(web: Web, tmp_path: Path) -> None:
    """The links of a page that was imported into a finished crawl are followed by the next one."""
    root = tmp_path / "tree"
    crawl(root, seeds=[web.url(HOST, "/pdf")])
    warc = Warc(tmp_path / "it.warc.gz")
    warc.add(web.url(HOST, "/pdf"), b"<title>now a page</title><a href=/b>b</a>", date="2036-01-01T00:00:00Z")
    done = imported(root, warc.done())
    assert done.code == 0, done
    audited(root)
    before = len(web.exchanges)
    assert crawl(root).code == 0
    assert [each.path for each in web.exchanges[before:]] == ["/b"]
    audited(root)
    check_tree(root)


# -- what archives may do


def many(path: Path, number: int) -> Warc:
    """Give an archive with pages that do not compress."""
    warc, rng = Warc(path), random.Random(1)
    for each in range(number):
        warc.add(f"http://a.example/{each}", b"<title>%d</title>" % each + rng.randbytes(20_000).hex().encode())
    return warc


@pytest.mark.parametrize("name", ["it.warc.gz", "it.warc"])
def test_damage(tmp_path: Path, name: str) -> None:
    """What can be read of a damaged archive is imported; a line names the place, and the exit code says it."""
    data = many(tmp_path / name, 6).data
    third = len(data) // 6 * 2
    shapes = {
        "cut in a page": (data[:-9000], set("01234"), "byte"),
        "cut in a head": (data[: len(data) // 6 * 5 + 60], set("01234"), "byte"),
        "overwritten": (
            data[: third + 4000] + b"\0" * 300 + data[third + 4300 :],
            set("01345"),
            "byte",
        ),
        "garbage": (b"hello, this is no archive\n" * 999, set(), "byte 0: "),
    }
    if name.endswith(".warc"):  # without compression, what is overwritten stays a page
        shapes["overwritten"] = (data[:third] + b"garbage\r\n\r\n" + data[third:], set("012345"), "byte")
    for what, (damaged, left, said) in shapes.items():
        (tmp_path / name).write_bytes(damaged)
        root = tmp_path / what
        done = imported(root, tmp_path / name)
        assert done.code == 1, (what, done)
        [line] = done.warnings
        assert line.startswith(f"{tmp_path / name}: damaged in or behind the record at {said}"), (what, line)
        assert {url[-1] for url in pages(root)} >= left, (what, done)
        assert "1 damaged, in " in done.out, (what, done.out)
        if pages(root):
            check_tree(root)
            audited(root)


@pytest.mark.parametrize("cut", [0, 9000])
def test_all_records_in_one_gzip_member(tmp_path: Path, cut: int) -> None:
    """An archive that was compressed as a whole is read, too; and that it is cut is seen."""
    data = gzip.compress(many(tmp_path / "it.warc", 20).data)
    (tmp_path / "it.warc.gz").write_bytes(data[: len(data) - cut])
    done = imported(tmp_path / "tree", tmp_path / "it.warc.gz")
    assert (done.code, len(done.warnings)) == ((1, 1) if cut else (0, 0)), done
    assert len(pages(tmp_path / "tree")) == (19 if cut else 20)


def test_a_revisit_whose_body_is_damaged(tmp_path: Path) -> None:
    """A body that is not what its record says is no page's; nor is a missing one."""
    warc, root = Warc(tmp_path / "1.warc"), tmp_path / "tree"
    warc.add(A, PAGE)
    assert imported(root, warc.done()).code == 0
    again = Warc(tmp_path / "2.warc")
    again.add(B, b"", "revisit", WARC_Refers_To_Target_URI=A, WARC_Refers_To_Date=DAY)
    [stored] = (root / "htmls").rglob("*.html")
    stored.write_bytes(PAGE.upper())
    assert "1 without the body of an earlier answer" in imported(root, again.done()).out
    stored.unlink()
    assert "1 without the body of an earlier answer" in imported(root, again.done()).out
    assert set(pages(root)) == {A}


def test_an_archive_with_nothing_in_it(tmp_path: Path) -> None:
    """An empty archive is no mistake, but there is no page."""
    (tmp_path / "it.warc.gz").touch()
    done = imported(tmp_path / "tree", tmp_path / "it.warc.gz")
    assert (done.code, done.warnings) == (1, []), done
    assert done.out.startswith("imported: 0 pages, 0 redirects, 0 of other types, 0 failures, in ")


@pytest.mark.gate
def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies, codings, heads and pages that cost too much are failures, as in a crawl; others are not read."""
    monkeypatch.setattr(parsing, "_LIMIT_S", 0.05)
    monkeypatch.setattr(costs, "slowness", lambda: 1.0)  # else it depends on tests before this one
    bomb = gzip.compress(b"<p>" + b"\0" * 30_000_000)
    warc = Warc(tmp_path / "it.warc.gz")
    warc.add("http://a.example/bomb", bomb, headers={"Content-Encoding": "gzip"})
    warc.add("http://a.example/nested", gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"})
    warc.add("http://a.example/large", b"<p>" * 700_000)
    warc.add("http://a.example/chunks", b"1\r\nx\r\n" * 200_000, headers={"Transfer-Encoding": "chunked"})
    warc.add("http://a.example/head", PAGE, headers={f"X-{each}": "x" * 200 for each in range(2000)})
    warc.add("http://a.example/video", b"\0" * 30_000_000, headers={"Content-Type": "video/mp4"})
    warc.add("http://a.example/resource", b"<p>" * 700_000, "resource", status=None, Content_Type="text/html")
    warc.add("http://a.example/slow", b"<svg>" + b"<g></q>" * 60_000)
    warc.add("http://a.example/title", b"<title>%s</title>" % (b"x" * 1_000_000))
    root = tmp_path / "tree"
    done = imported(root, warc.done(), settings={"fetch.max_bytes": "2000000"})
    assert done.code == 0, done
    found = {url.rpartition("/")[2]: each.class_ for url, each in errors(root).items()}
    assert found.pop("slow") == "parse"
    assert found == dict.fromkeys(("bomb", "nested", "large", "chunks", "head", "resource"), "too-large")
    assert pages(root)["http://a.example/video"].skipped == "type video/mp4"
    check_tree(root)
    audited(root)


@pytest.mark.gate
@pytest.mark.parametrize(
    "head",
    [b"WARC/1.0\r\nX: " + b"a" * 50_000_000, b"WARC/1.0\r\n" + b"X: a\r\n" * 5_000_000, b"\n" * 50_000_000],
)
def test_heads_of_records_are_bounded(tmp_path: Path, head: bytes) -> None:
    """The head of a record has a limit: a longer one is damage."""
    (tmp_path / "it.warc.gz").write_bytes(gzip.compress(head, 1))
    done = imported(tmp_path / "tree", tmp_path / "it.warc.gz")
    assert done.code == 1, done
    assert "imported: 0 pages" in done.out


def test_names_of_archives_are_no_paths(tmp_path: Path) -> None:
    """Whatever a URL looks like, its files stand where the tree has them, or it has none."""
    warc = Warc(tmp_path / "it.warc")
    for url in ("http://../etc/passwd", "http://a.example/../../../etc/passwd", "http://..%2f..%2fx/", "http://-/\0"):
        warc.add(url, PAGE)
    warc.add("http://a.example/%2e%2e/x\n../y", PAGE)
    warc.add("file:///etc/passwd", PAGE)
    warc.add("http://a.example/" + "x" * 5000, PAGE)
    (tmp_path / "place").mkdir()
    root = tmp_path / "place" / "tree"
    assert imported(root, warc.done()).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.warc", "place"]
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["tree"]
    check_tree(root)
    audited(root)


# -- the command line


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the command line is one line, and no tree is made."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.wacz").write_text("no zip")
    zipfile.ZipFile(tmp_path / "empty.wacz", "w").close()
    root = tmp_path / "tree"
    for words, said in (
        ([tmp_path / "none.warc"], f"fscrawl: {tmp_path}/none.warc: cannot be read: no such file or directory\n"),
        ([tmp_path / "empty"], f"fscrawl: {tmp_path}/empty: there is no archive; their names end in .warc, "),
        ([tmp_path / "no.wacz"], f"fscrawl: {tmp_path}/no.wacz: it is no WACZ that can be read: "),
        ([tmp_path / "empty.wacz"], f"fscrawl: {tmp_path}/empty.wacz: there is no archive/*.warc.gz\n"),
        ([], "fscrawl: which archives? type:  "),
    ):
        done = fscrawl("import", "--root", root, *words)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith(said), done.err
        assert done.err.count("\n") == 1
    assert not root.exists()
    monkeypatch.setitem(sys.modules, "fscrawl.admin.importing", None)
    done = fscrawl("import", "--root", root, tmp_path)
    assert (done.code, done.err.startswith("fscrawl: import needs fscrawl.admin.importing: ")) == (2, True), done
    assert "[import]" in done.err or "EXTRAS=import" in done.err


def test_a_defect_costs_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page at which the program fails is named and counted, and the others are imported."""
    store = importing.Worker.store

    def fails(self: Any, task: Any, answer: Any) -> Any:
        if task.url == A:
            raise ValueError("a defect")
        return store(self, task, answer)

    monkeypatch.setattr(importing.Worker, "store", fails)
    warc = Warc(tmp_path / "it.warc")
    warc.add(A), warc.add(B)
    done = imported(tmp_path / "tree", warc.done())
    assert done.out.startswith("imported: 1 page, 0 redirects, 0 of other types, 1 failure, in "), done
    assert done.err == f"{A}: ValueError: a defect\n"
