"""The addresses of hosts: a name is looked up once, and what was found is kept for a while.

The system's resolver does not say how long an answer holds. So each is kept for a fixed time: `KEPT_S`, which many
hosts name themselves. A host that has moved refuses or is silent at its old address; then it is forgotten, and looked
up anew for the next connection. That there is no such name is kept for `KEPT_WITHOUT_S` only: it may be new, and a
resolver that has just lost its network may say the same. Other failures are not kept.

Promise: threads that need one name at the same time wait for one look-up. What is kept decides nothing: the guard is
asked about the address of each connection, wherever it comes from.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from fscrawl.http.racing import Entry
from fscrawl.util.lru import Lru

KEPT_S = 300.0
KEPT_WITHOUT_S = 5.0
MOST_ADDRESSES = 16_000  # of all hosts together; each takes some 300 bytes

_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class _Answer(NamedTuple):
    """The answer of the resolver. `error`: of a failure. `until`: how long it holds, in seconds of `time.monotonic`."""

    entries: Sequence[Entry]
    error: tuple[object, ...] | None
    until: float


class Names:
    """The names that one worker has looked up; threads share it."""

    def __init__(self) -> None:
        self._known: Lru[str, _Answer] = Lru(MOST_ADDRESSES)
        self._asked: dict[str, Future[_Answer]] = {}
        self._lock = threading.Lock()

    def look_up(self, host: str, port: int, wait_s: float) -> list[Entry]:
        """Give the addresses of a host, as getaddrinfo does for connections to a port of it.

        Raises socket.gaierror if there are none, another OSError if this process can open nothing, and TimeoutError if
        another thread's look-up takes more than `wait_s`. One of its own takes as long as the resolver likes.
        """
        answer = self._answer(host, wait_s)
        if answer.error is not None:
            raise socket.gaierror(*answer.error)
        return [(*entry[:4], (entry[4][0], port, *entry[4][2:])) for entry in answer.entries]

    def _answer(self, host: str, wait_s: float) -> _Answer:
        with self._lock:
            answer = self._known.get(host)
            if answer is not None and time.monotonic() < answer.until:
                return answer
            others = self._asked.get(host)
            own = self._asked.setdefault(host, Future())
        return self._ask(host, own) if others is None else _result(others, wait_s)

    def _ask(self, host: str, asked: Future[_Answer]) -> _Answer:
        answer = _Answer((), (socket.EAI_AGAIN, "the look-up was interrupted"), 0.0)
        try:
            answer = _look_up(host)
        finally:
            with self._lock:
                if answer.until:
                    self._known.put(host, answer, max(1, len(answer.entries)))
                del self._asked[host]
            asked.set_result(answer)
        return answer

    def forget(self, host: str) -> None:
        """Look a host up anew for its next connection: none of its addresses can be connected to."""
        with self._lock:
            self._known.pop(host)


def _look_up(host: str) -> _Answer:
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        socket.socket().close()  # without a descriptor, some resolvers say that there is no such name
        kept = isinstance(error, UnicodeError) or error.errno in _NO_SUCH_NAME
        arguments = error.args if isinstance(error, OSError) else (socket.EAI_NONAME, str(error))
        return _Answer((), arguments, time.monotonic() + KEPT_WITHOUT_S if kept else 0.0)
    return _Answer(entries, None, time.monotonic() + KEPT_S)


def _result(asked: Future[_Answer], wait_s: float) -> _Answer:
    try:
        return asked.result(wait_s)
    except TimeoutError:
        raise TimeoutError("the look-up of the name takes longer than fetch.timeout") from None
