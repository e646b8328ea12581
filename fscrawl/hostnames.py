"""Hosts as people write them, for all commands that take a host, and for searches. Pure: no disk, no name is resolved.

Vocabulary:
  form     `example.org`, `example.org:8080`, `example.org_8080` (its directory), `https://example.org/x`; in upper
           case, in another alphabet, or with a dot at its end; `[::1]:8080`
  glob     a form with `*`, `?` or `[…]` as shells have them: `*.example.org`, `*.example.org:8080`

Promise: a form without a port means the host with any port; with a port, or a directory's name, it means this one.
"""

from __future__ import annotations

import difflib
import fnmatch
import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

import msgspec

from fscrawl import urls
from fscrawl.errors import UsageError
from fscrawl.request import is_normal

_RIGHT = "must be a host, like example.org, example.org:8080 or https://example.org/"
_RIGHT_GLOB = "must be a host or a pattern, like example.org, example.org:8080 or '*.example.org'"
_HASHED = re.compile(r"h-[0-9a-f]{32}\Z")  # of a host whose name cannot be a directory's; only its URLs have the name
_LAST_DOTS = re.compile(r"\.+(?=(?::\d*)?\Z)")
_SCHEME = re.compile(r"(https?)://", re.IGNORECASE)
_PORT = re.compile(r"(.*[^:]):(\d[\d*?]*)")
_LIKE_A_HOST = re.compile(r"[^\s/?#]+\.[^\s/?#]+|localhost|\[[0-9a-fA-F:.]+\]")
_NEAREST = 3
_COMPARED = 5_000  # names that are compared letter by letter: some 100 ms


class Host(msgspec.Struct, frozen=True):
    """What somebody wrote for hosts.

    text        as they wrote it
    directory   of the host, with its port if one was given; "" of a glob
    name        of the host, as in URLs, if no port was given; else ""
    glob        what directories must match; None if it is no glob
    """

    text: str
    directory: str
    name: str = ""
    glob: re.Pattern[str] | None = None

    def names(self, directory: str) -> bool:
        """Tell whether a directory is certainly that of such a host."""
        bare = urls.without_port(directory)
        name = bare.rstrip(".")
        whole = name + directory[len(bare) :]
        if self.glob is not None:
            return bool(self.glob.match(whole) or self.glob.match(name))
        return self.directory in (whole, name)

    def may_name(self, directory: str) -> bool:
        """Tell whether a directory may be that of such a host. Of some directories only their URLs tell."""
        return self.names(directory) or bool(_HASHED.match(directory))

    def has(self, url: str) -> bool:
        """Tell whether a normal form is on such a host."""
        if self.names(urls.host(url)):
            return True
        name = urls.hostname(url).rstrip(".")
        if self.glob is None:
            return name == self.name
        port = urls.origin(url).rpartition(":")[2]
        return bool(self.glob.match(name) or self.glob.match(f"{name}_{port}"))


def read(text: str, *, globs: bool = False) -> Host:
    """Read what somebody wrote for hosts. `globs`: it may be a glob. ValueError with what it must be.

    >>> read("https://Example.org:8080/x").directory, read("Bücher.example.").directory
    ('example.org_8080', 'xn--bcher-kva.example')
    """
    scheme, authority = _parts(text)
    if not (globs and re.search(r"[*?]", authority)):
        url = urls.normalise(f"{scheme}://{authority}/") if re.fullmatch(r"(?!\.)[^*?/#@\\\s]+", authority) else None
        if url is not None:
            name = urls.hostname(url)
            return Host(text, urls.host(url), name if urls.origin(url).endswith(f"/{name}") else "")
    glob = _glob(authority) if globs else None
    if glob is None:
        raise ValueError(_RIGHT_GLOB if globs else _RIGHT)
    return Host(text, "", glob=re.compile(glob))


def _parts(text: str) -> tuple[str, str]:
    """Return the scheme and the host with its port, without a dot at the host's end."""
    text = text.strip()
    scheme = _SCHEME.match(text)
    if scheme is not None:
        text = re.split(r"[/?#\\]", text[scheme.end() :], maxsplit=1)[0].rpartition("@")[2]
    return scheme[1] if scheme else "http", _LAST_DOTS.sub("", text) if text.strip(".") else ""


def _glob(text: str) -> str | None:
    """Return the expression for the directories that a glob means; None if it is none."""
    if not re.fullmatch(r"(?=.*[*?\[])[^/#@\\\s]+", text):
        return None
    ported = _PORT.fullmatch(text)
    labels = [ascii_label(label) for label in (ported[1] if ported else text).split(".")]
    if None in labels:
        return None
    return fnmatch.translate(".".join(label or "" for label in labels) + (f"_{ported[2]}" if ported else ""))


def ascii_label(label: str) -> str | None:
    """Return a part of a host name in lower case, another alphabet in Punycode; None if it has that and wild cards.

    >>> ascii_label("Bücher"), ascii_label("A*"), ascii_label("ü*")
    ('xn--bcher-kva', 'a*', None)
    """
    if label.isascii():
        return label.lower()
    url = None if re.search(r"[*?\[\]]", label) else urls.normalise(f"http://{label}/")
    return urls.hostname(url) if url else None


def url_pattern(text: str) -> str | None:
    """Return a pattern for hosts of URLs, of a rule, as normal forms have hosts; None if it is none.

    >>> url_pattern("*.Bücher.example"), url_pattern("a.example:8080"), url_pattern("http://a.example/")
    ('*.xn--bcher-kva.example', 'a.example:8080', None)
    """
    port = re.search(r":(\d+)\Z", text)
    name = text[: port.start()] if port else text
    labels = [ascii_label(label) for label in name.split(".")]
    if not name or re.search(r"[/\\@#\s]|\A[^\[]*:", name) or None in labels:
        return None
    return ".".join(label or "" for label in labels) + (port[0] if port else "")


def pattern_covers(pattern: str, url: str) -> bool:
    """Tell whether a pattern covers the host of a normal form; without a port it means any.

    >>> pattern_covers("*.example", "http://a.example:8080/"), pattern_covers("a.example:80", "http://a.example/")
    (True, True)
    """
    name = urls.hostname(url)
    authority = url[url.find("://") + 3 : url.find("/", 8)]
    if authority == name:
        authority += ":443" if url.startswith("https:") else ":80"
    # As a pattern, "[::1]" would match one character.
    return any(each == pattern or fnmatch.fnmatchcase(each, pattern) for each in (name, authority))


def option(text: str, *, globs: bool = False) -> Host:
    """Read the value of `--host`; UsageError if it is no host."""
    try:
        return read(text, globs=globs)
    except ValueError as error:
        raise UsageError(f"--host {urls.without_login(text)}: {error}") from None


def search(text: str) -> Callable[[str], bool]:
    """Return the function that tells whether a search for a text finds a directory: by a part of it, or by any form.

    >>> [search(text)("a.example_80") for text in ("Ample", "e:8", "http://a.example/x", "*.example", "a b")]
    [True, True, True, True, False]
    """
    part = text.strip().lower()
    try:
        host = read(text, globs=True)
    except ValueError:
        host = None

    def finds(directory: str) -> bool:
        return part in directory or part in urls.shown_host(directory) or (host is not None and host.names(directory))

    return finds


def unmatched(hosts: Sequence[Host], directories: Collection[str]) -> list[str]:
    """Give a line for each of `hosts` that no directory can belong to, with the hosts that are most like it.

    >>> unmatched([read("exmple.org")], ["example.org", "other.test"])
    ['no host here is exmple.org; nearest: example.org']
    """
    lines = []
    for host in hosts:
        sure = host.glob is None and not _HASHED.match(host.directory)
        if any(map(host.names if sure else host.may_name, directories)):
            continue
        near = ", ".join(nearest(host.text, directories))
        lines.append(f"no host here is {urls.without_login(host.text)}" + (f"; nearest: {near}" if near else ""))
    return lines


def nearest(text: str, directories: Iterable[str]) -> list[str]:
    """Return up to three hosts, as people write them, whose names are most like a form."""
    known = [each for each in directories if not _HASHED.match(each)]
    wanted = _PORT.sub(r"\1", _parts(text)[1]).lower().replace("*", "").strip(".?[]") or text.lower()
    inside = [each for each in known if wanted in each or urls.without_port(each) in wanted]
    inside.sort(key=lambda each: (abs(len(each) - len(wanted)), each))
    if not inside:
        alike = (each for each in known if abs(len(each) - len(wanted)) <= 6)
        inside = difflib.get_close_matches(wanted, islice(alike, _COMPARED), _NEAREST)
    return [urls.shown_host(each) for each in inside[:_NEAREST]]


def candidates(query: str) -> list[str]:
    """Give the normal forms of the URLs that somebody may mean, who left out the scheme; none if it is not a URL.

    The spelling of a request is given as it is.

    >>> candidates("HTTP://Example.com/a#b"), candidates("example.com/x"), candidates("some words")
    (['http://example.com/a'], ['https://example.com/x', 'http://example.com/x'], [])
    >>> candidates("example.com_8080/x")[1]
    'http://example.com:8080/x'
    """
    query = query.strip()
    if "#" in query and is_normal(query):
        return [query]
    if "://" in query:
        spellings = [query]
    elif _LIKE_A_HOST.match(query) and "@" not in re.split("[/?#]", query)[0]:
        query = re.sub(r"\A([^/?#]+)_(\d+)(?=[/?#]|\Z)", r"\1:\2", query)
        spellings = [f"https://{query}", f"http://{query}"]
    else:
        return []
    return [url for url in map(urls.normalise, spellings) if url is not None]


def is_address(name: str) -> bool:
    """Tell whether a host is an IP address; one of IPv6 may have its brackets.

    >>> is_address("[::1]"), is_address("127.0.0.1"), is_address("a.example")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
