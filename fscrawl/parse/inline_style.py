"""A style attribute → what it says of an element being shown. Pure.

The rules are those of CSS: https://www.w3.org/TR/css-syntax-3/#parse-block-contents for declarations,
https://www.w3.org/TR/css-cascade-4/#cascade-sort for which of them wins. Left out are escapes (`d\\69splay`) and
`all`.

Promise: any text gives an answer, in time in proportion to its length.
"""

from __future__ import annotations

import re

# What is one piece: a comment, a string, which ends with its line, a URL without quotes, and what has no meaning here.
_PIECE = re.compile(
    r"""/\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'?
    | url\([ \t\n\f\r]*+(?!["'])(?:\\.|[^)\\])*+\)? | \\. | [^/"'u\\()\[\]{};]++ | .""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_SPACE = re.compile(r"[ \t\n\f\r]++")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DECLARATION = re.compile(
    r"[ \t\n\f\r]*+([a-z-]++)[ \t\n\f\r]*+:(.*?)(![ \t\n\f\r]*+important[ \t\n\f\r]*+)?\Z", re.DOTALL
)
_WIDE = "initial|inherit|unset|revert"  # and revert-layer, which is as if nothing was declared
_SINGLE = r"""none|contents|(?:-(?:webkit|moz)-)?(?:inline-)?(?:box|block|table|flex(?:box)?|grid)
    |table-(?:row|cell|column|caption|(?:row|header|footer|column)-group)|ruby-(?:base|text)"""
_PARTS = r"(?:block|inline|flow|flow-root|table|flex|grid|ruby|math|list-item)(?![a-z-])"  # each at most once
_VALUES = {  # a declaration with another value does not count (https://www.w3.org/TR/css-display-3/#the-display-properties)
    "display": re.compile(rf"(?:{_WIDE}|{_SINGLE}|{_PARTS}(?:[ ]{_PARTS}){{0,2}})\Z", re.VERBOSE),
    "visibility": re.compile(rf"(?:{_WIDE}|visible|hidden|collapse)\Z"),
    "content-visibility": re.compile(rf"(?:{_WIDE}|visible|hidden|auto)\Z"),
}
_LATE = re.compile(r"(?:var|env|attr)\(")  # what it means depends on other styles: it counts, and hides nothing


def declared(style: str) -> dict[str, str]:
    """Return the values of `display`, `visibility` and `content-visibility` that win, in lower case.

    >>> declared("--display:none; DISPLAY : None !important; display:block; visibility: nonsense")
    {'display': 'none'}
    """
    style = style.lower()
    if "display" not in style and "visibility" not in style:
        return {}
    found: dict[str, tuple[bool, str]] = {}
    for written in _divided(style):
        declaration = _DECLARATION.match(written)
        if declaration is None or (values := _VALUES.get(declaration[1])) is None:
            continue
        value, is_important = _SPACE.sub(" ", declaration[2]).strip(" "), declaration[3] is not None
        is_value = values.match(value) or _LATE.search(value)
        if is_value and (is_important or not found.get(declaration[1], (False,))[0]):
            found[declaration[1]] = is_important, value
    return {name: value for name, (_, value) in found.items()}


def _divided(style: str) -> list[str]:
    """Divide a style at the semicolons that are in no brackets, strings and comments; comments become spaces."""
    parts: list[list[str]] = [[]]
    open_: list[str] = []
    for piece in _PIECE.findall(style):
        if piece == ";" and not open_:
            parts.append([])
        else:
            if piece in _CLOSING:
                open_.append(_CLOSING[piece])
            elif open_ and piece == open_[-1]:
                open_.pop()
            parts[-1].append(" " if piece.startswith("/*") else piece)
    return ["".join(part) for part in parts]
