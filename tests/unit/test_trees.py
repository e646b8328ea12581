"""Fed in pieces, the parser gives the tree that it gives for the whole page."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from fscrawl.parse import trees

TAGS = [b"<%s%s>" % (slash, name) for slash in (b"", b"/") for name in b"div p b a table td tr svg g select".split()]
PARTS = [
    *TAGS,
    b"<option>",
    b"x",
    b"&amp;",
    b"<!--",
    b"-->",
    b"<script>",
    b"</script>",
    b"<p a='",
    b"'>",
    b"<noscript>",
    b"<template>",
    b"<title>",
    b"<textarea>",
    b"<plaintext>",
    b"<frameset>",
    b"<math><mi>",
    b"<foreignObject>",
    b"<![CDATA[",
    b"]]>",
    b"<",
    b"\0",
    b"\r",
    b"\xef\xbb\xbf",
    b"\xe2\x82",
]
BEGINNINGS = [b"", b"<!DOCTYPE html>", b"<!doctype html public 'x' 'y'>", b"\xef\xbb\xbf<!DOCTYPE html>"]


@given(
    st.sampled_from(BEGINNINGS),
    st.lists(st.sampled_from(PARTS), max_size=30).map(b"".join),
    st.booleans(),
    st.integers(1, 200),
)
def test_same_tree(beginning, soup, scripting, piece):
    """Whatever the pieces are, the tree is that of the parser."""
    page = beginning + soup * 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "_HARMLESS_BYTES", -1)
        patch.setattr(trees, "_PIECE_BYTES", piece)
        patch.setattr(trees, "_TAIL_BYTES", 100)
        patch.setattr(trees, "_PATIENCE_S", 60)
        found = trees.tree(page, scripting=scripting)
    assert found.html == LexborHTMLParser(page, scripting=scripting).html


@given(st.lists(st.sampled_from([*PARTS, b"<a href=b>"]), max_size=30).map(b"".join), st.integers(1, 200))
def test_selecting(soup, times):
    """One selector for all trees of a thread finds what the tree's own one finds."""
    page = trees.tree(soup * times)
    for css in ("[href]:not([href^='#']),title", "title", "p > b", "nothing"):
        found = [node.mem_id for node in trees.select(page, css)]
        assert found == [node.mem_id for node in page.css(css)]
        first = trees.select_first(page, css)
        assert [first.mem_id] == found[:1] if first is not None else not found


@pytest.mark.parametrize("page", [b"", b" " * 5000, b"<!--x-->" * 1000, b"<frameset>", b"</html>", b"\0" * 5000])
def test_selecting_in_an_empty_page(page):
    """Every page has an element to look in."""
    assert trees.select(trees.tree(page), "a") == []
    assert trees.select_first(trees.tree(page), "a") is None


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_quirks_mode(beginning):
    """A table ends a paragraph in a page with a doctype only."""
    page = beginning + b"<p>" + b"x" * 5000 + b"<table><td>y"
    assert trees.tree(page).html == LexborHTMLParser(page).html


def test_a_long_text_is_one_piece():
    """Ten megabytes of text are not copied again with each piece."""
    page = b"<div>" + b"x" * 10_000_000
    began = time.thread_time()
    trees.tree(page)
    assert time.thread_time() - began < 0.4  # a second and more if it were
    assert len(trees.tree(page).body.text()) == 10_000_000


def test_without_the_library(monkeypatch):
    """Where the parser cannot be fed, pages are limited before it."""
    monkeypatch.setattr(trees, "_library", lambda: None)
    assert trees.tree(b"<p>a" + b"<div>" * 20_000 + b"b").body.text().split() == ["a", "b"]
    with pytest.raises(trees.UnusualPageError):  # nobody knows how long it takes
        trees.tree(b"<p>" + b"a" * 10_000, only_usual=True)


@pytest.mark.parametrize("version", ["1.0.2", "2.0"])
def test_library(monkeypatch, version):
    """The functions are looked for in versions of selectolax that are known, and may be missing."""
    monkeypatch.setattr(trees.selectolax, "__version__", version)
    monkeypatch.setattr(trees.selectolax.lexbor, "__file__", "/nowhere.so")
    assert trees._library.__wrapped__() is None


def test_library_of_another_kind(monkeypatch):
    """A library whose trees are not those of the parser is not used."""
    monkeypatch.setattr(trees, "_STANDARD", b"")  # so that all pages are in quirks mode
    assert trees._library.__wrapped__() is None


@pytest.mark.parametrize("crowded", [False, True])
def test_many_long_attributes(monkeypatch, crowded):
    """A page is looked at once for crowds of attributes, however many of its tags are long; and so it is whole."""
    looks = []
    monkeypatch.setattr(trees, "uncrowded", lambda html: looks.append(html) or (html + b" " if crowded else html))
    page = b"<img src='data:,%s'>" % (b"a" * 70_000) * 20 + b"<a href=b>"
    assert (len(trees.tree(page).css("img")), len(looks)) == ((0, 2) if crowded else (20, 1))


def test_many_options():
    """A list of many options is a usual page, and stays whole; none of them is copied to where it would be shown."""
    shown = b"<select><button><selectedcontent></selectedcontent></button>"
    for begin in (b"<select>", shown):
        found = trees.tree(begin + b"<option selected><a href=b>x</a>" * 20_000 + b"</select><p>c", only_usual=True)
        assert [len(found.css(css)) for css in ("option", "a", "p")] == [20_000, 20_000, 1]


def test_one_page_at_a_time(monkeypatch):
    """While a page is fed, no other thread feeds one: what a piece makes of memory, it makes once."""
    held = []
    feed = trees._feed
    monkeypatch.setattr(trees, "_feed", lambda *arguments: held.append(trees._feeding.locked()) or feed(*arguments))
    trees.tree(b"<div>" * 20_000)
    assert held == [True] * 2
    assert not trees._feeding.locked()


def test_memory():
    """What the parser cannot store is an error that says so."""
    with pytest.raises(SelectolaxError, match="status is 2"):
        trees._check(2)


def test_memory_of_a_page(monkeypatch):
    """A page that the parser cannot store is an error of memory."""

    def fail(*_, **__):
        raise SelectolaxError

    monkeypatch.setattr(trees, "_limited", fail)
    with pytest.raises(MemoryError):
        trees.tree(b"<p>" * 5000)


@pytest.mark.parametrize("size", [70_000, 3_000_000])
def test_a_long_attribute_is_no_crowd(size):
    """A page with one very long attribute is whole."""
    page = b"<p title='%s'><a href=c>x</a>" % (b"b" * size)
    assert trees.tree(page).html == LexborHTMLParser(page).html
