"""How many different things were left out, and by which rule: whatever the order in which they come, and however often.

Of the fingerprints of each rule, the `MOST` smallest are kept, and one more. As long as these are all, their number is
exact. If there are more, it is worked out from how close together the smallest ones are, and is wrong by 2 %, usually
("k minimum values": Bar-Yossef and others, Counting distinct elements in a data stream, 2002). Both depend on the set
alone. So the counts of several processes, machines and runs can be added as sets are.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST = 2000
_ALL = 1 << 64  # fingerprints: 64 bits of a hash


class _Rule:
    """The fingerprints of one rule that may be among the smallest."""

    def __init__(self) -> None:
        self.kept: set[int] = set()
        self.below = _ALL  # those from here on are not among the smallest

    def add(self, fingerprint: int) -> bool:
        if fingerprint >= self.below or fingerprint in self.kept:
            return False
        self.kept.add(fingerprint)
        if len(self.kept) == 2 * MOST:
            self.kept = set(self.smallest)
            self.below = max(self.kept) + 1
        return True

    @property
    def smallest(self) -> list[int]:
        """The `MOST` smallest, and one more if there are more."""
        return sorted(self.kept)[: MOST + 1]

    @property
    def number(self) -> int:
        """Give how many there are: about that many, beyond `MOST`."""
        if len(self.kept) <= MOST:
            return len(self.kept)
        return max(MOST + 1, round((MOST - 1) * _ALL / (self.smallest[MOST - 1] + 1)))


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

    def discard(self, rule: str, fingerprint: int) -> None:
        """Do not count one any more. Where there are more than `MOST`, the number is a little less right then."""
        if (found := self._rules.get(rule)) is not None:
            found.kept.discard(fingerprint)

    def __getitem__(self, rule: str) -> int:
        found = self._rules.get(rule)
        return 0 if found is None else found.number

    def __iter__(self) -> Iterator[str]:
        return (rule for rule, found in self._rules.items() if found.kept)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def to_json(self) -> dict[str, str]:
        """Give what `from_json` reads: for each rule the smallest fingerprints, eight bytes each, in Base64."""
        return {rule: _text(self._rules[rule].smallest) for rule in self}

    @classmethod
    def from_json(cls, values: Any) -> dict[str, tuple[int, ...]]:
        """Read the fingerprints by rule; what is none is left out."""
        if not isinstance(values, dict):
            return {}
        return {rule: _fingerprints(text) for rule, text in values.items() if isinstance(text, str)}


def _text(fingerprints: list[int]) -> str:
    return base64.b64encode(struct.pack(f">{len(fingerprints)}Q", *fingerprints)).decode()


def _fingerprints(text: str) -> tuple[int, ...]:
    try:
        data = base64.b64decode(text, validate=True)
        return struct.unpack(f">{len(data) // 8}Q", data)[: MOST + 1]
    except (ValueError, struct.error):
        return ()
