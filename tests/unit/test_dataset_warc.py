"""Archives: records, indexes, and what other tools make of them."""

import csv
import gzip
import io
import json
import uuid
import zlib

import fastwarc.warc
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl.dataset import warc
from fscrawl.storage.warc import base32_sha1, gzip_member
from tests.support.trees import Grown, check

A, B, COPY = "http://a.example/", "http://a.example/b?y=1&x", "http://b.example/copy"


@pytest.fixture
def tree(tmp_path):
    return filled(Grown(tmp_path / "tree"))


def filled(grown):
    grown.page(A, b"<title>A</title><a href=b?y=1&x>b</a><a rel=nofollow href=/c>c</a>", depth=0)
    grown.page(
        B,
        b"<p>\xe4",
        depth=3,
        referrer="f" * 24,
        headers={
            "content-type": "text/html; charset=windows-1252",
            "content-encoding": "gzip",
            "transfer-encoding": "chunked",
            "content-length": "7",
            "x-wild": "a\r\n b\x00\x1b\x7f\tc",
            "x-latin": "caf\xe9",
            "ä b:c\r\nset-cookie: evil": "v",
            "": "nameless",
        },
    )
    grown.page(COPY, grown.bodies[A], status=299)
    grown.redirect("http://a.example/old", A)
    grown.skipped("http://a.example/pdf")
    grown.page("http://a.example/empty", b"")
    return grown


@pytest.fixture
def made(tree, tmp_path):
    return tree.merge(tmp_path / "out", formats=("parquet", "warc"))


def read(made):
    """Give all records: (type, WARC headers, HTTP head, body)."""
    found = []
    for path in made.files("warc/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                head = record.http_headers
                found.append((record.rec_type, dict(record.rec_headers.headers), head, record.raw_stream.read()))
    return found


def of(made, url, kind):
    (record,) = (each for each in read(made) if each[0] == kind and each[1].get("WARC-Target-URI") == url)
    return record


def test_order(made):
    """An archive begins with a warcinfo; each page is a response or a revisit, then its request and its metadata."""
    kinds = [kind for kind, _, _, _ in read(made)]
    assert kinds[0] == "warcinfo"
    assert kinds[1::3] == ["response"] * 5 + ["revisit"]
    assert kinds[2::3] == ["request"] * 6
    assert kinds[3::3] == ["metadata"] * 6


def test_request(made, tree):
    """A request record has what was surely sent, and belongs to the response, or the revisit, of its page."""
    for url, kind in ((A, "response"), (B, "response"), (COPY, "revisit"), ("http://a.example/old", "response")):
        _, headers, head, body = of(made, url, "request")
        target = url.partition(".example")[2]
        assert (head.protocol, head.statusline, body) == ("GET", f"{target} HTTP/1.1", b"")
        assert head.headers == [("Host", url.split("/")[2])]
        _, answer, _, _ = of(made, url, kind)
        assert headers["WARC-Concurrent-To"] == answer["WARC-Record-ID"]
        assert headers["WARC-Date"] == answer["WARC-Date"] == tree.records[url].fetched_at


@pytest.mark.parametrize(("ip", "said"), [("192.0.2.7", "192.0.2.7"), ("FE80::1%eth0", "fe80::1"), ("x\r\ny: z", None)])
def test_address(tree, tmp_path, ip, said):
    """Request and answer have the address that the page came from; one that is none, or is not known, is left out."""
    for url in (A, "http://a.example/old"):
        tree.rewrite(url, b'"elapsed"', f'"ip":{json.dumps(ip)},"elapsed"'.encode())
    tree.page(COPY, tree.bodies[A], ip=ip)
    made = tree.merge(tmp_path / "out", formats=("parquet", "warc"))
    for url, kind in ((A, "response"), ("http://a.example/old", "response"), (COPY, "revisit"), (B, "response")):
        wanted = None if url == B else said
        assert of(made, url, kind)[1].get("WARC-IP-Address") == wanted
        assert of(made, url, "request")[1].get("WARC-IP-Address") == wanted
        assert "WARC-IP-Address" not in of(made, url, "metadata")[1]
        assert made.by_url()[url]["ip"] == (None if url == B else ip)
    assert not [headers for _, headers, _, _ in read(made) if "y" in headers]


def test_response(made, tree):
    """A response has the body, its digest, the moment and the URL; what the head says of its length holds."""
    _, headers, head, body = of(made, B, "response")
    assert body == tree.bodies[B]
    assert headers["WARC-Payload-Digest"] == f"sha1:{base32_sha1(body)}"
    assert headers["WARC-Date"] == tree.records[B].fetched_at
    assert headers["Content-Type"] == "application/http; msgtype=response"
    assert (head.protocol, head.statusline) == ("HTTP/1.1", "200 OK")
    names = [name for name, _ in head.headers]
    assert {"X-Crawl-content-encoding", "X-Crawl-transfer-encoding", "X-Crawl-content-length"} <= set(names)
    assert {"content-encoding", "transfer-encoding"}.isdisjoint(names)
    assert [value for name, value in head.headers if name.lower() == "content-length"] == [str(len(body))]


def test_hostile_head(made):
    """No header of a page makes another header, or has a control character; lines that it had are lines again."""
    _, _, head, _ = of(made, B, "response")
    assert [value for name, value in head.headers if name == "x-wild"] == ["a", "b c"]
    found = dict(head.headers)
    assert found["x-latin"] == "caf\xe9"
    assert found["__b_c__set-cookie__evil"] == "v"
    assert found["_"] == "nameless"
    assert "set-cookie" not in found


def test_whatever_a_record_says(tree, tmp_path):
    """Control characters, in whatever field, cost no archive; readers find all pages."""
    url = "http://z.example/"
    tree.rendered(url, b"<p>", b"<title>\xff\xed\xa0\x80</title>", b"png", label="x")
    odd = rb'"label":"x\u0000","title":"\u2028","encoding":"\n","ip":"\u0000","links":["\u0000"],'
    tree.rewrite(url, b'"elapsed"', odd + b'"elapsed"')
    odd = rb'"\u2028":"?;\u0000","link":"</caf\u00e9>; rel=next\n</b>",'
    tree.rewrite(url, b'"content-type"', odd + b'"content-type"')
    made = tree.merge(tmp_path / "out", formats=("parquet", "warc"))
    assert made.said == []
    said = of(made, url, "response")[2].headers
    assert {("_", "?;"), ("link", "</caf\xe9>; rel=next"), ("link", "</b>")} <= set(said)
    (path,) = made.files("warc/*.warc.gz")
    data = path.read_bytes()
    found = {each.headers.get("WARC-Target-URI") for each in fastwarc.warc.ArchiveIterator(io.BytesIO(data))}
    assert {*tree.records, f"urn:view:{url}"} == found - {None}


def test_bodiless(made):
    """A redirect or an unwanted type is a response without body that says so, and without a digest of it."""
    for url, status in (("http://a.example/old", "301 Moved Permanently"), ("http://a.example/pdf", "200 OK")):
        _, headers, head, body = of(made, url, "response")
        assert (head.statusline, body) == (status, b"")
        assert headers["WARC-Truncated"] == "unspecified"
    _, headers, _, body = of(made, "http://a.example/empty", "response")
    assert body == b""
    assert "WARC-Truncated" not in headers
    assert headers["WARC-Payload-Digest"] == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_revisit(made, tree):
    """An exact duplicate is a revisit record that refers to the first page by URL and moment, and has no body."""
    _, headers, head, body = of(made, COPY, "revisit")
    assert headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert headers["WARC-Refers-To-Target-URI"] == A
    assert headers["WARC-Refers-To-Date"] == tree.records[A].fetched_at
    assert headers["WARC-Payload-Digest"] == f"sha1:{base32_sha1(tree.bodies[A])}"
    assert body == b""
    assert head.statusline == "299"
    assert dict(head.headers)["Content-Length"] == str(len(tree.bodies[A]))
    _, metadata, _, _ = of(made, COPY, "metadata")
    assert metadata["WARC-Concurrent-To"] == headers["WARC-Record-ID"]


def test_revisit_of_an_earlier_run(tree, tmp_path):
    """A revisit may refer to a page of an earlier run's archive."""
    tree.merge(tmp_path / "out", formats=("warc",))
    tree.page("http://0.example/", tree.bodies[B])
    made = tree.merge(tmp_path / "out")
    _, headers, _, _ = of(made, "http://0.example/", "revisit")
    assert headers["WARC-Refers-To-Target-URI"] == B
    assert headers["WARC-Refers-To-Date"] == tree.records[B].fetched_at


def fields(body):
    return [tuple(line.split(": ", 1)) for line in body.decode().split("\r\n") if line]


def test_metadata(made, tree):
    """Metadata has the way from the seed, the key, and all links."""
    assert fields(of(made, A, "metadata")[3]) == [
        ("pathFromSeed", ""),
        ("fscrawl-key", tree.records[A].key),
        ("charset-detected", tree.records[A].encoding),
        ("outlink", f"{B} L a/@href"),
        ("nofollow", "http://a.example/c"),
    ]
    assert dict(fields(of(made, B, "metadata")[3]))["pathFromSeed"] == "LLL"
    assert dict(fields(of(made, B, "metadata")[3]))["fscrawl-referrer-key"] == "f" * 24
    assert dict(fields(of(made, "http://a.example/old", "metadata")[3]))["outlink"] == f"{A} R"


def test_metadata_of_a_foreign_record(tree, tmp_path):
    """No link and no encoding of somebody's record makes a field of its own."""
    tree.page("http://a.example/x", links=("http://a.example/\r\nfscrawl-key: evil",), encoding="x\r\npathFromSeed: LL")
    found = fields(of(tree.merge(tmp_path / "out", formats=("warc",)), "http://a.example/x", "metadata")[3])
    assert [name for name, _ in found].count("fscrawl-key") == 1
    assert [name for name, _ in found].count("pathFromSeed") == 1


def test_ids(made, tree, tmp_path):
    """Record ids are unique, and the same whenever the same page is exported."""
    ids = [headers["WARC-Record-ID"] for _, headers, _, _ in read(made)]
    assert len(set(ids)) == len(ids)
    assert all(uuid.UUID(each.removeprefix("<urn:uuid:").removesuffix(">")) for each in ids)
    again = tree.merge(tmp_path / "again", formats=("warc",))
    assert [headers["WARC-Record-ID"] for _, headers, _, _ in read(again)] == ids


def member(path, offset, length):
    """Read one member of a gzip file; it must end where it is said to."""
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    unpacker = zlib.decompressobj(31)
    found = unpacker.decompress(data)
    assert unpacker.eof
    assert unpacker.unused_data == b""
    return found


def test_offsets(made, tree):
    """An index tells where each record is: the member there, read alone, is that URL's response or revisit."""
    rows = made.rows("warc-index")
    assert {row["key"] for row in rows} == tree.keys()
    for row in rows:
        record = member(made.out / row["warc_filename"], row["warc_record_offset"], row["warc_record_length"])
        assert f"\r\nWARC-Target-URI: {row['url']}\r\n".encode() in record
        kind = "revisit" if row["content_mime_type"] == "warc/revisit" else "response"
        assert f"\r\nWARC-Type: {kind}\r\n".encode() in record


def test_index_is_sorted(tree, tmp_path):
    """The rows of the index are in the order in which web archives sort, also within a second."""
    for number, name in enumerate(["x/", "X", "x"]):
        tree.page(f"http://www.z.example/{name}", fetched_at=f"2026-11-05T00:00:00.{9 - number}00Z")
    rows = tree.merge(tmp_path / "out", formats=("warc",)).rows("warc-index")
    found = [(row["url_surtkey"], row["fetch_time"]) for row in rows]
    assert found == sorted(found)


def test_every_record_is_a_member(made):
    """Each record is compressed on its own, without a time, and all of them make the file."""
    (path,) = made.files("warc/*.warc.gz")
    data, count = path.read_bytes(), 0
    while data:
        assert data[4:8] == bytes(4)
        unpacker = zlib.decompressobj(31)
        assert unpacker.decompress(data).startswith(b"WARC/1.1\r\n")
        data = unpacker.unused_data
        count += 1
    assert count == len(read(made))
    assert gzip.decompress(path.read_bytes()).count(b"\r\nWARC-Type: metadata\r\n") == 6


def test_several_parts(tree, tmp_path, monkeypatch):
    """Each archive begins with a warcinfo that names it, and offsets are right in all of them."""
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 3)
    monkeypatch.setattr("fscrawl.dataset.write._GROUP_ROWS", 12)
    tree.many(2, 15)
    made = tree.merge(tmp_path / "out", formats=("warc",))
    check(made)
    assert len(made.files("warc/*.warc.gz")) == 3
    test_offsets(made, tree)
    infos = [headers["WARC-Filename"] for kind, headers, _, _ in read(made) if kind == "warcinfo"]
    assert infos == [path.name for path in made.files("warc/*.warc.gz")]


def of_each_layout(tmp_path, **options):
    """Merge a tree of each layout that has the same pages; give the records of both archives."""
    records = []
    for layout in ("files", "packs"):
        grown = filled(Grown(tmp_path / layout, layout=layout))
        grown.rendered("http://a.example/app", b"<div>", b"<div>seen", b"\x89PNG")
        made = grown.merge(tmp_path / f"{layout}-out", **options)
        check(made)
        read(made)  # its digests are right
        (path,) = made.files("warc/*.warc.gz")
        found = gzip.decompress(path.read_bytes()).split(b"\r\n\r\nWARC/1.1\r\n")
        records.append(sorted(record for record in found if b"WARC-Type: warcinfo" not in record))
    return records


@pytest.mark.parametrize("formats", [("warc",), ("warc", "parquet")])
def test_archive_of_packs(tmp_path, monkeypatch, formats):
    """Bodies in packs are records already: they are copied, and the archive is that of a tree of files."""
    compressed = []

    def counting(data):
        compressed.append(data)
        return gzip_member(data)

    monkeypatch.setattr(warc, "gzip_member", counting)
    of_files, of_packs = of_each_layout(tmp_path, formats=formats)
    assert of_packs == of_files
    kinds = [data.split(b"\r\n")[1] for data in compressed]
    made = {kind: kinds.count(b"WARC-Type: " + kind) for kind in (b"response", b"conversion", b"resource", b"revisit")}
    assert made == {b"response": 4 + 2 + 2, b"conversion": 1, b"resource": 1, b"revisit": 2}  # 2: have no body


def lengthened(line):
    line["at"]["body"][1] += 100  # and so a part of the next one


def turned(line):
    line["status"], line["ip"] = 203, "192.0.2.0"


def dated(line):
    line["fetched_at"] = "2026-11-21T12:00:00+02:00"


@pytest.mark.parametrize("edit", [lengthened, turned, dated])
def test_archive_of_lines_that_were_edited(tmp_path, edit):
    """What stands in a pack is only copied if it is the record that the page has by its line."""
    grown = Grown(tmp_path / "tree", layout="packs")
    grown.page(A, b"<p>a")
    grown.page("http://a.example/secret", b"<p>secret", robots=("noindex",))
    grown.tree.close()
    (path,) = (tmp_path / "tree/links").glob("*/*.jsonl")
    first, second = path.read_text().splitlines()
    line = json.loads(first)
    edit(line)
    path.write_text(f"{json.dumps(line)}\n{second}\n")
    for index in path.parent.glob("*.index"):
        index.unlink()
    made = grown.merge(tmp_path / "out", formats=("warc",))
    check(made)
    found = read(made)
    kinds = [kind for kind, *_ in found]
    assert kinds == ["warcinfo", "response", "request", "metadata"]
    (_, response, head, body), (_, request, *_), (_, metadata, *_) = found[1:]
    assert (head.get_statuscode(), body) == (str(line["status"]), b"<p>a")
    assert response.get("WARC-IP-Address") == line.get("ip") == request.get("WARC-IP-Address")
    assert response["WARC-Record-ID"] == request["WARC-Concurrent-To"] == metadata["WARC-Concurrent-To"]
    assert response["WARC-Date"].endswith("Z")


def test_archive_of_a_body_of_before(tmp_path):
    """A body that an older answer brought is not copied: the record of that one has another date."""
    grown, later = Grown(tmp_path / "tree", layout="packs"), "2027-01-01T00:00:00.000Z"
    grown.page(A, b"<p>same")
    grown.page(A, b"<p>same", fetched_at=later)
    made = grown.merge(tmp_path / "out", formats=("warc",))
    check(made)
    [found] = [headers for kind, headers, _, _ in read(made) if kind == "response"]
    assert found["WARC-Date"] == later


def test_table_is_readable(made):
    """The index is a table with its columns explained."""
    (path,) = made.files("warc-index/*.parquet")
    schema = pq.read_schema(path)
    assert all(b"comment" in (schema.field(name).metadata or {}) for name in schema.names)


def test_csv_of_the_same(tree, tmp_path):
    """Formats of one dataset have the same pages in the same order."""
    made = tree.merge(tmp_path / "all", formats=("parquet", "csv", "jsonl"))
    (path,) = made.files("csv/pages/*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        named = [row["url"] for row in csv.DictReader(file)]
    assert named == [row["url"] for row in made.rows()] == [row["url"] for row in made.json_lines()]
