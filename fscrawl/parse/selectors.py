"""Selectors: which texts, references and parts of a page they find. Pure: no disk, no socket.

  css:h1.title         a CSS selector; it may end with ::text (own texts) or ::attr(name), as in parsel
  xpath://h1/text()    an XPath 1.0 expression with the additional functions of parsel
  json:$.items[*].id   a path into JSON (RFC 9535)
  re:id=([0-9]+)       a regular expression in the source of the page: the first group, or all that matches

Vocabulary:
  texts        what a selector finds, as texts
  references   what it finds, for links: an element without ::text or ::attr gives its `href`
  finds        whether there is anything. ValueError, as of the two above: the page takes too much
  Document     a page, parsed at most once by each parser: lexbor for CSS, lxml for XPath
  Part         an element of a page, or a value in its JSON: selectors look inside of it only

Promise: `read` raises ValueError with the reason if a text is no selector; it needs no page for it. Selectors can be
pickled: what is large is compiled once in each process, where it is needed.
"""

from __future__ import annotations

import contextlib
import difflib
import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import Any

import msgspec
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from fscrawl.parse.html_limits import limit_html
from fscrawl.parse.trees import tree
from fscrawl.util.expressions import compiled
from fscrawl.util.installed import to_install

_MOST_VALUES = 1_000_000  # a path such as $..*..* finds the same values again and again
# Levels that `..` goes down. Threads of comments are deeper than the library's 100; each level is a call of Python.
_DEEPEST = 400


class MissingPackageError(ValueError):
    """The expression may be right: what reads it is not installed. The text says what to install."""


def fold(text: str) -> str:
    return " ".join(text.split())


class Document:
    """The bytes of a page. Each parser runs when the first selector needs its tree."""

    def __init__(self, html: bytes, source: Callable[[], str] | None = None, *, escapes: bool = True) -> None:
        """`html`: in UTF-8, perhaps invalid. Only parsers of HTML are kept from what could hang them: JSON is whole.

        `source`: gives the text as it was sent; None: it is that of `html`. `escapes`: in it, `&amp;` means `&`.
        """
        self.html = html
        self._source = source
        self.escapes = escapes

    @cached_property
    def text(self) -> str:
        """The source of the page."""
        return self._source() if self._source is not None else self.html.decode("utf-8", "replace")

    @cached_property
    def _harmless(self) -> bytes:
        return limit_html(self.html)

    @cached_property
    def lexbor(self) -> LexborHTMLParser:
        return tree(self._harmless)

    @cached_property
    def lxml(self) -> Any:
        """The root element. Without `huge_tree`, libxml2 would drop everything behind 256 open elements."""
        from parsel import Selector  # noqa: PLC0415 - a tenth of a second that only those who use XPath should pay

        return Selector(text=self._harmless.decode("utf-8", "replace"), type="html", huge_tree=True).root

    @cached_property
    def json(self) -> tuple[Any, ...]:
        """The values that the page is as JSON: one, or one of each line. ValueError or RecursionError if it is none."""
        return read_documents(self.text.removeprefix("\ufeff"))

    def budget(self) -> Budget:
        """Give what one selector may read."""
        return Budget(100_000 + 2 * len(self.html))


class Part(Document):
    """One of the parts into which a selector divides a page. Only selectors of the same kind can look into it."""

    def __init__(self, budget: Budget, **inside: Any) -> None:
        """`budget`: of all parts of the page together; `inside`: `lexbor`, `lxml` or `json`, as a page has it."""
        super().__init__(b"")
        self._budget = budget
        vars(self).update(inside)

    def budget(self) -> Budget:
        return self._budget


class Css(msgspec.Struct, frozen=True):
    """The elements that `path` selects: an attribute of them, their own text nodes, or their whole text."""

    path: str
    attribute: str | None
    own_text: bool

    def finds(self, page: Document) -> bool:
        """Tell whether there is such an element, whatever it says; with an end, whether there is a text."""
        if self.attribute is None and not self.own_text:
            return page.lexbor.css_first(self.path) is not None
        return any(text.strip() for text in self.texts(page))

    def references(self, page: Document) -> Iterator[str]:
        is_bare = self.attribute is None and not self.own_text
        return (replace(self, attribute="href") if is_bare else self).texts(page)

    def parts(self, page: Document, budget: Budget) -> Iterator[Part]:
        """Give the elements. One inside of another one is a part of that one only."""
        seen: set[int] = set()
        for node in self._nodes(page):
            above = node.parent
            while above is not None and above.mem_id not in seen:
                budget.spend(above)
                above = above.parent
            if above is None:
                seen.add(node.mem_id)
                yield Part(budget, lexbor=node)

    def _nodes(self, page: Document) -> Iterable[Any]:
        # lexbor returns an element once for each part of a selector list that it matches.
        return {node.mem_id: node for node in page.lexbor.css(self.path)}.values()

    def texts(self, page: Document) -> Iterator[str]:
        budget = page.budget()
        for node in self._nodes(page):
            if self.attribute is not None:
                attributes = node.attributes
                yield attributes.get(self.attribute) or attributes.get(self.attribute.lower()) or ""
            elif self.own_text:
                yield from (item for item in _lexbor_content(node) if isinstance(item, str))
            else:
                yield _whole_text(node, _lexbor_content, budget)


class XPath(msgspec.Struct, frozen=True):
    """The result of an expression: strings, the whole text of elements, numbers and booleans as XPath writes them."""

    expression: str

    def texts(self, page: Document) -> Iterator[str]:
        budget = page.budget()
        return self._each(page, lambda element: _whole_text(element, _lxml_content, budget))

    def references(self, page: Document) -> Iterator[str]:
        """As `texts`, but of an element its href."""
        return self._each(page, lambda element: element.get("href") or "")

    def parts(self, page: Document, budget: Budget) -> Iterator[Part]:
        """Give the elements. One inside of another one is a part of that one only."""
        found = _xpath(self.expression)(page.lxml)
        seen: set[Any] = set()
        for element in found if isinstance(found, list) else []:
            if hasattr(element, "tag") and seen.isdisjoint(_above(element, budget)):
                seen.add(element)
                yield Part(budget, lxml=element)

    def finds(self, page: Document) -> bool:
        """Tell whether the result is true, as XPath counts: something was selected, a text is not empty."""
        found = _xpath(self.expression)(page.lxml)
        return bool(found) and found == found  # noqa: PLR0124 - NaN is not true

    def _each(self, page: Document, of_element: Callable[[Any], str]) -> Iterator[str]:
        found = _xpath(self.expression)(page.lxml)
        for item in found if isinstance(found, list) else [found]:
            if isinstance(item, bool):
                yield str(item).lower()
            elif isinstance(item, float):  # number() gives NaN if nothing was selected
                yield "" if math.isnan(item) else str(int(item) if item.is_integer() else item)
            elif isinstance(item, str):
                yield item
            elif hasattr(item, "tag"):  # a namespace is a pair without a tag
                yield of_element(item)


class JsonPath(msgspec.Struct, frozen=True):
    """A path, as it is written. Paths can be pickled."""

    path: str

    def values(self, *documents: Any) -> list[Any]:
        """Give the values that the path finds in documents, in their order.

        ValueError if they are too many, or a document is too deep.
        """
        if len(documents) > _MOST_VALUES:  # to look into an empty one takes 2 µs
            raise ValueError(f"the page has more than {_MOST_VALUES:,} lines of JSON")
        found: list[Any] = []
        path = _path(self.path)
        try:
            for node in (node for document in documents for node in path.finditer(document)):
                if len(found) == _MOST_VALUES:
                    raise ValueError(f"the path finds more than {_MOST_VALUES:,} values")
                found.append(node.value)
        except RecursionError:
            raise ValueError(f"the document is nested more than {_DEEPEST} levels deep") from None
        return found

    def texts(self, page: Document) -> Iterator[str]:
        """Give what the path finds in a page as texts; nothing if the page is no JSON."""
        budget = page.budget()
        for text in map(as_text, self._found(page)):
            budget.spend(text)  # objects in objects give the same text again and again
            yield text

    def references(self, page: Document) -> Iterator[str]:
        """Strings, numbers and booleans are references."""
        return (as_text(value) for value in self._found(page) if isinstance(value, str | int | float))

    def finds(self, page: Document) -> bool:
        """Tell whether there is a value, be it null."""
        return bool(self._found(page))

    def parts(self, page: Document, budget: Budget) -> Iterator[Part]:
        """Give what the path finds in a page; nothing if the page is no JSON."""
        for value in self._found(page):  # in a generator, so nothing is raised before the first is taken
            yield Part(budget, json=(value,))

    def _found(self, page: Document) -> list[Any]:
        try:
            documents = page.json
        except (ValueError, RecursionError):
            return []
        return self.values(*documents)


class Regex(msgspec.Struct, frozen=True):
    """The first group, or all that matches, in the source of a page."""

    pattern: str

    def texts(self, page: Document) -> Iterator[str]:
        regex = compiled(self.pattern)
        group = min(1, regex.groups)
        read = html.unescape if page.escapes else str
        return (read(found[group] or "") for found in regex.finditer(page.text))

    references = texts

    def finds(self, page: Document) -> bool:
        return compiled(self.pattern).search(page.text) is not None


def _above(element: Any, budget: Budget) -> Iterator[Any]:
    for above in element.iterancestors():
        budget.spend(above)
        yield above


def _lexbor_content(node: Any) -> list[Any]:
    return [(child.text_content or "") if child.is_text_node else child for child in node.iter(include_text=True)]


def _lxml_content(element: Any) -> list[Any]:
    content = [element.text or ""]
    for child in element:
        content += child, child.tail or ""
    return content


_NOT_SHOWN = frozenset({"script", "style", "template"})
_BREAKS = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption"
    "|figure|footer|form|frameset|h[1-6r]|head|header|hgroup|legend|li|main|menu|nav|ol|optgroup|option|p|pre|search"
    "|section|select|summary|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)


class Budget:
    """How much text one selector may still read of a page. Nested elements give the same text again and again:

    512 nested <div>, all of them selected, gave 512 times the page.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def times(self, number: int) -> Budget:
        """Give the budget of so many selectors together."""
        return Budget(self._steps * number)

    def spend(self, item: Any) -> None:
        self._steps -= 1 + (len(item) >> 3 if isinstance(item, str) else 0)
        if self._steps < 0:
            raise ValueError("the selected elements are nested too deeply")


def _whole_text(node: Any, content: Callable[[Any], list[Any]], budget: Budget) -> str:
    """Return the text of an element, much like innerText: spaces between blocks, no scripts.

    `content` returns the strings and child nodes of an element in their order. ValueError when the budget is used up.
    """
    texts: list[str] = []
    rest = content(node)[::-1]
    while rest:
        item = rest.pop()
        budget.spend(item)
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item.tag, str) and item.tag not in _NOT_SHOWN:  # the tag of lxml's comments is a function
            inside = content(item)[::-1]
            rest += [" ", *inside, " "] if _BREAKS.fullmatch(item.tag) else inside
    return "".join(texts)


# CSS, as parsel extends it: https://parsel.readthedocs.io/en/latest/usage.html#extensions-to-css-selectors

_CSS_TOKEN = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|.""", re.DOTALL)
_CSS_PART = re.compile(r"\s*(.*?)(?:(::text)|::attr\(\s*([^\s()]+)\s*\))?\s*", re.DOTALL)


def css(text: str) -> Css:
    """Read a selector. ValueError with the reason if it is wrong.

    >>> css("a[title='::text']::attr(href)")
    Css(path="a[title='::text']", attribute='href', own_text=False)
    >>> css("h1 ::text, ::text").path
    'h1 *,*'
    """
    paths, ends = [], set()
    for part in _split(text):
        found = _CSS_PART.fullmatch(part)
        assert found is not None
        path, end = found[1], found.groups()[1:]
        # "h1 ::text" means the elements inside of h1, "::text" all elements.
        paths.append(path + "*" if any(end) and re.search(r"(?:^|[\s>+~])\Z", path) else path)
        ends.add(end)
    if len(ends) > 1:
        raise ValueError("all parts between commas must have the same end: ::text, the same ::attr(name), or neither")
    own_text, attribute = ends.pop()
    css = Css(",".join(paths), attribute, own_text is not None)
    try:
        LexborHTMLParser(b"").css(css.path)
    except SelectolaxError:
        pseudo = "::" in css.path
        raise ValueError(
            "the only pseudo-elements are ::text and ::attr(name), at the end"
            if pseudo
            else "the selector cannot be read"
        ) from None
    return css


def _split(text: str) -> list[str]:
    """Split a selector at its commas, except those in brackets or quotes.

    >>> _split("a:is(b, c), d")
    ['a:is(b, c)', ' d']
    """
    parts, depth = [""], 0
    for piece in _CSS_TOKEN.findall(text):
        depth += (piece in {"(", "[", '"', "'"}) - (piece in {")", "]"})  # a single quote character was never closed
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    if depth:  # lexbor would close them at the end, after "::text", as the standard says
        raise ValueError("its brackets or quotes do not match")
    return parts


# XPath 1.0 with what parsel adds: has-class(), re:test() and its like, set:distinct() and its like

_NAMESPACES = {"re": "http://exslt.org/regular-expressions", "set": "http://exslt.org/sets"}


@cache
def _xpath(expression: str) -> Any:
    """Compile an expression, once in each process: the result cannot be pickled."""
    import parsel  # noqa: F401, PLC0415 - as above; the import registers has-class() with lxml
    from lxml import etree  # noqa: PLC0415

    return etree.XPath(expression, namespaces=_NAMESPACES, smart_strings=False)


def xpath(expression: str) -> XPath:
    """Check an expression on an empty page. ValueError with the reason if it is wrong."""
    xpath = XPath(expression)
    try:
        list(xpath.texts(Document(b"")))
    except ImportError:
        raise MissingPackageError(f"XPath needs the package parsel: {to_install('merge')}") from None
    except Exception as error:  # the functions of parsel may raise anything
        raise ValueError(fold(str(error))) from error
    return xpath


# JSON: values, and paths into them


def read_json(text: str) -> Any:
    r"""Read JSON. ValueError or RecursionError if it is none.

    It may hold half of a surrogate pair: a server that cuts texts may cut an emoji in the middle. Neither a URL nor a
    dataset can hold one, so it becomes a question mark.

    >>> read_json('["a", 1, "\\ud83d", "\\ud83d\\ude00"]')
    ['a', 1, '?', '😀']
    """
    value = json.loads(text)
    if "\\ud" in text or "\\uD" in text:
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def read_documents(text: str) -> tuple[Any, ...]:
    r"""Read JSON, which is one value, or lines of JSON (NDJSON), which are several. It raises what `read_json` does.

    >>> read_documents('{"a": 1}'), read_documents('{"a": 1}\n{"a": 2}\n')
    (({'a': 1},), ({'a': 1}, {'a': 2}))
    """
    try:
        return (read_json(text),)
    except ValueError:
        # Lines end with a line feed only: texts in JSON may have the other characters that `splitlines` splits at.
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        with contextlib.suppress(ValueError):
            if len(lines) > 1:
                return tuple(map(read_json, lines))
        raise


def json_path(path: str) -> JsonPath:
    """Read a path. ValueError with the reason if it is wrong.

    >>> json_path("$.a[*].b").values({"a": [{"b": 1}, {"c": 2}, {"b": 3}]})
    [1, 3]
    >>> json_path("a[*]")
    Traceback (most recent call last):
    ValueError: a path begins with $
    """
    from jsonpath import JSONPathError  # noqa: PLC0415 - a quarter of a second that only its users should pay

    if not path.startswith("$"):
        raise ValueError("a path begins with $")
    try:
        _path(path)
    except (JSONPathError, RecursionError) as error:
        message = fold(str(error).partition("->")[0])
        raise ValueError(
            "it is nested too deeply" if "recursion" in message else message or "it cannot be read"
        ) from None
    return JsonPath(path)


def as_text(value: Any) -> str:
    """Give a value of JSON as text: strings as they are, null as nothing.

    >>> as_text("a"), as_text(True), as_text(1.5), as_text(None), as_text({"a": [1]})
    ('a', 'true', '1.5', '', '{"a": [1]}')
    """
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


@cache
def _path(path: str) -> Any:
    """Compile a path, once in each process: the result is large."""
    return _environment().compile(path)


@cache
def _environment() -> Any:
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - as above

    class Environment(JSONPathEnvironment):
        max_recursion_depth = _DEEPEST

    return Environment(strict=True)


# All kinds

Found = Css | XPath | JsonPath | Regex


def _regex(pattern: str) -> Regex:
    compiled(pattern)
    return Regex(pattern)


_KINDS: dict[str, tuple[Callable[[str], Found], str, str]] = {
    "css": (css, "a CSS selector", "css:a.next"),
    "xpath": (xpath, "an XPath 1.0 expression", "xpath://li/a/@href"),
    "json": (json_path, "a JSON path", "json:$.result[*].url"),
    "re": (_regex, "a regular expression", "re:/item/[0-9]+"),
}
KINDS = tuple(_KINDS)


def read(text: str) -> Found:
    """Read a selector with its kind. ValueError with the reason if it is none.

    >>> read("css:a.next").finds(Document(b"<a class=next>"))
    True
    >>> read("ccs:a")
    Traceback (most recent call last):
    ValueError: must begin with css:, xpath:, json: or re:, for example "css:a.next"; did you mean css:?
    """
    kind, colon, rest = text.partition(":")
    kind = kind.strip()
    if kind not in _KINDS or not colon:
        near = difflib.get_close_matches(kind, _KINDS, 1) if colon else []
        hint = f"; did you mean {near[0]}:?" if near else ""
        raise ValueError(f'must begin with css:, xpath:, json: or re:, for example "css:a.next"{hint}')
    return of_kind(kind, rest)


def of_kind(kind: str, text: str) -> Found:
    """Read a selector of one of KINDS. ValueError with the reason if it is wrong."""
    make, name, example = _KINDS[kind]
    if not text.strip():
        raise ValueError(f'behind {kind}: there must be {name}, for example "{example}"')
    try:
        return make(text if kind == "re" else text.strip())
    except MissingPackageError:
        raise
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"must be {name}: {error}") from None
