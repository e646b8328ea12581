"""The line that shows what a command does, by a clock of the test; and by its own thread, on a pseudo terminal."""

import contextlib
import io
import os
import pty
import termios
import threading
import time
from pathlib import Path

import pytest

from fscrawl.util import progress
from fscrawl.util.progress import ProgressLine


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def plainly(clock):
    """A line away from a terminal."""
    return ProgressLine(io.StringIO(), clock=clock)


@pytest.fixture
def drawn(clock):
    """A line on a terminal."""
    return ProgressLine(Terminal(), clock=clock)


def said(line):
    return line._stream.getvalue()


def shown(line):
    """What stands in the line of the terminal now."""
    return said(line).rpartition("\n")[2].split("\r")[-1].rstrip()


def test_plain_lines(plainly, clock):
    """Away from a terminal a line comes each 30 s: the step, how far it is, and the rate since the last one."""
    plainly.begin("reading records", 500)
    plainly.advance(40)
    clock.now += 29.9
    plainly.tick()
    assert said(plainly) == ""
    clock.now += 0.1
    plainly.tick()
    plainly.tick()
    plainly.advance(10)
    clock.now += 20
    plainly.begin("finding duplicates", unit="pages")
    plainly.reach(30)
    plainly.note = "a\x1bnote"
    clock.now += 10
    plainly.tick()
    assert said(plainly).splitlines() == [
        "reading records: 40 of 500 records, 1.3/s",
        "finding duplicates: 30 pages, 3.0/s, a?note",
    ]


def test_a_step_that_counts_nothing(plainly, drawn, clock):
    """A step without numbers shows its time."""
    for line in (plainly, drawn):
        line.begin("watching heartbeats", unit="")
    clock.now += 30
    plainly.tick()
    drawn.tick()
    assert said(plainly) == "watching heartbeats, 30 s\n"
    assert shown(drawn) == "watching heartbeats [00:30]"
    drawn.note = "2 machines"
    clock.now += 1
    drawn.tick()
    assert shown(drawn) == "watching heartbeats [00:31, 2 machines]"


def test_a_line_that_moves_while_nothing_is_counted(drawn, clock):
    """On a terminal the line changes each second, also while one big piece of work runs."""
    drawn.begin("reading pages", 500, "pages")
    drawn.advance(40)
    clock.now += 0.5
    seen = []
    for _ in range(6):
        clock.now += 0.5
        drawn.tick()
        seen.append(shown(drawn))
    assert all(one != other for one, other in zip(seen, seen[2:], strict=False))
    assert seen[0].startswith("reading pages:   8%|")
    assert "40/500 [00:0" in seen[-1]


def test_the_rate_is_that_of_the_last_seconds(drawn, clock):
    """What went fast a minute ago does not count any more."""
    drawn.begin("reading pages", unit="pages")
    for number in [100] * 60 + [1] * 60:
        drawn.advance(number)
        clock.now += 0.5
        drawn.tick()
    assert ", 2.0/s]" in shown(drawn)


def test_a_slow_rate(drawn, clock):
    """A rate below one a second is a rate, and not turned into seconds for each, with a total and without one."""
    for total, said_ in ((None, "5 pages [00:50, 0.1/s]"), (20, "5/20 [00:50<02:30,  0.10 pages/s]")):
        drawn.begin("", total, "pages")
        for _ in range(5):
            clock.now += 10
            drawn.advance()
            drawn.tick()
        assert said_ in shown(drawn)


def test_drawn_at_most_four_times_a_second(drawn, clock):
    """Who ticks often does not draw often."""
    drawn.begin("reading", 5)
    clock.now += 0.75
    for _ in range(100):
        clock.now += 0.01
        drawn.tick()
    assert said(drawn).count("\r") == 4


def test_lines_above(drawn, clock):
    """Other lines are printed whole, above the line; at the end it disappears."""
    drawn.print_line("before")
    drawn.begin("reading", 5)
    clock.now += 1
    drawn.tick()
    drawn.print_line("a \x1bwarning")
    assert shown(drawn).startswith("reading:   0%")
    drawn.begin("writing", 5)
    assert shown(drawn).startswith("writing:   0%")
    drawn.end()
    drawn.tick()
    assert said(drawn).count("a ?warning\n") == 1
    assert shown(drawn) == ""
    assert said(drawn).startswith("before\n")


def test_a_line_that_stays(drawn, plainly):
    """The line of a crawl stays when it ends, with the last numbers; there is none if nothing was begun."""
    drawn.end(stays=True)
    assert said(drawn) == ""
    for line in (drawn, plainly):
        line.begin("", unit="pages")
        line.reach(12)
        line.end(stays=True)
    assert said(drawn).endswith("\n")
    assert said(drawn).startswith("\r12 pages [00:00")
    assert said(plainly) == ""


def test_a_total_that_is_not_sure(drawn, plainly, clock):
    """A total, as of old figures, is forgotten when there are more; 0 is none."""
    for line in (drawn, plainly):
        line.begin("reading", 5)
        line.advance(4)
    clock.now += 30
    drawn.tick()
    plainly.tick()
    assert "4/5" in shown(drawn)
    assert said(plainly) == "reading: 4 of 5 records, 0.1/s\n"
    for line in (drawn, plainly):
        line.advance(4)
    clock.now += 30
    drawn.tick()
    plainly.tick()
    assert shown(drawn).startswith("reading: 8 records [01:00")
    assert said(plainly).splitlines()[1] == "reading: 8 records, 0.1/s"
    drawn.begin("reading", 0)
    assert shown(drawn).startswith("reading: 0 records [")


def test_nothing_within_a_second(drawn, clock):
    """Work that is done within a second shows nothing, in however many steps."""
    for _ in range(3):
        drawn.begin("reading", 5)
        clock.now += 0.3
        drawn.tick()
    drawn.end()
    clock.now += 10
    drawn.begin("writing", 5)
    clock.now += 0.9
    drawn.tick()
    assert said(drawn) == ""
    clock.now += 0.1
    drawn.tick()
    assert shown(drawn).startswith("writing:   0%")


def test_in_time(drawn, clock):
    """The line that says what was done ends with how long it took, from the beginning of the command."""
    clock.now += 200
    drawn.begin("reading")
    assert drawn.in_time() == ", in 3 min 20 s"


def test_a_source(drawn, clock):
    """Who does the work elsewhere is asked how far it is."""
    drawn.begin("reading", 5, source=lambda: 3)
    clock.now += 1
    drawn.tick()
    assert "3/5" in shown(drawn)


def test_silent(clock, monkeypatch):
    """A silent line, and one without standard error, shows nothing, and prints lines all the same."""
    stream = Terminal()
    with ProgressLine(stream, silent=True, clock=clock) as line:
        line.begin("reading", 5)
        clock.now += 100
        line.tick()
        line.print_line("a warning")
    assert stream.getvalue() == "a warning\n"
    monkeypatch.setattr("sys.stderr", None)
    ProgressLine().begin("reading")


def test_a_stream_that_is_closed(monkeypatch, clock):
    """Where standard error goes away, the thread ends, and the work goes on."""
    monkeypatch.setattr(progress, "_TICK_S", 0.001)
    stream = Terminal()
    line = ProgressLine(stream, clock=clock)
    line.begin("reading")
    clock.now += 1
    stream.close()
    with contextlib.suppress(ValueError), line:
        line._thread.join(10)
        assert not line._thread.is_alive()


def test_its_thread_draws(monkeypatch):
    """While the work is busy, a thread draws into the terminal, as wide as it is."""
    monkeypatch.setattr(progress, "_TICK_S", 0.001)
    monkeypatch.setattr(progress, "_REDRAW_EVERY_S", 0.0)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 30))
    with os.fdopen(theirs, "w") as stream, os.fdopen(ours, "rb", buffering=0) as terminal:
        with ProgressLine(stream) as line:
            line.begin("a step with a long name, longer than thirty columns", unit="")
            text = b""
            while text.count(b"\r") < 3:
                text += terminal.read(4096)
        assert b"a step with a long name, longe"[:29] in text
        assert b"longer" not in text
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_a_signal_ends_the_process(monkeypatch):
    """What the signal says stays the last line: the thread draws nothing behind it, even if that takes a while."""
    monkeypatch.setattr(progress, "_TICK_S", 0.001)
    monkeypatch.setattr(progress, "_REDRAW_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "_FIRST_AFTER_S", 0.0)
    acts = []
    monkeypatch.setattr(progress.interrupts, "before_leaving", acts.append)
    with ProgressLine(Terminal()) as line:
        line.begin("reading records")
        while not said(line):
            time.sleep(0.001)
        (act,) = acts
        act()
        before = said(line)
        time.sleep(0.05)
        assert said(line) == before
        line._lock.release()
    assert not progress._drawing


def test_no_width():
    """A stream that is no terminal counts as 80 columns wide."""
    assert progress._columns(io.StringIO()) == 80
    with Path(os.devnull).open() as null:
        assert progress._columns(null) == 80
