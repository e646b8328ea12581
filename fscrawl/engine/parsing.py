"""Who reads a page: the worker process itself, as long as that goes on at the usual rate, or the process beside it.

Vocabulary:
  guard    what lets the worker read a page: it is small, or HTML that the parser reads in pieces, looking at the
           clock between them (see `trees`), and of which nothing else turns out to take long
  beside   read by the process beside the worker: what the guard stops, PDF, sitemaps and feeds that are large or
           compressed, and all that the rules of a site look into, since these may take any time

Promise: a page that takes long holds up nobody but those that wait for the same process; and what it takes is the cost
of its site (see `costs`). Only a page for which there even was not enough time cannot be read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fscrawl.engine.side_process import SideProcess, Start
from fscrawl.handlers import costs
from fscrawl.handlers.reading import FEED, SITEMAP, Reading, UnreadableError, read_here, read_if_usual, understood
from fscrawl.http.answers import Failed
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import Joiner

_SMALL_BYTES = 16_384  # takes 0.1 s at most: measured, with pages made for that
_SMALL_XML_BYTES = 65_536  # and so does this, if it is not compressed: 50 KB may inflate to 52 MB
_MOST_TAGS = 200_000  # of a page: with their texts they may take 70 MB
_GZIP = b"\x1f\x8b"
_LIMIT_S = 10.0  # and the usual time
_RULES = 4.0  # times longer: the rules of a site parse the page once more with each parser that they use
_RULES_S = 0.25  # and longer: they are the user's own


class Parsing:
    """Reads the pages of one worker process; all its threads share it."""

    def __init__(
        self,
        start: Start,
        on_wait: Callable[[], None] = lambda: None,
        *,
        rules_here: bool = False,
    ) -> None:
        """`start`: gives the process beside this one. `on_wait`: called in a thread that is going to wait for long.

        `rules_here`: the rules of sites are followed in this process, however long they take.
        """
        self._rules_here = rules_here
        self._beside = SideProcess(start, on_wait)
        self._reading_larger = threading.Lock()  # one at a time: its tree may take sixty times its size

    def read(self, reading: Reading, joiner: Joiner) -> ParsedPage:
        """Read a page; UnreadableError if it takes too long, ForkerGoneError if only another worker can do it."""
        if self._rules_here and reading.site is not None:
            read = self.read(reading._replace(site=None), joiner)
            return understood(read, reading, reading.site, joiner)
        page = self._read_here(reading, joiner) if reading.site is None else None
        if page is None:
            page = self._read_beside(reading)
        costs.expect(_usual_s(reading, len(page.links)))
        return page

    def _read_here(self, reading: Reading, joiner: Joiner) -> ParsedPage | None:
        """Read a page if that takes 0.1 s at most, or is usual for its size; None if not."""
        size = len(reading.body)
        if reading.parser in {FEED, SITEMAP}:
            is_small = size <= _SMALL_XML_BYTES and not reading.body.startswith(_GZIP)
            return read_here(reading, joiner) if is_small else None
        if reading.parser != "lexbor":
            return None
        if size <= _SMALL_BYTES:
            return read_here(reading, joiner)
        if reading.body.count(b"<") > _MOST_TAGS:
            return None
        with self._reading_larger:
            return read_if_usual(reading, joiner)

    def _read_beside(self, reading: Reading) -> ParsedPage:
        limit_s = _LIMIT_S + _usual_s(reading) * costs.slowness()
        try:
            page, took_s = self._beside.read(reading, limit_s)
        except OSError as error:
            why = f"no process could be started to read it: {error.strerror or error}"
            raise UnreadableError(Failed("parse", why, retry=True)) from error
        costs.beside(took_s)
        if page is None:
            by = "" if reading.site is None else " by the rules of its site"
            why = f"reading it{by} takes more than {limit_s:.0f} s of processor time, or 2 GB of memory"
            raise UnreadableError(Failed("parse", why, retry=False))
        return page

    def close(self) -> None:
        """End the process beside this one."""
        self._beside.end()


def _usual_s(reading: Reading, links: int = 0) -> float:
    usual = costs.usual_s(len(reading.body), reading.parser, links)
    return usual if reading.site is None else _RULES * usual + _RULES_S
