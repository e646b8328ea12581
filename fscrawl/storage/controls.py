"""What people change while machines run: the signs PAUSE and STOP, the settings and the seeds.

Vocabulary:
  sign        a file in the root that steers all machines by its name: STOP, PAUSE, PAUSE.<host>
  settings    the text of `crawl.toml`
  seeds       the text of `seeds.txt`, one URL a line
  copy        the settings that machines used last, without secrets: in case that somebody deletes `crawl.toml`. Its
              first line has the digest of the text that it is a copy of
  text        of UTF-8, or UTF-16 with a byte order mark; a byte that is neither becomes what `user_text.decode` says
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from fscrawl.errors import TreeError
from fscrawl.storage.atomic import read_file
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import KEPT_SETTINGS, PAUSE, SEEDS, SETTINGS, SIGNS, STOP, TREE_RECORD
from fscrawl.storage.mounts import caches_live_s
from fscrawl.storage.retrying import BRIEF
from fscrawl.storage.safe_open import Place
from fscrawl.util.installed import command
from fscrawl.util.user_text import decode, encoding_of

_COPY_OF = "# copy of the crawl.toml with the digest "


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
        """Read `crawl.toml`. TreeError if it is not there: it says how to write it again."""
        try:
            return decode(self._files.get(SETTINGS))
        except TreeError as error:
            if not error.is_missing or not self._files.exists(TREE_RECORD):
                raise
            root = self._files.root
            how = f"{command('doctor', root)} --repair"
            raise TreeError(f"{root}/{SETTINGS}: somebody has deleted it; to write it again:  {how}") from error

    def settings_if_there(self) -> str | None:
        """Read `crawl.toml`; None at the moment when an editor replaces it."""
        return text_if_there(self._files.root)

    def same_s(self, name: str, seen_s: float, now: float) -> float:
        """Give for how long a file that was just read has certainly been the same: at least for `seen_s`.

        On a local disk, the time of its last change counts. It is asked for after the file was read, so what has come
        since then is too young. A share may show an old time. `now`: UNIX time.
        """
        changed_at = None if caches_live_s(self._files.root) else self._files.modified_at(name)
        return seen_s if changed_at is None else max(seen_s, now - changed_at)

    def keep_copy(self, text: str, of: str = "") -> None:
        """Keep a copy of the settings, in case that somebody deletes them. The tree works without it.

        `of`: the digest of the text of `crawl.toml`, if it is known.
        """
        data = f"{_COPY_OF}{of}\n{text}".encode()
        with contextlib.suppress(TreeError):
            if self._files.read_or_torn(KEPT_SETTINGS) != data:
                self._files.publish(KEPT_SETTINGS, data)

    def copy(self) -> str | None:
        """Read the copy of the settings; None if there is none."""
        data = self._files.read_or_torn(KEPT_SETTINGS)
        if data is None:
            return None
        first, _, rest = decode(data).partition("\n")
        return rest if first.startswith(_COPY_OF) else None

    def copied(self) -> str:
        """Give the digest of the text that the copy was made of; "" if it is not known."""
        first = decode(self._files.read_or_torn(KEPT_SETTINGS) or b"").partition("\n")[0]
        return first.removeprefix(_COPY_OF) if first.startswith(_COPY_OF) else ""

    def restore_settings(self, text: str) -> bool:
        """Write `crawl.toml` if it is not there; tell whether it was written."""
        return not self._files.exists(SETTINGS) and self._files.claim(SETTINGS, text.encode(), fsync=True)

    def stamp(self, name: str) -> tuple[int, float] | None:
        """Give size and time of a file that people write; None if it is missing."""
        return self._files.stamp(name)

    def list_if_there(self, name: str) -> str | None:
        """Read a list of values for seeds, a text file in the root; None if it is not there."""
        return text_if_there(self._files.root, name)

    def seeds(self) -> str:
        """Read `seeds.txt`; "" if somebody has removed it."""
        return decode(self._seeds())

    def _seeds(self) -> bytes:
        return self._files.get(SEEDS) if self._files.exists(SEEDS) else b""

    def add_seeds(self, urls: list[str]) -> None:
        """Append lines to `seeds.txt`, in one write. If its last line has no newline, it gets one first."""
        data = self._seeds()
        old = decode(data)
        new = ("" if not old or old.endswith("\n") else "\n") + "".join(f"{url}\n" for url in urls)
        self._files.append_line(SEEDS, new.encode(encoding_of(data)))


def text_if_there(root: Path, name: str = SETTINGS) -> str | None:
    """Read a file that people write in a directory, which may not be a tree; None if the file is missing."""
    place = Place(str(root), name)
    data = BRIEF.find(place, lambda: read_file(place), None)
    return None if data is None else decode(data)


def is_stopped(root: Path) -> bool:
    """Tell whether somebody has asked all machines to leave."""
    return BRIEF.find(root, lambda: os.stat(root / STOP, follow_symlinks=False), None) is not None
