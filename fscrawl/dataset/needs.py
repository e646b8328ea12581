"""The optional packages that the options of a merge need. What is missing is said before anything is read."""

from __future__ import annotations

from fscrawl.parse import language as languages
from fscrawl.parse import text as page_text
from fscrawl.util.installed import to_install

_EXTRAS = {"main": "main-text", "fast": "fast-text"}
_LANGUAGE = "language"


def missing(text: str | None, *, language: bool) -> str:
    """Say which package this computer lacks for `--text` and `--language`, and how to get it; "" if it has all.

    Each one is tried: it may be there, and not work.
    """
    try:
        if text in _EXTRAS:
            page_text.read(b"", text)
    except ImportError as error:
        return f"--text {text} needs {error.name}: {to_install(_EXTRAS[text or ''])}"
    try:
        if language:
            languages.language("word " * languages.MIN_BYTES)
    except ImportError as error:
        return f"--language needs {error.name}: {to_install(_LANGUAGE)}"
    except Exception as error:  # noqa: BLE001 - what the library raises of its own, where another one is in its way
        return f"--language cannot be used: {' '.join(str(error).split())}"
    return ""
