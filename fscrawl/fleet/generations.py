"""Generations: each says that what was told before does not count.

Vocabulary:
  generation  a number from 1 on, and the file of that name in `.fscrawl/again`; 0 is before the first
  reason      why it was made, as JSON in the file: {"reason": "cut", "log": …}, {"reason": "reseed"},
              {"reason": "refresh", "before": …}
  told        a told mark says that the links of a page stand in a log; it names a term, and that its generation

A machine makes a generation when something told may be lost for others: a log was cut, or a user asks for it. Then
every page is told once more, from its record. No fetch is made for that.

Promise: generations are only added. `newest` never goes back, except if one is forgotten that is not there. When
`advance` returns a number, its file is there, and it was made after the call began, by whichever machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from fscrawl.fleet.log_writer import Place
from fscrawl.storage.layout import AGAIN, again_of, again_path, is_machine
from fscrawl.store import TreeFiles
from fscrawl.util.parallel import READERS
from fscrawl.util.waiting import in_turn_if_slow

_OWN = ("by", "nonce")  # what is not part of the reason


class Generations:
    """One process's view of the generations of a tree."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files
        self._there: set[int] = set()  # somebody may have made up a number: those below it are not there
        self._reasons: dict[int, dict[str, Any]] = {}

    def newest(self) -> int:
        """Look for the newest generation; 0 if there is none. A listing may be old, and so may be a look by name."""
        self._there.update(self._listed())
        newest = max(self._there, default=0)
        while self._files.exists(again_path(newest + 1)):
            newest += 1
            self._there.add(newest)
        return newest

    def _listed(self) -> list[int]:
        return [number for name in self._files.names(AGAIN) if (number := again_of(name)) is not None]

    def forget_gone(self, generations: Collection[int]) -> list[int]:
        """Forget those of some generations that are neither listed nor found by their names any more; give them.

        A listing may still show for a while what was in a `.fscrawl` that somebody has deleted.
        """
        listed = self._listed()
        gone = [each for each in generations if each not in listed and not self._files.exists(again_path(each))]
        self._there.difference_update(gone)
        return gone

    def learn(self) -> None:
        """Read the reasons that are not known yet; several at the same time on a slow share.

        A crawl that is refreshed each night has hundreds of generations.
        """
        for _ in in_turn_if_slow(self.reason, [each for each in self.after(0) if each not in self._reasons], READERS):
            pass

    def after(self, generation: int) -> list[int]:
        """Give the generations after one, up to the newest that was found, in order."""
        return sorted(number for number in self._there if number > generation)

    def advance(self, reason: Mapping[str, Any]) -> int:
        """Make the generation after the newest; return its number. One that another machine makes now is as good."""
        return self._claim_next(reason)[0]

    def _claim_next(self, reason: Mapping[str, Any]) -> tuple[int, bool]:
        """Make the next generation; give its number, and whether it is this machine's."""
        number = self.newest() + 1
        claim = {**reason, "by": self._files.machine, "nonce": os.urandom(8).hex()}
        # It outlives a power loss, as what is flushed to logs by its terms does.
        won = self._files.claim(again_path(number), json.dumps(claim).encode() + b"\n", fsync=True)
        self._there.add(number)
        return number, won

    def ensure(self, reason: Mapping[str, Any]) -> int:
        """Give the newest generation with this reason; make one if there is none.

        So machines that are told the same, each on its command line, make one generation and not one each.
        """
        while True:
            self.newest()
            self.learn()
            for number in reversed(self.after(0)):
                if self.reason(number) == reason:
                    return number
            made, won = self._claim_next(reason)
            if won:
                return made

    def ensure_refresh(self, before: str, slack_s: float, *, others: bool) -> str:
        """See that there is a generation that asks for a refresh; give the time (RFC 3339) that it says.

        "Older than seven days" means another time on each machine, by when it was started. So a generation counts
        whose time is at most `slack_s` earlier than `before`, if it was made since this call began. One that was made
        earlier counts only if there are `others`, who are working on it.
        """
        first = 0 if others else self.newest()
        while True:
            self.newest()
            if others:
                self.learn()
            for number in reversed(self.after(first)):
                asked = refresh_of(self.reason(number))
                if asked and _seconds_between(asked, before) <= slack_s:
                    return asked
            if self._claim_next({"reason": "refresh", "before": before})[1]:
                return before

    def reason(self, generation: int) -> dict[str, Any]:
        """Read why a generation was made; empty if that cannot be read."""
        if generation not in self._reasons:
            try:
                found = json.loads(self._files.read_or_torn(again_path(generation)) or b"")
            except (ValueError, RecursionError):
                return {}
            if not isinstance(found, dict):
                return {}
            self._reasons[generation] = {name: value for name, value in found.items() if name not in _OWN}
        return self._reasons[generation]


def refresh_of(reason: Mapping[str, Any]) -> str:
    """Give the time (RFC 3339) before which pages are to be fetched again; "" if the reason is another one.

    >>> refresh_of({"reason": "refresh", "before": "2026-01-02T03:04:05.678Z"})
    '2026-01-02T03:04:05.678Z'
    """
    before = reason.get("before")
    return before if reason.get("reason") == "refresh" and isinstance(before, str) and _is_time(before) else ""


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _seconds_between(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


def cut_of(reason: Mapping[str, Any]) -> tuple[str, Place] | None:
    """Give the log that was cut, and up to where it had been read; None if the reason is another one.

    >>> cut_of({"reason": "cut", "log": "m-1-ab", "expected": [0, 93]})
    ('m-1-ab', Place(segment=0, bytes=93))
    """
    log, expected = reason.get("log"), reason.get("expected")
    if reason.get("reason") != "cut" or not isinstance(log, str) or not isinstance(expected, list):
        return None
    if not is_machine(log) or len(expected) != 2 or not all(type(n) is int and 0 <= n < 1 << 62 for n in expected):
        return None
    return log, Place(*expected)
