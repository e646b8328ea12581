"""The names of a URL: normal form, key, host directory, shard and site. Pure: no disk, no socket.

Vocabulary:
  normal form   the WHATWG serialisation of an http(s) URL without fragment and credentials: one spelling for each page
  key           the first 24 hex digits of SHA-224 of the normal form; it names the page's files
  host          the directory of a page's files: the URL's host, with `_<port>` if it is not the default of the scheme
  shard         the unit that a machine owns: SHA-224 of the host (or of the key) modulo the number of shards
  bad port      a port of another protocol, such as mail, that no browser asks by HTTP: a server there could take parts
                of a request for commands of its own (https://fetch.spec.whatwg.org/#port-blocking)
  site          the registrable domain by the public suffix list (`example.co.uk`), or the host if it has none

Promise: for any reference, `normalise` returns a clean URL or None, and the names made from this URL stay inside their
directory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

import ada_url
from publicsuffixlist import PublicSuffixList

from fscrawl.util.lru import RecentGroups

MAX_URL_CHARS = 2083  # the longest that browsers and sitemaps.org agree on
TOO_LONG = " "  # in place of a normal form that is longer; none has a space
MAX_HOST_BYTES = 190  # with `PAUSE.` or `.json` it must stay within `layout.LONGEST_NAME_BYTES`

_KEY_DIGITS = 24
# Names in the DNS have at most 253 characters, and `https://` and a port stand around them. Pages may link to longer
# ones. They cannot be fetched, and the caches do not keep them: 16,384 of 2,000 characters would be 70 MB.
_CACHED_CHARS = 270
_JOINED_BYTES = 16 * 1024 * 1024  # each generation of joined references: some 40,000 of usual length
_ITEM_BYTES = 230  # measured: a joined reference without its two strings' characters
_SLICE = 100  # references that are put into the memory at once; they may go beyond its limit together
_GROUP_BYTES = 500  # measured: a directory that has one, with its name of usual length
_SAFE_HOST = re.compile(r"[a-z0-9_-][a-z0-9._-]*\Z")
_HTTP = ("http:", "https:")
_ABSOLUTE = ("http://", "https://")
_ABSOLUTE_GROUP = "#"  # of references that begin so; no base is empty
_PORTS = """
0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137
139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720
1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
_BAD_PORTS = frozenset(_PORTS.split())
_HIGHEST_PORT = 65_535
# References that are resolved against the whole base, not against its directory: those without a path, after the white
# space and tabs that WHATWG ignores. "http:?q" is one, too.
_NO_PATH = re.compile(r"[?#\x00-\x20]|h[tps\t\n\r]*:(?!//)|\Z", re.IGNORECASE)
# References that mean the same to any parser: names without escapes, of which none begins with a dot, and a query.
_PLAIN = re.compile(r"(/|(?:\.\./)*+)((?:[\w~-][\w.~-]*+/)*+(?:[\w~-][\w.~-]*+)?)(\?[\w.~=&/+-]+)?\Z", re.ASCII)


class Spelling(NamedTuple):
    """How the settings of a crawl spell URLs: the same page has one normal form.

    drop_query   the query is no part of a URL
    """

    drop_query: bool = False


USUAL = Spelling()


def normalise(url: str, base: str | None = None, spelling: Spelling = USUAL) -> str | None:
    """Return the normal form of `url`, joined to `base` if given; None if it is not an http(s) URL that can be fetched.

    WHATWG rules (https://url.spec.whatwg.org/): scheme and host in lower case, IDNA, default port and dot segments
    removed, unsafe characters percent-encoded. Fragment and credentials are dropped, and what `spelling` says.

    >>> normalise("HTTP://User:pw@Example.COM:80/a/../b?q=1#top")
    'http://example.com/b?q=1'
    >>> normalise("../c", "http://example.com/a/b/")
    'http://example.com/a/c'
    >>> normalise("mailto:me@example.com") is None
    True
    """
    href = _href(url, base, spelling)
    return href if 0 < len(href) <= MAX_URL_CHARS else None


def normalised(url: str, base: str | None = None, spelling: Spelling = USUAL) -> str:
    """Do what `normalise` does, and tell why there is no normal form: "" if it is none, TOO_LONG if it is too long.

    >>> normalised("mailto:me@example.com"), normalised("ä" * 500, "http://example.com/")
    ('', ' ')
    """
    href = _href(url, base, spelling)
    return href if len(href) <= MAX_URL_CHARS else TOO_LONG


def _href(url: str, base: str | None, spelling: Spelling) -> str:
    """Return the normal form, however long it is; "" if there is none."""
    try:
        href = ada_url.join_url(base, url) if base is not None else ada_url.normalize_url(url)
    except (ValueError, UnicodeError):  # lone surrogates cannot be UTF-8
        return ""
    if not href.startswith(_HTTP):
        return ""
    href = href.partition("#")[0]
    authority_end = href.find("/", 8)  # a special URL always has a path
    if "@" in href[:authority_end]:
        href = _without_credentials(href)
    if "?" in href:
        bare, _, query = href.partition("?")
        if spelling.drop_query or not query:
            href = bare
    return href


def without_login(text: str) -> str:
    """Return what a message may show of a URL, or of what was meant as one: without user and password.

    >>> without_login("htp://me:p/w@a.example/"), without_login("http://me:pw@a.example/@b")
    ('htp://…@a.example/', 'http://…@a.example/@b')
    """
    if text.lower().startswith("mailto:"):
        return text
    is_url = normalise(text) is not None
    login = r"\A([^/\\?#]*:[/\\]*)[^/\\?#]*@" if is_url else r"(:[/\\]*)\S*@"
    return re.sub(login, r"\1…@", text)


def _without_credentials(href: str) -> str:
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


class Joiner:
    """Resolves the links of pages, with a cache: pages of one directory share their navigation.

    A relative reference with a path depends only on the directory of the base, so the cache is by directory. It is
    bounded by bytes, since pages decide how long references are.
    """

    def __init__(self, spelling: Spelling = USUAL, *, memory_bytes: int = _JOINED_BYTES) -> None:
        """`memory_bytes`: the size of one of the two generations of the cache."""
        self._spelling = spelling
        # Directory → reference → its normal form, or what `normalised` gives in its place. References of other
        # kinds are in groups with `#` at the end, which no directory has; those that name their host, in one group.
        self._joined: RecentGroups[str, str, str] = RecentGroups(memory_bytes)

    def join(self, base: str, reference: str) -> str | None:
        """Return the normal form of a reference on a page. `base`: the base URL of the page, a normal form.

        None if it is no http(s) URL that can be fetched, or if the reference is longer than MAX_URL_CHARS.

        >>> Joiner().join("http://a.example/x/y.html?q", "z.html")
        'http://a.example/x/z.html'
        >>> Joiner().join("http://a.example/x/y.html?q", "?r")
        'http://a.example/x/y.html?r'
        """
        joined = self.joined(base, reference)
        return joined if len(joined) > 1 else None

    def joined(self, base: str, reference: str) -> str:
        """Do what `join` does, and tell why there is no normal form: "" if it is none, TOO_LONG if it is too long."""
        if reference.startswith(_ABSOLUTE) and reference.isascii():
            group = _ABSOLUTE_GROUP
        elif _NO_PATH.match(reference):
            group = base + "#"
        else:
            base = _directory(base)
            group = base if reference.isascii() else base + "#"
        known = self._joined.group(group).get(reference)
        return self._join(group, base, reference) if known is None else known

    def known(self, base: str) -> Mapping[str, str]:
        """Return what is known of references in ASCII on pages with this base: the same as `joined`.

        >>> joiner = Joiner()
        >>> joiner.join("http://a.example/x/y.html", "z.html") and joiner.known("http://a.example/x/?q")
        {'z.html': 'http://a.example/x/z.html'}
        """
        return self._joined.group(_directory(base))

    def known_absolute(self) -> Mapping[str, str]:
        """Return what is known of references in ASCII that name their host, whatever the page, as `known` does."""
        return self._joined.group(_ABSOLUTE_GROUP)

    def append(self, base: str, references: Iterable[str]) -> Mapping[str, str]:
        """Join those references that need no more than to be appended, and remember them; give their normal forms.

        >>> Joiner().append("http://a.example/x/y.html", ["z.html", "?q", "http:z"])
        {'z.html': 'http://a.example/x/z.html'}
        """
        directory = _directory(base)
        found: dict[str, str] = {}
        for reference in references:
            if reference[:1] != "?" and 0 < len(reference) <= MAX_URL_CHARS:
                joined = _appended(directory, reference, self._spelling)
                if joined is not None:
                    found[reference] = joined
        items = list(found.items())
        for begin in range(0, len(items), _SLICE):
            some = dict(items[begin : begin + _SLICE])
            weight = _ITEM_BYTES * len(some) + sum(map(len, some)) + sum(map(len, some.values()))
            self._joined.put_all(directory, some, weight, _GROUP_BYTES + len(directory))
        return found

    def _join(self, group: str, base: str, reference: str) -> str:
        joined = self._joined.get(group, reference)
        if joined is None:
            if len(reference) > MAX_URL_CHARS:  # a reference of megabytes is not even looked at
                return TOO_LONG
            joined = _appended(base, reference, self._spelling) if group == base else None
            if joined is None:
                joined = normalised(reference, base, self._spelling)
        reference_bytes = len(reference) * (1 if reference.isascii() else 4)
        weight = _ITEM_BYTES + reference_bytes + len(joined)
        self._joined.put(group, reference, joined, weight, _GROUP_BYTES + len(group))
        return joined


def _directory(base: str) -> str:
    base = base.partition("?")[0]
    return base[: base.rfind("/") + 1]


def _appended(directory: str, reference: str, spelling: Spelling) -> str | None:
    """Do what `normalise` does with a reference that needs no more than to be appended; None if it is another one.

    Most references are such, and a regular expression sees that in a tenth of the time.

    >>> _appended("http://a.example/x/y/", "../z.html?q=1", USUAL)
    'http://a.example/x/z.html?q=1'
    """
    found = _PLAIN.match(reference)
    if found is None:
        root = directory.find("/", 8)
        if not reference.startswith(directory[: root + 1]):
            return None
        found = _PLAIN.match(reference, root)
        if found is None:
            return None
    up, path, query = found.groups("")
    if up:
        directory = _above(directory, up)
    joined = directory + path if spelling.drop_query else directory + path + query
    return joined if len(joined) <= MAX_URL_CHARS else None


def _above(directory: str, up: str) -> str:
    """Return the directory that `/`, or one or more `../`, lead to."""
    root = directory.find("/", 8)
    if up == "/":
        return directory[: root + 1]
    for _ in range(len(up) // 3):
        above = directory.rfind("/", root, len(directory) - 1)
        directory = directory[: above + 1] if above >= 0 else directory
    return directory


def digest(url: str) -> bytes:
    """Return SHA-224 of a normal form, 28 bytes. Key and fingerprint are its first bytes.

    >>> digest("http://example.com/").hex()[:24] == key("http://example.com/")
    True
    """
    return hashlib.sha224(url.encode()).digest()


def key(url: str) -> str:
    """Return the 24 hex digits that name a page's files.

    >>> key("http://example.com/")
    '599370d5687c3fd078c314ad'
    """
    return hashlib.sha224(url.encode()).hexdigest()[:_KEY_DIGITS]


def fingerprint(page_key: str) -> int:
    """Return the first 64 bits of a key, by which the frontier remembers known URLs.

    >>> fingerprint("00000000000000ff00000000")
    255
    """
    return int(page_key[:16], 16)


def fingerprint_of(text: str) -> int:
    """Return the fingerprint of a normal form, or of a name.

    >>> fingerprint_of("http://example.com/") == fingerprint(key("http://example.com/"))
    True
    """
    return int.from_bytes(digest(text)[:8])


def bad_port(url: str) -> str | None:
    """Return the port of a normal form if it is a bad port; or what somebody has written in place of one.

    >>> bad_port("http://a.example:25/"), bad_port("http://[::1]:22/"), bad_port("http://a.example:8080/:25/")
    ('25', '22', None)
    >>> bad_port("http://a.example:65536/"), bad_port("http://[::1]/")
    ('65536', None)
    """
    end = url.find("/", 8)
    colon = url.find(":", 7, end)
    if colon < 0 or url[end - 1] == "]":
        return None
    port = url[url.rfind(":", 7, end) + 1 : end]
    return port if port in _BAD_PORTS or not port.isdecimal() or int(port) > _HIGHEST_PORT else None


def origin(url: str) -> str:
    """Return scheme, host and port of a normal form. A robots.txt is valid for one origin.

    >>> origin("http://example.com:8080/a/b?c")
    'http://example.com:8080'
    """
    return url[: url.find("/", 8)]


def _host_of_origin(url_origin: str) -> str:
    name = url_origin.partition("://")[2].replace(":", "_")
    if len(name) <= MAX_HOST_BYTES and _SAFE_HOST.match(name):
        return name
    return "h-" + hashlib.sha224(name.encode()).hexdigest()[:32]


_cached_host_of_origin = lru_cache(maxsize=16384)(_host_of_origin)


def host(url: str) -> str:
    """Return the host directory of a normal form: `[a-z0-9._-]`, never `.` or `..`, at most 190 bytes.

    `http` and `https` of one name share a directory. A port that is not the default of the scheme has its own.

    >>> host("https://www.example.com/x"), host("http://127.0.0.1:8000/x")
    ('www.example.com', '127.0.0.1_8000')
    >>> host("http://[::1]/x")[:2]
    'h-'
    """
    url_origin = origin(url)
    return (_cached_host_of_origin if len(url_origin) <= _CACHED_CHARS else _host_of_origin)(url_origin)


def without_port(directory: str) -> str:
    """Return the host of a host directory, without port. A host name itself may contain `_`.

    >>> without_port("a.example_8080"), without_port("a_b.example"), without_port("a_b.example_8080")
    ('a.example', 'a_b.example', 'a_b.example')
    """
    name, _, port = directory.rpartition("_")
    return name if name and port.isdecimal() else directory


def shown_host(directory: str) -> str:
    """Return a host directory as people write its host: with a colon before the port.

    >>> shown_host("a.example_8080"), shown_host("a_b.example")
    ('a.example:8080', 'a_b.example')
    """
    name = without_port(directory)
    return directory if name == directory else f"{name}:{directory[len(name) + 1 :]}"


def shard(name: str, shards: int) -> int:
    """Return the shard of what decides about it, from 0 to `shards` - 1.

    >>> shard("example.com", 256)
    71
    """
    return int.from_bytes(hashlib.sha224(name.encode()).digest()) % shards


def shard_of(directory: str, key: str, shards: int, partition: str) -> int:
    """Return the shard of a URL by its host directory and its key. `partition`: as in the settings.

    With "site" the last two labels of the host decide. So hosts of one registrable domain are never apart, whatever
    list of public suffixes a machine has: all machines must agree.

    >>> shard_of("a.example.com_8080", "", 256, "site"), shard_of("10.0.0.1", "", 256, "site") == shard("10.0.0.1", 256)
    (71, True)
    """
    if partition == "url":
        return shard(key, shards)
    if partition == "site":
        name = without_port(directory).rstrip(".")
        labels = name.split(".")
        directory = name if labels[-1].isdigit() else ".".join(labels[-2:])
    return shard(directory, shards)


def hostname(url: str) -> str:
    """Return the host of a normal form, without port.

    >>> hostname("http://[::1]:80/"), hostname("http://a.example:8/")
    ('[::1]', 'a.example')
    """
    authority = url[url.find("://") + 3 : url.find("/", 8)]
    return authority.rpartition(":")[0] if ":" in authority and not authority.endswith("]") else authority


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_encoded_idn=False)  # to encode all its names takes three quarters of its time


def site(name: str) -> str:
    """Return the registrable domain of a host name, or the name itself if it has none (an address, a public suffix).

    >>> site("www.news.example.co.uk"), site("a.b.xn--55qx5d.cn"), site("127.0.0.1"), site("localhost")
    ('example.co.uk', 'b.xn--55qx5d.cn', '127.0.0.1', 'localhost')
    """
    return (_cached_site if len(name) <= _CACHED_CHARS else _site)(name)


def _site(name: str) -> str:
    if name.endswith("]") or name.rpartition(".")[2].isdigit():
        return name
    labels = name.rstrip(".").split(".")
    registrable = _suffixes().privatesuffix(".".join(_decoded(label) for label in labels))
    return ".".join(labels[-1 - registrable.count(".") :]) if registrable else name


def _decoded(label: str) -> str:
    """Return a label of a host name in Unicode, or as it is if it is not encoded rightly."""
    try:
        return label[4:].encode().decode("punycode") if label.startswith("xn--") else label
    except UnicodeError:
        return label


_cached_site = lru_cache(maxsize=4096)(_site)
