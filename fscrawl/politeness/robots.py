"""The text of a robots.txt → which URLs it allows, how fast, and its sitemaps, by RFC 9309. Pure: no disk, no socket.

Vocabulary:
  product token  the letters, "_" and "-" at the beginning of a crawler's User-Agent header, and of a group's name
  group          consecutive user-agent lines and the rules after them. All groups for one token count as one
  rule           an Allow or Disallow line with a path pattern: `*` is anything, a final `$` is the end
  folded         the form in which paths and patterns are compared: a character equals its escape, except `/`, `?`, `%`
                 and `#`; a literal `*` or `$` is escaped

Promise: any text is read, in time in proportion to its length. The longest rule that matches decides; Allow wins a tie.
One match takes at most time in proportion to the pattern times the URL, whatever the wildcards.

The lines are read here and not by Protego: it begins a new group at an unknown line, compares parts of agents' names,
and does not say which line decides. It still reads Crawl-delay and Request-rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import getsizeof
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from protego import Protego

from fscrawl.urls import MAX_URL_CHARS

ROBOTS_PATH = "/robots.txt"
MAX_BYTES = 512_000  # RFC 9309 2.5: at least 500 KiB must be read; the rest is ignored

_MAX_LINE_CHARS = 200  # of a line as messages show it; its rule counts whole
_RULE_BYTES = 120  # measured: a rule without its strings
_SITEMAP_BYTES = 60
_LONG_S = 10**9  # a hostile file may ask for more seconds than a float can hold
_TOKEN = re.compile(r"[a-zA-Z_-]*")
# With the misspellings and the missing colon that Google and Protego understand.
_LINE = re.compile(
    r"(?:(?P<agent>user[ -]?agent)|(?P<disallow>di(?:s+al+|asl+)[oa]w)|(?P<allow>allow)|(?P<sitemap>site-?map|sitemaps)"
    r"|(?P<request>crawl[ -]delay|request[ -]rate))(?:\s*:|\s|\Z)",
    re.IGNORECASE,
)


class Rules:
    """The rules of one robots.txt for one crawler.

    delay_s    seconds between requests: the longer one of Crawl-delay and Request-rate, or 0
    sitemaps   what the `Sitemap:` lines name, as written. What is too long for a URL is left out

    >>> Rules("User-agent: *\\nCrawl-delay: 2.5", "fscrawl").delay_s
    2.5
    >>> Rules("User-agent: *\\nRequest-rate: 1/10s", "fscrawl").delay_s
    10.0
    """

    def __init__(self, text: str, user_agent: str) -> None:
        """`user_agent`: the header of the crawler. Its product token (the letters before the slash) selects the group.

        >>> Rules("User-agent: *\\nDisallow: /private", "fscrawl/1.0").allows("http://a.example/private/x")
        False
        >>> Rules("", "fscrawl/1.0").allows("http://a.example/")
        True
        """
        group, self.sitemaps = _read(text, product_token(user_agent))
        self.delay_s = _delay_s(group.requests)
        # Most files forbid nothing: then no URL needs to be matched.
        rules = group.rules if any(not rule.allow for rule in group.rules) else []
        self._rules = tuple(sorted(rules, key=lambda rule: (rule.octets, rule.allow), reverse=True))
        # One call excludes all plain prefixes: most URLs begin with none of them.
        self._prefixes = tuple(rule.first for rule in self._rules if rule.is_prefix)
        self._others = tuple(rule for rule in self._rules if not rule.is_prefix)

    def allows(self, url: str) -> bool:
        """Return whether a normal form may be fetched."""
        return not self._rules or self.forbidding_line(url) is None

    def forbidding_line(self, url: str) -> str | None:
        """Return the line that forbids a normal form, without comment and surrounding spaces; None if it is allowed.

        A line of more than 200 characters is cut, and ends with "…".

        >>> rules = Rules("User-agent: *\\nDisallow: /private # ours\\nAllow: /private/press", "fscrawl/1.0")
        >>> rules.forbidding_line("http://a.example/private/x")
        'Disallow: /private'
        >>> rules.forbidding_line("http://a.example/private/press") is None
        True
        """
        path = url[url.find("/", 8) :] or "/"
        if path.partition("?")[0] == ROBOTS_PATH:
            return None
        if "%" in path or "*" in path or "$" in path:
            path = _IN_URL.sub(_fold, path)
        for rule in self._rules if path.startswith(self._prefixes) else self._others:
            if rule.matches(path):
                return None if rule.allow else rule.line
        return None

    @property
    def size_bytes(self) -> int:
        """About how much memory the lines take; 0 for a file without rules and sitemaps."""
        rules = sum(_RULE_BYTES + rule.strings_bytes for rule in self._rules)
        return rules + sum(_SITEMAP_BYTES + len(line) for line in self.sitemaps)


# Groups: RFC 9309 2.2.1


class _Group(msgspec.Struct):
    rules: list[_Rule] = msgspec.field(default_factory=list)
    requests: list[str] = msgspec.field(default_factory=list)  # lines of Crawl-delay, Request-rate


def product_token(name: str) -> str:
    """Return the product token at the beginning of a name, in lower case.

    >>> product_token("FsCrawl/1.0 (+http://a.example/)"), product_token("*"), product_token("1bot")
    ('fscrawl', '*', '')
    """
    found = _TOKEN.match(name)
    token = found[0].lower() if found else ""
    return token or ("*" if name.split(maxsplit=1)[:1] == ["*"] else "")


class _Run(msgspec.Struct):
    """Consecutive user-agent lines, as far as they name one of the `wanted` groups."""

    wanted: frozenset[str]
    names: set[str] = msgspec.field(default_factory=set)
    is_open: bool = True

    def add(self, name: str) -> None:
        if not self.is_open:
            self.names.clear()
            self.is_open = True
        self.names |= {name} & self.wanted

    def close(self) -> set[str]:
        self.is_open = False
        return self.names


def _read(text: str, token: str) -> tuple[_Group, tuple[str, ...]]:
    """Return the group for a product token, or else the group for all, and the sitemaps of the whole file.

    Only a rule ends a run of user-agent lines, even an empty rule (RFC 9309 2.2.4). But a delay between such lines is
    meant for the lines before it. So there are two runs: one for rules, one for delays.
    """
    groups = {"*": _Group()}
    wanted = frozenset({"*", token} - {""})
    rule_run, delay_run = _Run(wanted), _Run(wanted)
    sitemaps: list[str] = []
    for line, kind, value in _lines(text):
        if kind == "agent":
            rule_run.add(product_token(value))
            delay_run.add(product_token(value))
            groups.update({name: _Group() for name in rule_run.names - groups.keys()})
        elif kind == "sitemap":
            sitemaps += [value] if 0 < len(value) <= MAX_URL_CHARS else []
        elif kind == "request":
            for name in delay_run.close():
                groups[name].requests.append(line)
        else:
            delay_run.close()
            for name in rule_run.close():
                groups[name].rules += _rules(line, value, allow=kind == "allow")
    return groups.get(token, groups["*"]), tuple(sitemaps)


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Return each line that has a meaning, with its kind and its value.

    >>> list(_lines("DISALLOW : /a # b\\nx: y"))
    [('DISALLOW : /a', 'disallow', '/a')]
    """
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.partition("#")[0].strip()
        found = _LINE.match(line)
        if found and found.lastgroup:
            yield line, found.lastgroup, line[found.end() :].strip()


def _delay_s(lines: list[str]) -> float:
    if not lines:
        return 0.0
    robots = Protego.parse("\n".join(["User-agent: *", *lines]))
    delay, rate = robots.crawl_delay("*") or 0.0, robots.request_rate("*")
    between = min(rate.seconds, _LONG_S) / rate.requests if rate else 0.0
    return max(0.0, float(delay), between)


# Rules: RFC 9309 2.2.2 and 2.2.3


class _Rule(NamedTuple):
    """A folded pattern, cut at its wildcards. Without wildcards, `last` is None and `middle` is empty."""

    line: str
    allow: bool
    octets: int  # the pattern's length: the longest rule that matches decides
    first: str
    middle: tuple[str, ...]
    last: str | None
    anchored: bool

    @property
    def strings_bytes(self) -> int:
        """The memory that its strings take. Python has those of no or one character only once."""
        strings = (self.line, self.first, *self.middle, self.last or "")
        return sum([getsizeof(each) for each in strings if len(each) > 1]) + getsizeof(self.middle)

    @property
    def is_prefix(self) -> bool:
        return self.last is None and not self.anchored

    def matches(self, path: str) -> bool:
        """Return whether a folded path matches. Each part is searched once, from the end of the part before."""
        if not path.startswith(self.first):
            return False
        if self.last is None:
            return not self.anchored or len(path) == len(self.first)
        position = len(self.first)
        for part in self.middle:
            found = path.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        if self.anchored:
            return position + len(self.last) <= len(path) and path.endswith(self.last)
        return path.find(self.last, position) >= 0


def _rules(line: str, pattern: str, *, allow: bool) -> Iterator[_Rule]:
    """Return the rules of a line: none, one, or one for each spelling of its pattern."""
    if not pattern.startswith(("/", "*")):  # it cannot match any path
        return
    line = line if len(line) <= _MAX_LINE_CHARS else line[: _MAX_LINE_CHARS - 1] + "…"
    anchored = pattern.endswith("$")
    folded = _IN_RULE.sub(_fold, pattern.removesuffix("$"))
    for spelling in _spellings(folded):
        yield _rule(line, spelling, len(folded) + anchored, allow=allow, anchored=anchored)
    if allow and not anchored and folded.endswith("/index.html"):  # as Google does: the directory is the same page
        directory = folded.removesuffix("index.html")
        yield _rule(line, directory, len(directory) + 1, allow=True, anchored=True)


def _rule(line: str, folded: str, octets: int, *, allow: bool, anchored: bool) -> _Rule:
    first, *others = _WILDCARDS.split(folded)
    last = others.pop() if others else None
    return _Rule(line, allow, octets, first, tuple(others), last, anchored)


_WILDCARDS = re.compile(r"\*+")
_ESCAPE = "%[0-9a-fA-F]{2}"
_IN_RULE = re.compile(_ESCAPE + r"|[^\x21-\x7e]+|\$")
_IN_URL = re.compile(_ESCAPE + r"|[*$]")
# "/*%2F" must not forbid all URLs with a directory, nor "/*%3F" all URLs with a query; "%2541" is not "%41".
_KEPT_ESCAPED = frozenset("%*$/?#")


def _fold(found: re.Match[str]) -> str:
    """Return the folded form of an escape, or of characters that need one.

    >>> _IN_RULE.sub(_fold, "/%7ea%2a*é$%e9")
    '/~a%2A*%C3%A9%24%E9'
    """
    text = found[0]
    if not text.startswith("%"):
        return quote(text, safe="", errors="surrogatepass")
    char = chr(int(text[1:], 16))
    return char if "!" <= char <= "~" and char not in _KEPT_ESCAPED else text.upper()


def _spellings(folded: str) -> set[str]:
    """Return a folded pattern with its query as it is, unescaped and escaped. By RFC 9309 2.2.2 they are the same.

    >>> sorted(_spellings("/a?b=c/d"))
    ['/a?b=c%2Fd', '/a?b=c/d']
    >>> _spellings("/a%2Fb")
    {'/a%2Fb'}
    """
    path, mark, query = folded.partition("?")
    plain = query.replace("%2F", "/").replace("%3F", "?")
    escaped = plain.replace("/", "%2F").replace("?", "%3F")
    return {folded, path + mark + plain, path + mark + escaped}
