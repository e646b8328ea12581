"""`crawl`: one machine, run from a script, a notebook or a thread.

The machine runs in a process of its own (`child`). So it works wherever Python runs: without a main guard, under a
running event loop, in any thread. The caller's signal handlers, umask and modules stay as they are.

The two send each other JSON, one object a line:

    the task, on standard input     the arguments of `fscrawl crawl`
    on standard output              {"event": "progress" | "warning" | "result" | "error", …}

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
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from fscrawl.api.paths import path_of
from fscrawl.errors import FscrawlError, UsageError, as_our_error
from fscrawl.util.humanize import number_of
from fscrawl.util.terminal import plain
from fscrawl.util.user_text import to_toml

if TYPE_CHECKING:
    from tqdm.auto import tqdm

Seeds = str | os.PathLike[str] | Iterable[str]
_LAST_LINES = 20  # of what the process prints
_VALUES = (str, bool, int, float)
_PROGRAM = (  # who has asked for the crawl is looked up, and signals are caught, before modules are loaded
    "import os; caller = os.getppid(); from fscrawl import interrupts; interrupts.catch();"
    " from fscrawl.api.child import main; raise SystemExit(main(caller))"
)


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What one run of one machine did, and why it ended.

    root        the tree
    reason      "finished": nothing is left to fetch; "stopped": by `fscrawl stop`; "max_pages": `crawl.max_pages` is
                reached; "interrupted": somebody has sent the process a signal
    pages       stored by this run, and so `redirects`, `others` (of other types, without a body); `unchanged` are pages
                that were checked again and stay as they are
    bytes       of the stored bodies
    errors      failures recorded by this run, by class
    kept        of the unchanged pages, those that could not be fetched anew, by the class of the failure
    left_out    links of pages that this run read and that belong to no page of the crawl, by the setting against them
    seconds     that it took
    pending     URLs that this machine knows, and that are neither done nor a failure
    fault       the mistake in the site file because of which seeds are missing; "" without one
    warnings    what was printed while it ran
    """

    root: Path
    reason: Literal["finished", "stopped", "max_pages", "interrupted"]
    pages: int
    redirects: int
    others: int
    unchanged: int
    bytes: int
    errors: dict[str, int]
    kept: dict[str, int]
    left_out: dict[str, int]
    seconds: float
    pending: int
    fault: str = ""
    warnings: tuple[str, ...] = ()


def crawl(
    root: str | os.PathLike[str],
    seeds: Seeds = (),
    *,
    workers: int = 4,
    threads: int = 16,
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
    workers     number of worker processes; 0: one worker, in the process of the crawl
    threads     fetches at the same time in each of them, at most 1,000
    site        a site file, as `fscrawl crawl --site` takes it
    refresh     check again pages older than this: "7d", "12h"; "0s": all pages
    reseed      rebuild the queue from all records of the tree
    allow_env   environment variables that settings may name, besides FSCRAWL_…
    progress    show a progress line and warnings on standard error
    settings    of a new tree, by section: `politeness={"delay": 0.5}, crawl={"max_depth": 3}`

    FscrawlError with one sentence if an argument is wrong, or the tree cannot be used. KeyboardInterrupt, at the first
    Ctrl-C after the pages in flight are stored, at the second one at once; the same call goes on later.
    """
    task = {
        "root": path_of("root", root, "directory"),
        **_seeds(seeds),
        "workers": _count("workers", workers, 0),
        "threads": _count("threads", threads, 1),
        "set": _assignments(settings),
        "site": None if site is None else path_of("site", site, "file"),
        "refresh": _age(refresh),
        "reseed": bool(reseed),
        "wait": False,
        "allow_env": _names(allow_env),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without ipywidgets gets a line of text
        from tqdm.auto import tqdm  # noqa: PLC0415 - only this call needs it

    with tqdm(disable=not progress or sys.stderr is None, unit=" pages") as bar, _Process(task) as process:
        return _result(Path(task["root"]), process, bar)


def _assignments(settings: Mapping[str, Any]) -> list[str]:
    """Give settings as the values of `--set`. `settings`: section → name → value. UsageError if it is not of this form.

    >>> _assignments({"politeness": {"delay": 0.5}, "crawl": {"scope": "any"}})
    ['politeness.delay=0.5', 'crawl.scope="any"']
    """
    found = []
    for section, group in settings.items():
        if not isinstance(group, Mapping):
            raise UsageError(f'{section}={group!r}: must be settings of a section, like politeness={{"delay": 0.5}}')
        found += [f"{section}.{name}={_toml(f'{section}.{name}', value)}" for name, value in group.items()]
    return found


def _toml(name: str, value: Any) -> str:
    return to_toml(_plain(name, value))


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(name, each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(name, each) for each in value]
    if not isinstance(value, _VALUES):
        raise UsageError(f"{name} = {value!r}: must be a text, a number, True or False, or a list or dict of these")
    return value


def _count(name: str, value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise UsageError(f"{name}={value!r}: must be a whole number, {least} or more, for example 8")
    return value


def _age(refresh: Any) -> str | None:
    if refresh is None or isinstance(refresh, str):
        return refresh
    raise UsageError(f'refresh={refresh!r}: must be an age, like "7d", "12h" or "30m"; "0s" means every page')


def _names(allow_env: Any) -> list[str]:
    given = [allow_env] if isinstance(allow_env, str) or not isinstance(allow_env, Iterable) else list(allow_env)
    if not all(isinstance(each, str) for each in given):
        raise UsageError(f'allow_env={allow_env!r}: must be the names of environment variables, like ["API_TOKEN"]')
    return given


def _seeds(seeds: Seeds) -> dict[str, Any]:
    if isinstance(seeds, os.PathLike):
        return {"seed": [], "seeds": path_of("seeds", seeds, "file")}
    given = [seeds] if isinstance(seeds, str) else list(seeds) if isinstance(seeds, Iterable) else [None]
    if not all(isinstance(each, str) for each in given):
        raise UsageError(f"seeds={seeds!r}: must be URLs, or a pathlib.Path of a file of URLs")
    return {"seed": given, "seeds": None}


def _result(root: Path, process: _Process, bar: tqdm[Any]) -> CrawlResult:
    """Show what the process reports until its end. A first KeyboardInterrupt is raised then, a second one at once."""
    warnings: list[str] = []
    end: dict[str, Any] | None = None
    interrupted = False
    while True:
        try:
            message = process.next_message()
            if message is None:
                break
            if message["event"] == "progress":
                _show(bar, message)
            elif message["event"] == "warning":
                warnings.append(message["message"])
                _print(bar, message["message"])
            else:
                end = message
        except KeyboardInterrupt:
            process.interrupt()
            if interrupted:
                raise
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    if end is None:
        raise FscrawlError(process.died())
    event = end.pop("event")
    if event == "result":
        return CrawlResult(root=root, warnings=tuple(warnings), **end)
    raise FscrawlError(end["message"])


def _show(bar: tqdm[Any], counts: Mapping[str, Any]) -> None:
    state = f"{counts['state'].upper()}, " if counts["state"] else ""
    failures, hosts = number_of(counts["errors"], "failure"), number_of(counts["hosts"], "host")
    bar.set_postfix_str(
        f"{counts['tree_pages']:,} in the tree, {state}{counts['pending']:,} pending, {hosts}, {failures},"
        f" {counts['in_flight']:,} in flight",
        refresh=False,
    )
    bar.update(counts["pages"] - bar.n)


def _print(bar: tqdm[Any], line: str) -> None:
    if not bar.disable:
        bar.write(plain(line), file=sys.stderr)


class _Process:
    """The process of one call. It is gone when the `with` block is left."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task = task
        self._process: subprocess.Popen[bytes]
        self._output: deque[str] = deque(maxlen=_LAST_LINES)
        self._listener: threading.Thread

    @as_our_error()
    def __enter__(self) -> Self:
        if not sys.executable:
            raise FscrawlError("this Python does not know its own program (sys.executable), so it can start no crawl")
        self._process = subprocess.Popen(  # noqa: S603 - nothing in it comes from others
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            process_group=0,  # Ctrl-C of a terminal, and a notebook's interrupt, come to this process alone
        )
        self._listener = threading.Thread(target=self._listen, args=[self._process.stderr], daemon=True)
        try:
            self._listener.start()
            with contextlib.suppress(OSError):  # it has died; `next_message` will find that
                _pipe(self._process.stdin).write(json.dumps(self._task).encode() + b"\n")
                _pipe(self._process.stdin).close()
        except BaseException as error:  # as after Ctrl-C: `with` does not leave what it has not entered
            self.__exit__(error)
            raise
        return self

    def _listen(self, errors: IO[bytes]) -> None:
        with errors:  # until the last of its own processes has gone, which may be a moment after it
            for line in errors:
                self._output.append(line.decode(errors="replace").rstrip())

    def next_message(self) -> dict[str, Any] | None:
        """Give the next message; None at its end."""
        line = _pipe(self._process.stdout).readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def interrupt(self) -> None:
        """Ask it to stop: at the first time after the pages in flight, at the second at once."""
        self._process.send_signal(signal.SIGINT)

    def died(self) -> str:
        """Say that it has ended without a word, and what it printed."""
        code = self._process.wait()
        self._listener.join(1.0)
        output = "\n".join(self._output)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the process of the crawl {how}; what is stored is kept" + (f":\n{output}" if output else "")

    def __exit__(self, *why: object) -> None:
        if any(why):
            self.interrupt()  # it may not have ended yet
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()  # so that it does not wait for a reader
        try:
            self._process.wait()
        except KeyboardInterrupt:
            self._process.kill()
            self._process.wait()
            raise


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
