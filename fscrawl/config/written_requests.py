"""Requests as people write them on one line, in `seeds.txt` and on the command line. Pure.

    POST https://a.example/search day=2024-01-01&class=Q1      a form
    POST https://a.example/api {"page": 1}                     JSON: the body begins with { or [
    POST https://a.example/search class=Q1 (session monday)    sent with the cookies of this session
    GET https://a.example/app#/item/3                          a page whose scripts see #/item/3

The spelling of a request, which stands in logs and records, may be written, too (see `request`).
"""

from __future__ import annotations

import difflib
import json
import re
from urllib.parse import quote

from fscrawl import urls
from fscrawl.request import FORM, JSON, METHODS, Request, flaw, is_normal, read, route_of, spelling

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
