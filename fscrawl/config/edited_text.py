"""The text of a file that people edit: it is read again when it may have changed; and the warning if it cannot be.

A list of seeds may have many megabytes, and each machine looks at it in every round. To look at a size and a time costs
the same for any file. But a share may show an old time, or a new size before the new text, and two edits at one moment
may have the same time. So size and time only say when the text is read: in each look until it has been the same for
longer than caches live, and later at least once in that time.

A last line without a newline may be half written. It counts when the text has been the same for as long.
"""

from __future__ import annotations

from collections.abc import Callable

from fscrawl.errors import PlantedError, TreeError
from fscrawl.storage.caches import CACHES_LIVE_S

Stamp = tuple[int, float]
"""The size of a file, and when it was changed last by the clock of its file system."""


class EditedText:
    """One file, as it was read last."""

    def __init__(
        self, stamp: Callable[[], Stamp | None], read: Callable[[], str | None], *, first_counts: bool = False
    ) -> None:
        """`stamp`, `read`: give size and time, and the text; None if the file is missing. They may raise TreeError.

        `first_counts`: the last line of the first text counts: who has begun has waited for it.
        """
        self._look_at = stamp
        self._read = read
        self._stamp: Stamp | None = None  # of the text, unless it may change yet
        self._text: str | None = None
        self._text_since = float("inf")
        self._same_since = float("inf")  # text and stamp
        self._read_at = 0.0
        self._first_counts = first_counts

    def look(self, now: float) -> str | None:
        """Give the text as it stands; None if the file is missing. `now`: monotonic time."""
        stamp = None
        if now - self._same_since > CACHES_LIVE_S:
            stamp = self._look_at()  # before the text: if that changes in between, the next look finds another stamp
            if stamp is not None and stamp == self._stamp and now - self._read_at <= CACHES_LIVE_S:
                return self._text
        text = self._read()
        if text != self._text:
            self._text_since = float("-inf") if self._first_counts else now
            self._first_counts = False
            self._same_since = now
        elif self._stamp not in (None, stamp):
            self._same_since = now
        self._stamp, self._text, self._read_at = stamp, text, now
        return text

    def whole_lines(self, now: float) -> str | None:
        """Give the lines that count; None if the file is missing. As `look` else."""
        text = self.look(now)
        if text is None or now - self._text_since > CACHES_LIVE_S:
            return text
        return text[: text.rfind("\n") + 1]


class Faults:
    """Says of a file that it cannot be read: once, until it could be read again."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._warned: set[str] = set()

    def note(self, name: str, error: TreeError) -> None:
        """Note that a file could not be read. Mostly that passes: NFS v3 answers ESTALE for one just replaced."""
        if isinstance(error, PlantedError):
            self.say(name, str(error))

    def say(self, name: str, fault: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            self._warn(f"{fault}; what was read before stays in force")

    def forget(self, name: str) -> None:
        """It could be read."""
        self._warned.discard(name)
