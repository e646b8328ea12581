"""WACZ: one file for an archive. The reference tool finds it valid, and each page is found in it as readers do."""

from __future__ import annotations

import bisect
import gzip
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl.dataset import archives, cdxj
from fscrawl.dataset.surt import surt
from fscrawl.errors import TreeError
from fscrawl.request import Request, spelling
from tests.support.merging import A, B, C
from tests.support.trees import Grown, Made, check, contents

pytestmark = pytest.mark.proof

ROUTE = "http://b.example/app#/route"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make archives, groups and blocks small."""
    monkeypatch.setattr(archives, "PART_BYTES", 60_000)
    monkeypatch.setattr("fscrawl.dataset.dedupe._GROUP_ROWS", 20)
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 10)
    monkeypatch.setattr(cdxj, "BLOCK_LINES", 7)


def validate(path: Path) -> None:
    """Ask the reference tool."""
    command = [sys.executable, "-m", "wacz.main", "validate", "-f", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    assert "Version detected as 1.1.1" in done.stdout
    assert "the passed WACZ is valid" in done.stdout


def listed(package: zipfile.ZipFile) -> list[dict[str, Any]]:
    """Give the list of pages."""
    head, *lines = package.read("pages/pages.jsonl").decode().splitlines()
    assert json.loads(head)["format"] == "json-pages-1.0"
    return [json.loads(line) for line in lines]


def body_of(package: zipfile.ZipFile, url: str) -> bytes:
    """Read the body of a page by the indexes, as a browser does."""
    head, *lines = package.read("indexes/index.idx").decode().splitlines()
    name = json.loads(head.removeprefix("!meta 0 "))["filename"]
    key = f"{surt(url)} "
    number = max(bisect.bisect_right([line.partition(" {")[0] for line in lines], f"{key}9999") - 1, 0)
    place = json.loads("{" + lines[number].partition(" {")[2])
    block = package.read(f"indexes/{name}")[place["offset"] :][: place["length"]]
    assert place["digest"] == f"sha256:{hashlib.sha256(block).hexdigest()}"
    (found,) = (line for line in gzip.decompress(block).decode().splitlines() if line.startswith(key))
    values = json.loads(found.split(" ", 2)[2])
    record = package.read(f"archive/{values['filename']}")[int(values["offset"]) :][: int(values["length"])]
    only = next(iter(ArchiveIterator(io.BytesIO(record), check_digests="raise")))
    assert only.rec_headers["WARC-Target-URI"] == url
    body: bytes = only.content_stream().read()
    return body


def test_alone(tree: Grown, out: Path) -> None:
    """A dataset of WACZ alone has no WARC beside it; the reference tool finds it valid."""
    made = tree.merge(out, formats=("wacz",))
    check(made)
    assert {path.name for path in out.iterdir()} == {"manifest.json", "README.md", ".merge", "wacz"}
    (path,) = made.files("wacz/*.wacz")
    validate(path)
    with zipfile.ZipFile(path) as package:
        assert {url: body_of(package, url) for url in tree.bodies} == tree.bodies
        stored = {each.filename for each in package.infolist() if each.compress_type == zipfile.ZIP_STORED}
        assert stored == {"archive/part-0001-00000.warc.gz", "indexes/index.cdx.gz"}
        described = json.loads(package.read("datapackage.json"))
    assert described["created"] == max(record.fetched_at for record in tree.records.values())[:19] + "Z"
    assert described["software"].startswith("fscrawl ")


def test_beside_warc(tree: Grown, out: Path) -> None:
    """Its archive is that of warc/, byte for byte, and so is its index."""
    made = tree.merge(out, formats=("warc", "wacz"))
    check(made)
    with zipfile.ZipFile(made.files("wacz/*.wacz")[0]) as package:
        assert package.read("archive/part-0001-00000.warc.gz") == made.files("warc/*.warc.gz")[0].read_bytes()
        assert package.read("indexes/index.cdx.gz") == made.files("warc/*.cdxj.gz")[0].read_bytes()


def test_pages(tree: Grown, out: Path) -> None:
    """The list has what a reader opens: pages and PDF that a GET gives; no redirects, forms or pictures."""
    tree.page(spelling(Request(f"{A}search", form={"q": "a"})), b"<title>found</title>")
    tree.page(spelling(Request("http://b.example/app", fragment="/route")), b"<title>\xe2\x80\xa8 route</title>")
    tree.page(f"{A}paper", b"%PDF-1.4", file="pdf", title=None, headers={"content-type": "application/pdf"})
    tree.page(f"{A}picture", b"\x89PNG", file="png", title=None, headers={"content-type": "image/png"})
    (path,) = tree.merge(out, formats=("wacz",)).files("wacz/*.wacz")
    validate(path)
    with zipfile.ZipFile(path) as package:
        pages = {page["url"]: page for page in listed(package)}
    assert pages.keys() == {A, B, C, ROUTE, f"{A}paper"}
    assert (pages[A]["title"], pages[A]["seed"], pages[B]["title"], pages[B]["seed"]) == ("A", True, B, False)
    assert {url: page["ts"] for url, page in pages.items() if url in tree.records} == {
        url: tree.records[url].fetched_at for url in (A, B, C, f"{A}paper")
    }
    assert len({page["id"] for page in pages.values()}) == len(pages)


def test_parts_and_further_runs(tree: Grown, out: Path, small: None) -> None:
    """A large run makes several files, a further one adds to them; each is whole, and one paper names all."""
    tree.many(3, 40)
    first = tree.merge(out, formats=("wacz",))
    check(first)
    before = contents(out / "wacz")
    assert len(before) > 3
    tree.page("http://z.example/new", b"<title>new</title>")
    made = tree.merge(out)
    check(made)
    after = contents(out / "wacz")
    assert before.items() - after.items() == {("all.json", before["all.json"])}
    assert len(after) == len(before) + 1
    paths = made.files("wacz/*.wacz")
    found: dict[str, bytes] = {}
    for path in paths:
        validate(path)
        with zipfile.ZipFile(path) as package:
            found |= {page["url"]: body_of(package, page["url"]) for page in listed(package)}
    assert found == tree.bodies
    named = json.loads((out / "wacz/all.json").read_text())
    assert named["profile"] == "multi-wacz-package"
    assert {each["path"]: each["hash"] for each in named["resources"]} == {
        path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths
    }
    again = tree.merge(out, rebuild=True)
    check(again)
    assert len(again.files("wacz/*.wacz")) < len(paths) + 1


def test_same_bytes(tree: Grown, out: Path, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that was killed while it joined gives the same bytes, and leaves nothing half written."""
    tree.many(2, 40)
    whole = tree.merge(tmp_path / "whole", formats=("wacz",))
    write = cdxj.blocks
    calls = iter(range(100))

    def fail_at_second(lines: list[str]) -> Any:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return write(lines)

    with monkeypatch.context() as patch:
        patch.setattr(cdxj, "blocks", fail_at_second)
        with pytest.raises(TreeError, match="the disk is full"):
            tree.merge(out, formats=("wacz",))
    assert not list((out / "wacz").glob(".*"))
    assert len(list((out / "wacz").iterdir())) == 1
    made = Made(out, tree.merge(out).said)
    check(made)
    assert contents(out / "wacz") == contents(whole.out / "wacz")


def test_memory_does_not_grow(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive is copied piece by piece."""
    monkeypatch.setattr("fscrawl.dataset.wacz._CHUNK_BYTES", 1000)
    sizes: list[int] = []
    write = zipfile._ZipWriteFile.write  # type: ignore[attr-defined]

    def noting(self: object, data: bytes) -> int:
        sizes.append(len(data))
        number: int = write(self, data)
        return number

    monkeypatch.setattr(zipfile._ZipWriteFile, "write", noting)  # type: ignore[attr-defined]
    tree.page("http://z.example/large", hashlib.shake_128(b"").digest(100_000))
    tree.merge(out, formats=("wacz",))
    assert max(sizes) <= 2000
    assert sum(sizes) > 100_000
