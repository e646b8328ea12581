"""The pages of a tree as rows, tables and data frames, and for PyTorch."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import fscrawl
from fscrawl.api import shards, tables
from tests.support.read_trees import HOME, grown_in
from tests.support.trees import BEGAN_S


@pytest.fixture
def grown(tmp_path):
    return grown_in(tmp_path / "tree")


def test_rows(grown):
    """Rows have the columns that were asked for, with plain values."""
    crawl = fscrawl.open(grown.root)
    [row] = crawl.rows(("url", "links", "text"), where=lambda page: page.url == HOME)
    assert row == {"url": HOME, "links": ["http://a.example/b"], "text": "one\ntwob"}
    assert set(next(iter(crawl.rows()))) == set(tables.COLUMNS)
    with pytest.raises(fscrawl.FscrawlError, match="'txt' is unknown; there are url"):
        crawl.rows(["url", "txt"])


def test_every_column(grown):
    """Every column fits the type that it has in a table."""
    table = fscrawl.open(grown.root).to_arrow(tables.ALL)
    assert table.column_names == list(tables.ALL)
    assert table.num_rows == 6
    rows = {row["url"]: row for row in table.to_pylist()}
    assert rows[HOME]["fetched_at"] == datetime.fromtimestamp(BEGAN_S, UTC)
    assert dict(rows[HOME]["headers"])["set-cookie"] == ""
    assert rows[HOME]["fields"] == "{}"
    assert pa.types.is_large_string(table.schema.field("html").type)


def test_pandas(grown):
    """A DataFrame has a row for each page; an empty one has the columns, too."""
    crawl = fscrawl.open(grown.root)
    frame = crawl.to_pandas(["url", "status"], host="a.example")
    assert sorted(frame["status"]) == [200, 200, 200, 301]
    assert list(crawl.to_pandas("url", host="c.example").columns) == ["url"]
    for method in (crawl.to_pandas, crawl.to_arrow):
        with pytest.raises(TypeError, match=rf"{method.__name__}\(\) got an unexpected keyword argument 'hosts'"):
            method(hosts="a.example")


def test_large_tables_are_made_in_pieces(grown, monkeypatch):
    """Rows become columns when there are many, or when they are large."""
    monkeypatch.setattr(tables, "_BATCH_ROWS", 4)
    assert [len(batch) for batch in fscrawl.open(grown.root).to_arrow().to_batches()] == [4, 2]
    monkeypatch.setattr(tables, "_BATCH_BYTES", 1)
    assert len(fscrawl.open(grown.root).to_arrow(["html"]).to_batches()) == 4  # two have no HTML


@pytest.mark.parametrize(("missing", "ask"), [("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("torch", "dataset")])
def test_a_package_that_is_missing(grown, monkeypatch, missing, ask):
    """Without an optional package, one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(fscrawl.FscrawlError, match=f"^{missing} is missing"):
        getattr(fscrawl.open(grown.root), ask)()


# -- parts


def test_the_part_of_a_worker(monkeypatch):
    """A worker of a DataLoader has a part of what its reader was to read."""

    class Info:
        id, num_workers = 1, 3

    class Data:
        get_worker_info = staticmethod(lambda: Info)

    monkeypatch.setitem(__import__("sys").modules, "torch.utils.data", Data)
    assert shards.among_workers([(0, 2)]) == [(2, 6)]
    Data.get_worker_info = staticmethod(lambda: None)
    assert shards.among_workers([(0, 2)]) == [(0, 2)]
