"""Where a page is SVG or MathML, and not HTML. Pure.

selectolax shows the namespace of an element only by serialising it, so it is worked out from the elements above.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

_FOREIGN = frozenset({"svg", "math", "malignmark", "mglyph"})
# Elements of SVG and MathML that contain HTML: https://html.spec.whatwg.org/#html-integration-point. A title with
# elements inside belongs to SVG.
_INTEGRATION = frozenset({"foreignObject", "foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


def is_html(node: LexborNode, known: dict[int, bool]) -> bool:
    """Return whether an element is HTML, not SVG or MathML.

    `known`: what was found for the content of other elements of the tree, so that none of them is climbed twice.
    """
    ancestor = node.parent
    if ancestor is not None and ancestor.tag == "head":  # it ends SVG and MathML, so there is but one, in HTML
        return True
    climbed = []
    found: bool | None = None
    while found is None and ancestor is not None:
        climbed.append(ancestor.mem_id)
        found = known.get(ancestor.mem_id)
        if found is None:
            found = _contains_html(ancestor)
        ancestor = ancestor.parent
    holds_html = found is not False
    known.update(dict.fromkeys(climbed, holds_html))
    return holds_html


def _contains_html(element: LexborNode) -> bool | None:
    """Return whether the content of an element is HTML; None if that depends on what the element is in."""
    tag = element.tag
    if tag in _FOREIGN:
        return False
    if tag in _INTEGRATION:
        return True
    if tag == "annotation-xml" and (element.attributes.get("encoding") or "").lower() in _HTML_TYPES:
        return True
    return None
