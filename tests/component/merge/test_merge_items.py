"""Items in a dataset: by tables and by a site file, in each format, in further runs, and what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.support import datasets
from tests.support.crawling import crawl, fscrawl
from tests.support.web import HTML, Request, Response, Web

A = "127.0.92.1"
TABLE = """
[[site]]
hosts = ["127.0.92.1"]
[site.items]
each = "css:li"
fields = {name = "css:b", size = {css = "i", type = "integer"}}
"""
CODE = """\
from fscrawl.site import Site

class Lists(Site):
    hosts = ["127.0.92.1"]
    item_columns = {"name": "string", "size": "integer"}

    def items(self, page):
        for name, size in zip(page.css("li b"), page.css("li i")):
            yield {"name": name, "size": size}
        if page.url.endswith("/1"):
            1 / 0
"""
WANTED = [("/0", 1, "a0", 1), ("/0", 2, "=b0", None), ("/1", 1, "a1", 1), ("/1", 2, "=b1", None)]


def lists(request: Request) -> Response:
    number = request.path.strip("/") or "front"
    items = "" if number == "front" else f"<li><b>a{number}</b><i>1</i><li><b>=b{number}</b><i>many</i>"
    return Response(200, HTML, f"<title>{number}</title>{items}<a href=/0>0</a>".encode())


def rows(dataset: Path) -> list[tuple[object, ...]]:
    found = ds.dataset(dataset / "items").to_table(columns=["url", "position", "name", "size"]).to_pylist()
    return sorted(("/" + row["url"].split("/", 3)[3], *list(row.values())[1:]) for row in found)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("items") / "tree"
    with Web(lists, [A]) as web:
        assert crawl(root, seeds=[web.url(A), web.url(A, "/1")]).code == 0
    return root


def merge(tree: Path, out: Path, *words: str, code: int = 0) -> str:
    done = fscrawl("merge", "--root", tree, "--out", out, *words)
    assert done.code == code, done
    return done.out + done.err


def test_by_a_table_in_all_formats(tree: Path, tmp_path: Path) -> None:
    """The rows are the same in each format; what is bad is counted by item."""
    settings = tree / "crawl.toml"
    settings.write_text(settings.read_text() + TABLE)
    formats = [word for each in ("parquet", "jsonl", "csv") for word in ("--format", each)]
    said = merge(tree, tmp_path / "out", *formats)
    assert rows(tmp_path / "out") == WANTED
    assert "field items.name: found on 4 of 4 items" in said
    assert "field items.size: found on 2 of 4 items, 2 with a value of the wrong type" in said
    [path] = (tmp_path / "out/jsonl/items").iterdir()
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    found = [(line["position"], line["name"], line.get("size")) for line in lines]
    assert sorted(found, key=str) == sorted((row[1:] for row in WANTED), key=str)
    [path] = (tmp_path / "out/csv/items").iterdir()
    with path.open(encoding="utf-8-sig", newline="") as file:
        assert sorted(row["name"] for row in csv.DictReader(file)) == ["'=b0", "'=b1", "a0", "a1"]
    assert "## items" in (tmp_path / "out/README.md").read_text()


def test_by_a_site_file(tree: Path, tmp_path: Path) -> None:
    """Items before a mistake are taken, and the mistake is named: there may have been more."""
    (tmp_path / "site.py").write_text(CODE)
    said = merge(tree, tmp_path / "out", "--site", str(tmp_path / "site.py"))
    assert rows(tmp_path / "out") == WANTED
    assert "field items.name: found on 4 of 4 items\n" in said
    lost = "1 page: its items could not all be read"
    assert f"{lost}: {tmp_path / 'site.py'}:11: items: ZeroDivisionError: division by zero\n" in said


def test_further_runs(tmp_path: Path) -> None:
    """A further merge adds the items of new pages, in each format; edited rules count after --rebuild."""
    root, out, texts = tmp_path / "tree", tmp_path / "out", tmp_path / "texts"
    with Web(lists, [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        settings = root / "crawl.toml"
        settings.write_text(settings.read_text().replace("# end of settings", f"{TABLE}\n# end of settings"))
        merge(root, out)
        assert rows(out) == WANTED[:2]
        merge(root, texts, "--format", "jsonl", "--format", "csv")
        with (root / "seeds.txt").open("a") as file:
            file.write(web.url(A, "/1") + "\n")
        assert crawl(root).code == 0
        merge(root, out)
        assert rows(out) == WANTED
        merge(root, texts)
        jsonl = b"".join(gzip.decompress(path.read_bytes()) for path in (texts / "jsonl/items").iterdir())
        assert sorted(json.loads(line)["name"] for line in jsonl.splitlines()) == ["=b0", "=b1", "a0", "a1"]
        lines = [path.read_text("utf-8-sig").splitlines() for path in (texts / "csv/items").iterdir()]
        assert sorted(row["name"] for part in lines for row in csv.DictReader(part)) == ["'=b0", "'=b1", "a0", "a1"]
        settings.write_text(settings.read_text().replace('"css:li"', '"css:li:first-child"'))
        assert "the fields of [[site]] are not those that the dataset was made with" in merge(root, out)
        merge(root, out, "--rebuild")
        assert rows(out) == WANTED[::2]
    assert [part["rows"] for part in datasets.manifest(out)["files"] if part["path"].startswith("items/")] == [2]


def test_a_column_that_cannot_be(tree: Path, tmp_path: Path) -> None:
    """A column that every item has is refused, in one line."""
    (tmp_path / "site.py").write_text(CODE.replace('"name": "string"', '"url": "string"'))
    said = merge(tree, tmp_path / "out", "--site", str(tmp_path / "site.py"), code=2)
    assert "the dataset already has a column url; choose another name" in said
