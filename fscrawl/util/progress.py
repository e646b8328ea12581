"""One line that shows what a command does now and how far it is, in one style for all commands.

On a terminal it is a line of tqdm that is drawn again each half second, also while one big piece of work runs. What is
done within a second shows none.
Elsewhere a plain line is printed each 30 s. Who does the work only counts: drawing is done by a thread, while the line
is used as a context manager.

Promise: text is printed only after `terminal.plain`. Other lines are printed above the line, whole.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Self, TextIO

from fscrawl import interrupts
from fscrawl.util.humanize import lasting
from fscrawl.util.terminal import plain, say, write

LINE_EVERY_S = 30.0
_REDRAW_EVERY_S = 0.25
_FIRST_AFTER_S = 1.0
_TICK_S = 0.5
_SAMPLES = 20  # of the last seconds, for the rate
_COLUMNS = 80
# as tqdm has it, but a rate below 1 stays a rate
_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
_DRAWING_TAKES_S = 1.0  # at most


class ProgressLine:
    """What is done now is a step: `begin` names it, `advance` or `reach` count; `note` is shown behind the numbers."""

    def __init__(
        self, stream: TextIO | None = None, *, silent: bool = False, clock: Callable[[], float] | None = None
    ) -> None:
        """`stream`: default standard error. `silent`: show nothing; lines of `print_line` are printed all the same."""
        self.note = ""
        self._given = stream
        self._clock = clock or time.monotonic
        self._silent = silent or self._stream is None  # a command may be started without standard error
        self._on_terminal = not self._silent and self._stream.isatty()
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._step: str | None = None  # None: nothing is shown
        self._total: int | None = None
        self._unit = ""
        self._done = 0
        self._source: Callable[[], int] | None = None
        self._made = self._began = self._shown_at = self._clock()
        self._done_shown = 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._drawn = ""

    # -- what the work says

    def begin(
        self,
        step: str,
        total: int | None = None,
        unit: str = "records",
        source: Callable[[], int] | None = None,
    ) -> None:
        """Begin a step, at 0 of `total`. `unit`: what is counted, "": nothing. `source`: is asked how many are done.

        A total may be taken from figures that are old: it is forgotten when more are done.
        """
        with self._lock:
            now = self._clock()
            if self._step is None:
                self._shown_at = now + (_FIRST_AFTER_S - _REDRAW_EVERY_S if self._on_terminal else 0.0)
            self._step, self._total, self._unit, self._source = step, total or None, unit, source
            self._done = self._done_shown = 0
            self._began = now
            self._samples.clear()
            if self._drawn:
                self._draw(now)

    def advance(self, number: int = 1) -> None:
        """So many more are done."""
        self._done += number

    def reach(self, number: int) -> None:
        """So many are done."""
        self._done = number

    def end(self, *, stays: bool = False) -> None:
        """The last step is over. On a terminal the line disappears, unless it `stays`."""
        with self._lock:
            if stays and self._on_terminal and self._step is not None:
                self._draw(self._clock())
                self._write("\n")
                self._drawn = ""
            self._erase()
            self._step, self._source = None, None

    def print_line(self, text: str) -> None:
        """Print a line above the progress line."""
        with self._lock:
            drawn = self._drawn
            self._erase()
            say(text, stream=self._stream, flush=True)
            if drawn:
                self._draw(self._clock())

    # -- what is shown

    def tick(self) -> None:
        """Show the line if it is due."""
        with self._lock:
            now = self._clock()
            if self._silent or self._step is None:
                return
            if now - self._shown_at >= (_REDRAW_EVERY_S if self._on_terminal else LINE_EVERY_S):
                self._draw(now) if self._on_terminal else self._print(now)

    def in_time(self) -> str:
        """Say how long all has taken so far, for the line that says what was done: ", in 4.0 s"."""
        return f", in {lasting(self._clock() - self._made)}"

    @property
    def done(self) -> int:
        return self._done if self._source is None else self._source()

    @property
    def _stream(self) -> TextIO:
        return self._given or sys.stderr

    def _print(self, now: float) -> None:
        done = self.done
        counted = ""
        if self._unit:
            total = self._total_of(done)
            of = "" if total is None else f" of {total:,}"
            rate = (done - self._done_shown) / max(now - max(self._shown_at, self._began), 1e-9)
            counted = f"{done:,}{of} {self._unit if of else self._unit_of(done)}, {rate:.1f}/s"
        text = f"{self._begins()}{counted}" if counted else f"{self._step}, {now - self._began:.0f} s"
        self._shown_at, self._done_shown = now, done
        say(text + (f", {self.note}" if self.note else ""), stream=self._stream, flush=True)

    def _draw(self, now: float) -> None:
        text = plain(self._text(now))[: _columns(self._stream) - 1]
        self._write(f"\r{text}{' ' * (len(self._drawn) - len(text))}")
        self._drawn, self._shown_at = text, now

    def _text(self, now: float) -> str:
        from tqdm import tqdm  # noqa: PLC0415 - slow to load, and only a terminal needs it

        elapsed = now - self._began
        note = f", {self.note}" if self.note else ""
        time_ = tqdm.format_interval(elapsed)
        if not self._unit:
            return f"{self._step} [{time_}{note}]"
        done = self.done
        total = self._total_of(done)
        self._samples.append((now, done))
        then, before = self._samples[0]
        rate = (done - before) / (now - then) if now > then else None
        if total is None:
            return f"{self._begins()}{done:,} {self._unit_of(done)} [{time_}, {rate or 0:.1f}/s{note}]"
        columns, unit = _columns(self._stream) - 1, f" {self._unit}"
        return tqdm.format_meter(
            done, total, elapsed, columns, self._step or "", unit=unit, rate=rate, postfix=self.note, bar_format=_BAR
        )

    def _begins(self) -> str:
        return f"{self._step}: " if self._step else ""

    def _unit_of(self, done: int) -> str:
        return self._unit.removesuffix("s") if done == 1 else self._unit

    def _total_of(self, done: int) -> int | None:
        """Return the total, unless `done` shows that it is wrong."""
        return None if self._total is None or done > self._total else self._total

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\r{' ' * len(self._drawn)}\r")
            self._drawn = ""

    def _write(self, text: str) -> None:
        write(text, self._stream, flush=True)

    # -- the thread

    def __enter__(self) -> Self:
        if not self._silent:
            thread = threading.Thread(target=self._keep_drawing, name="progress", daemon=True)
            thread.start()
            self._thread = thread
            _drawing.add(self)
            interrupts.before_leaving(_draw_no_more)
        return self

    def __exit__(self, *_: object) -> None:
        _drawing.discard(self)
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.end()

    def draw_no_more(self) -> None:
        """A signal ends the process: its last line shall be the last one. Nothing can be drawn after that."""
        self._lock.acquire(timeout=_DRAWING_TAKES_S)  # a terminal that nobody reads may hold the thread up

    def _keep_drawing(self) -> None:
        while not self._over.wait(_TICK_S):
            try:
                self.tick()
            except (OSError, ValueError):  # standard error was closed; the work goes on
                return


SILENT = ProgressLine(silent=True)
_drawing: set[ProgressLine] = set()


def _draw_no_more() -> None:
    for line in list(_drawing):
        line.draw_no_more()


def _columns(stream: TextIO) -> int:
    """Give the width of the terminal now."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
