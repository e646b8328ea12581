"""A computer that starts no more threads or processes: commands do without, or say so in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from fscrawl.interrupts import SAME_SIGNAL_S
from tests.support.crawling import Done, Running, command, crawl
from tests.support.web import Request, Response, Web, linked_site

pytestmark = pytest.mark.proof

HOST = "127.0.54.1"
CLOSED = "http://127.0.54.2:18654/closed"
# All that is read counts as slow, so that threads would read it.
AT_LIMIT = """
import errno, os, subprocess, threading

def no_thread(self):
    raise RuntimeError("can't start new thread")

def no_process(*_):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

threading.Thread.start = no_thread
if {processes}:
    os.fork = subprocess._fork_exec = no_process

import fscrawl.util.waiting
fscrawl.util.waiting.LONG_S = -1.0
"""
# The command and each of its children may start so many threads, and it and its copies may fork so often.
FEW = """
import errno, os, threading

_COMMAND, _begun = os.getpid(), []

def start(self, real=threading.Thread.start):
    _begun.append(os.getpid())
    if _begun.count(os.getpid()) > ({threads} if os.getpid() == _COMMAND else {in_children}):
        raise RuntimeError("can't start new thread")
    return real(self)

def fork(real=os.fork, left=list(range({forks}))):
    if not left:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    left.pop()
    return real()

threading.Thread.start, os.fork = start, fork
"""
SAID = "fscrawl: no more processes or threads can be started; end other programs, or raise the limit (ulimit -u)\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("at-limit") / "tree"
    with Web(linked_site(20, 3), [HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST), CLOSED], settings={"fetch.retries": 0}).code == 0
    return root


def run(tmp_path: Path, *words: str | Path, processes: bool = True) -> Done:
    """Run a command at the limit. `processes`: of these there are no more, either."""
    return run_with(tmp_path, AT_LIMIT.format(processes=processes), *words)


def run_with(tmp_path: Path, limits: str, *words: str | Path) -> Done:
    (tmp_path / "sitecustomize.py").write_text(limits)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    words_ = [sys.executable, "-m", "fscrawl", *map(str, words)]
    with Running(words_, env={**os.environ, "PYTHONPATH": path}) as running:
        return running.wait(30.0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("status",), "21 stored"),
        (("audit",), "nothing is wrong"),
        (("retry",), "will be tried again: 1 URL"),
        (("show", "--inlinks", CLOSED), "inlinks   0 pages"),
        (("report", "--out", "report.html"), "21 pages of 2 hosts, 1 failure"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_without_threads(tree: Path, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    """What only reads the tree reads one file after the other."""
    more = [str(tmp_path / each) if each.endswith(".html") else each for each in words[1:]]
    done = run(tmp_path, words[0], "--root", tree, *more)
    assert (done.code, done.err) == (int(CLOSED in words), ""), done  # that page is not stored
    assert says in done.out, done


@pytest.mark.parametrize("processes", [False, True])
def test_a_crawl(tree: Path, tmp_path: Path, processes: bool) -> None:
    """What cannot do without says so."""
    done = run(tmp_path, "crawl", "--root", tree, processes=processes)
    assert (done.code, done.out, done.err) == (1, "", SAID), done


@pytest.mark.parametrize("words", [("merge", "--out"), ("try",)], ids=lambda words: words[0])
def test_without_processes(tree: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """So does a command that needs processes."""
    last = tmp_path / "dataset" if words[0] == "merge" else CLOSED
    done = run(tmp_path, words[0], "--root", tree, *words[1:], last)
    assert (done.code, done.out, done.err) == (1, "", SAID), done


@pytest.mark.parametrize(
    ("threads", "in_children", "forks"), [(0, 9, 9), (1, 9, 9), (2, 9, 9), (9, 0, 9), (9, 9, 2), (9, 9, 3)]
)
def test_a_merge_with_few(tree: Path, tmp_path: Path, threads: int, in_children: int, forks: int) -> None:
    """Wherever the threads or the processes are used up, a merge ends and says so, and the next one makes it whole."""
    words = ("merge", "--root", tree, "--out", tmp_path / "dataset", "--processes", "2")
    few = FEW.format(threads=threads, in_children=in_children, forks=forks)
    done = run_with(tmp_path, few, *words)
    said = done.err.removeprefix("a worker process could not be started: Resource temporarily unavailable\n")
    assert (done.code, done.out, said) == (1, "", SAID), done
    done = run_with(tmp_path, FEW.format(threads=99, in_children=99, forks=99), *words)
    assert (done.code, done.err) == (0, ""), done


IN_PYTHON = """
import fscrawl
try:
    fscrawl.crawl({root!r}, progress=False, workers=1)
except fscrawl.FscrawlError as error:
    print(f"fscrawl: {{error}}")
"""


@pytest.mark.parametrize("threads", [0, 2, 3, 5])
def test_a_crawl_from_python(tree: Path, tmp_path: Path, threads: int) -> None:
    """It is an error of fscrawl wherever the threads are used up: in this process, or in that of the crawl."""
    (tmp_path / "sitecustomize.py").write_text(FEW.format(threads=threads, in_children=9, forks=9))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    words = [sys.executable, "-c", IN_PYTHON.format(root=str(tree))]
    with Running(words, env={**os.environ, "PYTHONPATH": path}) as running:
        done = running.wait(30.0)
    assert (done.code, done.out, done.err) == (0, SAID, ""), done


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_a_crawl_with_few(tree: Path, tmp_path: Path, threads: int) -> None:
    """A crawl ends, too, wherever its threads are used up."""
    few = FEW.format(threads=threads, in_children=9, forks=9)
    done = run_with(tmp_path, few, "crawl", "--root", tree, "--workers", "1", "--quiet")
    assert (done.code, done.out, done.err) == (1, "", SAID), done


LATER = """
import os, threading

def start(self, real=threading.Thread.start):
    if os.path.exists({sign!r}):
        raise RuntimeError("can't start new thread")
    return real(self)

threading.Thread.start = start
"""


def test_a_signal(tmp_path: Path) -> None:
    """A crawl that may begin no more threads still hears each signal, and says what it does."""
    sign, asked, answer = tmp_path / "no-thread", threading.Event(), threading.Event()

    def site(request: Request) -> Response:
        if request.path == "/":
            asked.set()
            answer.wait(30.0)
        return Response(200, {"Content-Type": "text/html"}, b"<p>")

    (tmp_path / "sitecustomize.py").write_text(LATER.format(sign=str(sign)))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    said = tmp_path / "said"
    with Web(site, [HOST]) as web, said.open("wb") as err:
        words = command(tmp_path / "tree", seeds=[web.url(HOST)], workers=1)
        with Running(words, env={**os.environ, "PYTHONPATH": path}, stderr=err) as running:
            running.until(asked.is_set, "the page is asked for")
            sign.touch()
            running.signal(signal.SIGINT)
            running.until(lambda: "waiting for the pages in flight" in said.read_text(), "it says that it waits")
            time.sleep(SAME_SIGNAL_S)
            running.signal(signal.SIGTERM)
            done = running.wait(20.0)
            answer.set()
    assert (done.code, "Traceback" in said.read_text()) == (143, False), said.read_text()
    assert "leaving at once: 1 page in flight will be fetched again" in said.read_text()
