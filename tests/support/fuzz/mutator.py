"""Inputs: fragments in a row, seeds that are spoilt, and repetitions. The same ones for the same seed of `rng`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

MAX_BYTES = 262_144
_SEED_BYTES = 65_536
_POOL = 500  # inputs that are spoilt further
_NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"4294967296", b"-9223372036854775809", b"9" * 400, b"9" * 5000, b"\xd9\xa1")
_BYTES = (
    b"\0",
    b"\n",
    b"\r",
    b" ",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xc2\x85",
    b"\x1b",
)


class Mutator:
    """An endless row of inputs."""

    def __init__(self, rng: random.Random, fragments: Sequence[bytes], seeds: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._fragments = [*fragments, *_BYTES]
        self._pool = [seed[:_SEED_BYTES] for seed in seeds] or [b""]
        self._fixed = len(self._pool)  # seeds stay
        self._steps: list[Callable[[bytes], bytes]] = [
            self._inserted, self._inserted, self._replaced, self._cut, self._doubled, self._flipped, self._spliced,
            self._swollen, self._numbered,
        ]  # fmt: skip

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self.make()

    def make(self) -> bytes:
        if self._rng.random() < 0.4:
            made = b"".join(self._fragment() for _ in range(self._rng.randrange(1, 40)))
        else:
            made = self._rng.choice(self._pool)
            for _ in range(self._rng.randrange(1, 6)):
                made = self._rng.choice(self._steps)(made)
        made = made[:MAX_BYTES]
        if len(made) < 4096:
            self._keep(made)
        return made

    def _keep(self, made: bytes) -> None:
        if len(self._pool) < self._fixed + _POOL:
            self._pool.append(made)
        else:
            self._pool[self._rng.randrange(self._fixed, len(self._pool))] = made

    def _fragment(self) -> bytes:
        return self._rng.choice(self._fragments).replace(b"%d", b"%d" % self._rng.randrange(1000))

    def _place(self, data: bytes) -> int:
        return self._rng.randint(0, len(data))

    def _slice(self, data: bytes) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + self._rng.choice((1, 2, 8, 64, 512, 4096)))

    def _inserted(self, data: bytes) -> bytes:
        at = self._place(data)
        return data[:at] + self._fragment() + data[at:]

    def _replaced(self, data: bytes) -> bytes:
        start, end = self._slice(data)
        return data[:start] + self._fragment() + data[end:]

    def _cut(self, data: bytes) -> bytes:
        start, end = self._slice(data)
        return data[:start] + data[end:]

    def _doubled(self, data: bytes) -> bytes:
        start, end = self._slice(data)
        return data[:end] + data[start:end] * self._rng.choice((1, 2, 10)) + data[end:]

    def _flipped(self, data: bytes) -> bytes:
        at = self._place(data)
        return data[:at] + bytes([self._rng.randrange(256)]) + data[at + 1 :]

    def _spliced(self, data: bytes) -> bytes:
        other = self._rng.choice(self._pool)
        return data[: self._place(data)] + other[self._place(other) :]

    def _swollen(self, data: bytes) -> bytes:
        if self._rng.random() < 0.8:
            return data
        start, end = self._slice(data)
        return data[:start] + data[start:end] * self._rng.choice((100, 1000, 10_000)) + data[end:]

    def _numbered(self, data: bytes) -> bytes:
        at = self._place(data)
        end = at
        while end < len(data) and 48 <= data[end] <= 57:
            end += 1
        return data[:at] + self._rng.choice(_NUMBERS) + data[end:]


def repeated(unit: bytes, size: int) -> bytes:
    """Give `unit` again and again, `size` bytes at most, each `%d` in it another number.

    >>> repeated(b"<a x%d>", 20)
    b'<a x0><a x1><a x2>'
    """
    if b"%d" not in unit:
        return unit * (size // len(unit))
    made = bytearray()
    for number in range(size):
        made += unit.replace(b"%d", b"%d" % number)
        if len(made) + len(unit) > size:
            break
    return bytes(made)


def repetitions(fragments: Sequence[bytes], size: int) -> Iterator[bytes]:
    """Give one repetition of each fragment."""
    for each in fragments:
        yield repeated(each, size)


def compositions(rng: random.Random, fragments: Sequence[bytes], size: int) -> Iterator[bytes]:
    """Give repetitions of some fragments together, one behind the other, and between a beginning and an end."""
    while True:
        first, *units = rng.choices(fragments, k=rng.randrange(2, 5))
        units = [b"".join(units)] if rng.random() < 0.5 else units
        room = rng.choice((size, size, size // 3, 60_000)) // len(units)
        opening = first if rng.random() < 0.5 else b""
        yield opening + b"".join(repeated(unit, room) for unit in units)
