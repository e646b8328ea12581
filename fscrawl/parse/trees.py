"""HTML bytes → the tree of lexbor, in a bounded time whatever the bytes. Pure but for a clock that it reads.

Vocabulary:
  piece     what the parser is given at a time. Between two pieces it can be stopped
  pace      seconds of processor time for a byte. Honest pages stay near 10 ns, in all their pieces
  tail      the last node of the tree so far: last child of the last child, and so on

A parser that follows the HTML standard takes quadratic time, and memory, for pages that nest too deeply or leave too
many elements open. To count that beforehand costs a fifth of the parsing and more, with any pass over the bytes that
Python has. So the parser itself is the count: it is fed in pieces, and as long as their pace is ordinary nothing is
wrong. Where it is not, `html_limits` looks exactly, and what it returns is parsed.

Promise: `tree` gives for any page that the parser reads at an ordinary pace the same tree as LexborHTMLParser without
events (see `_parser`). Other pages are limited by `limit_html`; if that does not help, by `flatten`. Both keep links
and words. If even that does not help, the tree ends where the parser was stopped. Each of the three attempts ends after
20 ms of processor time, 60 ns for each byte, and one piece. While one page is fed, the other threads wait.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import cache

import msgspec
import selectolax
import selectolax.lexbor
from selectolax.lexbor import (
    LexborCSSSelector,
    LexborDocumentOptions,
    LexborHTMLParser,
    LexborNode,
    SelectolaxError,
)

from fscrawl.parse.html_limits import flatten, limit_html, tag_bytes, uncrowded

_STANDARD = b"<!DOCTYPE html>"  # a document that is not in quirks mode. A page without a doctype changes that itself
_HARMLESS_BYTES = 2048  # nothing that fits in here takes more than 10 ms and 10 MB
# How long the next piece is, by the pace of the last one. Honest pages take 6 to 10 ns a byte. Of a page that gets
# slower the pieces are so short that none of them takes much longer than the one before. What takes long takes memory,
# too: 8 KB of formatting that is opened again with each paragraph make 160 MB in a tenth of a second.
_PIECE_BYTES = 8192
_SHORT_BYTES, _SHORT_S = 4096, 20e-9
_SHORTEST_BYTES, _SLOW_S = 512, 60e-9
_PATIENCE_S = 0.02  # of processor time, beyond `_SLOW_S` for each byte
_LONG_BYTES = 16_384  # of a tag: the parser compares each of its attributes with all others, which takes 0.05 s at most
_TAIL_BYTES = 65_536  # how often the tail is looked at. So long a tag may have tens of thousands of attributes
# One page at a time: a single piece may make 160 MB, and as many pages as a worker has threads could do it together.
_feeding = threading.Lock()
_MAX_TAIL = 4096  # nodes above the tail: honest pages have some dozens, and some broken ones hundreds


class _Selecting(threading.local):
    """What selects nodes in this thread. Each tree would make one of its own, for a twentieth of its parsing."""

    def __init__(self) -> None:
        self.selector = LexborCSSSelector()  # type: ignore[no-untyped-call]


_selecting = _Selecting()


class UnusualPageError(Exception):
    """Reading a page takes, or may take, longer than it does for pages of its size, and the reader has no time."""


def tree(html: bytes, *, scripting: bool = False, only_usual: bool = False) -> LexborHTMLParser:
    """Parse a page in UTF-8. `scripting`: whether `<noscript>` is text. MemoryError if memory is short.

    `only_usual`: raise UnusualPageError if the first attempt does not read the page, or could take long.

    >>> tree(b"<p>a" + b"<div>" * 20_000 + b"b").body.text().split()
    ['a', 'b']
    """
    try:
        if len(html) <= _HARMLESS_BYTES:
            return _parser(html, scripting=scripting)
        library = _library()
        if library is None:
            if only_usual:  # nobody knows how long this will take
                raise UnusualPageError
            return _parser(limit_html(html), scripting=scripting)
        return _limited(library, html, scripting=scripting, only_usual=only_usual)
    except SelectolaxError as error:  # the parser accepts any bytes, so memory is short
        raise MemoryError(str(error)) from error


def select(page: LexborHTMLParser, css: str) -> list[LexborNode]:
    """Do what `page.css(css)` does.

    >>> [node.tag for node in select(tree(b"<p>a<b>c"), "b,p")]
    ['p', 'b']
    """
    assert page.root is not None, "the standard gives every page an element"
    found: list[LexborNode] = _selecting.selector.find(css, page.root)
    return found


def select_first(page: LexborHTMLParser, css: str) -> LexborNode | None:
    """Do what `page.css_first(css)` does."""
    assert page.root is not None
    found: list[LexborNode] = _selecting.selector.find_first(css, page.root)  # type: ignore[attr-defined]
    return found[0] if found else None


def _parser(html: bytes, *, scripting: bool) -> LexborHTMLParser:
    """Parse a whole page. No events: all that they do to a tree is to copy chosen options into `<selectedcontent>`.

    That is what a page shows, not what it says, and html5lib does not do it. For each option, lexbor goes through all
    options before it: 20,000 of them in 180 KB took 4 s, and 57 s with something to copy.
    """
    return LexborHTMLParser(html, scripting=scripting, options=LexborDocumentOptions.WO_EVENTS)


def _limited(library: _Library, html: bytes, *, scripting: bool, only_usual: bool) -> LexborHTMLParser:
    found, whole = _fed(library, html, scripting=scripting, longest=_LONG_BYTES if only_usual else None)
    if only_usual and not whole:
        raise UnusualPageError
    for limit in (limit_html, flatten):
        if not whole:
            del found  # before the next one needs as much memory
            html = limit(html)
            found, whole = _fed(library, html, scripting=scripting)
    return found


# Feeding: selectolax parses whole pages only, but its extension module is lexbor's library, too, whose interface for
# C has a parser that is fed. https://lexbor.com/documentation/ says what the functions do.


class _Library(msgspec.Struct, frozen=True):
    begin: Callable[[int], int]
    feed: Callable[[int, int, int], int]
    end: Callable[[int], int]
    parent: Callable[[int], int | None]
    last_child: Callable[[int], int | None]


@cache
def _library() -> _Library | None:
    """Return lexbor's functions; None where they cannot be called, as on Windows, or in an unknown selectolax."""
    if not selectolax.__version__.startswith("1."):
        return None
    try:
        pointer, size, status = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
        free = ctypes.CDLL(selectolax.lexbor.__file__)  # other threads of Python run meanwhile
        held = ctypes.PyDLL(selectolax.lexbor.__file__)  # they wait, since what is called takes no time
        found = _Library(
            _function(held, "lxb_html_document_parse_chunk_begin", status, pointer),
            _function(free, "lxb_html_document_parse_chunk", status, pointer, pointer, size),
            _function(held, "lxb_html_document_parse_chunk_end", status, pointer),
            _function(held, "lxb_dom_node_parent_noi", pointer, pointer),
            _function(held, "lxb_dom_node_last_child_noi", pointer, pointer),
        )
    except (OSError, AttributeError):
        return None
    return found if all(_same(found, page) for page in _SAMPLES) else None


# A page with and without a doctype: what stands in paragraphs depends on it.
_SAMPLES = (b"<!DOCTYPE html><title>a</title><p>b<table><td>c<noscript><b>", b"<p>b<table><td>c<template><p>d")


def _same(library: _Library, page: bytes) -> bool:
    found, whole = _fed(library, page, scripting=False)
    return whole and found.html == _parser(page, scripting=False).html


def _function(library: ctypes.CDLL, name: str, result: type, *arguments: type) -> Callable[..., int]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    found: Callable[..., int] = function
    return found


def _fed(
    library: _Library, html: bytes, *, scripting: bool, longest: int | None = None
) -> tuple[LexborHTMLParser, bool]:
    """Parse a page piece by piece. Return the tree, and False if it ends where the parser was stopped.

    `longest`: it is stopped before a tag of more bytes; None: tags may have any length.
    """
    found = _parser(_STANDARD, scripting=scripting)
    assert found.root is not None
    document = library.parent(found.root.mem_id)
    assert document is not None
    _check(library.begin(document))  # removes what is in the document, but does not forget its mode
    with _feeding:
        whole = _feed(library, document, html, longest or len(html))
    _check(library.end(document))
    return found, whole


def _feed(library: _Library, document: int, html: bytes, longest: int) -> bool:
    """Feed a page to a document. False if it was stopped before its end."""
    address = ctypes.cast(ctypes.c_char_p(html), ctypes.c_void_p).value or 0
    began, before, spent = time.thread_time(), time.perf_counter(), 0.0
    position, length, tail, tail_due = 0, _PIECE_BYTES, document, _TAIL_BYTES
    crowded: bool | None = None
    while position < len(html):
        # To the next tag: a text in many pieces would be copied with each of them.
        end = html.find(b"<", position + length)
        length = (len(html) if end < 0 else end) - position
        if length > longest and tag_bytes(html, html.rfind(b"<", 0, position + length)) > longest:
            return False
        if position >= tail_due or length > _TAIL_BYTES:
            last, depth = _tail(library, document)
            if crowded is None and (last == tail or length > _TAIL_BYTES):
                looked = time.thread_time()
                crowded = uncrowded(html) is not html
                began, before = began + time.thread_time() - looked, time.perf_counter()
            if crowded or depth > _MAX_TAIL:
                return False
            tail, tail_due = last, position + _TAIL_BYTES
        _check(library.feed(document, address + position, length))
        position += length
        now = time.perf_counter()
        pace, before, spent_before, spent = (now - before) / length, now, spent, 0.0
        if pace > _SHORT_S:
            # The wall's clock is read in no time; but only the thread's knows whether others had the processor.
            spent = time.thread_time() - began
            if spent > _PATIENCE_S + _SLOW_S * position:
                return False
            pace = (spent - spent_before) / length if spent_before else pace
        length = _PIECE_BYTES if pace <= _SHORT_S else _SHORT_BYTES if pace <= _SLOW_S else _SHORTEST_BYTES
    return True


def _check(status: int) -> None:
    if status:
        raise SelectolaxError(f"lexbor's status is {status}")


def _tail(library: _Library, document: int) -> tuple[int, int]:
    """Return the last node of a document, and how many are above it."""
    last, depth = document, 0
    while (node := library.last_child(last)) is not None:
        last, depth = node, depth + 1
    return last, depth
