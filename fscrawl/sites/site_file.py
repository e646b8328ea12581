"""A site file as text, and a mistake in it. What runs it is `sites.code`, which loads the parsers: most crawls need
neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import msgspec

from fscrawl.errors import UsageError

_DIGITS = 8


class SiteFault(UsageError):  # noqa: N818 - a fault of the file, and no error of this program
    """A mistake in the site file. The text is one line that names file and line."""


class SiteFile(msgspec.Struct, frozen=True):
    """A site file: the path by which the user names it, and its text as it was read."""

    path: str
    text: str

    @property
    def digest(self) -> str:
        """A short hash of the text. Machines report it, since all must have the same."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]


class _OfFile(Protocol):
    @property
    def digest(self) -> str: ...


def digest_of(sites: Sequence[_OfFile]) -> str:
    """Give the digest of the site file that some sites are of; "" if there is none."""
    return next((site.digest for site in sites), "")
