"""What the headers of an answer mean: each by its own rule. Pure but for the time of day in `rest_s`.

Vocabulary:
  headers    names in lower case → text, in answers and in records alike. Lines of the same name are joined by "\\n",
             which no value has, so nothing is lost. Bytes are read as UTF-8 if they are that, else as Latin-1
  list       a header whose elements may stand in one line behind commas, or each in its own line (RFC 9110 5.3). Not
             every header is one: whoever joins all by commas makes one URL of two, and another type of `text/html`

Promise: any text gives an answer, in a time that hardly depends on it.
"""

from __future__ import annotations

import calendar
import math
import re
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_PAUSE_S = 1e9  # some thirty years: practically never, but still small enough for a clock
_SPACE = " \t"
_MAX_TYPE_CHARS = 255  # RFC 6838 4.2: type and subtype have at most 127 characters each
_MOST_CHARS = 4096  # of a Content-Type. A head may have 64 times as much, and each page asks for its type some times

# https://mimesniff.spec.whatwg.org/#parsing-a-mime-type, https://fetch.spec.whatwg.org/#header-value-get-decode-and-split
_QUOTED = r'"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)'
_ELEMENTS = re.compile(rf'(?:[^,"]++|{_QUOTED})++', re.DOTALL)
_ESSENCE = re.compile(r"[\t\r\n ]*((?:[!#$%&'*+.^_`|~0-9A-Za-z-]++/[!#$%&'*+.^_`|~0-9A-Za-z-]++))[\t\r\n ]*(?:;|\Z)")
_PARAMETER = re.compile(rf";[\t\r\n ]*([^;=]*+)(?:=(?:{_QUOTED}[^;]*+|([^;]*+)))?", re.DOTALL)


def lines(headers: Mapping[str, str], name: str) -> list[str]:
    """Give the lines of a header that are not empty.

    >>> lines({"a": "1\\n\\n2"}, "a"), lines({}, "a")
    (['1', '2'], [])
    """
    return [line for line in headers.get(name, "").split("\n") if line]


def first(headers: Mapping[str, str], name: str) -> str:
    """Give the first line of a header that is not empty; "" if there is none.

    >>> first({"a": "\\n1\\n2"}, "a"), first({}, "a")
    ('1', '')
    """
    return next(iter(lines(headers, name)), "")


def pairs(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give name and value of each line."""
    return ((name, line) for name, text in headers.items() for line in text.split("\n"))


def listed(value: str) -> list[str]:
    """Return the elements of a list in lower case. Empty ones do not count (RFC 9110 5.6.1).

    >>> listed("Keep-Alive , close,\\nx"), listed("")
    (['keep-alive', 'close', 'x'], [])
    """
    return [element for part in value.lower().replace("\n", ",").split(",") if (element := part.strip(_SPACE))]


def media_type(headers: Mapping[str, str]) -> str:
    """Give the type that the server names: in lower case, without parameters. "" if it names none.

    >>> media_type({"content-type": "Text/HTML; charset=utf-8"}), media_type({"content-type": "text/html\\nnone, */*"})
    ('text/html', 'text/html')
    """
    return _mime(headers.get("content-type", ""))[0]


def charset(content_type: str | None) -> str:
    """Give the character encoding that Content-Type names, "" if it names none.

    >>> charset('text/html; charset="a b"'), charset("text/html;charset=x, text/html"), charset("text/html charset=x")
    ('a b', 'x', '')
    """
    return _mime(content_type or "")[1]


def _mime(content_type: str) -> tuple[str, str]:
    return _read_mime(content_type[:_MOST_CHARS])


@lru_cache(300)  # servers have a few different ones
def _read_mime(content_type: str) -> tuple[str, str]:
    """Extract a MIME type: https://fetch.spec.whatwg.org/#concept-header-extract-mime-type.

    The last valid type counts. A charset of an earlier one stays if the types are the same.
    """
    essence = encoding = ""
    for element in _ELEMENTS.finditer(content_type.replace("\n", ", ")):
        found = _ESSENCE.match(element[0])
        if found is None or found[1] == "*/*" or len(found[1]) > _MAX_TYPE_CHARS:
            continue
        own = _charset_parameter(element[0])
        essence, before = found[1].lower(), essence
        encoding = own or (encoding if essence == before else "")
    return essence, encoding


def _charset_parameter(mime: str) -> str:
    for name, quoted, bare in _PARAMETER.findall(mime):
        if name.lower() == "charset" and (value := re.sub(r"\\(.)", r"\1", quoted) or bare.rstrip("\t\r\n ")):
            return str(value)
    return ""


def locations(headers: Mapping[str, str]) -> list[str]:
    """Give the places that Location names, each once.

    Browsers take an empty one for none, and the same one twice for one. One that differs is refused: a header may have
    been smuggled in (Chromium: ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION).

    >>> locations({"location": "/a\\n/a\\n"}), locations({"location": "/a\\n/b"})
    (['/a'], ['/a', '/b'])
    """
    return list(dict.fromkeys(lines(headers, "location")))


def is_final(status: int, headers: Mapping[str, str]) -> bool:
    """Tell whether an answer is the page itself: 2xx, or 3xx that says of no place to go to.

    https://fetch.spec.whatwg.org/#concept-http-redirect-fetch: a redirect without Location is shown as it is, and so
    are 300, 305 and 306 (RFC 9110 15.4.1: a list of choices). A 304 has no body.
    """
    if status in REDIRECTS:
        return not locations(headers)
    return 200 <= status < 400 and status != 304


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# RFC 6265 5.1.1: neither the characters between the parts nor their order matter.
_TOKENS = re.compile(r"[^\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY = re.compile(r"([0-9]{1,2})(?![0-9])")
_YEAR = re.compile(r"([0-9]{2,4})(?![0-9])")
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:,|\Z)")


def parse_date(text: str) -> float | None:
    """Read a date; None if the text has none (https://www.rfc-editor.org/rfc/rfc6265#section-5.1.1).

    >>> parse_date("Sun, 06 Nov 1994 08:49:37 GMT"), parse_date("Sunday, 06-Nov-94 08:49:37 GMT")
    (784111777.0, 784111777.0)
    >>> parse_date("Sun Nov  6 08:49:37 1994"), parse_date("tomorrow")
    (784111777.0, None)
    """
    clock = day = month = year = None
    for token in _TOKENS.findall(text[:200]):
        if clock is None and (found := _TIME.match(token)):
            clock = tuple(map(int, found.groups()))
        elif day is None and (found := _DAY.match(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.match(token)):
            year = _full_year(int(found[1]))
    if clock is None or day is None or month is None or year is None:
        return None
    return _seconds(year, month, day, clock)


def _full_year(year: int) -> int:
    """Return the year that two digits mean.

    >>> _full_year(94), _full_year(26), _full_year(1994)
    (1994, 2026, 1994)
    """
    return year + 1900 if 70 <= year <= 99 else year + 2000 if year <= 69 else year


def _seconds(year: int, month: int, day: int, clock: tuple[int, ...]) -> float | None:
    hour, minute, second = clock
    if year < 1601 or not 1 <= day <= calendar.monthrange(year, month)[1] or hour > 23 or minute > 59 or second > 60:
        return None  # second 60 is a leap second
    return float(calendar.timegm((year, month, day, hour, minute, second)))


def retry_after_s(value: str, now: float) -> float:
    """Return how many seconds a Retry-After asks to wait, from 0 to 1e9; 0 if it cannot be read.

    It has whole seconds (RFC 9110 10.2.3); servers that compute them send fractions, and mean no less.
    `now`: seconds since 1970, by the wall clock.

    >>> retry_after_s("120", 0.0), retry_after_s("Thu, 01 Jan 1970 00:02:00 GMT", 20.0), retry_after_s("soon", 0.0)
    (120.0, 100.0, 0.0)
    >>> retry_after_s("2.7", 0.0)
    3.0
    """
    text = value.strip()
    if found := _SECONDS.match(text):
        return float(math.ceil(min(float(found[1]), MAX_PAUSE_S)))
    date = parse_date(text)
    pause_s = 0.0 if date is None else date - now
    return min(pause_s, MAX_PAUSE_S) if pause_s > 0 else 0.0


def rest_s(headers: Mapping[str, str] | None) -> float:
    """Give the seconds that Retry-After asks for, 0 without it. If it asks several times, the longest pause counts.

    A date in it is one of the server's clock, which its Date tells (RFC 9110 10.2.3): the clock here may be wrong.
    """
    if not headers or "retry-after" not in headers:
        return 0.0
    now = parse_date(headers.get("date", ""))
    here = time.time() if now is None else now
    return max((retry_after_s(line, here) for line in lines(headers, "retry-after")), default=0.0)
