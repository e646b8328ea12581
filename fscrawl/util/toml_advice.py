"""What is probably wrong in a text that is no TOML, in words for somebody who does not know TOML well. Pure.

It is loaded only to word an error. Nothing of the text is repeated, since it may be a password.
"""

from __future__ import annotations

import re

from fscrawl.util import toml_places

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_QUOTES = "a string stands between two quotes on one line, and the second one is missing"
_SECTION = "a section is written in a line of its own, like [crawl]"
_BACKSLASH = (
    "a backslash has a meaning of its own between double quotes; write a regular expression in single quotes,"
    r" like '\d+\.html'"
)
_NO_VALUE = "a value is missing; to leave a setting out, begin its line with #"
# A no-break space and the like, as in text that is copied from a web page or a PDF.
_LIKE_A_BLANK = re.compile(r"[\u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]")
_WORDS = (
    (r"true|false", "write true and false in small letters"),
    (r"yes|no|on|off", "write true or false"),
    (r"none|null|nil", "there is no word for no value; to leave a setting out, begin its line with #"),
    (r"[+-]?\.\d.*", "a number needs a digit before its point, like 0.5"),
    (r"[“”„‘’«»].*", "these quotes are typographic; write \" or '"),
    (r"[a-z].*", 'a string needs quotes, like "text"'),
)
_REASONS = (
    (r"Illegal character '\\n'|Found invalid character '\\n'|Unterminated|Expected \"'", _QUOTES),
    (r"Expected '\]'|Invalid initial", _SECTION),
    (r".*character '\\x00'", "a NUL byte is no text; save the file as UTF-8"),
    (r".*character", "a control character is no text; remove it"),
    (r"Unescaped|Invalid hex|Escaped character", _BACKSLASH),
    (r"Unclosed array", "a list ends with ], and commas stand between its values"),
    (r"Unclosed inline", "a table ends with } on the same line, and commas stand between its values"),
    (r"Invalid statement", "write name = value; a comment begins with #"),
)


def explain(text: str, error: str) -> tuple[int | None, str]:
    r"""Return where the error of `tomllib` is, as an offset, and what to say of it. None: it is nowhere in particular.

    >>> explain('a = "\\d"', "Unescaped '\\' in a string (at line 1, column 8)")[0]
    5
    """
    found = _AT.search(error)
    if found is None:  # a number of 5,000 digits, or the stack
        deep = "recursion" in error or "nested" in error
        return None, "values are nested too deeply" if deep else "a number has too many digits"
    reason = error[: found.start()]
    end_of_document = found[1] is None
    at = len(text) if end_of_document else _offset(text, int(found[1]), int(found[2]))
    if _LIKE_A_BLANK.match(text, at):
        return at, "this looks like a blank, or like nothing, and is another character; delete it"
    if reason.startswith("Invalid value"):
        return at, _wrong_value(text, at)
    if "after a statement" in reason:
        return at, _wrong_end(text, at)
    if reason.startswith("Expected '='"):
        line = text[at:].partition("\n")[0].strip()
        return at, "write name = value, with = and no colon" if line.startswith(":") else "write name = value"
    if re.match("Cannot|Duplicate", reason):
        return _twice(text, at)
    said = next((said for pattern, said in _REASONS if re.match(pattern, reason)), reason)
    if said is _BACKSLASH:
        return max(text.rfind("\\", 0, at), 0), said
    return toml_places.last_statement(text) if end_of_document else at, said


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1


def _wrong_value(text: str, at: int) -> str:
    word = re.match(r"[^\s,\]}#]*", text[at : at + 100])
    if word is None or not word[0]:
        return _NO_VALUE
    return next((said for pattern, said in _WORDS if re.fullmatch(pattern, word[0].lower())), "this is no value")


def _wrong_end(text: str, at: int) -> str:
    before, after = text[text.rfind("\n", 0, at) + 1 : at], text[at:].partition("\n")[0]
    if "'" in before or '"' in before:
        return "the line must end after the value; a string with a quote in it stands between quotes of the other kind"
    if re.match(r"\s*\]", after):
        return _SECTION
    if after.startswith(("-", ":")) or re.match(r"\s*[A-Za-z]", after):
        return "the line must end after a number: write it without a unit, and a string in quotes"
    if re.match(r",\d", after) and before[-1:].isdecimal():
        return "the line must end after a number: write it without a comma, like 0.5 or 1000"
    return "the line must end after the value; one line has one setting"


def _twice(text: str, at: int) -> tuple[int, str]:
    """Find the name that stands there a second time."""
    first: dict[tuple[str, ...], toml_places.Entry] = {}
    for entry in toml_places.entries(text):
        before = first.setdefault(entry.path, entry)
        if before is not entry:
            line = text.count("\n", 0, before.key) + 1
            what = "this section" if text[entry.key] == "[" else "this name"
            return entry.key, f"{what} stands there twice, first on line {line}; write it once"
    return at, "this name stands there twice, as a value and as a section, or is written in two ways"
