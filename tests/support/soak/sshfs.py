"""The soak's sshfs: a server for each machine, so that its trouble is nobody else's, and mounts with `reconnect`."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.crawling import children_of
from tests.support.shares.sshfs import Sshd
from tests.support.soak.shares import Share, Trouble


def sshfs_troubles(dead_after_s: float) -> list[Trouble]:
    longer = (1.2 * dead_after_s, 1.8 * dead_after_s)
    return [
        Trouble("server stopped, shorter than dead_after", 3, (0.3, 0.6 * dead_after_s), fences=True),
        Trouble("server stopped, longer than dead_after", 1, longer, fences=True),
        Trouble("connection killed", 3, (0.0, 0.0)),
        Trouble("server killed and restarted", 1, (0.5, 3.0)),
    ]


# Listings are up to 20 s old by default, which `dead_after` must exceed; in the soak it does not.
_OPTIONS = "reconnect,ServerAliveInterval=15,dcache_timeout=5"


class Server(Sshd):
    """An sshd that can be killed, and its sessions with it or alone."""

    def sessions(self) -> list[int]:
        """Give the processes that answer the mounts: all that come of sshd."""
        assert self._process is not None
        found, waiting = [], [self._process.pid]
        while waiting:
            children = children_of(waiting.pop())
            found += children
            waiting += children
        return found

    def stop(self) -> list[int]:
        """Stop the server, so that a connection that is made anew hangs, too; give the processes to continue."""
        assert self._process is not None
        _signal([self._process.pid], signal.SIGSTOP)  # first: it starts no more sessions
        sessions = self.sessions()
        _signal(sessions, signal.SIGSTOP)
        return [*sessions, self._process.pid]

    def kill(self) -> None:
        assert self._process is not None
        sessions = self.sessions()
        self._process.kill()
        self._process.wait()
        _signal(sessions, signal.SIGKILL)


class Sshfs(Share):
    """sshfs with `reconnect`, and an sshd of its own, so that its trouble is nobody else's."""

    def __init__(self, tree: Path, dead_after_s: float) -> None:
        super().__init__(tree, "sshfs reconnect", sshfs_troubles(dead_after_s))
        self._stack = contextlib.ExitStack()
        self._sshd = Server()
        self._stopped: list[int] = []

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self._sshd)
            self.path = self._stack.enter_context(self._sshd.mount(self.tree, more=_OPTIONS))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, trouble: Trouble, rng: random.Random) -> None:
        if trouble.fences:
            self._stopped = self._sshd.stop()
        elif trouble.kind == "connection killed":
            _signal(self._sshd.sessions(), signal.SIGKILL)
        else:
            self._sshd.kill()

    def end(self, trouble: Trouble) -> int:
        if trouble.fences:
            _signal(self._stopped, signal.SIGCONT)
        elif trouble.kind != "connection killed":
            self._sshd.start()
        return 1


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
