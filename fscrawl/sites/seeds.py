"""The seeds of a [[site]]: templates of URLs, with a body that is a template, too. Pure.

Promise: `requests` gives the spellings one by one, each with its label. What is wrong with a template whatever its
values is found when it is read; a combination that is no URL gives None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fscrawl import labels, urls
from fscrawl.request import FORM, JSON, Request, flaw, spelling
from fscrawl.sites import templates
from fscrawl.sites.templates import Listed, Lists, Numbers, Template, Values

Labelled = tuple[str, str]  # the spelling of a seed, and its label, "" without one

MAX_SEEDS = 10_000_000  # of all templates of a crawl
MAX_HOSTS = 10_000  # of one template
_HEAD = re.compile(r"[a-z+.-]+://[^/?#]*", re.IGNORECASE)
_VALUE = re.compile(r"\{([0-9]{1,3})\}")  # in a label: the value of a pair of braces, from 1
_TYPES = {"form": FORM, "json": JSON}


@dataclass(frozen=True, slots=True)
class SeedTemplate:
    """A template of requests.

    text       as it is written
    url        of the URL
    head       how many of its values stand in the scheme and the host
    kind       "form" or "json", of the body; "" without one
    body       names and templates of a form; of JSON a document with templates in place of its strings
    label      with {1}, {2}, … for its values, those of the URL first
    """

    text: str
    url: Template
    head: int
    method: str = "GET"
    kind: str = ""
    body: Any = None
    label: str = ""

    @property
    def values(self) -> tuple[Values, ...]:
        return (*self.url.values, *(value for each in _templates(self.body) for value in each.values))

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the lists that it needs."""
        return tuple(dict.fromkeys(each.name for each in self.values if isinstance(each, Listed)))

    def count(self, lists: Lists) -> int:
        return templates.count(self.values, lists)

    def origins(self) -> Iterator[str]:
        """Give the roots of its sites, such as "https://a.example/"; what is no URL is left out."""
        pieces: list[str | Values] = []
        head = self.head
        for piece in self.url.pieces:
            if not isinstance(piece, str):
                head -= 1
                if head < 0:
                    break
            pieces.append(piece)
        origin = Template(tuple(pieces))
        for values in templates.combinations(self.url.values[: self.head], _no_lists):
            found = _HEAD.match(origin.fill(values, in_url=True))
            url = urls.normalise(found[0] + "/") if found else None
            if url is not None:
                yield urls.origin(url) + "/"

    def requests(self, lists: Lists) -> Iterator[Labelled | None]:
        """Give all requests as spellings with their labels; None for a combination that is no request."""
        count = len(self.url.values)
        for values in templates.combinations(self.values, lists):
            made = self._request(values[:count], values[count:])
            yield None if made is None else (made, self._label(values))

    def _label(self, values: Sequence[str]) -> str:
        return labels.shortened(_VALUE.sub(lambda found: values[int(found[1]) - 1], self.label)) if self.label else ""

    def _request(self, of_url: Sequence[str], of_body: Sequence[str]) -> str | None:
        url = urls.normalise(self.url.fill(of_url, in_url=True))
        if url is None or urls.bad_port(url) is not None:
            return None
        if self.method == "GET" and not self.kind:
            return url
        request = Request(url, self.method, _TYPES.get(self.kind, ""), self._filled(iter(of_body)))
        return None if flaw(request) else spelling(request)

    def _filled(self, values: Iterator[str]) -> bytes:
        document = _fill(self.body, values)
        if self.kind == "form":
            return urlencode(document).encode()
        return json.dumps(document, ensure_ascii=False).encode() if self.kind else b""

    def flaw(self) -> str:
        """Say what is wrong whatever the values; "" if nothing is."""
        values = [next(each.each(lambda name: "x")) for each in self.values]  # noqa: ARG005
        count = len(self.url.values)
        text = self.url.fill(values[:count], in_url=True)
        url = urls.normalise(text)
        if url is None:
            return "it gives no http or https URL"
        if (port := urls.bad_port(url)) is not None:
            return f"port {port} is of another protocol than HTTP, and never asked"
        found = flaw(Request(url, self.method, _TYPES.get(self.kind, ""), self._filled(iter(values[count:]))))
        return found or self._flaw_of_head() or self._flaw_of_label()

    def _flaw_of_label(self) -> str:
        count = len(self.values)
        for number in _VALUE.findall(self.label):
            if not 1 <= int(number) <= count:
                return f"its label has {{{number}}}, and it has {count} pairs of braces"
        return ""

    def _flaw_of_head(self) -> str:
        head = self.url.values[: self.head]
        if any(isinstance(each, Listed) for each in head):
            return "a file cannot give the hosts; write such URLs into seeds.txt"
        hosts = templates.count(head, _no_lists)
        if hosts <= MAX_HOSTS:
            return ""
        return f"it gives {templates.shown_count(hosts)} hosts; at most {MAX_HOSTS:,} are allowed"


def _no_lists(name: str) -> str:
    raise AssertionError(f"a head has no list {name}")


def read_label(text: str) -> str:
    """Check the label of templates; ValueError with the reason if it is wrong.

    >>> read_label("day {1..2}")
    Traceback (most recent call last):
    ValueError: in a label, {1} stands for the value of the first braces of a seed, {2} for that of the second
    """
    if not labels.is_label(text):
        raise ValueError(f"must have 1 to {labels.MAX_CHARS} printable characters, without blanks around them")
    if re.search("[{}]", _VALUE.sub("", text)):
        raise ValueError(
            "in a label, {1} stands for the value of the first braces of a seed, {2} for that of the second"
        )
    return text


def read(
    text: str, method: str = "", kind: str = "", body: Mapping[str, Any] | None = None, label: str = ""
) -> SeedTemplate:
    """Read a template. `kind`: of the body, "form" or "json". ValueError with the reason if it is wrong.

    >>> seed = read("http://a.example/s", kind="form", body={"page": "{1..2}"}, label="page {1}")
    >>> spelled, label = list(seed.requests(str))[1]
    >>> spelled.partition("#")[2], label
    ('method=POST&type=application/x-www-form-urlencoded&body=page=2', 'page 2')
    >>> list(read("http://{a,b}.example/").origins())
    ['http://a.example/', 'http://b.example/']
    """
    template = templates.read(text)
    seed = SeedTemplate(
        text, template, _values_of_head(template), method or ("POST" if kind else "GET"), kind, _body(body), label
    )
    said = seed.flaw()
    if said:
        raise ValueError(said)
    return seed


def _values_of_head(template: Template) -> int:
    """Count the values in front of the path."""
    marked = "".join(piece if isinstance(piece, str) else "\ue000" for piece in template.pieces)
    found = re.match(r"[^/]*//[^/?#]*", marked)
    return found[0].count("\ue000") if found else 0


def _body(document: Any) -> Any:
    """Put templates in place of the strings of a document. In place of {1..9} alone there will be a number."""
    if isinstance(document, str):
        return templates.read(document)
    if isinstance(document, Mapping):
        return {name: _body(value) for name, value in document.items()}
    return [_body(value) for value in document] if isinstance(document, list) else document


def _templates(body: Any) -> Iterator[Template]:
    if isinstance(body, Template):
        yield body
    elif isinstance(body, dict | list):
        for each in body.values() if isinstance(body, dict) else body:
            yield from _templates(each)


def _fill(body: Any, values: Iterator[str]) -> Any:
    if isinstance(body, Template):
        filled = body.fill([next(values) for _ in body.values])
        alone = body.pieces[0] if len(body.pieces) == 1 else None
        return int(filled) if isinstance(alone, Numbers) and not alone.width else filled
    if isinstance(body, dict):
        return {name: _fill(value, values) for name, value in body.items()}
    return [_fill(value, values) for value in body] if isinstance(body, list) else body
