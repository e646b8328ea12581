"""The result of an exchange: an answer, or a failure with a class. Pure: no disk, no socket.

Vocabulary:
  Fetched   an answer, whatever its status
  Failed    no usable answer: its class (see `error_classes`), one line of text, and whether another try may help

Promise: a message has at most MAX_MESSAGE_CHARS characters: it goes into an error record, and a part of it may come
from a server.
"""

from __future__ import annotations

import msgspec

MAX_MESSAGE_CHARS = 500


class Fetched(msgspec.Struct, frozen=True):
    """`headers`: see `parse.headers`. `body`: None if it was not wanted (see `Fetcher.send`), and for a 304.

    `head_at`: monotonic time when the head of the answer had arrived. `elapsed_s`: from the request to the end of the
    body. `address`: the IP address that it came from, "" behind a proxy. `begins`: first bytes of a body that was
    not wanted, as far as they were at hand.
    """

    status: int
    headers: dict[str, str]
    body: bytes | None
    head_at: float
    elapsed_s: float
    address: str = ""
    begins: bytes = b""


class Failed(msgspec.Struct, frozen=True):
    """`retry`: another try may help. `status`, `headers`: of an answer, if there was one.

    `asked_at`: monotonic time when the host was last asked, if that was not for this answer but later.
    `unsent`: no part of the request has left this machine for its host.
    `of_session`: sessions of its host do not work, so all other pages of them would fail, too.
    """

    class_: str
    message: str
    retry: bool
    status: int | None = None
    headers: dict[str, str] | None = None
    asked_at: float | None = None
    unsent: bool = False
    of_session: bool = False

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE_CHARS:
            msgspec.structs.force_setattr(self, "message", self.message[: MAX_MESSAGE_CHARS - 1] + "…")
