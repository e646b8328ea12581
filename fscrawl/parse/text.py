"""The text of a stored page, for a data set: HTML in UTF-8 → what a reader sees, or its main content. Pure.

Vocabulary:
  visible text   what a browser shows of the body without running scripts, near to its `innerText`
  line           a paragraph, heading, list item, table row or caption; what `<br>` ends; a line of a preformatted text
  preformatted   `<pre>`, `<textarea>`, and of old `<listing>`, `<xmp>`, `<plaintext>`: line breaks and blanks count
  main content   what trafilatura takes for the article, without navigation, header and footer

Promise: any bytes give a text that can be written as UTF-8, whose only control characters are newline and, in
preformatted text and main content, tab. What Python takes for white space is folded, the no-break space too; other
control characters are dropped. The visible text takes time in proportion to the page, if it does not nest too deeply:
pages come here through `links.readable`, which flattens those that do. Main content has no such bound: trafilatura
takes ten seconds for ten thousand tables.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from selectolax.lexbor import LexborHTMLParser, LexborNode


@dataclass(frozen=True, slots=True)
class Text:
    """What a page says.

    text        lines joined by "\\n", none of them empty outside preformatted text and main content
    language    `<html lang>` as declared, in lower case: "en", "pt-br"; None if there is none or it cannot be a tag
    """

    text: str
    language: str | None


def read(html: bytes, *, main: bool = False) -> Text:
    """Read a page, in one parse. `html`: UTF-8, as `links.readable` gives it; `main`: its main content alone.

    >>> read(b"<html lang=en><title>not shown</title><h1>A</h1><ul><li>b<i>c</i><li hidden>d</ul>")
    Text(text='A\\nbc', language='en')
    """
    # With scripting <noscript> is no markup: as such it would go on where its tags are not balanced.
    tree = LexborHTMLParser(html if main else _with_breaks(html), scripting=True)
    return Text(main_content(html) if main else _visible(tree), _language(tree))


def visible(html: bytes) -> str:
    """Give the visible text of a page in UTF-8.

    >>> visible(b"<p>one<br>two</p><table><tr><td>a<td>b</table><pre>if x:\\n    y</pre>").splitlines()
    ['one', 'two', 'a b', 'if x:', '    y']
    """
    return read(html).text


# Language

_LANGUAGE = re.compile(r"[a-z0-9_-]{1,35}")  # RFC 5646, 4.4.1: what a program that stores tags should have room for


def _language(tree: LexborHTMLParser) -> str | None:
    root = tree.root
    declared = ((root.attributes.get("lang") if root is not None else None) or "").strip().lower()
    return declared if _LANGUAGE.fullmatch(declared) else None


# Breaks: a form feed in front of each tag that begins or ends a line, a blank in front of a cell. Both are white space
# to HTML, so nothing is moved out of a table or into the body by them. In the source and not in the tree, where each
# node would be a call; what it changes in attributes, comments and scripts is not shown.

_BREAKS = rb"""p(?:re|laintext|)|d(?:iv|[dlt]|etails|ialog|ir)|li(?:sting|)|legend|ul|h(?:[1-6r]|eader|group|tml)
    |a(?:rticle|side|ddress)|b(?:r|lockquote|ody)|c(?:aption|enter)|f(?:orm|ooter|i(?:eldset|g(?:ure|caption))|rameset)
    |m(?:ain|enu)|nav|o(?:l|pt(?:ion|group))|s(?:e(?:ction|arch)|ummary)|t(?:r|able|body|head|foot)|xmp|t([dh])"""
# Twice, since letters of one case are compared twice as fast; the other way is tried only where a capital comes.
_BREAK = re.compile(rb"<(?=/?+(?:(?:%s)|(?=[a-z]*+[A-Z])(?i:%s))[\t\n\f\r\x20/>])" % (_BREAKS, _BREAKS), re.VERBOSE)


def _with_breaks(html: bytes) -> bytes:
    r"""Mark where lines and cells begin and end; a form feed of the page itself is white space like any other.

    >>> _with_breaks(b"<P>a\f<b>b</b></p><td>")
    b'\x0c<P>a <b>b</b>\x0c</p> <td>'
    """
    return _BREAK.sub(_break, html.replace(b"\f", b" "))


def _break(tag: re.Match[bytes]) -> bytes:
    return b" <" if tag.lastindex else b"\f<"


# What is not shown: by the style sheet of the HTML standard (https://html.spec.whatwg.org/#hidden-elements), because
# the browser shows something else in its place (a video, a bar), or by the page's own word. Closed <details> are read,
# like text that has to be scrolled to; <template> has its content elsewhere in the tree.

_NEVER_SHOWN = (
    "script,style,noscript,title,svg,iframe,object,audio,video,canvas,datalist,rp,noembed,noframes,meter,progress,"
    "annotation,annotation-xml,dialog:not([open]),[hidden],[style*='display:none' i],[style*='display: none' i]"
)
_PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp", "plaintext"})
_LITERAL = frozenset({"textarea", "xmp", "plaintext"})  # tags in them are text
# One walk of the tree for both: another would cost as much as this.
_SPECIAL = ",".join([_NEVER_SHOWN, *sorted(_PREFORMATTED)])

# Around a preformatted text. No page can forge them: in HTML, NUL is dropped or becomes U+FFFD.
_BEGIN, _BEGIN_LITERAL, _END = "\0(", "\0[", "\0)"

# Those that are no white space to str.split, and the white space that is neither blank, tab nor newline: written out,
# since `\s` takes thrice as long.
_CONTROL = re.compile("[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_OTHER_SPACE = re.compile("[\v\f\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def _visible(tree: LexborHTMLParser) -> str:
    """Give the text of a tree that was parsed with breaks; what is not shown is taken out of it."""
    body = tree.body
    if body is None:  # a frameset
        return ""
    _prepare(body)
    first, *parts = _CONTROL.sub("", body.text()).split("\0")
    lines = _folded(first)
    depth = 0  # of preformatted elements in each other
    for part in parts:
        mark, text = "\0" + part[0], part[1:]
        depth += -1 if mark == _END else 1
        lines += [_preformatted(text, literal=mark == _BEGIN_LITERAL)] if depth else _folded(text)
    return "\n".join(filter(None, lines))


def _prepare(body: LexborNode) -> None:
    """Remove what is not shown, and mark where preformatted texts begin and end."""
    for node in body.css(_SPECIAL):
        tag = node.tag
        if tag in _PREFORMATTED and not _is_hidden(node):
            node.insert_before(_BEGIN_LITERAL if tag in _LITERAL else _BEGIN)
            node.insert_after(_END)
        elif tag != "body":  # a hidden body is one that a script will show
            node.decompose(recursive=False)  # with all that is in it


def _folded(text: str) -> list[str]:
    return [*filter(None, map(" ".join, map(str.split, text.split("\f"))))]


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    style = (attributes.get("style") or "").lower()
    return "hidden" in attributes or "display:none" in style or "display: none" in style


def _preformatted(text: str, *, literal: bool) -> str:
    r"""Keep indentation, tabs and blank lines between others; `literal`: breaks are only where the text has them.

    >>> _preformatted("\n a:\u00a0b \n\n  c\n\f\fd", literal=False)
    ' a: b\n\n  c\nd'
    """
    blocks = [text.replace("\f", "")] if literal else text.split("\f")
    return "\n".join(filter(None, map(_trimmed, blocks)))


def _trimmed(text: str) -> str:
    lines = _OTHER_SPACE.sub(" ", text).split("\n")
    return "\n".join(map(str.rstrip, lines)).strip("\n")


# Main content

_MOST_TABLES = 1000  # trafilatura's time grows with their square: 13 s for 16,000
_NOT_IN_TEXT = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")  # lxml may give these


def main_content(html: bytes) -> str:
    """Give the main content of a page in UTF-8, "" if trafilatura finds none; without readers' comments.

    Its paragraphs are lines. Raises ImportError where trafilatura is not installed, and nothing else.
    """
    extract = _extractor()
    if html.count(b"<table") > _MOST_TABLES:
        return ""
    try:
        # As a string, since trafilatura tries to decompress bytes and to guess their encoding.
        found = extract(html.decode("utf-8", "replace"), include_comments=False)
    except Exception:  # noqa: BLE001 - what a parser or a heuristic stumbles over is a page without main content
        return ""
    return _OTHER_SPACE.sub(" ", _NOT_IN_TEXT.sub("", found or "")).strip()


@cache
def _extractor() -> Callable[..., str | None]:
    """Import trafilatura, which takes a seventh of a second, only where it is asked for; and keep it silent."""
    import trafilatura  # noqa: PLC0415

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)  # it reports each page that is not HTML
    return trafilatura.extract
