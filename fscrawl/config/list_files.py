"""The lists that seeds of [[site]] tables name: text files in the root of the tree, one value a line.

A list may grow while machines run. As for `seeds.txt`, a last line without a newline counts if the file stays the same
for longer than any file system caches it, and a machine that starts waits for it. A file that is missing for a moment,
because an editor replaces it, keeps what it had.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fscrawl.config.edited_text import EditedText, Faults
from fscrawl.config.seeds import wait_for_lines
from fscrawl.config.settings import FILE, Settings
from fscrawl.errors import SettingsError, TreeError
from fscrawl.sites import rules
from fscrawl.store import Tree, kept_list


def check_lists(root: Path, chosen: Settings) -> None:
    """Raise SettingsError if a list is missing, or if the tables give too many seeds. Nothing is made for that.

    `root`: of a tree, or the directory in which one will be made.
    """
    texts: dict[str, str] = {}
    for name in rules.files(chosen.rules):
        text = kept_list(root, name)
        if text is None:
            raise SettingsError(
                f"{root}/{FILE}: [[site]] seeds: {{{name}}}: {root}/{name} does not exist; write it there, one value"
                " a line"
            )
        texts[name] = text
    problem = rules.too_many(chosen.rules, texts.__getitem__)
    if problem:
        raise SettingsError(f"{root}/{FILE}: {problem}")


def wait_for_lists(tree: Tree, chosen: Settings, warn: Callable[[str], None]) -> None:
    """Wait while the last line of a list may still be written; then check the lists as `check_lists` does."""
    for name in rules.files(chosen.rules):
        wait_for_lines(tree, name, partial(_text, tree, name), warn)
    check_lists(tree.root, chosen)


def _text(tree: Tree, name: str) -> str:
    return tree.controls.list_if_there(name) or ""


class ListFiles:
    """The lists of one machine, as far as they count."""

    def __init__(self, tree: Tree, warn: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tree = tree
        self._faults = Faults(warn)
        self._clock = clock
        self._files: dict[str, EditedText] = {}
        self._texts: dict[str, str] = {}  # as far as they count

    def __call__(self, name: str) -> str:
        """Give the text of a list in whole lines."""
        if name not in self._texts:
            self._read(name)
        return self._texts.get(name, "")

    def look(self, names: tuple[str, ...]) -> bool:
        """Read lists; tell whether one of them has changed since the last look."""
        changed = [self._read(name) for name in names]
        return any(changed)

    def _read(self, name: str) -> bool:
        try:
            text = self._file(name).whole_lines(self._clock())
        except TreeError as error:
            self._faults.note(name, error)
            return False
        if text is None:
            return False
        self._faults.forget(name)
        changed = text != self._texts.get(name)
        self._texts[name] = text
        return changed

    def _file(self, name: str) -> EditedText:
        if name not in self._files:
            controls = self._tree.controls
            stamp, read = lambda: controls.stamp(name), lambda: controls.list_if_there(name)
            self._files[name] = EditedText(stamp, read, first_counts=True)
        return self._files[name]
