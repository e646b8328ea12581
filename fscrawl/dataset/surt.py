"""SURT keys, by which web archives sort and find URLs. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from fscrawl import urls

_WWW = re.compile(r"www\d*\.")


def surt(url: str) -> str:
    """Return the SURT key of a normalised URL: host reversed, no `www.`, lower case, query sorted, no final slash.

    The Internet Archive's tools do the same, and also drop session ids: http://crawler.archive.org/articles/user_manual/glossary.html#surt

    >>> surt("http://www.Example.com/A/B/?b=2&a=1")
    'com,example)/a/b?a=1&b=2'
    >>> surt("http://127.0.0.1:8080/"), surt("https://[::1]/x")
    ('1,0,0,127:8080)/', '::1)/x')
    """
    end = url.find("/", 8)
    path, _, query = url[end:].lower().partition("?")
    while "//" in path:
        path = path.replace("//", "/")
    path = path.rstrip("/") or "/"
    return _site(url[:end]) + path + ("?" + "&".join(sorted(query.split("&"), key=_parts)) if query else "")


def _parts(argument: str) -> list[str]:
    return argument.split("=", 1)  # a name sorts before a longer one, whatever stands behind =


@lru_cache(1 << 16)
def _site(origin: str) -> str:
    name = urls.hostname(f"{origin}/").lower()
    port = origin[origin.find("://") + 3 + len(name) :]
    if name.startswith("["):
        return f"{name[1:-1]}{port})"
    return ",".join(reversed(_WWW.sub("", name, count=1).split("."))) + port + ")"
