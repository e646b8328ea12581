"""`seeds.txt`: the URLs and other requests that a crawl begins with, one a line.

    https://a.example/                                    # the label of what this line leads to
    POST https://a.example/search class=Q1 (session 7)    # Q1: a form, sent with the cookies of this session
    POST https://a.example/api {"page": 1}                # JSON: the body begins with { or [
    GET https://a.example/app#/item/3                     # a page whose scripts see #/item/3

The spelling of a request, which stands in logs and records, may be written, too (see `request`). Requests are written
in the same way on the command line.

Promise: a line that is neither is skipped with a warning that names its place and what would be right. A last line
without a newline may be half written, so a machine that starts waits for it for a few seconds; on a local disk, until
the file is a few seconds old.
"""

from __future__ import annotations

import difflib
import json
import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

from fscrawl import labels, urls
from fscrawl.request import FORM, JSON, METHODS, Request, flaw, is_normal, read, route_of, spelling
from fscrawl.store import SEEDS, Tree
from fscrawl.util.user_text import flaw_of, lines, parted, shown

_LINE = re.compile(r"([A-Za-z]+)\s+(\S+)(?:\s+(\S.*))?\Z", re.DOTALL)
_SESSION = re.compile(r"\s+\(session ([^()]+)\)\Z")
_OTHER_METHODS = ("CONNECT", "DELETE", "HEAD", "OPTIONS", "TRACE")  # what HTTP has besides, so that they are named
_IN_FORMS = "".join(map(chr, range(33, 127)))  # blanks and what is not ASCII are encoded, all else stays as written
_MARK = "#method="


def written_request(text: str) -> str | None:
    """Give the spelling of the request that somebody has written; None if it is none, but perhaps a URL.

    ValueError with what is wrong with it.

    >>> written_request('POST http://a.example/s q=a b')
    'http://a.example/s#method=POST&type=application/x-www-form-urlencoded&body=q=a%2Bb'
    >>> written_request("GET http://a.example/list (session 7)")
    'http://a.example/list#method=GET&session=7'
    >>> written_request("GET http://a.example/app#/item/3"), written_request("GET http://a.example/app#top")
    ('http://a.example/app#method=GET&fragment=/item/3', 'http://a.example/app')
    >>> written_request("http://a.example/") is None
    True
    """
    if _MARK in text and not any(c.isspace() for c in text):
        if not is_normal(text):
            raise ValueError("what begins at # is not the spelling of a request; write POST, the URL, and the body")
        return text
    named = _SESSION.search(text)
    found = _LINE.match(text[: named.start()] if named else text)
    method = found[1].upper() if found else ""
    if found is None or method not in METHODS + _OTHER_METHODS:
        if found is not None and urls.normalise(found[2]) is not None:
            near = difflib.get_close_matches(method, METHODS, 1)
            hint = f"did you mean {near[0]}?" if near else f"the methods are {', '.join(METHODS)}"
            if near or found[1].isupper():  # else it may be a note
                raise ValueError(f"{found[1][:20]} is no method; {hint}")
        return None
    url = urls.normalise(found[2])
    if url is None:
        raise ValueError(f"behind {method} there must be a complete URL; write {method} https://example.org/")
    request = _request(url, method, (found[3] or "").rstrip())
    request = request._replace(session=named[1] if named else "", fragment=route_of(found[2]))
    if wrong := flaw(request):
        raise ValueError(wrong)
    return spelling(request)


def _request(url: str, method: str, body: str) -> Request:
    if not body:
        return Request(url, method)
    if body[0] not in "{[":
        return Request(url, method, FORM, quote(body.replace(" ", "+"), _IN_FORMS).encode())
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its body begins like JSON and is none ({error}); write a form as a=1&b=2") from None
    return Request(url, method, JSON, body.encode())


def line_of(text: str) -> str:
    """Give a request, in its spelling, as people write it; the spelling if that is not possible.

    >>> line_of("http://a.example/s#method=POST&type=application/x-www-form-urlencoded&body=q=a%2Bb")
    'POST http://a.example/s q=a+b'
    """
    if "#" not in text:
        return text
    request = read(text)
    line = f"{request.method} {request.address} {request.body.decode('utf-8', 'replace')}".rstrip()
    line += f" (session {request.session})" if request.session else ""
    is_one_line = line.isprintable() and not re.search(r"\s#", line)  # a # behind a blank begins a comment
    try:
        return line if is_one_line and written_request(line) == text else text
    except ValueError:
        return text


_POLL_S = 0.25
_WRITING_S = 3.0  # an unfinished last line that stays unchanged for so long is complete
_MOST_WARNINGS = 20  # a file of something else must not fill the terminal
_PAIRS = ('""', "''", "<>", "“”", "‘’", "«»", "``")
_NAME = re.compile(r"(?:(?:[\w-]+\.)+[^\W\d][\w-]*|\d+(?:\.\d+){3}|localhost|\[[0-9a-fA-F:.]+\])(?=[:/?#]|\Z)")


def read_seeds(text: str, where: str, warn: Callable[[str], None]) -> dict[str, str]:
    """Return the normal forms of the URLs in `text`, and the spellings of its requests, each with its label, "" if it
    has none. Blank lines are skipped. Of a seed on several lines the first one counts.

    `where` names the text in warnings.
    """
    found: dict[str, str] = {}
    for _ in reading(found, text, where, warn, set(), 0):
        pass
    return found


def reading(
    found: dict[str, str], text: str, where: str, warn: Callable[[str], None], warned: set[str], begin: int
) -> Iterator[None]:
    """Do what `read_seeds` does, into `found`, a line at each step: 200,000 lines take seconds.

    `warned`: lines that have been warned of already; new ones are added. `begin`: where a line begins; those before it
    are left out.
    """
    bad = 0
    for line in lines(text, begin):
        yield
        no_text = flaw_of(line)
        try:
            if no_text is not None:
                raise ValueError(no_text[1])
            found.setdefault(_read_line(line.text), labels.in_comment(line.comment))
        except ValueError as error:
            if line.text in warned:
                continue
            warned.add(line.text)
            bad += 1
            if bad <= _MOST_WARNINGS:
                column = line.column + (no_text[0] if no_text else 0)
                shown_line = "" if no_text else f": {shown(urls.without_login(line.text))}"
                warn(f"{where}:{line.number}:{column}: {error}, skipped{shown_line}")
    if bad > _MOST_WARNINGS:
        warn(f"{where}: {bad - _MOST_WARNINGS} more lines like these, skipped")


def _read_line(text: str) -> str:
    """Return the normal form of the URL on a line, or the spelling of the request; ValueError with what is wrong."""
    if any(text[0] == pair[0] and text[-1] == pair[1] for pair in _PAIRS):
        text = text[1:-1].strip()
    words = text.split()
    if len(words) > 1 and written_request(text) is None:
        if "://" in words[1]:
            raise ValueError("there must be one URL on a line")
        raise ValueError("a URL has no white space; write %20 for a blank, and # before a comment")
    return read_seed(text)


def read_given(text: str) -> tuple[str, str]:
    """Return a seed that is given by itself, as on a command line, with its label; ValueError with what is wrong.

    What is behind a # is a label, as on a line of a file. It must not become a part of the URL or of a form.

    >>> read_given("http://a.example/?q=1  # day 1")
    ('http://a.example/?q=1', 'day 1')
    >>> read_given("http://a.example/1\\nhttp://a.example/2")
    Traceback (most recent call last):
    ValueError: there must be one URL
    """
    bare, comment = parted(text)
    words = bare.split()
    is_two = len(words) > 1 and "://" in words[1] and written_request(bare.strip()) is None
    if is_two or "\n" in comment:
        raise ValueError("there must be one URL")
    return read_seed(bare), labels.in_comment(comment)


def read_seed(text: str) -> str:
    """Return the normal form of a seed, or its spelling if it is a request; ValueError with what is wrong.

    >>> read_seed("http://a.example:25/")
    Traceback (most recent call last):
    ValueError: port 25 is of another protocol than HTTP, and never asked
    >>> read_seed("a.example/x")
    Traceback (most recent call last):
    ValueError: not an http or https URL; write https://a.example/x
    """
    url = written_request(text.strip()) or urls.normalise(text)
    if url is None:
        raise ValueError(f"not an http or https URL{_advice(text)}")
    if (port := urls.bad_port(url)) is not None:
        raise ValueError(f"port {port} is of another protocol than HTTP, and never asked")
    return url


def _advice(text: str) -> str:
    """Say what was probably meant."""
    bare = text.strip()
    if len(bare) > urls.MAX_URL_CHARS:
        return f", since it is longer than {urls.MAX_URL_CHARS} characters"
    whole = f"https:{bare}" if bare.startswith("//") else f"https://{bare}"
    url = urls.normalise(whole) if bare.startswith("//") or _NAME.match(bare) else None
    if url is None or ("@" in url and urls.without_login(bare) != bare):  # it may have become a part of the path
        return ""
    return f"; write {shown(url)}"


def line_of_seed(seed: str, label: str) -> str:
    """Give a seed as it is written on a line.

    >>> line_of_seed("http://a.example/", "day 1")
    'http://a.example/  # day 1'
    """
    return f"{line_of(seed)}  # {label}" if label else line_of(seed)


def wait_for_seeds(tree: Tree, warn: Callable[[str], None]) -> dict[str, str]:
    """Read the tree's `seeds.txt` when a machine starts. Wait while its last line may still be written."""
    text = wait_for_lines(tree, SEEDS, tree.controls.seeds, warn)
    return read_seeds(text, f"{tree.root}/{SEEDS}", warn)


def wait_for_lines(tree: Tree, name: str, read: Callable[[], str], warn: Callable[[str], None]) -> str:
    """Read a file of lines in the root when a machine starts. Wait while its last line may still be written."""
    text, since = read(), time.monotonic()
    warned = False
    while text and not text.endswith("\n"):
        if tree.controls.same_s(name, time.monotonic() - since, time.time()) >= _WRITING_S:
            break
        if not warned:
            warned = True
            where = f"{tree.root}/{name}"
            warn(f"{where}: the last line does not end with a newline; waiting a few seconds for the rest of it")
        time.sleep(_POLL_S)
        again = read()
        if again != text:
            text, since = again, time.monotonic()
    return text
