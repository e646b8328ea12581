"""The lists that templates of seeds name: text files in the root of the tree, one value a line.

A list may grow while machines run. As for `seeds.txt`, a last line without a newline counts if the file stays the same
for longer than any file system caches it; and a file that is missing for a moment, because an editor replaces it,
keeps what it had.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fscrawl.config.edited_text import EditedText
from fscrawl.config.settings import FILE, Settings
from fscrawl.errors import SettingsError, TreeError
from fscrawl.sites import rules
from fscrawl.storage.caches import CACHES_LIVE_S
from fscrawl.store import Tree, kept_list


def check_lists(root: Path, chosen: Settings) -> None:
    """Raise SettingsError if a list is missing, or if the templates give too many seeds. Nothing is made for that.

    `root`: of a tree, or the directory in which one will be made.
    """
    texts: dict[str, str] = {}
    for name in rules.files(chosen.sites):
        text = kept_list(root, name)
        if text is None:
            raise SettingsError(
                f"{root}/{FILE}: [[site]] seeds: {{{name}}}: {root}/{name} does not exist; write it there, one value"
                " a line"
            )
        texts[name] = text
    said = rules.too_many(chosen.sites, texts.__getitem__)
    if said:
        raise SettingsError(f"{root}/{FILE}: {said}")


class ListFiles:
    """The lists of one machine, as far as they count."""

    def __init__(self, tree: Tree, clock: Callable[[], float] = time.monotonic) -> None:
        self._tree = tree
        self._clock = clock
        self._files: dict[str, EditedText] = {}
        self._texts: dict[str, str] = {}  # as read last, and since when
        self._since: dict[str, float] = {}
        self._whole: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """Give the text of a list in whole lines."""
        if name not in self._texts:
            self._read(name)
        return self._whole.get(name, "")

    def look(self, names: tuple[str, ...]) -> bool:
        """Read lists; tell whether one of them has changed since the last look."""
        changed = [self._read(name) for name in names]
        return any(changed)

    def _read(self, name: str) -> bool:
        now = self._clock()
        try:
            text = self._file(name).look(now)
        except TreeError:  # NFS v3 answers ESTALE for a file that was just replaced
            return False
        if text is None:
            return False
        if text != self._texts.get(name):
            is_first = name not in self._texts
            self._texts[name], self._since[name] = text, -CACHES_LIVE_S if is_first else now
        settled = now - self._since[name] > CACHES_LIVE_S
        whole = text if settled else text[: text.rfind("\n") + 1]
        changed = whole != self._whole.get(name)
        self._whole[name] = whole
        return changed

    def _file(self, name: str) -> EditedText:
        if name not in self._files:
            controls = self._tree.controls
            self._files[name] = EditedText(lambda: controls.stamp(name), lambda: controls.list_if_there(name))
        return self._files[name]
