"""How many different things were left out, and by which rule: whatever the order in which they come, and however often.

Of the fingerprints of each rule, the `MOST` smallest are kept, and one more. As long as these are all, their number is
exact. If there are more, it is worked out from how many there are below a bound, and is wrong by 2 %, usually ("k
minimum values": Bar-Yossef and others, Counting distinct elements in a data stream, 2002). Both depend on the set
alone. So the counts of several processes, machines and runs can be added as sets are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

import msgspec

MOST = 2000
ALL = 1 << 64  # fingerprints: 64 bits of a hash


class LeastDigests(msgspec.Struct, frozen=True, omit_defaults=True):
    """The smallest fingerprints of a rule.

    packed   eight bytes each, in their order; Base64 in JSON
    below    all that are less than this are there; 0: they are all that there are
    """

    packed: bytes
    below: int = 0


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
            self._keep_below(self.least[0])
        return True

    def add_digests(self, more: LeastDigests) -> None:
        """Add others. What is kept must be all that is less than `below`, so the lower one of two counts."""
        if 0 < more.below < self.below:
            self._keep_below(more.below)
        for (each,) in struct.iter_unpack(">Q", more.packed[: len(more.packed) // 8 * 8]):
            self.add(each)

    def _keep_below(self, below: int) -> None:
        self.below = below
        self.kept = {each for each in self.kept if each < below}

    @property
    def least(self) -> tuple[int, list[int]]:
        """The `MOST` smallest, and one more if there are more; behind the number below which they are all."""
        ordered = sorted(self.kept)
        if len(ordered) <= MOST + 1:
            return self.below, ordered
        return ordered[MOST] + 1, ordered[: MOST + 1]

    @property
    def number(self) -> int:
        """Give how many there are: about that many if not all are kept."""
        below, fingerprints = self.least
        return round(len(fingerprints) * ALL / below)

    def digests(self) -> LeastDigests:
        below, fingerprints = self.least
        return LeastDigests(struct.pack(f">{len(fingerprints)}Q", *fingerprints), below if below < ALL else 0)


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

    def add_digests(self, found: Mapping[str, LeastDigests]) -> None:
        """Add the counts of others."""
        for rule, digests in found.items():
            self._rules.setdefault(rule, _Rule()).add_digests(digests)

    def digests(self) -> dict[str, LeastDigests]:
        """Give the counts, for `add_digests` of others."""
        return {rule: self._rules[rule].digests() for rule in self}

    def is_about(self, rule: str) -> bool:
        """Tell whether the number of a rule is not exact."""
        return rule in self._rules and self._rules[rule].least[0] < ALL

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
