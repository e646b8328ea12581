"""One side of a race between two clients of a file server; runs in a guest, and prints JSON.

    python3 -m tests.support.guests.race claim  DIRECTORY WHO ROUNDS PORT     whether this side has won, for each round
    python3 -m tests.support.guests.race write  DIRECTORY WHO ROUNDS PORT     true, for each replacement of the file
    python3 -m tests.support.guests.race read   DIRECTORY WHO ROUNDS PORT     what each look has found

PORT is the host's `Starter`, so that the calls of a round meet at the server.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from fscrawl.errors import TreeError
from fscrawl.storage.atomic import claim, publish, read_file
from fscrawl.storage.retrying import BRIEF

_SIZE = 50_000


def main(what: str, directory: Path, who: str, rounds: int, port: int) -> None:
    result = []
    with socket.create_connection(("10.0.2.2", port), timeout=300) as starter:
        for number in range(rounds):
            starter.sendall(b"?")
            assert starter.recv(1), "the other side is gone"
            result.append(_ROUNDS[what](directory, who, number))
    print(json.dumps(result))


def _claim(directory: Path, who: str, number: int) -> bool:
    return claim(directory / f"claim-{number}", f"{who} {number}".encode(), who)


def _write(directory: Path, who: str, number: int) -> bool:
    publish(directory / "replaced", bytes([number % 256]) * _SIZE, who)
    return True


def _read(directory: Path, who: str, number: int) -> str:
    """Say what a look found: "whole", "torn", or the fault that it met."""
    del who, number
    path = str(directory / "replaced")
    try:
        data = BRIEF(path, lambda: read_file(path))
    except (OSError, TreeError) as error:
        return f"{type(error.__cause__ or error).__name__}: {error}"
    return "whole" if len(data) == _SIZE and len(set(data)) == 1 else "torn"


_ROUNDS = {"claim": _claim, "write": _write, "read": _read}

if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
