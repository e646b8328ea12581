"""The text of a stored page, for the dataset: HTML in UTF-8 → its visible text or its main content. Pure.

Vocabulary:
  visible text   the text that a browser shows of the body without scripts, much like `innerText`
  line           a paragraph, heading, list item, table row or caption, up to a `<br>`; or a line of preformatted text
  preformatted   `<pre>`, `<textarea>`, and the old `<listing>`, `<xmp>`, `<plaintext>`: line breaks and spaces count
  main content   the article as trafilatura finds it, without navigation, header and footer

Promise: any bytes give a text that can be written as UTF-8. Its only control characters are newlines and, in
preformatted text and main content, tabs. White space is folded as by Python's str.split, also no-break spaces; other
control characters are dropped. The visible text takes time in proportion to the page. Main content has no such limit:
trafilatura takes ten seconds for ten thousand tables.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from itertools import islice

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from fscrawl.parse.html_limits import limit_html
from fscrawl.parse.links import readable
from fscrawl.parse.trees import tree


class Text(msgspec.Struct, frozen=True):
    """The text of a page, and its language.

    text        lines joined by "\\n"; only preformatted text and main content have empty lines
    language    `<html lang>` in lower case: "en", "pt-br"; None if it is missing or not a language tag
    """

    text: str
    language: str | None


def read(html: bytes, how: str = "visible") -> Text:
    """Read a page. `html`: the result of `links.readable`; `how`: "visible" or "main".

    ImportError if the library for the main content is not installed.

    >>> read(b"<html lang=en><title>not shown</title><h1>A</h1><ul><li>b<i>c</i><li hidden>d</ul>")
    Text(text='A\\nbc', language='en')
    """
    if how == "main":  # lxml reads it, too
        html = limit_html(html)
    # With scripting, <noscript> is plain text. As markup, one with unbalanced tags would not end.
    page = tree(_with_breaks(html) if how == "visible" else html, scripting=True)
    language = _language(page)
    return Text(main_content(html) if how == "main" else _visible(page), language)


def visible(html: bytes) -> str:
    """Return the visible text of a page in UTF-8.

    >>> visible(b"<p>one<br>two</p><table><tr><td>a<td>b</table><pre>if x:\\n    y</pre>").splitlines()
    ['one', 'two', 'a b', 'if x:', '    y']
    """
    return read(html).text


# Language

_LANGUAGE = re.compile(r"[a-z0-9_-]{1,35}")  # RFC 5646, 4.4.1: the longest tag that programs should be able to store


def _language(page: LexborHTMLParser) -> str | None:
    root = page.root
    declared = ((root.attributes.get("lang") if root is not None else None) or "").strip().lower()
    return declared if _LANGUAGE.fullmatch(declared) else None


# Breaks: a form feed before each tag that begins or ends a line, a space before a cell. For HTML both are white space,
# so they move nothing out of a table or into the body. They are added to the source, because in the tree each of them
# would be a call. Changes in attributes, comments and scripts do no harm: these are not shown.

_BREAKS = rb"""p(?:re|laintext|)|d(?:iv|[dlt]|etails|ialog|ir)|li(?:sting|)|legend|ul|h(?:[1-6r]|eader|group|tml)
    |a(?:rticle|side|ddress)|b(?:r|lockquote|ody)|c(?:aption|enter)|f(?:orm|ooter|i(?:eldset|g(?:ure|caption))|rameset)
    |m(?:ain|enu)|nav|o(?:l|pt(?:ion|group))|s(?:e(?:ction|arch)|ummary)|t(?:r|able|body|head|foot)|xmp|t([dh])"""
_INLINE = rb"(?:a|s(?:pan|trong)|code)[\x20>]"  # half of all tags: to ask for them first saves a sixth of the time
# Twice, because letters of one case are compared twice as fast; both cases are tried only after a capital.
_BREAK = re.compile(
    rb"<(?!/?+%s)(?=/?+(?:(?:%s)|(?=[a-z]*+[A-Z])(?i:%s))[\t\n\f\r\x20/>])" % (_INLINE, _BREAKS, _BREAKS), re.VERBOSE
)


def _with_breaks(html: bytes) -> bytes:
    r"""Mark where lines and cells begin and end. Form feeds of the page itself become spaces.

    >>> _with_breaks(b"<P>a\f<b>b</b></p><td>")
    b'\x0c<P>a <b>b</b>\x0c</p> <td>'
    """
    return _BREAK.sub(_break, html.replace(b"\f", b" "))


def _break(tag: re.Match[bytes]) -> bytes:
    return b" <" if tag.lastindex else b"\f<"


# Elements that are not shown: by the style sheet of the HTML standard (https://html.spec.whatwg.org/#hidden-elements),
# because the browser shows something else in their place (a video, a bar), or because the page hides them. The text of
# closed <details> counts, like text that needs scrolling. The content of <template> is elsewhere in the tree.

_NEVER_SHOWN = frozenset(
    """
    script style noscript title svg iframe object audio video canvas datalist rp noembed noframes meter progress
    annotation annotation-xml
    """.split()  # noqa: SIM905 - a list would fill the screen
)
_HIDDEN = "[hidden],[style*='display' i],[style*='visibility' i]"  # may be; and a dialog that is not open
_INVISIBLE, _INHERITED = frozenset({"hidden", "collapse"}), frozenset({"inherit", "unset", "revert"})
_PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp", "plaintext"})
_LITERAL = frozenset({"textarea", "xmp", "plaintext"})  # tags inside them are text
# One walk of the tree for both: a second one would cost as much. Each element is compared with each selector, and with
# each name in `:not` up to its own. So it is asked for elements that are not common; those that matter are chosen here.
_COMMON = (
    "a,span,li,div,strong,code,p,td,tr,b,i,em,section,h3,h4,details,summary,br,img,h2,h1,ul,button,nav,body,wbr,input,"
    "form,label,main,ol,hr,dt,dd,dl,th,table,tbody,thead,h5,h6,header,footer,article,option,font,small,sup,sub,u"
)
_SPECIAL = f":not({_COMMON}),{_HIDDEN}"

# Marks around preformatted text. No page can contain them: in HTML, NUL is dropped or becomes U+FFFD.
_BEGIN, _BEGIN_LITERAL, _END = "\0(", "\0[", "\0)"

# Control characters that str.split does not take for white space; and white space except space, tab and newline. They
# are listed because `\s` takes three times as long.
_CONTROL = re.compile("[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_OTHER_SPACE = re.compile("[\v\f\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def _visible(page: LexborHTMLParser) -> str:
    """Return the text of a tree that was parsed with breaks. This removes hidden elements from the tree."""
    body = page.body
    if body is None:  # a frameset
        return ""
    _prepare(body)
    first, *parts = _CONTROL.sub("", body.text()).split("\0")
    lines = _folded(first)
    depth = 0  # of nested preformatted elements
    for part in parts:
        mark, text = "\0" + part[0], part[1:]
        depth += -1 if mark == _END else 1
        lines += [_preformatted(text, literal=mark == _BEGIN_LITERAL)] if depth else _folded(text)
    return "\n".join(filter(None, lines))


def _prepare(body: LexborNode) -> None:
    """Remove what is not shown, and mark where preformatted texts begin and end."""
    looked_into: set[int] = set()
    for node in body.css(_SPECIAL):
        tag = node.tag or ""
        if tag == "body":  # a script will show a hidden body
            continue
        style = _style_of(node)
        if tag in _NEVER_SHOWN or _is_hidden(node, style):
            node.decompose(recursive=False)  # with its content
            continue
        if tag in _PREFORMATTED:
            node.insert_before(_BEGIN_LITERAL if tag in _LITERAL else _BEGIN)
            node.insert_after(_END)
        if style.get("visibility") in _INVISIBLE and node.mem_id not in looked_into:
            _remove_invisible(node, looked_into)


_DECLARATION = re.compile(
    r"(?:\A|;)\s*+(display|visibility)\s*+:\s*+([a-z-]++)(?:\s++[a-z-]++)*+\s*+(!\s*+important)?\s*+(?=;|\Z)"
)


def _style_of(node: LexborNode) -> dict[str, str]:
    """Give `display` and `visibility` as a style attribute says: the last one counts, or the last important one."""
    found: dict[str, str] = {}
    important: dict[str, str] = {}
    for name, value, mark in _DECLARATION.findall((node.attributes.get("style") or "").lower()):
        (important if mark else found)[name] = value
    return found | important


def _is_hidden(node: LexborNode, style: dict[str, str]) -> bool:
    if "display" in style:  # it counts more than the style sheet of the browser
        return style["display"] == "none"
    attributes = node.attributes
    return "hidden" in attributes or (node.tag == "dialog" and "open" not in attributes)


def _remove_invisible(root: LexborNode, looked_into: set[int]) -> None:
    """Remove the texts of an invisible element, but not those of elements inside that are visible again.

    https://www.w3.org/TR/css-display-4/#visibility: its descendants inherit that, and may say otherwise. Breaks stay.
    """
    waiting = [(root, False)]
    while waiting:
        node, is_visible = waiting.pop()
        if node.is_text_node:
            text = node.text(deep=False)
            if not is_visible and not text.isspace():
                node.replace_with("\f" if "\f" in text else "")
            continue
        looked_into.add(node.mem_id)
        style = _style_of(node).get("visibility", "inherit")
        if style not in _INHERITED:
            is_visible = style not in _INVISIBLE
        waiting += [(child, is_visible) for child in node.iter(include_text=True)]


def _folded(text: str) -> list[str]:
    return [*map(" ".join, filter(None, map(str.split, text.split("\f"))))]


def _preformatted(text: str, *, literal: bool) -> str:
    r"""Keep indentation, tabs and empty lines between other lines. `literal`: only newlines in the text end lines.

    >>> _preformatted("\n a:\u00a0b \n\n  c\n\f\fd", literal=False)
    ' a: b\n\n  c\nd'
    """
    blocks = [text.replace("\f", "")] if literal else text.split("\f")
    return "\n".join(filter(None, map(_trimmed, blocks)))


def _trimmed(text: str) -> str:
    lines = _OTHER_SPACE.sub(" ", text).split("\n")
    return "\n".join(map(str.rstrip, lines)).strip("\n")


# Emptiness. A page is empty until its scripts have run if it has a script, few links, and little text that is visible
# without scripts; and if it does not send the reader elsewhere at once.

_LITTLE_CHARS = 250
_FEW_LINKS = 10
_MOST_BYTES = 2_000_000  # what is larger is not looked through: its text alone makes it a page
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_LINK = re.compile(rb"<a\s[^<>]*\bhref\s*=", re.IGNORECASE)
_REFRESH = re.compile(rb"\bhttp-equiv\s*=\s*[\"']?refresh\b", re.IGNORECASE)


def is_empty(body: bytes, encoding: str, content_type: str) -> bool:
    """Tell whether a page is empty until its scripts have run.

    >>> is_empty(b"<div id=app></div><script src=/app.js></script>", "utf-8", "text/html")
    True
    >>> is_empty(b"<p>Short, but by a person.</p>", "utf-8", "text/html")
    False
    """
    if len(body) > _MOST_BYTES or _SCRIPT.search(body) is None or _leads_elsewhere(body):
        return False
    has_few_links = len(list(islice(_LINK.finditer(body), _FEW_LINKS))) < _FEW_LINKS
    return has_few_links and len(visible(readable(body, encoding, content_type))) < _LITTLE_CHARS


def _leads_elsewhere(html: bytes) -> bool:
    found = _REFRESH.search(html)
    if found is None:
        return False
    before = html[: found.start()].lower()
    return before.rfind(b"<noscript") <= before.rfind(b"</noscript")  # else it is for browsers without scripts


# Main content

_MAX_TABLES = 1000  # trafilatura's time grows with their square: 13 s for 16,000
_TABLE = re.compile(rb"<table", re.IGNORECASE)
_PREFORMATTED_TAG = re.compile(r"(</?(?:pre|textarea|listing|xmp)\b)", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_NOT_IN_TEXT = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_PILCROW = re.compile("[ \t]*\u00b6$", re.MULTILINE)  # a link to the heading that it stands behind


def main_content(html: bytes) -> str:
    """Return the main content of a page in UTF-8, without comments of readers; "" if trafilatura finds none.

    Its paragraphs are lines. Raises ImportError if trafilatura is not installed, and nothing else.
    """
    extract = _extractor()
    if len(_TABLE.findall(html)) > _MAX_TABLES:
        return ""
    try:
        # As a string, because trafilatura would try to decompress bytes, and guess their encoding.
        found = extract(_without_breaks(html.decode("utf-8", "replace")), include_comments=False) or ""
    except Exception:  # noqa: BLE001 - if a parser or a heuristic fails, the page has no main content
        return ""
    found = _OTHER_SPACE.sub(" ", _NOT_IN_TEXT.sub("", found))  # lxml may return control characters
    return _PILCROW.sub("", found).strip()


def _without_breaks(html: str) -> str:
    r"""Replace white space of the source by blanks but in preformatted text: trafilatura keeps some of its breaks.

    >>> _without_breaks("<p>one\n<b>two</b>\r\n three<pre>a\n b</pre>\n<p>c")
    '<p>one <b>two</b> three<pre>a\n b</pre>\n<p>c'
    """
    first, *parts = _PREFORMATTED_TAG.split(html)
    found = [_SPACES.sub(" ", first)]
    depth = 0
    for tag, text in zip(parts[::2], parts[1::2], strict=True):
        depth = max(0, depth - 1) if tag.startswith("</") else depth + 1
        # a blank behind the end would join the code and the paragraph behind it
        found += tag, text if depth else f"{text[:1]}\n{_SPACES.sub(' ', text[1:].lstrip())}"
    return "".join(found)


@cache
def _extractor() -> Callable[..., str | None]:
    """Import trafilatura, which takes a seventh of a second, only when it is used; and silence its log."""
    import trafilatura  # noqa: PLC0415

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)  # it reports every page that is not HTML
    return trafilatura.extract
