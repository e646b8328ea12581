"""The index of searches of a dataset, by the library tantivy: `merge --index` keeps it, `fscrawl search` asks it.

    search/meta.json     which segments the index consists of; written last, it commits what a merge has added
    search/<id>.<kind>   the files of a segment, written once

tantivy works in a directory of this computer, with links to the files of the index. So it needs no locks and no right
to write where the dataset is, and all that changes there goes through `DatasetDir`. Each page is in the index with the
SHA-256 of its part. What the index lacks of the dataset is therefore known to both sides, and a merge adds just that:
parts never change. An index that cannot be read, or is of other parts, is made anew by the next merge.

Vocabulary:
  token    what is found: letters, digits and marks in a row, without case, Latin ones without accents. A character of
           a script without spaces between words (Chinese, Japanese, Thai), or with particles joined to words (Korean),
           is a token of its own: a word of these is searched for as a phrase, and is found wherever it stands
  term     what a page must have: a word, a beginning of words (`word*`), or a phrase ("…")
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fscrawl import urls
from fscrawl.dataset.dataset_dir import DatasetDir, unreadable
from fscrawl.dataset.manifest import Manifest, Part
from fscrawl.errors import FscrawlError, TreeError, UnfitFileError, UsageError, tree_error
from fscrawl.hostnames import Host
from fscrawl.storage.records import rfc3339
from fscrawl.util.humanize import size
from fscrawl.util.installed import command, path_word, to_install
from fscrawl.util.user_text import has_surrogates

if TYPE_CHECKING:
    import tantivy

    from fscrawl.dataset.options import Options
    from fscrawl.util.progress import ProgressLine

FOLDER = "search"
_META = f"{FOLDER}/meta.json"
_OF_SEGMENT = re.compile(r"([0-9a-f]{32})\.[\w.]+")
_TOKENIZER = "words"
_ALONE = (  # characters that are tokens
    r"\u{e00}-\u{eff}\u{1000}-\u{109f}\u{1780}-\u{17ff}"  # Thai, Lao, Burmese, Khmer
    r"\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u{30fc}\u{ff70}"
)
_TOKEN = rf"[{_ALONE}]|[\p{{L}}\p{{M}}\p{{N}}\p{{Co}}--[{_ALONE}]]+"
_TOKEN_BYTES = 500  # longer ones are not found: they are no words
_TITLE_WEIGHT = 5.0
_HEAP_BYTES = 50_000_000  # that tantivy fills before it writes a segment
_BATCH_ROWS = 100_000  # after which the index is written into the dataset: a merge that is killed loses no more
_ROWS = 50  # that are read at once; the text of one page may have megabytes
_COLUMNS = ("url", "key", "fetch_time", "fetch_redirect", "title", "text")
_SNIPPET_CHARACTERS = 200
_MOST_BEGINNINGS = 1000  # words for one `word*` that are marked in snippets
_MOST_IN_PHRASE = 10_000  # words for the `word*` at the end of several tokens: tantivy takes no more than 16,000
_MOST_CHARACTERS = 1000  # of what a user writes
_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))  # as word processors write them


class Piece(NamedTuple):
    """A part of a snippet. `hit`: it was searched for."""

    text: str
    hit: bool


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


class _Term(NamedTuple):
    """`begins`: the last token is the beginning of a word."""

    tokens: list[str]
    begins: bool


# -- searches


def search(root: Path, words: str, hosts: Sequence[Host] = (), most: int = 10) -> Found:
    """Search the dataset at `root`: the `most` best results, ordered by BM25. Nothing is changed.

    `words`: a page must have all; `word*`, `"a phrase"`, `-without`. `hosts`: one of them must have the page, unless
    there are none. UsageError for words that cannot be meant, and if there is no index, or it is damaged.
    """
    wanted, unwanted = parse(words)
    _check_there(root)
    index = opened(root)  # before the manifest, which a merge writes first
    parts = parts_of(_manifest(root))
    if index is None:
        raise UsageError(f"{root}: no index; to make it:  {to_make(root)}")
    with _in_one_line(root):
        searcher = index.searcher()
        known = parts_in(searcher)
        missing = sum(part.rows for part in parts if part.sha256 not in known)
        if known - {part.sha256 for part in parts}:
            raise _damaged(root, "it is of other pages than the dataset")
        _check_phrases(searcher, [*wanted, *unwanted])
        found = searcher.search(_query(index, wanted, unwanted, _origins(searcher, hosts)), most)
        snippets = _Snippets(index, wanted)
        results = [_result(searcher.doc(address), float(score), snippets) for score, address in found.hits]
    return Found(found.count, tuple(results), missing)  # type: ignore[attr-defined]  # its stub lacks it


def to_make(root: Path) -> str:
    """Give the command that makes the index of a dataset."""
    return f"{command()} merge --root DIR --out {path_word(root)} --index"


def _check_there(root: Path) -> None:
    """Raise TreeError if a dataset is not there, as where its share is not mounted. UsageError for a file."""
    try:
        next(root.iterdir(), None)
    except NotADirectoryError:
        right = "must be the directory of a dataset, made with fscrawl merge"
        raise UsageError(f"--dataset {root}: not a directory; {right}") from None
    except OSError as error:
        raise tree_error(error, root) from error


def report(root: Path) -> list[str]:
    """Say how large the index of a dataset is, on one line; nothing if it has none."""
    directory = DatasetDir(root)
    sizes = [directory.size(name) or 0 for name in directory.files(FOLDER)]
    return [f"search/      {size(sum(sizes))}"] if sizes else []


def parse(text: str) -> tuple[list[_Term], list[_Term]]:
    """Read what a user wrote: the terms that a page must have, and those that it must not have.

    >>> parse('rust hash_map iter* -java')[0][1:]
    [_Term(tokens=['hash', 'map'], begins=False), _Term(tokens=['iter'], begins=True)]
    """
    if has_surrogates(text):
        raise UsageError("what is searched for must be UTF-8")
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"what is searched for has {len(text):,} characters; it may have {_MOST_CHARACTERS:,}")
    text = text.translate(_QUOTES)
    if text.count('"') % 2:
        raise UsageError('a phrase has a " at its beginning only; put another one at its end')
    terms: tuple[list[_Term], list[_Term]] = ([], [])
    analyzer = _analyzer()
    for found in _TERM.finditer(text):
        word, phrase = found["word"], found["phrase"]
        if word is not None and "*" in word[:-1]:
            raise UsageError(f"{word}: a * can stand at the end of a word only")
        tokens = analyzer.analyze(unicodedata.normalize("NFC", phrase if word is None else word))
        if not tokens:
            raise UsageError(f"{found[0]}: there is no letter or digit in it, and only these are searched for")
        terms[bool(found["minus"])].append(_Term(tokens, begins=(word or "").endswith("*")))
    if not terms[0]:
        besides = " besides -words" if terms[1] else ""
        raise UsageError(f"nothing to search for; give a word that pages must have{besides}")
    return terms


def _manifest(root: Path) -> Manifest:
    if (found := DatasetDir(root).manifest()) is None:
        raise UsageError(f"{root}: no dataset that a merge has completed")
    return found


def _check_phrases(searcher: tantivy.Searcher, terms: Iterable[_Term]) -> None:
    """Refuse a beginning behind other tokens, as in `1-a*`, with which too many words begin."""
    for tokens in (term.tokens for term in terms if term.begins and len(term.tokens) > 1):
        for field in ("title", "text"):
            if len(searcher.terms_with_prefix(field, tokens[-1], limit=_MOST_IN_PHRASE + 1)) > _MOST_IN_PHRASE:
                many = f"more than {_MOST_IN_PHRASE:,} words begin with {tokens[-1]}"
                raise UsageError(f"{' '.join(tokens)}*: {many}; give more of the last word")


def _query(
    index: tantivy.Index, wanted: list[_Term], unwanted: list[_Term], origins: list[str] | None
) -> tantivy.Query:
    from tantivy import Occur, Query  # noqa: PLC0415 - it is in an extra

    clauses = [(Occur.Must, _term_query(index, term)) for term in wanted]
    clauses += [(Occur.MustNot, _term_query(index, term)) for term in unwanted]
    if origins is not None:
        clauses.append((Occur.Must, Query.const_score_query(Query.term_set_query(index.schema, "origin", origins), 0)))
    return Query.boolean_query(clauses)


def _term_query(index: tantivy.Index, term: _Term) -> tantivy.Query:
    from tantivy import Occur, Query  # noqa: PLC0415

    def of(field: str) -> tantivy.Query:
        *first, last = term.tokens
        if term.begins:  # a token has no character that means something in an expression
            begins = f"{last}.*"
            if first:
                return Query.regex_phrase_query(index.schema, field, [*first, begins])
            return Query.regex_query(index.schema, field, begins)
        if first:
            return Query.phrase_query(index.schema, field, [*term.tokens])
        return Query.term_query(index.schema, field, last)

    title = Query.boost_query(of("title"), _TITLE_WEIGHT)
    return Query.boolean_query([(Occur.Should, title), (Occur.Should, of("text"))])


def _origins(searcher: tantivy.Searcher, hosts: Sequence[Host]) -> list[str] | None:
    """Return the origins of the hosts; None for all."""
    if not hosts:
        return None
    there = (origin for origin, _ in searcher.terms_with_prefix("origin", ""))
    return [origin for origin in there if any(host.has(f"{origin}/") for host in hosts)]


def _result(page: tantivy.Document, score: float, snippets: _Snippets) -> Result:
    values = {name: each[0] for name, each in page.to_dict().items()}
    url = values["url"]
    pieces = snippets.of(page, values["text"])
    return Result(url, values["key"], urls.host(url), values["time"], values["title"], score, pieces)


class _Snippets:
    """The pieces of texts that show best why they were found, each on one line."""

    def __init__(self, index: tantivy.Index, wanted: list[_Term]) -> None:
        from tantivy import Occur, Query, SnippetGenerator  # noqa: PLC0415

        searcher = index.searcher()
        tokens: set[str] = set()
        for term in wanted:
            tokens.update(term.tokens)
            if term.begins:  # tantivy marks only whole words
                tokens.update(
                    each for each, _ in searcher.terms_with_prefix("text", term.tokens[-1], limit=_MOST_BEGINNINGS)
                )
        clauses = [(Occur.Should, Query.term_query(index.schema, "text", token)) for token in tokens]
        self._made = SnippetGenerator.create(searcher, Query.boolean_query(clauses), index.schema, "text")
        self._made.set_max_num_chars(_SNIPPET_CHARACTERS)

    def of(self, page: tantivy.Document, text: str) -> tuple[Piece, ...]:
        """Give the best piece of a text; its beginning, if what was found stands in the title alone."""
        snippet = self._made.snippet_from_doc(page)
        shown = snippet.fragment().encode()
        if not shown:
            begin = " ".join(text[:_SNIPPET_CHARACTERS].split())
            return (Piece(begin + "…" * (len(text) > _SNIPPET_CHARACTERS), hit=False),) if begin else ()
        ends = [0]  # in bytes: of what is no hit, of what is one, and so on
        for hit in snippet.highlighted():
            if len(ends) > 1 and not shown[ends[-1] : hit.start].strip():
                ends[-1] = hit.end
            else:
                ends += hit.start, hit.end
        cut = [shown[a:b].decode() for a, b in zip(ends, [*ends[1:], len(shown)], strict=True)]
        cut[0] = "… " * (snippet.fragment_range().start > 0) + cut[0].lstrip()
        cut[-1] = cut[-1].rstrip() + " …" * (snippet.fragment_range().end < len(text.encode()))
        return tuple(Piece(re.sub(r"\s+", " ", each), number % 2 == 1) for number, each in enumerate(cut) if each)


# -- the index


def is_wanted(directory: DatasetDir, options: Options, *, asked: bool) -> bool:
    """Tell whether a merge must keep an index: if it was asked for, or is there. UsageError if it cannot be made."""
    is_there = FOLDER in directory.listed("")  # in whatever state
    if not asked and not (is_there and "parquet" in options.formats):
        return False
    if "parquet" not in options.formats:
        raise UsageError(
            f"--index: {directory.root} has no Parquet files, of which an index is made; add --format parquet"
        )
    _analyzer()
    return True


def update(directory: DatasetDir, manifest: Manifest, line: ProgressLine) -> None:
    """Bring the index up to date with a dataset."""
    parts = parts_of(manifest)
    known = _known(directory.root)
    if known is None or not known <= {part.sha256 for part in parts}:
        directory.discard(_META)
        known = None
    # a part that somebody has removed or cut cannot be read again
    new = [part for part in parts if part.sha256 not in (known or ()) and directory.is_whole(part)]
    line.begin("indexing", sum(part.rows for part in new), "pages")
    for batch in _batches(new) or ([[]] if known is None else []):
        _add(directory, batch, line)
    named = set(_files(directory.root))
    for name in directory.files(FOLDER):
        if name not in named and _OF_SEGMENT.fullmatch(name.rpartition("/")[2]):
            directory.discard(name)


def parts_of(manifest: Manifest) -> list[Part]:
    """Return the parts of a dataset that have its pages and can be indexed."""
    return [part for part in manifest.parts if part.path.startswith("pages/") and part.path.endswith(".parquet")]


def _analyzer() -> tantivy.TextAnalyzer:
    """Return what cuts texts into tokens. UsageError without tantivy."""
    try:
        from tantivy import Filter, TextAnalyzerBuilder, Tokenizer  # noqa: PLC0415 - it is in an extra
    except ImportError as error:
        raise UsageError(f"searches need {error.name}: {to_install('merge')}") from None
    built = TextAnalyzerBuilder(Tokenizer.regex(_TOKEN)).filter(Filter.lowercase()).filter(Filter.ascii_fold())
    return built.filter(Filter.remove_long(_TOKEN_BYTES)).build()


def _index(here: Path) -> tantivy.Index:
    """Open the index in a directory, or make it. ValueError if it is damaged, or has other fields."""
    from tantivy import Index, SchemaBuilder  # noqa: PLC0415

    fields = SchemaBuilder()
    for name in ("part", "origin"):
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("url", "key", "time"):
        fields.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("title", "text"):
        fields.add_text_field(name, stored=True, tokenizer_name=_TOKENIZER)
    index = Index(fields.build(), path=str(here))
    index.register_tokenizer(_TOKENIZER, _analyzer())
    return index


def opened(root: Path) -> tantivy.Index | None:
    """Open the index of a dataset for searches; None if there is none. UsageError if it is damaged."""
    while True:
        meta = _meta(root)
        if meta is None:
            return None
        try:
            with _links(root) as here, _in_one_line(root):
                return _index(here)
        except (FileNotFoundError, UsageError) as error:
            if _meta(root) == meta:  # else a merge has replaced it, and removed files
                raise error if isinstance(error, UsageError) else _damaged(root, "a file of it is missing") from error
        except OSError as error:
            raise tree_error(error, error.filename or root) from error


@contextlib.contextmanager
def _links(root: Path) -> Iterator[Path]:
    """Give a directory of this computer with `meta.json`, and links to the files that it names, which are open."""
    with tempfile.TemporaryDirectory(prefix="fscrawl-search-") as name, contextlib.ExitStack() as stack:
        here = Path(name, "index")
        here.mkdir()
        # a thread of tantivy may make a lock file at any moment: not any more, where there is no such directory
        stack.callback(here.rename, here.with_name("gone"))
        if (meta := _meta(root)) is not None:
            (here / "meta.json").write_bytes(meta)
        for file in _files(root):
            (here / Path(file).name).symlink_to(stack.enter_context(DatasetDir(root).reading(file)))
        yield here


def _meta(root: Path) -> bytes | None:
    try:
        return DatasetDir(root).read(_META)
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, UnfitFileError) and error.errno != errno.EACCES:
            raise _damaged(root, f"{root / _META}: {error.strerror}") from error
        raise tree_error(error, error.filename or root / _META) from error


def _files(root: Path) -> Iterator[str]:
    """Yield the files of the segments that `meta.json` names."""
    segments = _segments(_meta(root) or b"")
    for name, kind in DatasetDir(root).listed(FOLDER).items():
        if kind == "file" and (found := _OF_SEGMENT.fullmatch(name)) and found[1] in segments:
            yield f"{FOLDER}/{name}"


def _segments(meta: bytes) -> set[str]:
    """Return the names of the segments; none if that cannot be read, which tantivy will say."""
    try:
        return {each["segment_id"].replace("-", "") for each in json.loads(meta)["segments"]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def _known(root: Path) -> set[str] | None:
    """Return the digests of the parts that are in the index; None if it must be made anew."""
    try:
        index = opened(root)
        with _in_one_line(root):
            return None if index is None else parts_in(index.searcher())
    except UsageError:
        return None


def parts_in(searcher: tantivy.Searcher) -> set[str]:
    return {digest for digest, _ in searcher.terms_with_prefix("part", "")}


def _batches(parts: Sequence[Part]) -> list[list[Part]]:
    """Cut parts into batches.

    >>> [len(batch) for batch in _batches([Part("", rows, 0, "") for rows in (60_000, 60_000, 10, 200_000)])]
    [2, 2]
    """
    batches: list[list[Part]] = []
    for part in parts:
        if not batches or sum(each.rows for each in batches[-1]) >= _BATCH_ROWS:
            batches.append([])
        batches[-1].append(part)
    return batches


def _add(directory: DatasetDir, parts: Sequence[Part], line: ProgressLine) -> None:
    """Add parts to the index. If this is killed, the index is as it was."""
    with _links(directory.root) as here:
        with _in_one_line(directory.root, here), _index(here).writer(_HEAP_BYTES, 1) as writer:  # it commits, and waits
            for part in parts:
                _write(writer, directory, part, line)
        meta = (here / "meta.json").read_bytes()
        segments = _segments(meta)
        new = []
        for path in here.iterdir():
            if not path.is_symlink() and (found := _OF_SEGMENT.fullmatch(path.name)) and found[1] in segments:
                new.append(f"{FOLDER}/{path.name}")
                with directory.publish(new[-1]) as temporary:
                    shutil.copyfile(path, temporary)
    directory.sync(new)  # after a power loss, `meta.json` must not name what is not there
    directory.write(_META, meta.decode())


def _write(writer: tantivy.IndexWriter, directory: DatasetDir, part: Part, line: ProgressLine) -> None:
    from tantivy import Document  # noqa: PLC0415

    writer.add_document(Document(part=part.sha256))  # it may have no page that is found
    for row in _rows(directory, part.path):
        title, text = row["title"] or "", row.get("text") or ""
        line.advance()
        if row.get("fetch_redirect") is None and (title or text):
            page = {name: unicodedata.normalize("NFC", each) for name, each in (("title", title), ("text", text))}
            page |= {"part": part.sha256, "url": row["url"], "key": row["key"], "origin": urls.origin(row["url"])}
            writer.add_document(Document(**page, time=rfc3339(row["fetch_time"])))


def _rows(directory: DatasetDir, name: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        with directory.reading(name) as path, pq.ParquetFile(path) as file:
            columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
            for rows in file.iter_batches(batch_size=_ROWS, columns=columns):
                yield from rows.to_pylist()
    except (OSError, ValueError) as error:
        raise unreadable(directory.path(name), error) from error


@contextlib.contextmanager
def _in_one_line(root: Path, here: Path | None = None) -> Iterator[None]:
    """Say in one line what tantivy cannot do. `here`: where it writes; it reads only, if that is None.

    It raises a ValueError; where damage surprises it, a panic, which is no Exception, and has no public name.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, FscrawlError) or not (
            isinstance(error, ValueError) or type(error).__name__ == "PanicException"
        ):
            raise
        why = " ".join(str(error).split())[:300]
        if here is None:
            raise _damaged(root, why) from error
        raise TreeError(f"{here}: the index cannot be made here: {why}; TMPDIR names another directory") from error


def _damaged(root: Path, why: str) -> UsageError:
    return UsageError(f"{root / FOLDER}: the index is damaged ({why}); to make it again:  {to_make(root)}")
