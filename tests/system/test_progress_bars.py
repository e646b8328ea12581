"""Long commands on a real terminal: the line that moves, and what is left of it in the end."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.support.dashboards import write_log
from tests.support.trees import Grown

pytestmark = pytest.mark.proof

# Reading a record takes a while here, as over a share that is far away; the thread that draws is the real one.
_SLOW = """\
import sys, time
from fscrawl import interrupts
interrupts.catch()
from fscrawl.store import Tree
page, error = Tree.page, Tree.error
Tree.page = lambda *of: (time.sleep(float(sys.argv[1])), page(*of))[1]
Tree.error = lambda *of: (time.sleep(float(sys.argv[1])), error(*of))[1]
from fscrawl.cli import main
sys.exit(main(sys.argv[2:]))
"""
PAGES, FAILURES = 400, 400


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = Grown(tmp_path_factory.mktemp("bars") / "tree")
    tree.many(2, PAGES // 2)
    for number in range(FAILURES):
        tree.fail(f"http://h0.example/gone/{number}", "timeout", None)
    write_log(tree.root, "m-1-aa", {"beat": 1, "pages": PAGES, "errors": {"timeout": FAILURES}})
    return tree.root


class Terminal:
    """A command whose standard error, and output, are a terminal of so many columns."""

    def __init__(self, words: list[str], columns: int = 80, **environ: str) -> None:
        self._leader, follower = pty.openpty()
        ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | environ
        self.process = subprocess.Popen(
            words, stdin=follower, stdout=follower, stderr=follower, env=env, start_new_session=True
        )
        os.close(follower)
        os.set_blocking(self._leader, False)
        self.said = ""

    def read(self) -> str:
        with contextlib.suppress(OSError):  # nothing yet, or closed
            while data := os.read(self._leader, 65536):
                self.said += data.decode()
        return self.said

    def until(self, is_there: Callable[[str], object], limit_s: float = 60.0) -> None:
        deadline = time.monotonic() + limit_s
        while not is_there(self.read()):
            assert time.monotonic() < deadline, self.said
            if self.process.poll() is not None:
                assert is_there(self.read()), self.said
                return
            time.sleep(0.02)

    def end(self) -> str:
        self.process.wait(60)
        return self.read()


@pytest.fixture
def run() -> Iterator[Callable[..., Terminal]]:
    begun: list[Terminal] = []

    def run(root: Path, delay_s: float, *words: str, **how: object) -> Terminal:
        verb, *flags = words
        command = [sys.executable, "-c", _SLOW, str(delay_s), verb, "--root", str(root), *flags]
        begun.append(Terminal(command, **how))  # type: ignore[arg-type]
        return begun[-1]

    yield run
    for each in begun:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


def on_screen(said: str) -> list[str]:
    """Give what stands on the lines of the terminal in the end."""
    return [line.rsplit("\r", 1)[-1].rstrip() for line in said.replace("\r\n", "\n").split("\n")]


def test_bar(root: Path, run: Callable[..., Terminal]) -> None:
    """A long retry shows count, time and rate, and nothing of that is left in the end."""
    terminal = run(root, 0.1, "retry", "--class", "dns")
    terminal.until(re.compile(r"reading failures: \d+ failures \[\d\d:\d\d, *[1-9]\d*\.\d/s\]").search)
    lines = on_screen(terminal.end())
    assert "no failed URL matches" in lines
    assert not any("reading failures" in line for line in lines)


def test_narrow(root: Path, run: Callable[..., Terminal]) -> None:
    """On a terminal of 40 columns the line stays one line."""
    terminal = run(root, 0.05, "retry", "--class", "dns", columns=40, LC_ALL="C", NO_COLOR="1")
    terminal.until(lambda said: said.count("reading failures") > 2)
    drawn = [part for part in re.split(r"[\r\n]", terminal.read()) if part.startswith("reading")]
    assert drawn
    assert max(map(len, drawn)) < 40


def test_interrupted(root: Path, run: Callable[..., Terminal]) -> None:
    """Ctrl-C ends the line: what is said then stands on a line of its own, and the exit code is that of a signal."""
    terminal = run(root, 0.5, "retry", "--class", "dns")
    terminal.until(lambda said: "reading failures" in said)
    os.kill(terminal.process.pid, signal.SIGINT)
    said = terminal.end()
    assert terminal.process.returncode in (130, -signal.SIGINT)
    assert on_screen(said)[-1] == ""
    assert "Traceback" not in said
