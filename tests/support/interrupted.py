"""A command that gets a signal at some moment: what it was doing then, and what it may say.

    ran = interrupt(words, Signal(0.3, signal.SIGINT, group=True))
    assert ran.problem(kept, undisturbed) == ""

The process is stopped while it is looked at, so that it is known whether it had caught the signal when it was sent.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.crawling import CHECKOUT, Done, Running, lines_of, unmeasured
from tests.support.sessions import await_end

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_NO_CHANGE = "nothing was changed"
_LOST_AFTER_S = 5.0
_DROPPED = "KeyboardInterrupt"  # Python has printed it, and gone on
# Of a traceback of Python's own start, which nothing can catch: these are all of fscrawl that may run by then. With
# Python 3.11 it can be seen from 9 to 13 ms after the start of crawl.py, to 17 ms of `python -m fscrawl`, and to 19 ms
# of the installed command, whose script imports `re` first. Before that, a signal ends the process silently.
# Once in some 500 signals of that time, Python prints the KeyboardInterrupt ("Exception ignored in", "'import warnings'
# failed"), and goes on as if nothing had come. Then people press Ctrl-C again.
_AT_START = ("crawl.py", "fscrawl/__main__.py", "fscrawl/__init__.py", "fscrawl/interrupts.py")


@dataclass(frozen=True)
class Signal:
    """What is sent, and when: seconds after the start. `again_s`: a second one, so long after the first."""

    at_s: float
    number: signal.Signals
    group: bool
    again_s: float | None = None


@dataclass(frozen=True)
class Ran:
    """A run that got a signal. `state`: "" (it had caught it), "start or end" (it had not), "over".

    `repeated`: the signal had no effect before the command could catch it, so it was sent again.
    """

    sent: Signal
    state: str
    done: Done
    left: tuple[str, ...]  # in the directory for temporary files
    repeated: bool = False

    def problem(self, kept: Sequence[str], undisturbed: Done, *, usual_end: bool = False) -> str:
        """Say what is wrong, "" if nothing is. `kept`: the words of the command, one of which it must say."""
        done, number = self.done, self.sent.number
        said = Counter(lines_of(done.err)) - Counter(lines_of(undisturbed.err))
        if self.left:
            return f"temporary files are left: {self.left}"
        if self.repeated and _DROPPED not in self.done.err:
            return "the signal was lost"
        if self.state == "start or end" and (done.code in (-number, 1) or not said or "Traceback" in done.err):
            return self._problem_at_start()  # Python may also print a traceback of its own start, and go on
        if "Traceback" in done.err or "leaked" in done.err or "resource_tracker" in done.err:
            return "a traceback or a warning of Python"
        is_over = done.code == undisturbed.code and bool(done.out) == bool(undisturbed.out)
        if self.state == "over" or (is_over and not said) or (usual_end and done.code == 0 and not said):
            return ""
        if done.code != 128 + number:
            return f"exit code {done.code}"
        wrong = [line for line in said.elements() if not self._is_right(line, kept)]
        most = 1 if self.sent.again_s is None else 2
        return f"says {list(said.elements())}" if wrong or not 0 < said.total() <= most else ""

    def _problem_at_start(self) -> str:
        ours = re.findall(rf'File "{re.escape(str(CHECKOUT))}/(?!\.venv/)([^"]+)"', self.done.err)
        beyond = [path for path in ours if path not in _AT_START]
        return f"a traceback of {beyond}" if beyond else ""

    def _is_right(self, line: str, kept: Sequence[str]) -> bool:
        ends = [f"{WORDS[self.sent.number]}: {words}" for words in (_NO_CHANGE, *kept)]
        stopping = line.startswith("stopping: ") and line.endswith(tuple(f"; {words}" for words in kept))
        leaving = re.fullmatch(r"leaving at once: [\d,]+ pages? in flight will be fetched again", line)
        return line in ends or stopping or (leaving is not None and self.sent.again_s is not None)


@contextlib.contextmanager
def scratch() -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a directory for temporary files, and an environment in which commands use it.

    Its path is short, as there will be the sockets of multiprocessing in it. Coverage is not measured: it swallows a
    signal that comes while Python loads it.
    """
    with tempfile.TemporaryDirectory(prefix="scratch-") as path:
        yield Path(path), {**unmeasured(), "TMPDIR": path}


def interrupt(words: Sequence[str], sent: Signal) -> Ran:
    """Run a command, send the signal, and wait until all its processes are gone."""
    with scratch() as (temporary, env), Running(words, cwd=CHECKOUT, env=env) as running:
        _wait(running, running.began + sent.at_s)
        state = _send(running, sent)
        if sent.again_s is not None:
            _wait(running, time.monotonic() + sent.again_s)
            _send(running, sent)
        repeated = state == "start or end" and not _ends(running)
        if repeated:
            _send(running, sent)
        done = running.wait()
        await_end(running.process.pid)
        left = tuple(path.name for path in temporary.iterdir())
    return Ran(sent, state, done, left, repeated)


def _wait(running: Running, moment: float) -> None:
    while time.monotonic() < moment and running.process.poll() is None:
        time.sleep(0.001)


def _ends(running: Running) -> bool:
    """Tell whether a command ends without another signal."""
    _wait(running, time.monotonic() + _LOST_AFTER_S)
    return running.process.poll() is not None


def _send(running: Running, sent: Signal) -> str:
    """Send the signal; tell what the process had done about it by then."""
    if running.process.poll() is not None:
        return "over"
    pid = running.process.pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        while (status := _status(pid))["State"][0] not in "TZX":
            time.sleep(0.0002)
        running.signal(sent.number, group=sent.group)
        os.kill(pid, signal.SIGCONT)
    if status["State"][0] in "ZX":
        return "over"
    is_caught = int(status["SigCgt"], 16) >> signal.SIGTERM - 1 & 1  # only fscrawl catches SIGTERM
    return "" if is_caught else "start or end"


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return {"State": "X", "SigCgt": "0", **{name: value.strip() for name, value in found.items()}}
