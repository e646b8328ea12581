"""A page of XML → the same page in the syntax of HTML, for the parsers that read all other pages. Pure.

`application/xhtml+xml` is XML (https://html.spec.whatwg.org/#the-xhtml-syntax): `<script/>` and `<title/>` are whole
elements, `<h:a>` is a link if its prefix says so, and what stands in CDATA is text. Parsers of HTML know none of that.

Promise: any page gives an answer, within the bounds of `bounded_xml`: no file is read. Of the entities that a page
declares only short texts are expanded, and only if they at most double it, or make it 64 KiB longer. Comments are lost,
and so are names that would be none in HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.entities import html5
from xml.parsers import expat  # safe here: see `_parser`

from fscrawl.parse.bounded_xml import BLANK, ERRORS, MAX_DEPTH, Stop

_XHTML, _SVG, _MATH = "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"
_XLINK, _XML = "http://www.w3.org/1999/xlink", "http://www.w3.org/XML/1998/namespace"
_MAX_PREFIXES = 100
_MAX_ENTITY_CHARS = 100
_FEW_EXPANDED_CHARS = 65_536  # of all entities: a page may have so many, however short it is
_OWN = frozenset({"amp", "lt", "gt", "quot", "apos"})
_REFERENCE = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|&([^&;<>#\s]++);", re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9_.-]*\Z")
_PREFIXED = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:[A-Za-z0-9_.-]+\Z")
# https://html.spec.whatwg.org/#void-elements, and old ones: in HTML they have no end tag
_VOID = frozenset(
    """
    area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr
    """.split()  # noqa: SIM905 - a list would fill the screen
)
# In HTML, their content is text in which nothing can be escaped; or only as in `title`.
_RAW = frozenset({"script", "style", "iframe", "noembed", "noframes"})
_TEXTS = _RAW | {"title", "textarea"}
_EMPTY_TEXT = re.compile(rf"<({'|'.join(sorted(_TEXTS))})([^<>a-z][^<>]*)?/>".encode(), re.IGNORECASE)
_RENAMED = {"xmp": "pre", "listing": "pre", "plaintext": "pre"}  # their texts could not be escaped either


def as_html(xhtml: bytes) -> bytes:
    """Return a page in UTF-8 in the syntax of HTML.

    If it is not well-formed, or its root is no XHTML, browsers show an error. But its links are better read as in HTML
    than not at all: it stays as it is, but for the elements that would swallow all that follows.

    >>> as_html(b'<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:script src="a"/><h:a href="b">c</h:a></h:html>')
    b'<!DOCTYPE html><html><script src="a"></script><a href="b">c</a></html>'
    >>> as_html(b"<p>a<br><script src='b'/>c")
    b"<p>a<br><script src='b'></script>c"
    """
    page = _Page()
    try:
        entities = _Entities(xhtml.decode("utf-8", "replace").lstrip(BLANK))
        _parser(page, entities).Parse(entities.text.encode(), True)
    except ERRORS:
        return _EMPTY_TEXT.sub(rb"<\1\2></\1>", xhtml)
    return "".join(page.pieces).encode()


class _Entities:
    """The entities of a page. `text`: the page, with those of HTML as numbers: browsers know them here, too."""

    def __init__(self, text: str) -> None:
        self._uses: Counter[str] = Counter()
        self._left_chars = max(len(text), _FEW_EXPANDED_CHARS)
        self.text = _REFERENCE.sub(self._number, text)

    def _number(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None or name in _OWN:
            return found[0]
        if (characters := html5.get(f"{name};")) is not None:
            return "".join(f"&#{ord(each)};" for each in characters)
        self._uses[name] += 1
        return found[0]

    def declare(self, name: str, is_parameter: bool, value: str | None, *_more: object) -> None:
        """Stop at an entity that could grow: one with markup or others in it, a long one, one that is used often."""
        if is_parameter or value is None or len(value) > _MAX_ENTITY_CHARS or "&" in value or "<" in value:
            raise Stop
        self._left_chars -= self._uses[name] * len(value)
        if self._left_chars < 0:
            raise Stop


def _parser(page: _Page, entities: _Entities) -> expat.XMLParserType:
    parser = expat.ParserCreate("utf-8")  # whatever it declares
    parser.buffer_text = True
    parser.StartElementHandler = page.start
    parser.EndElementHandler = page.end
    parser.CharacterDataHandler = page.text
    parser.EntityDeclHandler = entities.declare
    parser.AttlistDeclHandler = parser.SkippedEntityHandler = _refuse
    return parser


def _refuse(*_what: object) -> None:
    raise Stop


class _Page:
    """Handles the events of expat. Prefixes are resolved here: expat would copy a long namespace for each name."""

    def __init__(self) -> None:
        self.pieces = ["<!DOCTYPE html>"]
        self._scopes: list[dict[str, str]] = [{"": "", "xml": _XML}]
        self._tags: dict[tuple[str, str], str] = {}
        self._open: list[str] = []  # what ends each open element
        self._texts: list[str] | None = None  # of an element that contains nothing but text
        self._depth = 0  # of the elements in it, which are left out

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._scopes) > MAX_DEPTH:
            raise Stop
        scope = self._scopes[-1]
        if "xmlns" in "".join(attributes):
            scope = scope | {each[6:]: attributes[each] for each in attributes if f"{each}:".startswith("xmlns:")}
            if len(scope) > _MAX_PREFIXES:
                raise Stop
        namespace = _namespace(name, scope)
        if len(self._scopes) == 1 and namespace != _XHTML:
            raise Stop
        self._scopes.append(scope)
        if self._texts is not None:
            self._depth += 1
            return
        tag = self._tags.get((name, namespace)) or self._tags.setdefault((name, namespace), _tag(name, namespace))
        attributes_text = "".join(_attributes(tag, namespace, attributes, scope)) if attributes else ""
        self.pieces.append(f"<{tag}{attributes_text}>")
        self._open.append("" if namespace == _XHTML and tag in _VOID else f"</{tag}>")
        if namespace == _XHTML and tag in _TEXTS:
            self._texts = []

    def text(self, text: str) -> None:
        if self._texts is not None:
            self._texts.append(text)
        else:
            self.pieces.append(_escaped(text))

    def end(self, _name: str) -> None:
        self._scopes.pop()
        if self._depth:
            self._depth -= 1
            return
        end = self._open.pop()
        if self._texts is not None:
            text, self._texts = "".join(self._texts), None
            # In scripts, which are most of it, a backslash before the slash changes nothing.
            self.pieces.append(text.replace("</", "<\\/") if end[2:-1] in _RAW else _escaped(text))
        self.pieces.append(end)


def _namespace(name: str, scope: dict[str, str]) -> str:
    namespace = scope.get(name.rpartition(":")[0] if ":" in name else "")
    if namespace is None:  # https://www.w3.org/TR/xml-names/#nsc-NSDeclared
        raise Stop
    return namespace


def _tag(name: str, namespace: str) -> str:
    """Give the name that an element has in HTML. What is called `a` in another language must not become a link."""
    local = name.rpartition(":")[2]
    if namespace == _XHTML and _NAME.match(local):
        return _RENAMED.get(local, local)
    if namespace in (_SVG, _MATH) and _NAME.match(local.lower()):
        return local
    return name if _PREFIXED.match(name) else f"x:{local}"


def _attributes(tag: str, namespace: str, attributes: dict[str, str], scope: dict[str, str]) -> Iterator[str]:
    """Give the attributes of an element as they are written in HTML."""
    for name, value in attributes.items():
        prefix, colon, local = name.rpartition(":")
        written = name
        if "xmlns" in (name, prefix):
            continue
        if colon:
            of = _namespace(name, scope)
            if of == _XLINK:
                is_link = namespace == _SVG and tag == "a" and local == "href"
                if is_link and "href" in attributes:
                    continue
                written = "href" if is_link else f"xlink:{local}"
            elif name == "xml:lang":  # https://html.spec.whatwg.org/#attr-lang: it counts more than `lang`
                written = "lang"
        elif namespace == _XHTML and (not _NAME.match(name) or (name == "lang" and "xml:lang" in attributes)):
            continue
        yield f' {written}="{_escaped(value)}"'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
