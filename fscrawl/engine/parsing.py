"""Who reads a page: this worker process itself, or one of two processes beside it.

Vocabulary:
  small     a page that cannot take long, however it is made: this process reads it, unless its site has rules. It also
            reads larger pages, up to a bound, but stops where that takes, or may take, longer than usual
  quick     a process that reads all other pages, as long as they take little more than the usual time
  patient   a process that stands back for all others. It reads what was too much for the quick one, and all pages of
            sites that have used up their processor time (see `parse_budget`)
  document  a PDF, or a sitemap that is large or compressed: even a small one may keep its reader busy for long, and an
            honest one takes long. A process of its own takes the place of the quick one, so that pages do not wait

Promise: a page that takes too long costs its own site, and nobody else: the quick process is held up for a moment, once
for each site. Only a page for which even the patient process has not enough time cannot be read.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable

from fscrawl import urls
from fscrawl.engine.parse_budget import ParseBudget, usual_s
from fscrawl.engine.parse_process import ParseProcess
from fscrawl.engine.parse_server import NotStartedError, ParseServer
from fscrawl.handlers.reading import FEED, PDF, SITEMAP, Reading, UnreadableError, read_here, read_if_usual, understood
from fscrawl.http.answers import Failed
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import Joiner

_SMALL_BYTES = 16_384  # takes 0.1 s at most: measured, with pages made for that
_LARGER_BYTES = 524_288  # and so does the attempt to read such a page
_SMALL_FEED_BYTES = 65_536  # and of a sitemap, if it is not compressed: 50 KB may inflate to 52 MB
_GZIP = b"\x1f\x8b"
_QUICK_S = 0.05  # and the usual time
_TOO_LONG_S = 1.0  # what a page is charged that was too much for the quick process
_PATIENT_S = 10.0  # and the usual time
_DOCUMENT_S = 2.0  # and the usual time
_DOCUMENTS_STAND_BACK = 5
_SMALL_HERE = {"lexbor": _SMALL_BYTES, FEED: _SMALL_FEED_BYTES, SITEMAP: _SMALL_FEED_BYTES}
_XML, _DOCUMENTS = frozenset({FEED, SITEMAP}), frozenset({PDF, SITEMAP})
_RULES = 4.0  # times longer: the rules of a site parse the page once more with each parser that they use
_STANDS_BACK = 19  # gets a sixtieth of what others get, if they want it
_MOST_WAITING = 16  # for the patient process
_STANDARD = b"<p>A paragraph with <a href=/a/b>a link</a>, and <em>other</em> words in it.\n" * 800
_STANDARD_S = 0.00135  # what it takes on the computer of `usual_s`


@functools.lru_cache(4096)
def _site(url_origin: str) -> str:
    return urls.site(urls.hostname(url_origin + "/"))


@functools.cache
def slowness() -> float:
    """Give how many times longer this computer takes than the one of `usual_s`; at least 1. It takes some ms, once."""
    page = Reading(_STANDARD, "http://a.example/", None, None, "lexbor", drop_query=False)
    took_s = []
    for _ in range(3):
        began_s = time.thread_time()
        read_here(page, Joiner())
        took_s.append(time.thread_time() - began_s)
    return max(1.0, min(took_s) / _STANDARD_S)


def _usual_here_s(reading: Reading, links: int = 0) -> float:
    by_rules = 1.0 if reading.site is None else _RULES
    return usual_s(len(reading.body), reading.parser, links) * by_rules * slowness()


class Parsing:
    """Reads the pages of one worker process; all its threads share it."""

    def __init__(
        self, server: ParseServer, on_wait: Callable[[], None], on_read: Callable[[], None], *, rules_here: bool = False
    ) -> None:
        """`server`: starts processes that do `parse_process.serve`.

        `on_wait`: called in a thread that is going to wait for long; `on_read`: and when its page is read.
        `rules_here`: the rules of sites are followed in this process, however long they take.
        """
        self._rules_here = rules_here
        self._on_wait = on_wait
        self._on_read = on_read
        self._budget = ParseBudget()
        self._reading_larger = threading.Lock()  # one at a time: its tree takes some sixty times its size
        self._quick = ParseProcess(server, nice=0)
        self._patient = ParseProcess(server, nice=_STANDS_BACK)
        self._documents = ParseProcess(server, nice=_DOCUMENTS_STAND_BACK)

    def read(self, reading: Reading, joiner: Joiner) -> ParsedPage:
        """Read a page; UnreadableError if it takes too long, ServerGoneError if only another worker can do it."""
        if self._rules_here and reading.site is not None:
            read = self.read(reading._replace(site=None), joiner)
            return understood(read, reading, reading.site, joiner)
        is_known = self._budget.is_blank or not self._budget.is_used_up(_site(urls.origin(reading.url)), _now())
        if is_known and reading.site is None:  # the rules of a site may take any time
            began_s = time.thread_time()
            page = self._read_in_time(reading, joiner)
            self._charge(reading, page, time.thread_time() - began_s)
            if page is not None:
                return page
        usual = _usual_here_s(reading)
        try:
            return (is_known and self._read_quickly(reading, usual)) or self._read_patiently(reading, usual)
        except NotStartedError as error:
            why = f"no process could be started to read it: {error}"
            raise UnreadableError(Failed("parse", why, retry=True)) from error
        finally:
            self._on_read()

    def _read_in_time(self, reading: Reading, joiner: Joiner) -> ParsedPage | None:
        """Read a page if that takes 0.1 s at most, however it is made; None if it may take longer."""
        size = len(reading.body)
        if reading.parser in _XML and reading.body.startswith(_GZIP):
            return None
        if size <= _SMALL_HERE.get(reading.parser, -1):
            return read_here(reading, joiner)
        if size > _LARGER_BYTES or reading.parser != "lexbor":
            return None
        with self._reading_larger:
            return read_if_usual(reading, joiner)

    def _read_quickly(self, reading: Reading, usual: float) -> ParsedPage | None:
        process, limit_s = (self._documents, _DOCUMENT_S) if reading.parser in _DOCUMENTS else (self._quick, _QUICK_S)
        read, took_s = process.read(reading, limit_s + usual, self._on_wait)
        self._charge(reading, read, took_s if read is not None else usual + _TOO_LONG_S)
        return read

    def _read_patiently(self, reading: Reading, usual: float) -> ParsedPage:
        if self._patient.waiting >= _MOST_WAITING:
            why = "its site has used up its processor time, and other pages wait for the rest"
            raise UnreadableError(Failed("parse", why, retry=True))
        self._on_wait()
        read, took_s = self._patient.read(reading, _PATIENT_S + usual)
        self._charge(reading, read, took_s)
        if read is None:
            by = "" if reading.site is None else " by the rules of its site"
            why = f"reading it{by} takes more than {_PATIENT_S + usual:.0f} s of processor time, or 2 GB of memory"
            raise UnreadableError(Failed("parse", why, retry=False))
        return read

    def _charge(self, reading: Reading, page: ParsedPage | None, took_s: float) -> None:
        links = len(page.links) if page is not None else 0
        if took_s <= usual_s(len(reading.body), reading.parser, links):
            return
        excess_s = took_s - _usual_here_s(reading, links)
        if excess_s > 0:
            self._budget.charge(_site(urls.origin(reading.url)), excess_s, _now())

    def close(self) -> None:
        for process in (self._quick, self._patient, self._documents):
            process.end()


def _now() -> float:
    return time.monotonic()
