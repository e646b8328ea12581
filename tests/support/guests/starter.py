"""A starting gun for what runs in several guests: each says when it is ready, and all hear at once when everybody is.

Guests' clocks agree with nobody's well enough for calls to meet at a server; a byte from the host does.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Starter:
    """Lets `sides` connections start round after round, as context manager. To a guest it is 10.0.2.2:<port>."""

    def __init__(self, sides: int, deadline_s: float = 300.0) -> None:
        self._sides = sides
        self._deadline_s = deadline_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="starter", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _run(self) -> None:
        """Serve until a side has left, or is silent for too long; then the others find the connection closed."""
        with contextlib.ExitStack() as ends, contextlib.suppress(OSError):
            self._listener.settimeout(self._deadline_s)
            talks = [ends.enter_context(self._listener.accept()[0]) for _ in range(self._sides)]
            for talk in talks:
                talk.settimeout(self._deadline_s)
            while all(talk.recv(1) for talk in talks):
                for talk in talks:
                    talk.sendall(b"!")
