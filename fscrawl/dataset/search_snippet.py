"""The piece of a text that shows best why it was found, cut and marked by the tokenizer of the index itself."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple, Self

from fscrawl.dataset.search_words import HIT_BEGINS, HIT_ENDS, SEPARATOR, TOKENIZER, Query, separated

_TOKENS = 30
_CHARACTERS = 100_000  # of a text that are looked at once: the rest costs nothing if something is found there
_OVERLAP = 500
_MOST_CHARACTERS = 400  # of a snippet: a word may be endless
_BETWEEN_HITS = re.compile(rf"{HIT_ENDS}([{SEPARATOR} ]*){HIT_BEGINS}")
_MARKED = re.compile(f"{HIT_BEGINS}(.*?)(?:{HIT_ENDS}|$)")


class Piece(NamedTuple):
    """A part of a snippet. `hit`: it was searched for."""

    text: str
    hit: bool


class Snippets:
    """Makes the snippets of the results of one query. A context manager."""

    def __init__(self, query: Query) -> None:
        self._match = " OR ".join(query.terms)
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{TOKENIZER}", detail=full)')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def of(self, text: str) -> tuple[Piece, ...]:
        """Return the best piece of a text on one line; its beginning, if what was found stands in the title alone."""
        for part in _parts(text):
            found = self._found(part)
            if found is not None:
                return _pieces(found)
        return _pieces(separated(" ".join(text[:_OVERLAP].split()[:_TOKENS])) + "…" * (len(text) > _OVERLAP))

    def _found(self, part: str) -> str | None:
        self._database.execute("DELETE FROM texts")
        self._database.execute("INSERT INTO texts VALUES (?)", (separated(part),))
        ask = "SELECT snippet(texts, 0, ?, ?, '…', ?) FROM texts WHERE texts MATCH ?"
        row = self._database.execute(ask, (HIT_BEGINS, HIT_ENDS, _TOKENS, self._match)).fetchone()
        return None if row is None else str(row[0])


def _parts(text: str) -> Iterator[str]:
    for begin in range(0, max(1, len(text)), _CHARACTERS):
        yield text[max(0, begin - _OVERLAP) : begin + _CHARACTERS]


def _pieces(snippet: str) -> tuple[Piece, ...]:
    """Cut a snippet at the marks of hits.

    >>> _pieces("a \\x02rust\\x03 \\x02book\\x03, new\\nline")
    (Piece(text='a ', hit=False), Piece(text='rust book', hit=True), Piece(text=', new line', hit=False))
    """
    line = re.sub(r"\s+", " ", _BETWEEN_HITS.sub(r"\1", snippet).replace(SEPARATOR, "")).strip()[:_MOST_CHARACTERS]
    cut = _MARKED.split(line)
    return tuple(Piece(text, number % 2 == 1) for number, text in enumerate(cut) if text)
