"""CSS selectors and XPath expressions: which texts of a page they find. Pure: no disk, no socket.

Vocabulary:
  Page       a page in UTF-8, parsed at most once by each parser: lexbor for CSS, lxml for XPath
  Part       an element of a page, or a value in its JSON: selectors look inside of it only
  Css        a selector with the extensions of parsel: it finds the own texts of an element (`::text`), an attribute
             (`::attr(name)`), or else the whole text that an element shows
  XPath      an XPath 1.0 expression with the additional functions of parsel

Promise: `css` and `xpath` raise ValueError with the reason if the expression is wrong; they need no page for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from fscrawl.parse.html_limits import limit_html
from fscrawl.parse.json_values import read_documents
from fscrawl.parse.trees import tree
from fscrawl.util.installed import to_install


class MissingPackageError(ValueError):
    """The expression may be right: what reads it is not installed. The text says what to install."""


def fold(text: str) -> str:
    return " ".join(text.split())


# Pages to texts


class Page:
    """The bytes of a page. Each parser runs when the first selector needs its tree."""

    def __init__(self, html: bytes) -> None:
        """`html`: in UTF-8, perhaps invalid. Only parsers of HTML are kept from what could hang them: JSON is whole."""
        self.html = html

    @property
    def size_bytes(self) -> int:
        return len(self.html)

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
        return read_documents(self.html.decode(json.detect_encoding(self.html), "replace"))

    def budget(self) -> Budget:
        """Give what one selector may read."""
        return Budget(100_000 + 2 * self.size_bytes)


class Part(Page):
    """One of the parts into which a selector divides a page. Only selectors of the same kind can look into it."""

    def __init__(self, budget: Budget, **inside: Any) -> None:
        """`budget`: of all parts of the page together; `inside`: `lexbor`, `lxml` or `json`, as a page has it."""
        super().__init__(b"")
        self._budget = budget
        vars(self).update(inside)

    def budget(self) -> Budget:
        return self._budget


@dataclass(frozen=True, slots=True)
class Css:
    """The elements that `path` selects: an attribute of them, their own text nodes, or their whole text."""

    path: str
    attribute: str | None
    own_text: bool

    def selects(self, page: Page) -> bool:
        """Tell whether there is such an element, whatever it says."""
        return page.lexbor.css_first(self.path) is not None

    def parts(self, page: Page, budget: Budget) -> Iterator[Part]:
        """Give the elements. One inside of another one is a part of that one only."""
        seen: set[int] = set()
        for node in self._nodes(page):
            above = node.parent
            while above is not None and above.mem_id not in seen:
                budget.take(above)
                above = above.parent
            if above is None:
                seen.add(node.mem_id)
                yield Part(budget, lexbor=node)

    def _nodes(self, page: Page) -> Iterable[Any]:
        # lexbor returns an element once for each part of a selector list that it matches.
        return {node.mem_id: node for node in page.lexbor.css(self.path)}.values()

    def texts(self, page: Page) -> Iterator[str]:
        budget = page.budget()
        for node in self._nodes(page):
            if self.attribute is not None:
                attributes = node.attributes
                yield attributes.get(self.attribute) or attributes.get(self.attribute.lower()) or ""
            elif self.own_text:
                yield from (item for item in _lexbor_content(node) if isinstance(item, str))
            else:
                yield _whole_text(node, _lexbor_content, budget)


@dataclass(frozen=True, slots=True)
class XPath:
    """The result of an expression: strings, the whole text of elements, numbers and booleans as XPath writes them."""

    expression: str

    def texts(self, page: Page) -> Iterator[str]:
        budget = page.budget()
        return self._each(page, lambda element: _whole_text(element, _lxml_content, budget))

    def references(self, page: Page) -> Iterator[str]:
        """As `texts`, but of an element its href."""
        return self._each(page, lambda element: element.get("href") or "")

    def parts(self, page: Page, budget: Budget) -> Iterator[Part]:
        """Give the elements. One inside of another one is a part of that one only."""
        found = _compiled(self.expression)(page.lxml)
        seen: set[Any] = set()
        for element in found if isinstance(found, list) else []:
            if hasattr(element, "tag") and seen.isdisjoint(_above(element, budget)):
                seen.add(element)
                yield Part(budget, lxml=element)

    def selects(self, page: Page) -> bool:
        """Tell whether the result is true, as XPath counts: something was selected, a text is not empty."""
        found = _compiled(self.expression)(page.lxml)
        return bool(found) and found == found  # noqa: PLR0124 - NaN is not true

    def _each(self, page: Page, of_element: Callable[[Any], str]) -> Iterator[str]:
        found = _compiled(self.expression)(page.lxml)
        for item in found if isinstance(found, list) else [found]:
            if isinstance(item, bool):
                yield str(item).lower()
            elif isinstance(item, float):  # number() gives NaN if nothing was selected
                yield "" if math.isnan(item) else str(int(item) if item.is_integer() else item)
            elif isinstance(item, str):
                yield item
            elif hasattr(item, "tag"):  # a namespace is a pair without a tag
                yield of_element(item)


def _above(element: Any, budget: Budget) -> Iterator[Any]:
    for above in element.iterancestors():
        budget.take(above)
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

    def take(self, item: Any) -> None:
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
        budget.take(item)
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
_LITERAL = re.compile(r""""[^"]*"|'[^']*'""")
_CALL = re.compile(r"(?<![\w.-])([^\W\d][\w.-]*(?::[\w.-]+)?)\s*\(")
_PREFIX = re.compile(r"(?<![\w.:-])([^\W\d][\w.-]*):(?!:)")
_ABSOLUTE = re.compile(r"(?:^|[(\[,|=<>+])\s*/")
_NOT_FUNCTIONS = frozenset({"and", "or", "div", "mod", "text", "node", "comment", "processing-instruction"})


@cache
def _compiled(expression: str) -> Any:
    """Compile an expression, once in each process: the result cannot be pickled."""
    import parsel  # noqa: F401, PLC0415 - as above; the import registers has-class() with lxml
    from lxml import etree  # noqa: PLC0415

    return etree.XPath(expression, namespaces=_NAMESPACES, smart_strings=False)


def xpath(expression: str) -> XPath:
    """Check an expression. ValueError with the reason if it is wrong.

    libxml2 notices an unknown function only when a page makes it call it. So each function is called here by itself.
    """
    code = _LITERAL.sub("''", expression)
    if "$" in code:
        raise ValueError("variables are not supported")
    for prefix in _PREFIX.findall(code):
        if prefix not in _NAMESPACES:
            raise ValueError(
                f"the prefix {prefix}: is unknown; write @*[name()='{prefix}:…'] or *[name()='{prefix}:…']"
            )
    xpath, nothing = XPath(expression), Page(b"")
    _try(xpath, nothing)
    for name in set(_CALL.findall(code)) - _NOT_FUNCTIONS:
        try:
            _try(XPath(f"{name}()"), nothing)
        except ValueError as error:
            if "Unregistered" in str(error):
                raise ValueError(f"the function {name}() does not exist") from None
    return xpath


def is_absolute(expression: str) -> bool:
    """Tell whether a path in an expression begins at the root, wherever the expression is used.

    >>> is_absolute("normalize-space( //b )"), is_absolute(".//b[.='(/']")
    (True, False)
    """
    return _ABSOLUTE.search(_LITERAL.sub("''", expression)) is not None


def _try(xpath: XPath, page: Page) -> None:
    try:
        list(xpath.texts(page))
    except ImportError:
        raise MissingPackageError(f"XPath needs the package parsel: {to_install('merge')}") from None
    except Exception as error:  # the functions of parsel may raise anything
        raise ValueError(fold(str(error))) from error
