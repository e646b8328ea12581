"""`crawl`: one machine, run from a script, a notebook or a thread.

The machine runs in a process of its own (`child`). So it works wherever Python runs: without a main guard, under a
running event loop, in any thread. The caller's signal handlers, umask and modules stay as they are.

Promise: the process ends with the call, and with the process that made it, however that ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from fscrawl import errors
from fscrawl.api.bar import Bar
from fscrawl.api.messages import assignments, in_python
from fscrawl.api.result import CrawlResult
from fscrawl.errors import FscrawlError, UsageError

Seeds = str | os.PathLike[str] | Iterable[str]
_CHUNK_BYTES = 1 << 16
_LAST_LINES = 20  # of what the process prints


def crawl(
    root: str | os.PathLike[str],
    seeds: Seeds = (),
    *,
    workers: int = 4,
    threads: int = 8,
    site: str | os.PathLike[str] | None = None,
    refresh: str | None = None,
    reseed: bool = False,
    allow_env: Iterable[str] = (),
    progress: bool = True,
    **settings: Mapping[str, Any],
) -> CrawlResult:
    """Start a crawl, or continue or join the one in a tree, with one machine; return when it is over.

    root        the directory of the tree; it is made if it is missing
    seeds       URLs to begin with; or the path (`pathlib.Path`) of a file of them. None are needed to go on
    workers     number of worker processes
    threads     fetches at the same time in each of them
    site        a site file, as `fscrawl crawl --site` takes it
    refresh     check again pages older than this: "7d", "12h"; "0s": all pages
    reseed      rebuild the to-do list from every record of the tree
    allow_env   environment variables that settings may name, besides FSCRAWL_…
    progress    show a progress line and warnings on standard error
    settings    of a new tree, by section: `politeness={"delay": 0.5}, crawl={"max_depth": 3}`

    FscrawlError with one sentence if an argument is wrong, or the tree cannot be used. KeyboardInterrupt, at the first
    Ctrl-C after the pages in flight are stored, at the second one at once; the same call goes on later.
    """
    task = {
        "root": _path("root", root),
        **_seeds(seeds),
        "workers": _count("workers", workers),
        "threads": _count("threads", threads),
        "set": assignments(settings),
        "site": None if site is None else _path("site", site),
        "refresh": refresh,
        "reseed": bool(reseed),
        "follow": False,
        "allow_env": list(allow_env),
    }
    with Bar(sys.stderr, silent=not progress) as bar, _Process(task) as process:
        return _result(Path(task["root"]), process, bar)


def _path(name: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{name}={value!r}: must be a path") from None


def _count(name: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name}={value!r}: must be a whole number, 1 or more, for example 8")
    return value


def _seeds(seeds: Seeds) -> dict[str, Any]:
    if isinstance(seeds, os.PathLike):
        return {"seed": [], "seeds": _path("seeds", seeds)}
    given = [seeds] if isinstance(seeds, str) else list(seeds) if isinstance(seeds, Iterable) else [None]
    if not all(isinstance(each, str) for each in given):
        raise UsageError(f"seeds={seeds!r}: must be URLs, or a pathlib.Path of a file of URLs")
    return {"seed": given, "seeds": None}


def _result(root: Path, process: _Process, bar: Bar) -> CrawlResult:
    """Show what the process tells until it tells its end."""
    warnings = []
    for message in process.messages():
        event = message.pop("event")
        if event == "progress":
            bar.show(message)
        elif event == "warning":
            warnings.append(message["message"])
            bar.print_line(message["message"])
        elif event == "error":
            kind = getattr(errors, message["kind"], FscrawlError)
            raise (kind if kind is not errors.PlantedError else errors.TreeError)(in_python(message["message"]))
        elif event == "result":
            return CrawlResult(root=root, warnings=tuple(warnings), **message)
    raise FscrawlError(process.died())


class _Process:
    """The process of one call. It is gone when the `with` block is left."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task = task
        self._process: subprocess.Popen[bytes]
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._listener: threading.Thread

    def __enter__(self) -> Self:
        if not sys.executable:
            raise FscrawlError("this Python does not know its own program (sys.executable), so it can start no crawl")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fscrawl.api.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            process_group=0,  # Ctrl-C of a terminal, and a notebook's interrupt, come to this process alone
        )
        self._listener = threading.Thread(target=self._listen, args=[self._process.stderr], daemon=True)
        self._listener.start()
        with contextlib.suppress(OSError):  # it has died; `messages` will find that
            _pipe(self._process.stdin).write(json.dumps(self._task).encode() + b"\n")
            _pipe(self._process.stdin).flush()
        return self

    def _listen(self, errors: IO[bytes]) -> None:
        for line in errors:
            self._said.append(line.decode(errors="replace").rstrip())

    def messages(self) -> Iterator[dict[str, Any]]:
        """Give what it tells until it ends. After KeyboardInterrupt, wait for its end, and raise it again."""
        try:
            yield from self._messages()
        except KeyboardInterrupt:
            self._stop()
            raise

    def _messages(self) -> Iterator[dict[str, Any]]:
        descriptor, rest = _pipe(self._process.stdout).fileno(), b""
        while data := os.read(descriptor, _CHUNK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def _stop(self) -> None:
        """Ask it to stop, and wait for the pages in flight; at a second Ctrl-C it stops at once."""
        try:
            self._process.send_signal(signal.SIGINT)
            for _ in self._messages():
                pass
        except KeyboardInterrupt:
            self._process.send_signal(signal.SIGINT)
            raise

    def died(self) -> str:
        """Say that it has ended without a word, and what it printed."""
        code = self._process.wait()
        self._listener.join(1.0)
        said = "\n".join(self._said)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the process of the crawl {how}; what is stored is kept" + (f":\n{said}" if said else "")

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()  # now it stops, if it has not
        try:
            self._process.wait()
        except KeyboardInterrupt:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._listener.join(1.0)
            _pipe(self._process.stdout).close()
            if not self._listener.is_alive():  # else another process has the pipe, and the thread still reads
                _pipe(self._process.stderr).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _environment() -> dict[str, str]:
    """Give the environment, in which the process also finds this copy of fscrawl."""
    above = str(Path(__file__).resolve().parents[2])
    before = os.environ.get("PYTHONPATH", "")
    if Path(above).name in ("site-packages", "dist-packages") or above in before.split(os.pathsep):
        return dict(os.environ)  # Python looks there by itself; before its own library, it would take others' modules
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [above, before]))}
