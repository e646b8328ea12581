"""What people change while machines run: `crawl.toml`, `seeds.txt` and the signs PAUSE and STOP, looked at each round.

A read that sshfs cut short must never be taken for an edit. So an edit of the settings counts when the text ends with
the line that `settings.render` puts there, or has been the same for longer than the caches of any file system live; a
seed line counts once its newline is there. A file that is gone for a moment (an editor replaces it) is no edit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import Settings
from fscrawl.errors import SettingsError, TreeError
from fscrawl.storage.records import timestamp
from fscrawl.store import PAUSE, SEEDS, STOP, Tree

_POLL_S = 0.25
CACHES_LIVE_S = 60.0  # the longest that NFS keeps an attribute


def read_settings(tree: Tree, warn: Callable[[str], None]) -> Settings:
    """Read `crawl.toml` as a machine that begins; SettingsError if it is wrong.

    Half a file may be good TOML: without its last line it has to stay the same for as long as caches live.
    """
    where = f"{tree.root}/{settings.FILE}"
    text, since = tree.settings_text(), time.monotonic()
    told = False
    while True:
        found = settings.parse(text, where)
        if is_whole(text) or time.monotonic() - since > CACHES_LIVE_S:
            return found
        if not told:
            told = True
            warn(
                f"{where}: its last line is not {settings.END!r}: somebody may be writing it; waiting until it has been"
                f" the same for {CACHES_LIVE_S:.0f} s"
            )
        time.sleep(_POLL_S)
        again = tree.settings_text_if_there() or text
        if again != text:
            text, since = again, time.monotonic()


def is_whole(text: str) -> bool:
    """Tell whether settings were read to their end."""
    return text.rstrip().endswith(settings.END)


class EditWatcher:
    """Looks for edits. What it knows at first is what the machine began with."""

    def __init__(
        self,
        tree: Tree,
        current: Settings,
        seeds: frozenset[str],
        warn: Callable[[str], None],
        check: Callable[[Settings], None] = lambda settings: None,  # noqa: ARG005
    ) -> None:
        """`check`: raises SettingsError for what is well written and cannot be used here."""
        self.settings = current
        self.seeds = seeds
        self._tree = tree
        self._warn = warn
        self._check = check
        text = tree.settings_text()
        self._text = self._used = text if self._says(text, current) else ""  # else it has been edited since
        self._maybe = self._text
        self._maybe_since = 0.0
        self._seed_text = tree.seeds_text()
        self.settings_at = timestamp(time.time())  # when they were taken up
        self.stopped = False
        self.paused = False
        self.paused_hosts: frozenset[str] = frozenset()
        self.look_for_signs()

    def settings_edited(self, now: float) -> bool:
        """Take an edit of the settings up; a bad one is reported, once, and the last good settings stay."""
        try:
            text = self._tree.settings_text_if_there()
        except TreeError:  # NFS v3 says ESTALE of a file that was just replaced
            return False
        if text is None:
            return False
        if text == self._text:
            self._maybe = text
            return False
        if text != self._maybe:
            self._maybe, self._maybe_since = text, now
        if not is_whole(text) and now - self._maybe_since <= CACHES_LIVE_S:
            return False
        self._text = text
        where = f"{self._tree.root}/{settings.FILE}"
        try:
            edited = settings.parse(text, where)
            settings.check_fixed(self.settings, edited, where)
            self._check(edited)
        except SettingsError as error:
            self._warn(f"{error}; the last good settings stay")
            return False
        self._used = text
        changed, self.settings = edited != self.settings, edited
        self.settings_at = timestamp(time.time())
        return changed

    def _says(self, text: str, current: Settings) -> bool:
        try:
            return settings.parse(text, settings.FILE) == current
        except SettingsError:
            return False

    @property
    def settings_digest(self) -> str:
        """Name the text of the settings in use, so that machines can be compared."""
        return settings.digest_of(self._used)

    def look_for_signs(self) -> None:
        """See what people ask of all machines, or to leave alone."""
        try:
            signs = self._tree.signs()
        except TreeError:
            return
        self.stopped = STOP in signs
        self.paused = PAUSE in signs
        self.paused_hosts = frozenset(name.removeprefix(f"{PAUSE}.") for name in signs - {PAUSE, STOP})

    def new_seeds(self) -> list[str]:
        """Give the seeds of lines that were added since the last look."""
        try:
            text = self._tree.seeds_text()
        except TreeError:
            return []
        if text == self._seed_text:
            return []
        whole = text[: text.rfind("\n") + 1]
        self._seed_text = text
        found = read_seeds(whole, f"{self._tree.root}/{SEEDS}", lambda _: None)
        new = [url for url in dict.fromkeys(found) if url not in self.seeds]
        self.seeds |= frozenset(new)
        return new
