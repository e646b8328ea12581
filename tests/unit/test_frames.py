"""Messages between a machine and its workers arrive whole, in their order, in whatever pieces the pipe gives them."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from fscrawl.engine import frames

Ends = tuple[Connection, Connection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def frame(message: object) -> bytes:
    """Give the bytes of a frame, as they are on the pipe."""
    data = pickle.dumps(message)
    return len(data).to_bytes(4, "little") + data


def test_messages_that_wait_are_read_at_once(ends: Ends) -> None:
    """One call gives all messages that have come."""
    ours, theirs = ends
    for n in range(3):
        frames.send(theirs, [n])
    assert frames.Incoming(ours).read() == [[0], [1], [2]]


def test_pieces(ends: Ends) -> None:
    """A frame that comes byte by byte is given once, when it is whole; nobody waits for its rest."""
    ours, theirs = ends
    received = frames.Incoming(ours)
    found = []
    for byte in frame("first") + frame("second"):
        os.write(theirs.fileno(), bytes([byte]))
        found.append(received.read())
    assert [messages for messages in found if messages] == [["first"], ["second"]]


def test_a_message_larger_than_the_pipe(ends: Ends) -> None:
    """It comes whole, and what is sent after it comes after it."""
    ours, theirs = ends
    large = "x" * 3_000_000

    def send() -> None:
        frames.send(theirs, large)
        frames.send(theirs, "end")

    sender = threading.Thread(target=send)
    sender.start()
    received, found = frames.Incoming(ours), []
    while "end" not in found:
        assert received.wait(10.0)
        found += received.read()
    sender.join()
    assert found == [large, "end"]


def test_the_other_process_is_gone(ends: Ends) -> None:
    """All that it has sent whole is given first; a frame that it has only begun is not."""
    ours, theirs = ends
    received = frames.Incoming(ours)
    os.write(theirs.fileno(), frame("whole") + frame("cut")[:-1])
    theirs.close()
    assert received.wait(0.0)
    assert received.read() == ["whole"]
    with pytest.raises(EOFError):
        received.read()


def test_nothing_has_come(ends: Ends) -> None:
    """Waiting ends when its time is over."""
    assert not frames.Incoming(ends[0]).wait(0.01)


def test_sending_to_a_process_that_is_gone(ends: Ends) -> None:
    """It is an OSError, whatever the message is."""
    ours, theirs = ends
    theirs.close()
    with pytest.raises(OSError, match="pipe"):
        frames.send(ours, ["task"])
