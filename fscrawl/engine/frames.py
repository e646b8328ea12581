"""How the machine and a worker process put their messages on the pipe between them.

A frame is the length of a pickle in four bytes, and the pickle. While many answers come, several frames wait in a pipe,
and the machine takes all of them with one call. `Connection` of multiprocessing makes two calls for each message, and
its own pickler takes twice the time of the plain one.

Promise: a message arrives whole or not at all. A reader does not wait for the rest of a frame of which a part is there:
a process that stops while it writes holds up nobody.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import struct
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

_LENGTH = struct.Struct("=I")
_READ_BYTES = 1 << 16  # some thirty answers; for a larger buffer, malloc would ask the system each time


def send(connection: Connection, message: object) -> None:
    """Write a message as one frame; OSError if the other process is gone. For one thread at a time."""
    left = _frame(message)
    while left:
        left = left[os.write(connection.fileno(), left) :]


def _frame(message: object) -> memoryview:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return memoryview(_LENGTH.pack(len(data)) + data)


class Outgoing:
    """The writing end of a pipe, for a process that must not wait for the other one.

    What the pipe does not take at once waits here: edited settings may be larger than it, and a worker may stand still.
    """

    def __init__(self, connection: Connection) -> None:
        os.set_blocking(connection.fileno(), False)
        self._connection = connection
        self._unsent: deque[memoryview] = deque()

    @property
    def waits(self) -> bool:
        """Tell whether something is left to be sent."""
        return bool(self._unsent)

    def send(self, message: object) -> None:
        """Send a message behind those that wait; OSError if the other process is gone."""
        self._unsent.append(_frame(message))
        self.flush()

    def flush(self) -> None:
        """Write as much as the pipe takes; OSError if the other process is gone."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                left = self._unsent[0]
                left = left[os.write(self._connection.fileno(), left) :]
                if left:
                    self._unsent[0] = left
                else:
                    self._unsent.popleft()

    def finish(self) -> None:
        """Write all that is left, however long that takes; OSError if the other process is gone."""
        os.set_blocking(self._connection.fileno(), True)
        self.flush()


class Incoming:
    """The reading end of a pipe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        self._unread = bytearray()  # the beginning of a frame whose rest is still to come

    def wait(self, timeout_s: float) -> bool:
        """Wait for something to read, or for the end of the other process; tell whether it has come."""
        return bool(self._poll.poll(1000 * timeout_s))

    def read(self) -> list[Any]:
        """Give the messages that have come whole, in their order; if nothing is there, wait for some bytes.

        At a pipe that does not let wait, there may be none.

        EOFError or OSError: the other process is gone, and all that it has sent whole was given.
        """
        try:
            data = os.read(self._connection.fileno(), _READ_BYTES)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError
        self._unread += data
        messages, at = [], 0
        with memoryview(self._unread) as view:
            while len(view) - at >= _LENGTH.size:
                begin = at + _LENGTH.size
                end = begin + _LENGTH.unpack_from(view, at)[0]
                if end > len(view):
                    break
                messages.append(pickle.loads(view[begin:end]))  # noqa: S301 - the other end is ours
                at = end
        del self._unread[:at]
        return messages
