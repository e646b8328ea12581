"""Where a page is SVG or MathML, and not HTML. Pure.

selectolax shows the namespace of an element only by serialising it, so it is worked out from the elements above.

Vocabulary:
  content    the language of what an element contains: HTML, SVG or MATH. Two more are for MathML: in TEXT, which is
             HTML, two elements are MathML all the same; in ANNOTATION, which is MathML, an <svg> begins SVG
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

HTML, SVG, MATH, TEXT, ANNOTATION = "html", "svg", "math", "text", "annotation"
_AS_HTML = frozenset({HTML, TEXT})
# What contains HTML: https://html.spec.whatwg.org/#html-integration-point, and the one for text of MathML. A `desc` of
# MathML does not, nor a `mi` of SVG. A title with elements inside belongs to SVG.
_POINTS_OF_SVG = frozenset({"foreignObject", "foreignobject", "desc", "title"})
_POINTS_OF_MATH = frozenset({"mi", "mo", "mn", "ms", "mtext"})
_NO_TEXT = frozenset({"malignmark", "mglyph"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


def is_html(node: LexborNode, known: dict[int, str]) -> bool:
    """Return whether an element is HTML, not SVG or MathML. `node`: none of `svg`, `math`, `malignmark`, `mglyph`.

    `known`: the content of other elements of the tree, so that none of them is climbed twice.
    """
    ancestor = node.parent
    if ancestor is not None and ancestor.tag == "head":  # it ends SVG and MathML, so there is but one, in HTML
        return True
    climbed = []
    content = None
    while ancestor is not None and (content := known.get(ancestor.mem_id)) is None:
        climbed.append(ancestor)
        ancestor = ancestor.parent
    content = content or HTML
    for element in reversed(climbed):
        content = known[element.mem_id] = _content_of(element, content)
    return content in _AS_HTML


def _content_of(element: LexborNode, around: str) -> str:
    """Return the content of an element in the content `around`."""
    tag = element.tag or ""
    if around in _AS_HTML:
        if tag in (SVG, MATH):
            return tag
        return MATH if around == TEXT and tag in _NO_TEXT else HTML
    if around == SVG:
        return HTML if tag in _POINTS_OF_SVG else SVG
    if around == ANNOTATION and tag == SVG:
        return SVG
    if tag == "annotation-xml":
        return HTML if (element.attributes.get("encoding") or "").lower() in _HTML_TYPES else ANNOTATION
    return TEXT if tag in _POINTS_OF_MATH else MATH
