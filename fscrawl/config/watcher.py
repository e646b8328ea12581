"""Edits that people make while machines run: to `crawl.toml`, to `seeds.txt`, and the signs PAUSE and STOP.

sshfs may return only a part of a file, which must never be taken for an edit. So an edit of the settings counts if the
text ends with the line that `settings.render` writes there, or if it stays the same for longer than any file system
caches it. A line of seeds counts if it ends with a newline, or if the file stays the same for as long. A file that is
missing for a moment, because an editor replaces it, is no edit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import Settings
from fscrawl.errors import SettingsError, TreeError
from fscrawl.storage.caches import CACHES_LIVE_S
from fscrawl.storage.records import timestamp
from fscrawl.store import PAUSE, SEEDS, STOP, Tree

_POLL_S = 0.25


def settings_of(tree: Tree) -> Settings:
    """Read `crawl.toml` as it stands; SettingsError if it is wrong, or does not fit the tree."""
    return _checked(tree, settings.parse(tree.controls.settings(), _where(tree), tree.record))


def _where(tree: Tree) -> str:
    return f"{tree.root}/{settings.FILE}"


def _checked(tree: Tree, found: Settings) -> Settings:
    settings.check_fixed(tree.record, found, _where(tree))
    return found


def read_settings(tree: Tree, warn: Callable[[str], None]) -> Settings:
    """Read `crawl.toml` when a machine starts. SettingsError if it is wrong, or does not fit the tree.

    Half a file may be valid TOML. So a file without its last line must stay the same for as long as caches live.
    """
    where = _where(tree)
    text, since = tree.controls.settings(), time.monotonic()
    warned = False
    while True:
        found = settings.parse(text, where, tree.record)
        if is_whole(text) or time.monotonic() - since > CACHES_LIVE_S:
            return _checked(tree, found)  # half a file may only lack what was fixed
        if not warned:
            warned = True
            warn(
                f"{where}: its last line is not {settings.END!r}, so somebody may still be writing it; waiting until it"
                f" stays the same for {CACHES_LIVE_S:.0f} s"
            )
        time.sleep(_POLL_S)
        again = tree.controls.settings_if_there() or text
        if again != text:
            text, since = again, time.monotonic()


def is_whole(text: str) -> bool:
    """Return whether the text of the settings has its last line."""
    return text.rstrip().endswith(settings.END)


class EditWatcher:
    """Finds edits, compared with the settings and seeds that the machine started with.

    `settings`, `seeds`, `stopped`, `paused` and `paused_hosts` are what is in force now.
    """

    def __init__(
        self,
        tree: Tree,
        current: Settings,
        seeds: frozenset[str],
        warn: Callable[[str], None],
        check: Callable[[Settings], None] = lambda settings: None,  # noqa: ARG005
    ) -> None:
        """`check`: raises SettingsError if valid settings cannot be used on this machine."""
        self.settings = current
        self.seeds = seeds
        self._tree = tree
        self._warn = warn
        self._check = check
        text = tree.controls.settings()
        self._text = self._used = text if _means(tree, text, current) else ""  # otherwise it has been edited meanwhile
        self._candidate = self._text
        self._candidate_since = 0.0
        self._seed_text = tree.controls.seeds()
        self._seeds_since = time.monotonic()
        self._seeds_read = ""  # lines may have been added since this machine read its seeds
        self.settings_at = timestamp(time.time())  # when these settings came into force
        self.stopped = False
        self.paused = False
        self.paused_hosts: frozenset[str] = frozenset()
        self.look_for_signs()

    def settings_edited(self, now: float) -> bool:
        """Look for an edit of the settings; return whether they have changed. `now`: monotonic time.

        A bad edit is reported once, and the last good settings stay in force.
        """
        try:
            text = self._tree.controls.settings_if_there()
        except TreeError:  # NFS v3 answers ESTALE for a file that was just replaced
            return False
        if text is None:
            return False
        if text == self._text:
            self._candidate = text
            return False
        if text != self._candidate:
            self._candidate, self._candidate_since = text, now
        if not is_whole(text) and now - self._candidate_since <= CACHES_LIVE_S:
            return False
        self._text = text
        try:
            edited = _checked(self._tree, settings.parse(text, _where(self._tree), self._tree.record))
            self._check(edited)
        except SettingsError as error:
            self._warn(f"{error}; the last good settings stay in force")
            return False
        self._used = text
        changed, self.settings = edited != self.settings, edited
        self.settings_at = timestamp(time.time())
        return changed

    @property
    def settings_digest(self) -> str:
        """Short hash of the text of the settings in force, so that machines can be compared."""
        return settings.digest_of(self._used)

    def look_for_signs(self) -> None:
        """Look for the signs in the root: STOP, PAUSE, and PAUSE.<host>."""
        try:
            signs = self._tree.controls.signs()
        except TreeError:
            return
        self.stopped = STOP in signs
        self.paused = PAUSE in signs
        self.paused_hosts = frozenset(name.removeprefix(f"{PAUSE}.") for name in signs - {PAUSE, STOP})

    def new_seeds(self) -> list[str]:
        """Return the seeds on lines that were added since the last look."""
        try:
            text = self._tree.controls.seeds()
        except TreeError:
            return []
        now = time.monotonic()
        if text != self._seed_text:
            self._seed_text, self._seeds_since = text, now
        is_settled = now - self._seeds_since > CACHES_LIVE_S
        whole = text if is_settled else text[: text.rfind("\n") + 1]
        if whole == self._seeds_read:
            return []
        self._seeds_read = whole
        found = read_seeds(whole, f"{self._tree.root}/{SEEDS}", lambda _: None)
        new = [url for url in dict.fromkeys(found) if url not in self.seeds]
        self.seeds |= frozenset(new)
        return new


def _means(tree: Tree, text: str, current: Settings) -> bool:
    try:
        return settings.parse(text, settings.FILE, tree.record) == current
    except SettingsError:
        return False
