"""Processes beside a worker that read pages: the system may not give one, or end it, and the next page is read.

Each case is a program of its own: a process is forked before there are threads, and limits hold for all of it.
"""

from __future__ import annotations

import sys

import pytest

from tests.support.crawling import CHECKOUT, Running

BEGIN = """
import errno, os, resource, signal, time
from fscrawl.engine import parsing, side_process
from fscrawl.engine.side_process import Forker, ForkerGoneError, SideProcess
from fscrawl.engine.parsing import Parsing
from fscrawl.handlers import reading as readings
from fscrawl.handlers.reading import Reading, UnreadableError
from fscrawl.urls import Joiner

PAGE = b"<title>t</title><p><" + b"a " * 10_000 + b">" + b"<p>hello <a href=/x>y</a>" * 9_000  # not usual
count = 0

def reading():
    global count
    count += 1
    return Reading(PAGE, f"http://h{count}.example/", None, None, "lexbor")

def read(parsing):
    try:
        print(parsing.read(reading(), Joiner()).title)
    except UnreadableError as error:
        print("again" if error.failure.retry else "never", error.failure.message)
    except ForkerGoneError:
        print("gone")

def new(fork=os.fork):
    os.fork, before = fork, os.fork
    forker = Forker()
    os.fork = before
    return Parsing(forker.start)

def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split() if is_alive(word)]

def is_alive(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"

side_process._PAUSES_S = (0.01, 0.01)
"""

NO_FORK = """
real, calls = os.fork, 0

def fork():
    global calls
    calls += 1
    if calls in FAILING:  # the first one is that of the forker
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    return real()

parsing = new(fork)
read(parsing)
read(parsing)
"""

NO_FILES = """
parsing = new()
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
(forker,) = children(os.getpid())
print(len(children(forker)), "processes")
"""

ENDED = """
parsing = new()
read(parsing)
(forker,) = children(os.getpid())
(beside,) = children(forker)
os.kill(beside, signal.SIGKILL)
time.sleep(0.1)
read(parsing)
read(parsing)
"""

ENDED_MEANWHILE = """
import threading
real = readings.read_here

def read_here(reading, joiner):
    time.sleep(0.7)
    return real(reading, joiner)

readings.read_here = read_here
parsing = new()
(forker,) = children(os.getpid())
end = threading.Timer(0.4, lambda: os.kill(children(forker)[0], signal.SIGKILL))
end.start()
read(parsing)
"""

FORKER_GONE = """
parsing = new()
(forker,) = children(os.getpid())
os.kill(forker, signal.SIGKILL)
read(parsing)
"""

HARD_LIMITS = """
resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
parsing._LIMIT_S = 5000.0
read(new())
"""


WAITS = """
side_process._WAITS = CLOCK_S  # for a second of processor time
real = readings.read_here

def computes():
    until = time.process_time() + COMPUTES
    while time.process_time() < until:
        pass

def read_here(reading, joiner):
    computes()
    time.sleep(SLEEPS)
    return real(reading, joiner)

readings.read_here = read_here
page, _ = SideProcess(Forker().start, lambda: None).read(reading(), 1.0)
print("too long" if page is None else page.title)
"""

ORPHANED = """
worker = os.fork()
if worker == 0:
    def read_here(reading, joiner):
        while IS_BUSY:
            pass
        return real(reading, joiner)

    real, readings.read_here = readings.read_here, read_here
    SideProcess(Forker().start, lambda: None).read(reading(), 3600.0)
    time.sleep(600.0)

def until(condition):
    end = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)

until(lambda: children(worker) and children(children(worker)[0]))
(forker,) = children(worker)
(beside,) = children(forker)
time.sleep(0.3)
os.kill(worker, signal.SIGKILL)
until(lambda: not any(os.path.exists(f"/proc/{pid}") and is_alive(pid) for pid in (forker, beside)))
print("gone")
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


def test_ended_while_idle() -> None:
    """A process that was ended while it had nothing to do costs no page."""
    assert run(ENDED) == ["t", "t", "t"]


def test_ended_while_it_reads() -> None:
    """A process that somebody has ended long before its time costs no page: another one reads it once more."""
    assert run(ENDED_MEANWHILE) == ["t"]


def test_forker_that_was_ended() -> None:
    """Without what forks, the worker knows that it must end: no page fails for it."""
    assert run(FORKER_GONE) == ["gone"]


def test_hard_limits() -> None:
    """Under `ulimit -H`, as batch systems have it, pages are read."""
    assert run(HARD_LIMITS) == ["t"]


@pytest.mark.parametrize(
    ("computes", "sleeps", "clock_s", "said"),
    [(0.2, 0.1, 60.0, "t"), (0.2, 600.0, 2.0, "too long"), (3600.0, 0.0, 60.0, "too long")],
    ids=["both in time", "asleep for too long", "computes for too long"],
)
def test_deadlines(computes: float, sleeps: float, clock_s: float, said: str) -> None:
    """A page has its time of the processor, and for each second of that a time by the clock."""
    assert run(WAITS, COMPUTES=computes, SLEEPS=sleeps, CLOCK_S=clock_s) == [said]


@pytest.mark.parametrize("is_busy", [False, True])
def test_it_ends_with_its_worker(is_busy: bool) -> None:
    """Whatever it does, it is gone when the worker was killed."""
    assert run(ORPHANED, IS_BUSY=is_busy) == ["gone"]
