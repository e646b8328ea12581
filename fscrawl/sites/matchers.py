"""What a rule looks for on a page: `css:`, `xpath:`, `re:` or `json:`, and what it makes of what it finds. Pure.

Vocabulary:
  matcher     finds texts on a page. One that makes links finds references: `css:a.next` gives the href of the element
  template    what stands behind " -> ": the reference that each text becomes, with {} in its place

Promise: `read` and `follow` raise ValueError with the reason if a text is no matcher. Matchers can be pickled: what is
large is compiled once in each process, where it is needed.
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from urllib.parse import quote

from fscrawl.parse import json_paths, selectors
from fscrawl.parse.headers import media_type
from fscrawl.parse.json_paths import JsonPath, as_text
from fscrawl.parse.selectors import Css, XPath
from fscrawl.sites.page import Page
from fscrawl.util.expressions import compiled
from fscrawl.util.user_text import shown

ARROW = " -> "
_HERE = "{}"


class Matcher(Protocol):
    """`references`: what it finds for links; `finds`: whether there is anything. ValueError: it takes too much."""

    def references(self, page: Page) -> Iterator[str]: ...
    def finds(self, page: Page) -> bool: ...


@dataclass(frozen=True, slots=True)
class CssMatcher:
    """`css`: with an attribute, or the own texts of elements."""

    css: Css

    def references(self, page: Page) -> Iterator[str]:
        css = self.css
        if css.attribute is None and not css.own_text:
            css = replace(css, attribute="href")
        return css.texts(page.parsed)

    def finds(self, page: Page) -> bool:
        if self.css.attribute is None and not self.css.own_text:
            return self.css.selects(page.parsed)
        return any(text.strip() for text in self.css.texts(page.parsed))


@dataclass(frozen=True, slots=True)
class XPathMatcher:
    """Elements give their href; a number, or true and false, is a text, too."""

    xpath: XPath

    def references(self, page: Page) -> Iterator[str]:
        return self.xpath.references(page.parsed)

    def finds(self, page: Page) -> bool:
        return self.xpath.selects(page.parsed)


@dataclass(frozen=True, slots=True)
class JsonMatcher:
    """Strings are references; with a template numbers and booleans are, too."""

    path: JsonPath

    def references(self, page: Page) -> Iterator[str]:
        return (as_text(value) for value in self._values(page) if isinstance(value, str | int | float))

    def finds(self, page: Page) -> bool:
        return bool(self._values(page))

    def _values(self, page: Page) -> list[object]:
        try:
            documents = page.documents
        except ValueError:
            return []
        return self.path.values(*documents)


@dataclass(frozen=True, slots=True)
class RegexMatcher:
    """The first group, or all that matches, in the page's source. In HTML, `&amp;` means an ampersand."""

    pattern: str

    def references(self, page: Page) -> Iterator[str]:
        regex = compiled(self.pattern)
        group = min(1, regex.groups)
        read = html.unescape if "html" in (media_type(page.headers) or "html") else str
        return (read(found[group] or "") for found in regex.finditer(page.text))

    def finds(self, page: Page) -> bool:
        return compiled(self.pattern).search(page.text) is not None


class Follow(NamedTuple):
    """An entry of `follow`. `template`: what each text becomes; "": it is a reference itself."""

    text: str
    matcher: Matcher
    template: str = ""

    def references(self, page: Page) -> Iterator[str]:
        """Give references, without those that are empty. ValueError if it takes too much."""
        for found in self.matcher.references(page):
            text = found.strip()
            if text:
                yield self.template.replace(_HERE, quote(text, safe="")) if self.template else text


class Expectation(NamedTuple):
    """An entry of `expect`. `is_there`: whether the matcher must find something, or nothing."""

    text: str
    matcher: Matcher
    is_there: bool

    def flaw(self, page: Page) -> str:
        """Say why a page is unexpected; "" if it is not."""
        try:
            if self.matcher.finds(page) == self.is_there:
                return ""
        except Exception as error:  # noqa: BLE001 - one page must not stop a crawl
            return f"expect = {shown(self.text)}: {type(error).__name__}: {error}"
        return f"expect = {shown(self.text)}: it " + ("was not found" if self.is_there else "was found")


class Redirect(NamedTuple):
    """An entry `!redirect:` of `expect`: no page may redirect to a URL that `pattern` matches."""

    text: str
    pattern: str

    def flaw(self, target: str) -> str:
        """Say why a redirect is unexpected; "" if it is not. `target`: an absolute URL."""
        return f"expect = {shown(self.text)}: it redirects to {target}" if compiled(self.pattern).search(target) else ""


class _Kind(NamedTuple):
    name: str
    example: str
    read: Callable[[str], Matcher]


def _read_regex(text: str) -> RegexMatcher:
    compiled(text)
    return RegexMatcher(text)


_KINDS = {
    "css": _Kind("a CSS selector", "css:a.next", lambda text: CssMatcher(selectors.css(text))),
    "xpath": _Kind("an XPath 1.0 expression", "xpath://li/a/@href", lambda text: XPathMatcher(selectors.xpath(text))),
    "re": _Kind("a regular expression", "re:/item/[0-9]+", _read_regex),
    "json": _Kind("a JSON path", "json:$.result[*].url", lambda text: JsonMatcher(json_paths.json_path(text))),
}


def read(text: str) -> Matcher:
    """Read a matcher. ValueError with the reason if it is none.

    >>> read("css:a.next").finds(Page("http://a.example/", b"<a class=next>"))
    True
    >>> read("ccs:a")
    Traceback (most recent call last):
    ValueError: must begin with css:, xpath:, re: or json:, for example "css:a.next"; did you mean css:?
    """
    kind, colon, rest = text.partition(":")
    known = _KINDS.get(kind.strip())
    if known is None or not colon:
        near = difflib.get_close_matches(kind.strip(), _KINDS, 1) if colon else []
        hint = f"; did you mean {near[0]}:?" if near else ""
        raise ValueError(f'must begin with css:, xpath:, re: or json:, for example "css:a.next"{hint}')
    if not rest.strip():
        raise ValueError(f'behind {kind.strip()}: there must be {known.name}, for example "{known.example}"')
    try:
        return known.read(rest if kind == "re" else rest.strip())
    except selectors.MissingPackageError:
        raise
    except ValueError as error:
        raise ValueError(f"must be {known.name}: {error}") from None


def follow(text: str) -> Follow:
    """Read an entry of `follow`. ValueError with the reason if it is wrong.

    >>> page = Page("http://a.example/", b'{"id": [7, "a/b"]}')
    >>> list(follow("json:$.id[*] -> /item/{}").references(page))
    ['/item/7', '/item/a%2Fb']
    """
    wanted, arrow, template = text.rpartition(ARROW)
    template = template.strip()
    if not arrow or (_HERE not in template and text.startswith("re:")):  # an expression may have an arrow itself
        if text.rstrip().endswith("->") or ("->" in text and _HERE in text.rpartition("->")[2]):
            raise ValueError(f'there must be a blank before and behind "->", and then a URL with {_HERE} in it')
        return Follow(text, read(text))
    if _HERE not in template:
        raise ValueError(f'behind "->" there must be a URL with {_HERE} in it, for example /item/{_HERE}')
    return Follow(text, read(wanted), template)


def expectation(text: str) -> Expectation | Redirect:
    """Read an entry of `expect`. ValueError with the reason if it is wrong.

    >>> expectation("!re:captcha").flaw(Page("http://a.example/", b"a captcha"))
    'expect = !re:captcha: it was found'
    """
    bare = text.removeprefix("!")
    if not bare.lstrip().startswith("redirect:"):
        return Expectation(text, read(bare), is_there=not text.startswith("!"))
    pattern = bare.partition(":")[2]
    if not text.startswith("!"):
        raise ValueError("a redirect can only be unexpected: write !redirect:, for example !redirect:/login")
    if not pattern.strip():
        raise ValueError('behind !redirect: there must be a regular expression, for example "!redirect:/login"')
    try:
        return Redirect(text, _read_regex(pattern).pattern)
    except ValueError as error:
        raise ValueError(f"must be a regular expression: {error}") from None
