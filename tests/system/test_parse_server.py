"""Processes beside a worker that read pages: the system may not give one, or end it, and the next page is read.

Each case is a program of its own: a process is forked before there are threads, and limits hold for all of it.
"""

from __future__ import annotations

import sys

import pytest

from tests.support.crawling import CHECKOUT, Running

BEGIN = """
import errno, os, resource, signal, time
from fscrawl.engine import parse_process
from fscrawl.engine.parse_server import ParseServer, ServerGoneError
from fscrawl.engine import parsing as limits
from fscrawl.engine.parsing import Parsing, slowness
from fscrawl.handlers.reading import Reading, UnreadableError
from fscrawl.urls import Joiner

PAGE = b"<title>t</title>" + b"<p>hello <a href=/x>y</a>" * 25_000  # too large for the worker itself
limits._QUICK_S = 10.0  # of processor time: a busy machine makes it longer
count = 0

def reading():
    global count
    count += 1
    return Reading(PAGE, f"http://h{count}.example/", None, None, "lexbor", drop_query=False)

def read(parsing):
    try:
        print(parsing.read(reading(), Joiner()).title)
    except UnreadableError as error:
        print("again" if error.failure.retry else "never", error.failure.message)
    except ServerGoneError:
        print("gone")

def new(fork=os.fork):
    os.fork, before = fork, os.fork
    server = ParseServer(parse_process.serve)
    os.fork = before
    return Parsing(server, lambda: None, lambda: None)

def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split() if is_alive(word)]

def is_alive(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"

parse_process._PAUSES_S = (0.01, 0.01)
"""

NO_FORK = """
real, calls = os.fork, 0

def fork():
    global calls
    calls += 1
    if calls in FAILING:  # the first one is that of the server
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    return real()

parsing = new(fork)
read(parsing)
read(parsing)
"""

NO_FILES = """
parsing = new()
slowness()
read(parsing)
parsing.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
held = []
while True:
    try:
        held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        break
for _ in range(FREE):
    os.close(held.pop())
for _ in range(20):
    read(parsing)
for each in held:
    os.close(each)
read(parsing)
(server,) = children(os.getpid())
print(len(children(server)), "processes")
"""

ENDED = """
parsing = new()
read(parsing)
os.kill(parsing._quick._started.pid, signal.SIGKILL)
time.sleep(0.1)
if ANOTHER:
    parsing._patient.read(reading(), 10.0)
read(parsing)
read(parsing)
"""

SERVER_GONE = """
parsing = new()
(server,) = children(os.getpid())
os.kill(server, signal.SIGKILL)
read(parsing)
"""

HARD_LIMITS = """
resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
parsing = new()
read(parsing)
parsing._patient.read(reading(), 5000.0)
print("patient")
"""


WAITS = """
parse_process._WAITS = 0.02  # times ten seconds of processor time
real = parse_process.read_here

def computes():
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass

def read_here(reading, joiner):
    computes() if COMPUTES else time.sleep(600.0)
    return real(reading, joiner)

parse_process.read_here = read_here
parsing = new()
page, _ = parsing._quick.read(reading(), 10.0)
print("too long" if page is None else page.title)
"""


def run(program: str, **values: object) -> list[str]:
    chosen = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    with Running([sys.executable, "-c", BEGIN + chosen + program], cwd=CHECKOUT) as running:
        done = running.wait(60.0)
    assert (done.code, done.err) == (0, ""), done
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ([2], ["t", "t"]),
        ([2, 3], ["t", "t"]),
        (
            [2, 3, 4],
            ["again no process could be started to read it: Resource temporarily unavailable", "t"],
        ),
    ],
    ids=["once", "twice", "for too long"],
)
def test_no_process(failing: list[int], said: list[str]) -> None:
    """If no process can be forked, that is tried again; then the page is, later. The next one finds a process."""
    assert run(NO_FORK, FAILING=failing) == said


@pytest.mark.parametrize("free", [0, 1, 2, 3])
def test_no_open_files(free: int) -> None:
    """Where a worker cannot open a pipe, its pages are tried again later, and nothing stays behind."""
    first, *while_full, after, processes = run(NO_FILES, FREE=free)
    assert {line.partition(" ")[0] for line in while_full} <= {"again", "t"}
    assert (first, after, processes) == ("t", "t", "1 processes")


@pytest.mark.parametrize("another", [False, True], ids=["alone", "another-was-started"])
def test_ended_while_idle(another: bool) -> None:
    """A process that was ended while it had nothing to do costs no page, also if its id is free by now."""
    assert run(ENDED, ANOTHER=another) == ["t", "t", "t"]


def test_server_that_was_ended() -> None:
    """Without the server, the worker knows that it must end: no page fails for it."""
    assert run(SERVER_GONE) == ["gone"]


def test_hard_limits() -> None:
    """Under `ulimit -H`, as batch systems have it, pages are read."""
    assert run(HARD_LIMITS) == ["t", "patient"]


@pytest.mark.parametrize(("computes", "said"), [(True, "t"), (False, "too long")])
def test_a_busy_computer(computes: bool, said: str) -> None:
    """Time in which a process computes, or waits for a processor, is not limited by the clock; time asleep is."""
    assert run(WAITS, COMPUTES=computes) == [said]
