"""How many different things were left out, and by which rule: whatever the order in which they come, and however often.

Of the fingerprints of each rule, the `MOST` smallest are kept, and one more. As long as these are all, their number is
exact. If there are more, it is worked out from how many there are below a bound, and is wrong by 2 %, usually ("k
minimum values": Bar-Yossef and others, Counting distinct elements in a data stream, 2002). Both depend on the set
alone. So the counts of several processes, machines and runs can be added as sets are.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MOST = 2000
ALL = 1 << 64  # fingerprints: 64 bits of a hash


class Least(NamedTuple):
    """All fingerprints of a rule that are less than `below`. If that is `ALL`, they are all that there are."""

    below: int
    fingerprints: tuple[int, ...]


class _Rule:
    """The fingerprints of one rule that may be among the smallest."""

    def __init__(self) -> None:
        self.kept: set[int] = set()
        self.below = ALL  # those from here on are not kept

    def add(self, fingerprint: int) -> bool:
        if fingerprint >= self.below or fingerprint in self.kept:
            return False
        self.kept.add(fingerprint)
        if len(self.kept) == 2 * MOST:
            self.merge(Least(self.least.below, ()))
        return True

    def merge(self, more: Least) -> None:
        """Add others. What is kept must be all that is less than `below`, so the lower one of two counts."""
        if more.below < self.below:
            self.below = more.below
            self.kept = {each for each in self.kept if each < self.below}
        for each in more.fingerprints:
            self.add(each)

    @property
    def least(self) -> Least:
        """The `MOST` smallest, and one more if there are more."""
        ordered = sorted(self.kept)
        if len(ordered) <= MOST + 1:
            return Least(self.below, tuple(ordered))
        return Least(ordered[MOST] + 1, tuple(ordered[: MOST + 1]))

    @property
    def number(self) -> int:
        """Give how many there are: about that many if not all are kept."""
        below, fingerprints = self.least
        return round(len(fingerprints) * ALL / below)


class LeftOut(Mapping[str, int]):
    """Rule → how many different things it has left out; 0 for any other rule."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}

    def add(self, rule: str, fingerprint: int) -> bool:
        """Count one; tell whether that may be news to whoever adds these counts to others."""
        found = self._rules.get(rule)
        if found is None:
            found = self._rules[rule] = _Rule()
        return found.add(fingerprint)

    def update(self, found: Mapping[str, Iterable[int]]) -> None:
        """Count those of several rules."""
        for rule, fingerprints in found.items():
            for each in fingerprints:
                self.add(rule, each)

    def merge(self, found: Mapping[str, Least]) -> None:
        """Add the counts of others."""
        for rule, least in found.items():
            self._rules.setdefault(rule, _Rule()).merge(least)

    def is_about(self, rule: str) -> bool:
        """Tell whether the number of a rule is not exact."""
        return rule in self._rules and self._rules[rule].least.below < ALL

    def discard(self, rule: str, fingerprint: int) -> None:
        """Do not count one any more."""
        if (found := self._rules.get(rule)) is not None:
            found.kept.discard(fingerprint)

    def __getitem__(self, rule: str) -> int:
        found = self._rules.get(rule)
        return 0 if found is None else found.number

    def __iter__(self) -> Iterator[str]:
        return (rule for rule, found in self._rules.items() if found.kept)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def to_json(self) -> dict[str, tuple[int, str]]:
        """Give what `from_json` reads: for each rule `below`, and the fingerprints, eight bytes each, in Base64."""
        return {rule: (least.below, _text(least.fingerprints)) for rule in self for least in (self._rules[rule].least,)}

    @classmethod
    def from_json(cls, values: Any) -> dict[str, Least]:
        """Read the fingerprints by rule; what is none is left out."""
        if not isinstance(values, dict):
            return {}
        return {rule: least for rule, each in values.items() if (least := _least(each)) is not None}


def _text(fingerprints: tuple[int, ...]) -> str:
    return base64.b64encode(struct.pack(f">{len(fingerprints)}Q", *fingerprints)).decode()


def _least(value: Any) -> Least | None:
    try:
        below, text = value
        data = base64.b64decode(text, validate=True)
        found = struct.unpack(f">{len(data) // 8}Q", data)[: MOST + 1]
    except (TypeError, ValueError, struct.error):
        return None
    is_one = type(below) is int and 0 < below <= ALL and all(each < below for each in found)
    return Least(below, found) if is_one else None
