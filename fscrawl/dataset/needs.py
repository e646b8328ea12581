"""The optional packages that the options of a merge need. One message names all that are missing.

Vocabulary:
  lack     (what needs which package, the extra that has it)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fscrawl.parse import language as languages
from fscrawl.parse import text as page_text
from fscrawl.util.installed import to_install

_MAIN_TEXT, _LANGUAGE = "main-text", "language"


def missing(text: str | None, *, language: bool) -> str:
    """Say which packages this computer lacks for `--text` and `--language`, and how to get them; "" if it has all.

    Each one is tried: it may be there, and not work.
    """
    if lacks := [*lacking(text, language=language)]:
        return message(lacks)
    try:
        if language:
            _try_language()
    except Exception as error:  # noqa: BLE001 - what the library raises of its own, where another one is in its way
        return f"--language cannot be used: {' '.join(str(error).split())}"
    return ""


def lacking(text: str | None, *, language: bool) -> Iterator[tuple[str, str]]:
    """Yield what is lacking for `--text` and `--language`."""
    try:
        if text == "main":
            page_text.main_content(b"")
    except ImportError as error:
        yield f"--text main needs {error.name}", _MAIN_TEXT
    try:
        if language:
            _try_language()
    except ImportError as error:
        yield f"--language needs {error.name}", _LANGUAGE
    except Exception:  # noqa: BLE001, S110 - it is there
        pass


def message(lacks: Iterable[tuple[str, str]]) -> str:
    """Say in one line what is lacking, and how to get it."""
    needs, extras = zip(*lacks, strict=True)
    return f"{', '.join(needs)}: {to_install(*extras)}"


def _try_language() -> None:
    languages.language("word " * languages.MIN_BYTES)
