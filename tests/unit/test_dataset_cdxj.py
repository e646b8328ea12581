"""The index for web archives: blocks of sorted lines, and where they are."""

from __future__ import annotations

import bisect
import gzip
import hashlib
import io
import json
import zlib

import pytest
import surt as reference
from cdxj_indexer.main import CDXJIndexer

from fscrawl.dataset import cdxj
from fscrawl.dataset.surt import surt
from fscrawl.request import Request, spelling
from tests.support.trees import Grown, check

A = "http://a.example/"
JSON = [
    {"q": "a b+c", "of": [{"n": 1}, {"n": None}, {"n": 1.5}], "n.2_": True, "x": {"y": {"é": "50%25#"}}},
    ["a", {"b": ["&", "="]}],
    "text",
]


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(cdxj, "BLOCK_LINES", 7)
    tree = Grown(tmp_path / "tree")
    tree.many(3, 20)
    tree.page(f"{A}twin", tree.bodies["http://h0.example/1"])
    tree.redirect(f"{A}old", A)
    tree.page(spelling(Request(f"{A}search", form={"q": "a b", "é": "50% + 1#"})), b"<p>found")
    for number, value in enumerate(JSON):
        tree.page(spelling(Request(f"{A}api?v={number}", "PUT" if number else "POST", json=value)), b"<p>%d" % number)
    return tree.merge(tmp_path / "out", formats=("warc",))


def unpack(data):
    """Unpack one block; it must be one gzip member."""
    unpacker = zlib.decompressobj(31)
    found = unpacker.decompress(data)
    assert unpacker.eof
    assert unpacker.unused_data == b""
    return found.decode().splitlines()


def idx(made):
    (path,) = made.files("warc/*.idx")
    return path, [line.split("\t") for line in path.read_text().splitlines()]


def test_blocks(made):
    """The blocks make the file, have the same number of lines each but the last, and all lines are sorted."""
    path, places = idx(made)
    data = path.with_suffix(".cdxj.gz").read_bytes()
    blocks, end = [], 0
    for number, (first, name, offset, length, count) in enumerate(places, 1):
        assert (name, int(offset), int(count)) == (f"{path.stem}.cdxj.gz", end, number)
        end += int(length)
        blocks.append(unpack(data[int(offset) : end]))
        assert blocks[-1][0].startswith(f"{first} {{")
    assert end == len(data)
    assert {len(block) for block in blocks[:-1]} == {7}
    lines = [line for block in blocks for line in block]
    assert lines == sorted(lines) == gzip.decompress(data).decode().splitlines()
    assert len(lines) == 66


def test_a_page_is_found_by_two_reads(made):
    """A bisection of the .idx names the block that has a URL: that is how web archives read it."""
    path, places = idx(made)
    for url in ("http://h0.example/0", "http://h1.example/19", f"{A}old", f"{A}twin"):
        key = f"{surt(url)} "
        number = max(bisect.bisect_right([place[0] for place in places], key) - 1, 0)
        _, name, offset, length, _ = places[number]
        with path.with_name(name).open("rb") as file:
            file.seek(int(offset))
            lines = unpack(file.read(int(length)))
        if number + 1 < len(places) and places[number + 1][0].startswith(key):  # its first line may be the next block's
            lines.append(places[number + 1][0] + ' {"url": "' + url + '"}')
        assert url in [json.loads(line.split(" ", 2)[2])["url"] for line in lines if line.startswith(key)]


def test_as_cdxj_indexer(made):
    """The indexer of the field finds the same records at the same places, and the same key for a request."""
    (path,) = made.files("warc/*.warc.gz")
    out = io.StringIO()
    CDXJIndexer(out, [str(path)], sort=True, post_append=True, records="response,revisit").process_all()
    names = ("url", "status", "offset", "length", "filename", "method", "requestBody")

    def read(text):
        found = {}
        for key, moment, rest in (line.split(" ", 2) for line in text.splitlines()):
            values = json.loads(rest)
            found[values["offset"]] = (key, moment, *(values.get(name) for name in names))
        return found

    ours = read(gzip.decompress(path.with_suffix("").with_suffix(".cdxj.gz").read_bytes()).decode())
    assert read(out.getvalue()) == ours
    assert "example,a)/search?%c3%a9=50%25%20+%201&__wb_method=post&q=a%20b" in {line[0] for line in ours.values()}


def test_no_lines():
    """An index without lines has no blocks."""
    assert list(cdxj.blocks([])) == []


def test_a_dataset_of_an_earlier_version(made, tmp_path):
    """A plain .cdxj of an earlier version stays as it is; what a further run adds is compressed, and --rebuild all."""
    path, _ = idx(made)
    packed, plain = path.with_suffix(".cdxj.gz"), path.with_suffix(".cdxj")
    data = gzip.decompress(packed.read_bytes())
    plain.write_bytes(data)
    values = made.manifest
    files = [each for each in values["files"] if each["path"] not in (f"warc/{packed.name}", f"warc/{path.name}")]
    digest = hashlib.sha256(data).hexdigest()
    files.append({"path": f"warc/{plain.name}", "rows": 66, "bytes": len(data), "sha256": digest})
    (made.out / "manifest.json").write_text(json.dumps({**values, "files": files}), encoding="utf-8")
    packed.unlink()
    path.unlink()
    tree = Grown(tmp_path / "other", crawl="c1")
    tree.page("http://z.example/")
    check(tree.merge(made.out))
    names = {each.name for each in made.files("warc/*")}
    archives = {f"part-000{run}-00000.warc.gz" for run in (1, 2)}
    assert names == {*archives, plain.name, "part-0002-00000.cdxj.gz", "part-0002-00000.idx"}
    check(tree.merge(made.out, rebuild=True))
    assert not plain.exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/Foo_%28bar%29?url=https%3A%2F%2Fx.org%2Fa",
        "http://a.example/?a=%7C%7C&x=%20%22",
        "http://a.example/%C3%BC/%2525?q=%E6%97%A5",
        "https://a.example:8443/a%2Cb?c=1,2&b=%5B0%5D",
        "http://a.example/plain/path?b=2&a=1",
    ],
)
def test_keys_are_those_that_readers_look_up(url):
    """Readers decode a URL and encode it again, whatever its spelling is."""
    row = {"method": "GET", "url": url, "url_surtkey": surt(url)}
    assert cdxj._key(row, "") == reference.surt(url)
