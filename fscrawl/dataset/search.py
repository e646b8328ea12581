"""Searches the index of a dataset. It needs no package, and changes nothing; a merge may run meanwhile.

Results are ordered by BM25, a word in a title counting ten times. A shard knows only how frequent a word is in its own
pages, so its scores are put on the scale of the whole index: by how rare the words are there and here.

Promise: what the index lacks of the dataset is said (`Found.missing`), and what it has too much is not shown. A file
that is damaged or removed meanwhile is a UsageError with the command that makes it again.
"""

from __future__ import annotations

import errno
import heapq
import math
import sqlite3
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from fscrawl import urls
from fscrawl.dataset import door
from fscrawl.dataset.manifest import Manifest
from fscrawl.dataset.search_shards import FOLDER, LIST, Shard, check_there, digests_of, parts_of, read_list
from fscrawl.dataset.search_snippet import Piece, Snippets
from fscrawl.dataset.search_words import Query
from fscrawl.errors import UnfitFileError, UsageError, tree_error
from fscrawl.hostnames import Host
from fscrawl.util.installed import command, path_word

_TITLE_WEIGHT = 10.0
_STEPS = 20_000  # of SQLite, between two looks at the clock
_MOST_TEXT_BYTES = 64 << 20
_LEAST_IDF = 1e-6  # as FTS5 has it
_TRIES = 3  # a merge may replace the list and remove files between two calls


@dataclass(frozen=True, slots=True)
class Result:
    """A page. `host`: its directory in the tree; `pieces`: of its text, those that were searched for marked as hits."""

    url: str
    key: str
    host: str
    time: str
    title: str
    score: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """`total`: pages that match; `results`: the best of them; `missing`: rows of the dataset that the index lacks."""

    total: int
    results: tuple[Result, ...]
    missing: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a shard says: its `pages`, how many are `having` each term, the `total` of matches, the best `hits`.

    A hit is a score and a row.
    """

    pages: int
    having: tuple[int, ...]
    total: int
    hits: list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class _Hit:
    score: float
    shard: int
    row: int


def search(
    root: Path,
    query: Query,
    hosts: Sequence[Host] = (),
    most: int = 10,
    *,
    skip: int = 0,
    limit_s: float = math.inf,
) -> Found:
    """Search the dataset at `root`: `most` results behind the best `skip`. UsageError if it has no index.

    `hosts`: one of them must have the page, unless there are none. `limit_s`: a search that takes longer is given up.
    """
    deadline = time.monotonic() + limit_s
    for tried in range(_TRIES):
        shards, missing = _shards(root)
        try:
            return _search(root, shards, missing, query, hosts, (skip, most), deadline)
        except FileNotFoundError:  # the list names it, or it named it a moment ago
            if tried == _TRIES - 1:
                raise _damaged(root, "a file of it is missing") from None
    raise AssertionError


def to_make(root: Path) -> str:
    """Give the command that makes the index of a dataset."""
    return f"{command()} merge --root DIR --out {path_word(root)} --index"


def _damaged(root: Path, why: str) -> UsageError:
    return UsageError(f"{root / FOLDER}: the index is damaged ({why}); remove this directory, then:  {to_make(root)}")


def _no_manifest(root: Path) -> UsageError:
    return UsageError(f"{root / 'manifest.json'}: not the manifest of a dataset")


def _shards(root: Path) -> tuple[list[Shard], int]:
    """Return the shards that fit the dataset as it is now, and how many of its rows they lack."""
    try:
        listed = read_list(root)
        manifest = msgspec.json.decode(door.read(root, "manifest.json"), type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        check_there(root)
        raise UsageError(f"{root}: no dataset that a merge has completed") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise _no_manifest(root) from None
    except OSError as error:
        if isinstance(error, UnfitFileError) and error.errno != errno.EACCES:
            raise _no_manifest(root) from error
        raise tree_error(error, error.filename or root) from error
    if listed is None:
        broken = (root / LIST).exists()
        raise UsageError(f"{root}: {'its index is damaged' if broken else 'no index'}; to make it:  {to_make(root)}")
    parts = parts_of(manifest)
    digests = digests_of(parts)
    there = [shard for shard in listed if shard.fits(digests)]
    return there, sum(part.rows for part in parts) - sum(shard.of_rows for shard in there)


def _search(
    root: Path,
    shards: Sequence[Shard],
    missing: int,
    query: Query,
    hosts: Sequence[Host],
    which: tuple[int, int],
    deadline: float,
) -> Found:
    skip, most = which
    answers: list[_Answer] = []
    for shard in shards:  # one after the other: there may be more of them than files that may be open
        with _Opened(root, shard, deadline) as opened:
            answers.append(opened.answer(query, hosts, skip + most))
    hits = (
        _Hit(score * scale, number, row)
        for number, (answer, scale) in enumerate(zip(answers, _scales(answers), strict=True))
        for score, row in answer.hits
    )
    best = heapq.nlargest(skip + most, hits, lambda hit: hit.score)[skip:]
    results: dict[int, Result] = {}
    with Snippets(query) as snippets:
        for number in sorted({hit.shard for hit in best}):
            with _Opened(root, shards[number], deadline) as opened:
                results |= {at: opened.result(hit, snippets) for at, hit in enumerate(best) if hit.shard == number}
    return Found(sum(answer.total for answer in answers), tuple(results[at] for at in sorted(results)), missing)


def _scales(answers: Sequence[_Answer]) -> list[float]:
    """Return for each shard what its scores are multiplied by, to be those of one index."""
    pages = sum(each.pages for each in answers)
    whole = sum(_idf(pages, sum(having)) for having in zip(*(each.having for each in answers), strict=True))
    return [whole / sum(_idf(each.pages, having) for having in each.having) for each in answers]


def _idf(pages: int, having: int) -> float:
    """Return how rare a term is, as FTS5 computes it for BM25."""
    return max(math.log((pages - having + 0.5) / (having + 0.5)), _LEAST_IDF)


class _Opened:
    """A shard, opened as a file that nobody changes: without locks, which a share may not have. A context manager."""

    def __init__(self, root: Path, shard: Shard, deadline: float) -> None:
        self._root = root
        self._path = root / shard.file
        try:
            with door.reading(root, shard.file) as path:
                if path.stat().st_size != shard.bytes:
                    raise _damaged(root, f"{self._path.name} is not as long as it was")
                uri = f"file:{path}?mode=ro&immutable=1"
                self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise tree_error(error, self._path) from error
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        self._database.execute("PRAGMA trusted_schema = OFF")
        # called by SQLite from time to time; Ctrl-C is seen then, too
        self._database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def answer(self, query: Query, hosts: Sequence[Host], most: int) -> _Answer:
        where = "words MATCH ?"
        if hosts:
            sites = self._ask("SELECT id, origin FROM sites")
            wanted = (str(int(site)) for site, origin in sites if any(host.has(f"{origin}/") for host in hosts))
            where += f" AND rowid IN (SELECT id FROM pages WHERE site IN ({','.join(wanted)}))"  # noqa: S608 - numbers
        having = tuple(self._number("SELECT count(*) FROM words WHERE words MATCH ?", term) for term in query.terms)
        total = self._number(f"SELECT count(*) FROM words WHERE {where}", query.match) if all(having) else 0  # noqa: S608
        score = f"-bm25(words, {_TITLE_WEIGHT})"
        ask = f"SELECT {score}, rowid FROM words WHERE {where} ORDER BY 1 DESC, 2 LIMIT ?"  # noqa: S608
        hits = self._ask(ask, query.match, most) if total else []
        return _Answer(self._number("SELECT count(*) FROM pages"), having, total, hits)

    def result(self, hit: _Hit, snippets: Snippets) -> Result:
        rows = self._ask("SELECT url, key, time, title, text FROM pages WHERE id = ?", hit.row)
        try:
            [(url, key, moment, title, packed)] = rows
            text = zlib.decompressobj().decompress(packed, _MOST_TEXT_BYTES).decode(errors="replace")
        except (ValueError, TypeError, zlib.error) as error:
            raise self._trouble(error) from error
        return Result(url, key, urls.host(url), moment, title, hit.score, snippets.of(text))

    def _number(self, question: str, *values: Any) -> int:
        return int(self._ask(question, *values)[0][0])

    def _ask(self, question: str, *values: Any) -> list[Any]:
        try:
            return self._database.execute(question, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._trouble(error) from error

    def _trouble(self, error: Exception) -> Exception:
        if str(error) == "interrupted":
            return UsageError("the search takes too long; search for rarer words")
        if not self._path.exists():
            return FileNotFoundError(self._path)
        return _damaged(self._root, f"{self._path.name}: {error}")
