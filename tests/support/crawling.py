"""Whole crawls for the integration tests, and the tree that they leave, read back.

    done = crawl(tmp_path / "tree", seeds=[web.url("127.0.1.1")])
    assert done.code == 0, done
    assert set(pages(tmp_path / "tree")) == {...}
    check_tree(tmp_path / "tree")

`crawl` and `fscrawl` run a command in the process of the test, a crawl with `--workers 0`: that costs some hundredths
of a second. What is about processes, signals, pipes or the environment says how many `workers` it wants, or asks for a
`Running`. Such a crawl is crawl.py as a subprocess with a deadline. It gets a session of its own, so that all its
processes can be killed together, and none outlives its test.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from unittest import mock

from fscrawl import cli, urls
from fscrawl.storage.layout import PAGE_DIRECTORIES
from fscrawl.storage.packed_files import PackedFiles
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RobotsRecord, TreeRecord

CHECKOUT = Path(__file__).resolve().parents[2]
CRAWL = CHECKOUT / "crawl.py"
USER_AGENT = "fscrawl-tests/1 (+mailto:tests@example.org)"
SETTINGS = {
    "politeness.delay": "0",
    "politeness.user_agent": USER_AGENT,
    "politeness.give_up_after": "2",
    "fetch.allow_addresses": '["127.0.0.0/8"]',
    "crawl.scope": "any",
}
_PROGRESS = re.compile(r"[a-z][^:]*: [\d,]+ of [\d,]+ [a-z]+, .*")
DEADLINE_S = 40.0  # of one crawl; all of them end within a few seconds


@dataclass(frozen=True, slots=True)
class Done:
    """A process that has ended."""

    code: int
    out: str
    err: str
    elapsed_s: float

    @property
    def warnings(self) -> list[str]:
        """Standard error without the lines that say how far a command is, of which a slow computer gets some."""
        return [line for line in self.err.splitlines() if not _PROGRESS.fullmatch(line)]


def command(
    root: Path,
    *flags: str,
    seeds: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    workers: int = 2,
    threads: int = 4,
    program: Path = CRAWL,
) -> list[str]:
    """Give the command line of a crawl; `settings` (over SETTINGS) are given while the tree is not there yet.

    `program`: takes the arguments of crawl.py.
    """
    words = [sys.executable, str(program), "--root", str(root)]
    words += ["--workers", str(workers), "--threads", str(threads), *flags]
    for seed in seeds:
        words += ["--seed", seed]
    if not _is_tree(root):
        for name, value in {**SETTINGS, **(settings or {})}.items():
            words += ["--set", f"{name}={value}"]
    return words


def _is_tree(root: Path) -> bool:
    with contextlib.suppress(OSError):  # a fault that a test has injected may be for this call
        return (root / ".fscrawl" / "tree.json").exists() or (root / "crawl.toml").exists()
    return False


def unmeasured() -> dict[str, str]:
    """Give an environment in which coverage is not measured: it makes a parser three times as slow."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


class Running:
    """A process under way, in a session of its own; leaving the `with` kills what is left of it."""

    def __init__(self, words: Sequence[str], **popen: Any) -> None:
        self.began = time.monotonic()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(words, start_new_session=True, **{**pipes, **popen})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the crawl's first process, or to all of them as a terminal does."""
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def kill(self) -> None:
        """End all processes of the crawl at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def workers(self) -> list[int]:
        """Give the process ids of the workers: the children of the fork server, the only child that has some."""
        return [pid for child in children_of(self.process.pid) for pid in children_of(child)]

    def until(self, holds: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
        """Wait until `holds()` is true; the test fails past the deadline, or when the crawl has ended before."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            if self.process.poll() is not None:
                raise AssertionError(f"over before this: {what}\n{self.wait()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout_s} s: {what}")
            time.sleep(0.005)

    def wait(self, timeout_s: float = DEADLINE_S) -> Done:
        """Wait for the end; past the deadline everything is killed and the test fails."""
        try:
            out, err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"not over after {timeout_s} s\n{_text(out)}\n{_text(err)}") from None
        return Done(self.process.returncode, _text(out), _text(err), time.monotonic() - self.began)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def children_of(pid: int) -> list[int]:
    """Give the processes that a process has started and that have not ended."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in tasks.read_text().split()]
    return found


def crawl(root: Path, *flags: str, workers: int = 0, timeout_s: float = DEADLINE_S, **options: Any) -> Done:
    """Run a crawl to its end; options as of `command`, and those of Popen `env` and `preexec_fn`.

    Without workers and options of Popen it runs in this process, and `timeout_s` counts for nothing.
    """
    popen = {name: options.pop(name) for name in ("env", "preexec_fn") if name in options}
    if workers == 0 and not popen and "program" not in options:
        return fscrawl("crawl", *command(root, *flags, workers=0, **options)[2:])
    with Running(command(root, *flags, workers=workers or 2, **options), **popen) as running:
        return running.wait(timeout_s)


def fscrawl(*words: str | Path) -> Done:
    """Run a command of fscrawl in this process to its end."""
    out, err = io.StringIO(), io.StringIO()
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ))  # of a command; the next one may be a process
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        if words[0] == "merge":
            from tests.support.trees import inline  # it loads Arrow, which most crawls do without

            stack.enter_context(inline())
        try:
            code = cli.main(list(map(str, words)))
        except SystemExit as end:  # of argparse
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue(), time.monotonic() - began)


def run(words: Sequence[str], timeout_s: float = DEADLINE_S) -> Done:
    """Run crawl.py with these words to its end, as a subprocess."""
    with Running([sys.executable, str(CRAWL), *words]) as running:
        return running.wait(timeout_s)


# -- the tree


def pages(root: Path) -> dict[str, PageRecord]:
    """Read every record, by URL."""
    records = [PageRecord.from_json(data) for _, data in _contents(root, "links")]
    return {record.url: record for record in records}


def errors(root: Path) -> dict[str, ErrorRecord]:
    """Read every error record, by URL."""
    records = [ErrorRecord.from_json(data) for _, data in _contents(root, "errs")]
    return {record.url: record for record in records}


def leases(root: Path) -> dict[str, str]:
    """Read every lease, by its name."""
    return {path.name: data.decode() for path, data in _contents(root, ".fscrawl/leases")}


def _file(record: Path, extension: str) -> Path:
    return ("files" / record).with_suffix(f".{extension}")


def document(root: Path, url: str) -> bytes:
    """Read the body of a page that is not HTML."""
    [data] = [data for path, data in _contents(root, f"files/{urls.host(url)}") if path.stem == urls.key(url)]
    return data


def body(root: Path, url: str) -> bytes:
    """Read a page's body."""
    return view(root)(root / "htmls" / urls.host(url) / f"{urls.key(url)}.html")


def _contents(root: Path, directory: str) -> Iterator[tuple[Path, bytes]]:
    """Read the files of a directory. A crawl may be at work: what it has removed since the listing is left out."""
    read = view(root)
    for path in files(root, directory):
        with contextlib.suppress(FileNotFoundError):
            yield path, read(path)


def files(root: Path, directory: str) -> Iterator[Path]:
    """List the files below a directory, also those of pages that are in packs."""
    first, _, host = directory.partition("/")
    packed = _packed(root) if first in PAGE_DIRECTORIES else None
    if packed is not None:
        hosts = [host] if host else packed.names(first)
        return iter(sorted(root / first / each / name for each in hosts for name in packed.names(f"{first}/{each}")))
    return (path for path in sorted((root / directory).rglob("*")) if path.is_file() and not path.name.startswith("."))


def view(root: Path) -> Callable[[Path], bytes]:
    """Give what reads a file by its path; FileNotFoundError if it is not there."""
    packed = _packed(root)
    if packed is None:
        return Path.read_bytes

    def read(path: Path) -> bytes:
        data = packed.read(str(path.relative_to(root)))
        if data is None:
            raise FileNotFoundError(path)
        return data

    return read


def _packed(root: Path) -> PackedFiles | None:
    """Show the pages of packs as files; None if there are no packs."""
    if not any(any((root / directory).glob("*+*")) for directory in ("links", "errs")):
        return None
    return PackedFiles(root, "tests", TreeRecord(FORMAT, "", "", 1, "host", "0" * 32, layout="packs"))


def check_tree(root: Path, *, whole: bool = True) -> None:
    """Assert that all that has its final name is whole, where it belongs, and that nothing else is there.

    `whole` False is for a tree whose machine has been killed: temporaries and bodies without a record may be there.
    """
    TreeRecord.from_json((root / ".fscrawl" / "tree.json").read_bytes())
    bodies = {path.relative_to(root) for directory in ("htmls", "files") for path in files(root, directory)}
    stored, read = set(files(root, "links")), view(root)
    for path in sorted(stored):
        record = PageRecord.from_json(read(path))
        assert path.relative_to(root / "links") == Path(urls.host(record.url), f"{urls.key(record.url)}.json"), path
        name = path.relative_to(root / "links")
        if record.sha256:
            name = ("htmls" / name).with_suffix(".html") if record.file is None else _file(name, record.file)
            data = read(root / name)
            assert (len(data), hashlib.sha256(data).hexdigest()) == (record.bytes, record.sha256), record.url
            bodies.remove(name)
            if record.rendered is not None and record.rendered.sha256:
                dom = (root / name).with_suffix(".dom.html")
                assert hashlib.sha256(read(dom)).hexdigest() == record.rendered.sha256, record.url
                bodies -= {dom.relative_to(root), _file(path.relative_to(root / "links"), "png")}
        else:
            assert record.bytes == 0, record.url
            assert record.redirect or record.skipped, record.url
    for path in files(root, "errs"):
        failed = ErrorRecord.from_json(read(path))
        assert path.relative_to(root / "errs") == Path(urls.host(failed.url), f"{failed.key}.json"), path
        assert root / "links" / path.relative_to(root / "errs") not in stored, f"stored and failed: {failed.url}"
    for path in files(root, ".fscrawl/robots"):
        RobotsRecord.from_json(path.read_bytes())
    if whole:
        assert not bodies, f"bodies without a record: {bodies}"
        left = [path for path in temporaries(root) if path.parent.name != "snap"]  # the end waits for no snapshot
        assert left == [], left


def temporaries(root: Path) -> list[Path]:
    return sorted(root.rglob("*.tmp"))


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def events(text: str) -> list[dict[str, Any]]:
    """Read JSON lines; every line must be an object."""
    found = [json.loads(line) for line in lines_of(text)]
    assert all(isinstance(each, dict) for each in found)
    return found
