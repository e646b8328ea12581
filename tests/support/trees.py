"""Trees for the tests of `fscrawl merge`, made through `fscrawl.store` without a crawl; and datasets, read back.

    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/", b"<title>A</title><a href=b>b</a>")
    tree.redirect("http://a.example/old", "http://a.example/")
    made = tree.merge(tmp_path / "out", formats=("parquet", "warc"))
    assert made.keys() == tree.keys()

A page's record says what a crawl would say of its body (`fscrawl.parse.links.extract`), unless a test says otherwise.
`merge` works in this process; `command` gives the words for one of its own.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fscrawl import merge, store, urls
from fscrawl.config import settings
from fscrawl.dataset import search
from fscrawl.dataset.crew import Crew
from fscrawl.dataset.job import report_to
from fscrawl.dataset.writer import is_writer
from fscrawl.parse import links
from fscrawl.storage.layout import PICTURE
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RenderRecord, TreeRecord, timestamp
from fscrawl.store import Tree
from fscrawl.util.progress import ProgressLine

MACHINE = "m-1-aa"
BEGAN_S = 1_790_000_000.0  # when the first page of a tree was fetched; each further one a second later
HTML = {"content-type": "text/html"}
ALL = ("parquet", "warc", "jsonl", "csv")


class Grown:
    """A tree that grows by whole pages, as of a machine that was here once."""

    def __init__(self, root: Path, *, crawl: str = "c1", layout: str = "files") -> None:
        self.root = root
        record = TreeRecord(FORMAT, crawl, "t", 512, "host", "0" * 32, layout)
        store.create(root, record, "[crawl]\n", "http://a.example/\n")
        self.tree = Tree(root, MACHINE)
        self.records: dict[str, PageRecord] = {}
        self.bodies: dict[str, bytes] = {}
        self.failures: dict[str, ErrorRecord] = {}

    def sites(self, tables: str) -> None:
        """Write a `crawl.toml` with these [[site]] tables."""
        (self.root / "crawl.toml").write_text(settings.render(settings.Settings()) + tables)

    # -- pages

    def page(self, url: str, body: bytes | None = None, **fields: Any) -> PageRecord:
        """Store a page; `fields` are the record's, where they are to be other than what the body says."""
        body = f"<p>text of {url}".encode() if body is None else body
        headers = fields.get("headers", HTML)
        read = links.extract(body, url, urls.Joiner(), content_type=headers.get("content-type"))
        said = {
            "encoding": read.encoding,
            "title": read.title,
            "links": read.links,
            "nofollow": read.nofollow or None,
            "canonical": read.canonical,
            "robots": read.robots or None,
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        return self._put(url, body, {**said, **fields})

    def rendered(self, url: str, body: bytes, dom: bytes, picture: bytes = b"", **fields: Any) -> PageRecord:
        """Store a page whose scripts were run."""
        how = RenderRecord("host", "done", 0.5, len(dom), hashlib.sha256(dom).hexdigest(), screenshot=len(picture))
        record, host = self.page(url, body, rendered=how, **fields), urls.host(url)
        beside = {self.tree.dom_path(host, record.key): dom}
        if picture:
            beside[self.tree.body_path(host, record.key, PICTURE)] = picture
        self.tree.put_page(host, record, body, beside)
        return record

    def redirect(self, url: str, target: str, status: int = 301, **fields: Any) -> PageRecord:
        return self._put(url, None, {"status": status, "redirect": target, "links": (target,), **fields})

    def skipped(self, url: str, why: str = "type application/pdf", **fields: Any) -> PageRecord:
        return self._put(url, None, {"skipped": why, "headers": {"content-type": "application/pdf"}, **fields})

    def _put(self, url: str, body: bytes | None, fields: dict[str, Any]) -> PageRecord:
        plain = {
            "url": url,
            "key": urls.key(url),
            "depth": 1,
            "referrer": "",
            "fetched_at": timestamp(BEGAN_S + len(self.records)),
            "machine": MACHINE,
            "status": 200,
            "headers": HTML,
            "bytes": 0,
            "sha256": "",
            "elapsed": 0.25,
            "links": (),
        }
        record = PageRecord(**{**plain, **fields})
        self.tree.put_page(urls.host(url), record, body)
        self.records[url] = record
        if body is not None:
            self.bodies[url] = body
        return record

    def fail(self, url: str, class_: str = "http-4xx", status: int | None = 404, **fields: Any) -> None:
        """Store a failure."""
        record = ErrorRecord(
            url=url,
            key=urls.key(url),
            depth=2,
            referrer="",
            failed_at=timestamp(BEGAN_S),
            machine=MACHINE,
            class_=class_,
            message="it failed",
            attempts=3,
            status=status,
        )
        self.failures[url] = msgspec.structs.replace(record, **fields)
        self.tree.put_error(urls.host(url), self.failures[url])

    def heal(self, url: str, body: bytes = b"<p>at last") -> None:
        """Store what had failed."""
        del self.failures[url]
        self.page(url, body)
        self.tree.drop_error(urls.host(url), urls.key(url))

    def many(self, hosts: int, pages: int, words: int = 12) -> None:
        """Store `pages` small pages on each of `hosts` hosts, with links in a row, all texts far from each other."""
        for host in range(hosts):
            for number in range(pages):
                url = f"http://h{host}.example/{number}"
                text = " ".join(_word(host, number, place) for place in range(words))
                body = f"<title>{number}</title><p>{text}<p><a href={number + 1}>next</a>".encode()
                self.page(url, body)

    # -- what is there

    def keys(self, *left_out: str) -> set[str]:
        """Give the keys of all pages but those of some URLs."""
        return {record.key for url, record in self.records.items() if url not in left_out}

    def file(self, directory: str, url: str) -> Path:
        return Path(self.tree.path_of(directory, urls.host(url), urls.key(url)))

    def rewrite(self, url: str, old: bytes, new: bytes, directory: str = "links") -> None:
        """Change a file as somebody else would."""
        path = self.file(directory, url)
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new))

    # -- merging

    def merge(self, out: Path, *, rebuild: bool = False, index: bool = False, **given: Any) -> Made:
        """Merge in this process; `given`: of Options."""
        said: list[str] = []
        with inline():
            merge.merge(self.root, out, given, said.append, rebuild=rebuild, index=index)
        return Made(out, said)

    def command(self, out: Path, *flags: str, processes: int = 2) -> list[str]:
        words = [sys.executable, "-m", "fscrawl", "merge", "--root", str(self.root), "--out", str(out)]
        return [*words, "--processes", str(processes), *flags]


def _word(*place: int) -> str:
    return hashlib.sha224(repr(place).encode()).hexdigest()[:7]


class Inline(Executor):
    """Does each job at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - for whoever asks for the result
            future.set_exception(error)
        return future


@contextlib.contextmanager
def inline() -> Iterator[None]:
    """Have merges do their work in this process: a tenth of the time, and it can be patched."""

    @contextlib.contextmanager
    def crew(_job: object, _processes: object, _scheduler: object, line: ProgressLine) -> Iterator[Crew]:
        done: list[int] = []
        report_to(done.append)
        try:
            yield Crew(Inline(), 1, line, lambda: sum(done))
        finally:
            report_to()

    with mock.patch.object(merge, "open_crew", crew):
        yield


# -- datasets


class Made:
    """A dataset, read back; `said`: what the merge said on the way."""

    def __init__(self, out: Path, said: Sequence[str] = ()) -> None:
        self.out = out
        self.said = list(said)

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.out.glob(pattern))

    def table(self, name: str = "pages") -> pa.Table:
        parts = [pq.ParquetFile(path).read() for path in self.files(f"{name}/*.parquet")]
        return pa.concat_tables(parts)

    def rows(self, name: str = "pages") -> list[dict[str, Any]]:
        """Give a table's rows, in order; none if there is no part."""
        return self.table(name).to_pylist() if self.files(f"{name}/*.parquet") else []

    def by_url(self) -> dict[str, dict[str, Any]]:
        rows = self.rows()
        found = {row["url"]: row for row in rows}
        assert len(found) == len(rows), "a page came twice"
        return found

    def keys(self) -> set[str]:
        """Give the keys of the pages, each of which is there once."""
        counted = Counter(row["key"] for row in self.rows())
        assert set(counted.values()) <= {1}, "a page came twice"
        return set(counted)

    def json_lines(self, name: str = "pages") -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in self.files(f"jsonl/{name}/*.jsonl.gz")
            for line in gzip.decompress(path.read_bytes()).decode().split("\n")
            if line
        ]


def contents(directory: Path) -> dict[str, str]:
    """Give the SHA-256 of every file below a directory, empty directories as "".

    Of a dataset, the file is left out whose name counts merges.
    """
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if is_writer(path.name):
            continue
        if path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not any(path.iterdir()):
            found[name] = ""
    return found


def stamps(directory: Path) -> dict[str, tuple[int, int]]:
    """Give inode and time of change of the same files as `contents`."""
    paths = (path for path in sorted(directory.rglob("*")) if path.is_file() and not is_writer(path.name))
    files = ((path, path.stat()) for path in paths)
    return {str(path.relative_to(directory)): (at.st_ino, at.st_mtime_ns) for path, at in files}


def lasting(out: Path) -> dict[str, str]:
    """Give the contents of a dataset but for its index of searches, whose files have random names."""
    return {name: digest for name, digest in contents(out).items() if not name.startswith("search/")}


def check(made: Made) -> None:
    """Assert that the manifest tells the truth, and that nothing is there that it does not name."""
    named = {each["path"]: each for each in made.manifest["files"]}
    there = {name for name in contents(made.out) if not name.startswith((".merge/", "search/"))}
    if (made.out / "search").exists():
        index = search.opened(made.out)
        assert index is not None
        pages = {each["sha256"] for path, each in named.items() if path.startswith("pages/")}
        assert search.parts_in(index.searcher()) == pages
        listed = json.loads((made.out / "search/meta.json").read_text())["segments"]
        there_are = {path.stem for path in (made.out / "search").iterdir()}
        assert there_are == {"meta", *(each["segment_id"].replace("-", "") for each in listed)}
    assert there == {"manifest.json", "README.md", *named}
    for name, facts in named.items():
        data = (made.out / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (facts["bytes"], facts["sha256"]), name
    runs = len(made.manifest["runs"])
    state = {"lock", "options.json", *(f"seen-{run:04}.parquet" for run in range(1, runs + 1))}
    names = [path.name for path in (made.out / ".merge").iterdir()]
    assert {name for name in names if not is_writer(name)} == state
    assert len(names) == len(state) + 1


def one_page(root: Path, url: str) -> Grown:
    """Give a tree of one page, with no work left and no machine."""
    grown = Grown(root)
    (root / settings.FILE).write_text(settings.render(settings.Settings()))
    grown.page(url, b"<title>A</title>")
    return grown
