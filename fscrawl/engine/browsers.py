"""The keepers of a machine: processes that render pages for its workers (see `fscrawl.render`).

They are started when settings first ask for it, and again when one has died; the pages that it had are tried again by
their workers. Without [render] there is neither a process nor a socket.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fscrawl import interrupts
from fscrawl.config.settings import RenderSettings
from fscrawl.errors import NoBrowserError
from fscrawl.render.executable import VARIABLE, find
from fscrawl.render.messages import (
    MAX_BYTES,
    MEMORY_BYTES,
    NO_BROWSER,
    Flag,
    KeeperSetup,
    Lanes,
    Listening,
    listen,
    new_address,
)
from fscrawl.util.humanize import number_of

if TYPE_CHECKING:  # it loads what fetches
    from fscrawl.handlers.rendering import Render

_ONE_PAGE_WAITS_S = 60.0  # for a browser that starts
_WAITING_PAGES = 1024  # of each lane, in the kernel; more of them wait in their workers
_AGAIN_S = 5.0  # between two starts of a keeper that dies
_MOST_IN_VAIN = 3  # keepers in a row whose browser does not start, while no other keeper has one


@contextlib.contextmanager
def one_browser(settings: RenderSettings, warn: Callable[[str], None]) -> Iterator[Render]:
    """Let one browser run, and give what renders a page in it."""
    from fscrawl.render.client import render  # noqa: PLC0415 - as for `_serve`

    browsers = Browsers(warn)
    browsers.keep(replace(settings, browsers=1))
    try:
        yield partial(render, browsers.address, lanes=Lanes(), waits_s=_ONE_PAGE_WAITS_S)
    finally:
        browsers.close()


class Browsers:
    def __init__(self, warn: Callable[[str], None]) -> None:
        self.address = new_address()
        self._warn = warn
        self._listening: Listening | None = None
        self._setup: KeeperSetup | None = None
        self._keepers: list[BaseProcess] = []
        self._started_at = float("-inf")
        self._in_vain = 0
        self._has_started: dict[BaseProcess, Flag] = {}  # of each keeper: it had a browser
        self._told = False  # that some have one, and others get none

    def keep(self, settings: RenderSettings) -> NoBrowserError | None:
        """Let as many keepers run as the settings say, and by what they say. It takes no time if that is so.

        Give the reason if this machine cannot render: its browser does not start.
        """
        if not settings.is_on:
            if self._keepers:
                self.close()
            return None
        if len(self._keepers) != settings.browsers:
            self._begin(settings.browsers)
        elif not all(keeper.is_alive() for keeper in self._keepers):
            self._replace()
        if self._in_vain < _MOST_IN_VAIN or self._setup is None:
            return None
        said = f"render: the browser {self._setup.executable} does not start, so this machine leaves"
        return NoBrowserError(f"{said}; doctor says why; install another one, or name it in {VARIABLE}")

    def _begin(self, number: int) -> None:
        self._end_keepers()
        if self._listening is None:
            self._listening = listen(self.address, _WAITING_PAGES)
            if os.geteuid() == 0:
                self._warn("render: as root, the browser runs without its sandbox; crawl as another user")
        found = find() or ""  # without one, each page says so
        self._setup = KeeperSetup(found, MEMORY_BYTES, MAX_BYTES, quick_only=number > 1)
        self._keepers = [self._started(each) for each in range(number)]
        self._in_vain, self._told = 0, False
        self._started_at = time.monotonic()

    def _replace(self) -> None:
        now = time.monotonic()
        if now - self._started_at < _AGAIN_S:
            return
        self._started_at = now
        dead = [keeper for keeper in self._keepers if not keeper.is_alive()]
        if in_vain := sum(keeper.exitcode == NO_BROWSER for keeper in dead):
            self._note_in_vain(in_vain)
        else:
            self._in_vain = 0
            said = f"a process that renders pages has died (exit code {dead[0].exitcode})"
            self._warn(f"{said}; another one takes its place")
        for keeper in dead:
            del self._has_started[keeper]
        self._keepers = [self._started(n) if each in dead else each for n, each in enumerate(self._keepers)]

    def _note_in_vain(self, number: int) -> None:
        """Note that so many keepers got no browser. While others have one, memory may be short for one more."""
        if not any(flag.value for keeper, flag in self._has_started.items() if keeper.is_alive()):
            self._in_vain += 1
            return
        self._in_vain = 0
        if not self._told:
            self._told = True
            does = "does" if number == 1 else "do"
            said = f"render: of {number_of(len(self._keepers), 'browser')}, {number} {does} not start"
            self._warn(f"{said}; the others go on, and it is tried again (render.browsers)")

    def _started(self, number: int) -> BaseProcess:
        """Start the keeper of a number; the first one is for quick pages, if there are others."""
        assert self._setup is not None
        context = multiprocessing.get_context("forkserver")
        flag = context.RawValue("b", 0)
        setup = self._setup._replace(quick_only=self._setup.quick_only and number == 0, has_started=flag)
        keeper = context.Process(target=_serve, args=(self._listening, setup), daemon=True)
        with interrupts.later():  # one that is half started could not be ended
            keeper.start()
        self._has_started[keeper] = flag
        return keeper

    def _end_keepers(self) -> None:
        for keeper in self._keepers:
            keeper.kill()  # its browser's reaper does the rest
            keeper.join()
        self._keepers, self._has_started = [], {}

    def close(self) -> None:
        """End the keepers, and give up their socket."""
        self._end_keepers()
        if self._listening is not None:
            for each in self._listening:
                each.close()
            self._listening = None


def _serve(listening: Listening, setup: KeeperSetup) -> None:
    """Be a keeper. What it needs takes a twentieth of a second to load."""
    from fscrawl.render.keeper import serve  # noqa: PLC0415 - a crawl without [render] needs none of it

    serve(listening, setup)
