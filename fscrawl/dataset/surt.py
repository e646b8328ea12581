"""SURT keys, by which web archives sort and find URLs. Pure.

Readers look a URL up by the key that they make of it, so ours are those of the Internet Archive's package `surt`, which
pywb and cdxj-indexer use (https://github.com/internetarchive/surt). It is not used here: it takes ten times as long for
a URL and 0.4 s to load, brings tldextract along, and asks the resolver about hosts that begin with digits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

from fscrawl import urls

_WWW = re.compile(r"www\d*\.")
_SAFE = bytes(c for c in range(0x21, 0x7F) if c not in b"#%")  # what keys leave as it is
_PLAIN = re.compile(r"(?:[!-\"$&-.0-~]|/(?![/.]))*+")
_ANY_CASE = re.IGNORECASE
# Both lists are those of surt's URLRegexTransformer.py.
_SESSIONS_IN_PATHS = (
    re.compile(r"^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$", _ANY_CASE),
    re.compile(r"^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$", _ANY_CASE),
)
_SESSIONS_IN_QUERIES = tuple(
    re.compile(rf"^(.*)(?:{session})(?:&(.*))?$", _ANY_CASE)
    for session in (
        *("jsessionid=[0-9a-z]{32}", "phpsessid=[0-9a-z]{32}", "sid=[0-9a-z]{32}"),
        *("ASPSESSIONID[a-z]{8}=[a-z]{24}", "cfid=[^&]+&cftoken=[^&]+"),
    )
)


def surt(url: str) -> str:
    """Return the SURT key of a URL in normal form: host reversed, no `www.`, lower case, query sorted, no final slash.

    Sessions are left out. What is percent-encoded is decoded as often as that changes it and encoded again, as bytes:
    a page in GBK has other bytes than one in UTF-8, and another key.

    >>> surt("http://www.Example.com/A/B/?b=2&a=1")
    'com,example)/a/b?a=1&b=2'
    >>> surt("http://127.0.0.1:8080/"), surt("https://[::1]/x%2fcaf%25E9")
    ('1,0,0,127:8080)/', '::1)/x/caf%e9')
    """
    end = url.find("/", 8)
    path, _, query = url[end:].partition("#")[0].partition("?")
    path, query = _path(path), _query(query)
    return f"{_site(url[:end])}{path}?{query}" if query else _site(url[:end]) + path


def _path(path: str) -> str:
    path = _canonical(path, is_path=True).lower()
    if ".aspx" in path:
        for session in _SESSIONS_IN_PATHS:
            path = session.sub(r"\1\2", path)
    return path if path == "/" else path.removesuffix("/")


def _query(query: str) -> str:
    query = _canonical(query)
    if "id" in query.lower():  # as in the name of each session
        for session in _SESSIONS_IN_QUERIES:
            query = session.sub(r"\1\2", query)
    return "&".join(sorted(query.lower().split("&"), key=_parts)) if "&" in query else query.lower()


def _parts(argument: str) -> list[str]:
    return argument.split("=", 1)  # a name sorts before a longer one, whatever stands behind =


def _canonical(text: str, *, is_path: bool = False) -> str:
    if _PLAIN.fullmatch(text):  # as nearly always: a third of the time
        return text
    data = text.encode("utf-8", "replace")
    while (decoded := unquote_to_bytes(data)) != data:
        data = decoded
    return quote_from_bytes(_without_dots(data) if is_path else data, safe=_SAFE)


def _without_dots(path: bytes) -> bytes:
    """Leave out `.` and `..`, which decoding may have brought, and empty names but the last one."""
    if b"/." not in path and b"//" not in path:
        return path
    kept: list[bytes] = []
    for name in path.split(b"/")[1:]:
        if name == b".." and kept:
            kept.pop()
        elif name != b".":
            kept.append(name)
    return b"/" + b"".join(name + b"/" for name in kept[:-1] if name) + b"".join(kept[-1:])


@lru_cache(1 << 16)
def _site(origin: str) -> str:
    name = urls.hostname(f"{origin}/").lower()
    port = origin[origin.find("://") + 3 + len(name) :]
    if name.startswith("["):
        return f"{name[1:-1]}{port})"
    name = name.replace("..", ".").strip(".")
    return ",".join(reversed(_WWW.sub("", name, count=1).split("."))) + port + ")"
