"""What people change while machines run: the signs PAUSE and STOP, the settings and the seeds.

Vocabulary:
  sign        a file in the root that steers all machines by its name: STOP, PAUSE, PAUSE.<host>
  settings    the text of `crawl.toml`
  seeds       the text of `seeds.txt`, one URL a line
"""

from __future__ import annotations

import os
from pathlib import Path

from fscrawl.storage.atomic import read_file
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.kinds import most_bytes
from fscrawl.storage.layout import PAUSE, SEEDS, SETTINGS, SIGNS, STOP
from fscrawl.storage.retrying import BRIEF
from fscrawl.storage.safe_open import Place


class Controls:
    """The files of a tree that people write."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files

    def signs(self) -> frozenset[str]:
        """Give the names of all signs.

        PAUSE and STOP are looked up in two ways. On NFS a listing is fresh and a look-up by name may be old; on sshfs a
        listing may be 20 s old and a look-up by name is fresh.
        """
        found = {name for name in self._files.names() if name in SIGNS or name.startswith(f"{PAUSE}.")}
        return frozenset(found | {name for name in SIGNS if self._files.exists(name)})

    def put_sign(self, name: str) -> None:
        """Create a sign, unless it is there."""
        self._files.claim(name, b"")

    def drop_sign(self, name: str) -> bool:
        """Remove a sign; tell whether there was one."""
        there = self._files.exists(name)
        self._files.remove(name)
        return there

    def settings(self) -> str:
        """Read `crawl.toml`; TreeError if it is not there."""
        return _text(self._files.get(SETTINGS))

    def settings_if_there(self) -> str | None:
        """Read `crawl.toml`; None at the moment when an editor replaces it."""
        return kept_settings(self._files.root)

    def seeds(self) -> str:
        """Read `seeds.txt`; "" if somebody has removed it."""
        return _text(self._files.get(SEEDS)) if self._files.exists(SEEDS) else ""

    def add_seeds(self, urls: list[str]) -> None:
        """Append lines to `seeds.txt`, in one write. If its last line has no newline, it gets one first."""
        old = self.seeds()
        new = ("" if not old or old.endswith("\n") else "\n") + "".join(f"{url}\n" for url in urls)
        self._files.append_line(SEEDS, new.encode())


def kept_settings(root: Path) -> str | None:
    """Read the `crawl.toml` of a directory, which may not be a tree; None if the file is missing."""
    return _text_if_there(root, SETTINGS)


def kept_seeds(root: Path) -> str | None:
    """Read the `seeds.txt` of a directory, which may not be a tree; None if the file is missing."""
    return _text_if_there(root, SEEDS)


def is_stopped(root: Path) -> bool:
    """Tell whether somebody has asked all machines to leave."""
    return BRIEF.find(root, lambda: os.stat(root / STOP, follow_symlinks=False), None) is not None


def _text_if_there(root: Path, name: str) -> str | None:
    place = Place(str(root), name)
    data = BRIEF.find(place, lambda: read_file(place, most_bytes(name)), None)
    return None if data is None else _text(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
