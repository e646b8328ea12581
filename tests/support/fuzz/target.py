"""What a target is, and what its inputs look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fscrawl.errors import FscrawlError


@dataclass(frozen=True)
class Target:
    """One function of bytes.

    run         raises nothing but what is in `allowed`; AssertionError where a promise is broken
    fragments   what inputs are made of, besides arbitrary bytes
    seeds       whole inputs to begin with
    options     how many ways of running there are; the first byte of an input chooses, modulo this
    reach       bytes of the longest repetition
    base_s      CPU time that any input may take
    bytes_per_s what is taken as linear, on top of that
    corpus      glob patterns of files that are seeds, too, where they are there; below the folder of corpora
    """

    name: str
    run: Callable[[bytes], None]
    fragments: tuple[bytes, ...]
    seeds: tuple[bytes, ...] = ()
    allowed: tuple[type[BaseException], ...] = (FscrawlError,)
    options: int = 1
    reach: int = 200_000
    bytes_per_s: float = 1e9
    base_s: float = 1.0
    corpus: tuple[str, ...] = ()

    def limit_s(self, size: int) -> float:
        """Give the CPU time that an input of `size` bytes may take."""
        return self.base_s + size / self.bytes_per_s


def words(text: str) -> tuple[bytes, ...]:
    r"""Give the fragments that a text lists, one a line, with the escapes of Python.

    >>> words("<p>\n\\x00\n")
    (b'<p>', b'\x00')
    """
    return tuple(line.encode().decode("unicode_escape").encode("latin-1") for line in text.splitlines() if line)


def string(data: bytes) -> str:
    """Give a text of any kind: what is not UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")
