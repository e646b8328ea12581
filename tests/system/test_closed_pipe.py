"""A command whose reader has gone (`fscrawl … | head`) ends silently: no traceback, the exit code of SIGPIPE."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT
from tests.support.sessions import await_end
from tests.support.trees import Grown, one_page
from tests.support.web import HTML, Response, Web

HOST = "127.0.71.9"
TIMEOUT_S = 60
URL = "http://a.example/"
COMMANDS = (
    "--help",
    "--version",
    "audit --help",
    "audit --root TREE",
    "audit --root TREE --json",
    "completion bash",
    "doctor --root TREE",
    "doctor --root TREE --json",
    "merge --root TREE --out OUT",
    "pause --root TREE",
    "report --root TREE --out OUT.html",
    "resume --root TREE",
    "retry --root TREE",
    f"show --root TREE {URL}",
    f"show --root TREE {URL} --json",
    "status --root TREE",
    "status --root TREE --json",
    "status --root TREE --watch",
    "stop --root TREE",
)


@pytest.fixture
def grown(root: Path) -> Grown:
    return one_page(root, URL)


def run(words: str, grown: Grown, *, unbuffered: bool, stderr: int = subprocess.PIPE) -> subprocess.CompletedProcess:
    """Run a command whose standard output is a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    out = str(grown.root.parent / "out")
    arguments = [word.replace("TREE", str(grown.root)).replace("OUT", out) for word in words.split()]
    try:
        return subprocess.run(
            [sys.executable, "-m", "fscrawl", *arguments],
            stdout=writer,
            stderr=writer if stderr == subprocess.STDOUT else stderr,
            env=os.environ | ({"PYTHONUNBUFFERED": "1"} if unbuffered else {}),
            cwd=CHECKOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_pipe(words: str, grown: Grown) -> None:
    """Every command that prints ends as `cat` does, and prints no traceback, when the pipe is found closed."""
    done = run(words, grown, unbuffered=False)
    assert (done.returncode, "Traceback" in done.stderr, "Exception ignored" in done.stderr) == (141, False, False), (
        done
    )


@pytest.mark.parametrize("words", ["audit --root TREE", "show --root TREE " + URL, "status --root TREE", "--help"])
def test_a_pipe_that_closes_between_two_prints(words: str, grown: Grown) -> None:
    """It is the same where the first print fails, and not the flush at the end."""
    done = run(words, grown, unbuffered=True)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [("audit --root TREE", 141), ("audit --root NOWHERE", 75), ("crawl --root NOWHERE", 2), ("audit --bad", 2)],
)
def test_errors_into_a_closed_pipe(words: str, code: int, grown: Grown) -> None:
    """Where standard error goes into the pipe, too (`2>&1 | head`), the exit code alone says that it went wrong."""
    assert run(words, grown, unbuffered=False, stderr=subprocess.STDOUT).returncode == code


def test_a_command_without_standard_output_runs(grown: Grown) -> None:
    """A command that was started without a standard output (`>&-`) does its work, and fails in no way."""
    line = [f'exec "{sys.executable}" -m fscrawl pause --root "{grown.root}" >&-']
    done = subprocess.run(
        ["sh", "-c", *line], cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (grown.root / "PAUSE").exists()


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["try URL", "crawl --root TREE --seed URL --workers 2"])
def test_no_process_stays_behind(words: str, closed: str, root: Path) -> None:
    """A pipe between processes must not have the number of a standard descriptor: its other end would wait for ever."""
    with Web(lambda request: Response(200, HTML, b"<p>"), [HOST]) as web:
        words = words.replace("URL", web.url(HOST)).replace("TREE", str(root))
        local = "--set 'fetch.allow_addresses=[\"127.0.0.0/8\"]'"
        line = f'exec "{sys.executable}" -m fscrawl {words} {local} {closed}'
        started = subprocess.Popen(["sh", "-c", line], cwd=CHECKOUT, start_new_session=True)
        assert started.wait(TIMEOUT_S) == 0
        await_end(started.pid)
    assert web.count(path="/") == 1
