"""The pages of a tree as rows, tables and data frames."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

import fscrawl
from fscrawl.api import tables
from fscrawl.dataset import schema
from tests.support.read_trees import HOME, grown_in
from tests.support.trees import BEGAN_S


@pytest.fixture
def grown(tmp_path):
    return grown_in(tmp_path / "tree")


def test_rows(grown):
    """Rows have the columns that were asked for, with plain values."""
    crawl = fscrawl.open(grown.root)
    [row] = crawl.rows(("url", "robots", "text"), where=lambda page: page.url == HOME)
    assert row == {"url": HOME, "robots": None, "text": "one\ntwob"}
    assert set(next(iter(crawl.rows()))) == set(tables.COLUMNS)
    with pytest.raises(fscrawl.FscrawlError, match="'txt' is unknown; there are url"):
        crawl.rows(["url", "txt"])


def test_every_column(grown):
    """Columns have the names, order and types of the dataset, and every value fits."""
    table = fscrawl.open(grown.root).to_arrow(tables.ALL)
    assert table.column_names == list(tables.ALL)
    assert table.num_rows == 4
    assert table.schema.equals(pa.schema([schema.PAGES.field(name) for name in tables.ALL]))
    assert set(schema.PAGES.names) - set(tables.ALL) == {"content_languages", "duplicate_of", "near_duplicate_of"}
    assert set(tables.COLUMNS) == set(next(fscrawl.open(grown.root).rows()))
    rows = {row["url"]: row for row in table.to_pylist()}
    assert rows[HOME]["fetch_time"] == datetime.fromtimestamp(BEGAN_S, UTC)
    assert json.loads(rows[HOME]["headers"])["set-cookie"] == ""


def test_pandas(grown):
    """A DataFrame has a row for each page; an empty one has the columns, too."""
    crawl = fscrawl.open(grown.root)
    frame = crawl.to_pandas(["url", "fetch_status"], host="a.example")
    assert sorted(frame["fetch_status"]) == [200, 200]
    assert list(crawl.to_pandas("url", host="c.example").columns) == ["url"]
    for method in (crawl.to_pandas, crawl.to_arrow):
        with pytest.raises(TypeError, match=rf"{method.__name__}\(\) got an unexpected keyword argument 'hosts'"):
            method(hosts="a.example")


def test_large_tables_are_made_in_pieces(grown, monkeypatch):
    """Rows become columns when there are many, or when they are large."""
    monkeypatch.setattr(tables, "_BATCH_ROWS", 3)
    assert [len(batch) for batch in fscrawl.open(grown.root).to_arrow().to_batches()] == [3, 1]
    monkeypatch.setattr(tables, "_BATCH_BYTES", 1)
    assert len(fscrawl.open(grown.root).to_arrow(["html"]).to_batches()) == 4


@pytest.mark.parametrize(("missing", "ask"), [("pyarrow", "to_arrow"), ("pandas", "to_pandas")])
def test_a_package_that_is_missing(grown, monkeypatch, missing, ask):
    """Without an optional package, one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(fscrawl.FscrawlError, match=f"^{missing} is missing"):
        getattr(fscrawl.open(grown.root), ask)()
