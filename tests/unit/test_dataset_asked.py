"""The columns of a dataset that say what was asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fscrawl.dataset.tables import asked
from fscrawl.request import JSON, Request, parts_of, spelling, text_of

URL = "http://a.example/s"


def test_columns() -> None:
    """URLs are plain; a request has its method, and its body if it has one."""
    texts = [URL, spelling(Request(URL, "POST", JSON, b"{}")), spelling(Request(URL, session="1"))]
    found = asked(texts)
    assert found.urls.to_pylist() == [URL] * 3
    assert found.methods.to_pylist() == ["GET", "POST", "GET"]
    assert found.bodies.to_pylist() == [None, "{}", None]


def test_no_rows() -> None:
    """A table without rows has columns of the same types."""
    assert [str(column.type) for column in asked([])] == ["string"] * 3


def test_what_is_no_spelling() -> None:
    """A link that somebody has written into a record counts as a plain one."""
    assert parts_of(f"{URL}#top") == (URL, "GET", None)


@given(st.binary(min_size=1))
def test_any_body_is_a_text(body: bytes) -> None:
    """Text stays as it is; bytes that are no UTF-8 are percent-encoded."""
    text = text_of(Request(URL, "POST", "", body))
    assert text is not None
    text.encode()
    if b"%" not in body:
        assert ("%" in text) == (body.decode("utf-8", "replace").encode() != body)
