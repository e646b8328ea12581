"""Edits that people make while machines run: to `crawl.toml`, `seeds.txt` and lists, and the signs PAUSE and STOP.

sshfs may return only a part of a file, which must never be taken for an edit. So an edit of the settings counts if the
text ends with the line that `settings.render` writes there, or if it stays the same for longer than any file system
caches it. A line of seeds counts if it ends with a newline, or if the file stays the same for as long. A file that is
missing for a moment, because an editor replaces it, is no edit.

A list of seeds may have many megabytes, and each machine looks at it in every round. To look at a size and a time costs
the same for any file. But a share may show an old time, or a new size before the new text, and two edits at one moment
may have the same time. So size and time only say when the text is read: in each look until it has been the same for
longer than caches live, and later at least once in that time.

A machine that starts has no earlier settings to go by, so it waits until the text counts. It need not wait for a text
that machines have used before, nor on a local disk for one that nobody has written to for a while: there, what is read
and when it was changed are never out of date.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from fscrawl.config import settings
from fscrawl.config.seeds import reading, wait_for_lines
from fscrawl.config.settings import FILE, Settings, check_fixed
from fscrawl.errors import NoBrowserError, PlantedError, SettingsError, TreeError
from fscrawl.parse.media_types import PDF, Ranges
from fscrawl.sites import rules
from fscrawl.sites.rules import origins
from fscrawl.storage.mounts import CACHES_LIVE_S, caches_live_s
from fscrawl.storage.records import TreeRecord, timestamp
from fscrawl.store import PAUSE, SEEDS, STOP, Tree, text_if_there
from fscrawl.util.installed import to_install

Stamp = tuple[int, float]
"""The size of a file, and when it was changed last by the clock of its file system."""


class EditedText:
    """One file, as it was read last."""

    def __init__(
        self, stamp: Callable[[], Stamp | None], read: Callable[[], str | None], *, first_counts: bool = False
    ) -> None:
        """`stamp`, `read`: give size and time, and the text; None if the file is missing. They may raise TreeError.

        `first_counts`: the last line of the first text counts: who has begun has waited for it.
        """
        self._look_at = stamp
        self._read = read
        self._stamp: Stamp | None = None  # of the text, unless it may change yet
        self._text: str | None = None
        self._text_since = float("inf")
        self._same_since = float("inf")  # text and stamp
        self._read_at = 0.0
        self._first_counts = first_counts

    def look(self, now: float) -> str | None:
        """Give the text as it stands; None if the file is missing. `now`: monotonic time."""
        stamp = None
        if now - self._same_since > CACHES_LIVE_S:
            stamp = self._look_at()  # before the text: if that changes in between, the next look finds another stamp
            if stamp is not None and stamp == self._stamp and now - self._read_at <= CACHES_LIVE_S:
                return self._text
        text = self._read()
        if text != self._text:
            self._text_since = float("-inf") if self._first_counts else now
            self._first_counts = False
            self._same_since = now
        elif self._stamp not in (None, stamp):
            self._same_since = now
        self._stamp, self._text, self._read_at = stamp, text, now
        return text

    def same_s(self, now: float) -> float:
        """Give for how long the text has been the same, or the file has been missing."""
        return now - self._text_since

    def whole_lines(self, now: float) -> str | None:
        """Give the lines that count; None if the file is missing. As `look` else."""
        text = self.look(now)
        if text is None or self.same_s(now) > CACHES_LIVE_S:
            return text
        return text[: text.rfind("\n") + 1]


class Faults:
    """Says of a file that it cannot be read: once, until it could be read again."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._warned: set[str] = set()

    def note(self, name: str, error: TreeError) -> None:
        """Note that a file could not be read. Mostly that passes: NFS v3 answers ESTALE for one just replaced."""
        if isinstance(error, PlantedError):
            self.say(name, str(error))

    def say(self, name: str, fault: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            self._warn(f"{fault}; what was read before stays in force")

    def forget(self, name: str) -> None:
        """It could be read."""
        self._warned.discard(name)


_POLL_S = 0.25
_WRITING_S = 15.0  # a local file that somebody writes does not stay the same for so long
_SLICE_S = 0.05  # of reading seeds, before the workers are looked at again
_LINES_A_LOOK = 2048  # at the clock: so a usual file is read at once
_CUT_S = 3.0  # nor does one stay cut off in the middle of a value
_NO_LABELS: Mapping[str, str] = {}


def settings_of(tree: Tree) -> Settings:
    """Read `crawl.toml` as it stands; SettingsError if it is wrong, or does not fit the tree."""
    return _fitting(tree, tree.controls.settings())


def parse_file(text: str, where: str, record: TreeRecord | None = None) -> Settings:
    """Do what `settings.parse` does, for the whole text of a file; an empty one is a SettingsError.

    It has lost what somebody wanted, and the defaults may be faster than they allow.
    """
    if not text.strip():
        raise SettingsError(
            "the file is empty; write your settings again; one line, [crawl], gives all their defaults", where=where
        )
    return settings.parse(text, where, record)


def missing(settings: Settings) -> str:
    """Say in one line what settings ask for and this machine cannot do, and how it can be helped; "" if it can do all.

    The crawl goes on without it.
    """
    fetch = settings.fetch
    if PDF not in fetch.accept_links or PDF not in Ranges(fetch.accept):
        return ""
    from fscrawl.parse import pdf  # noqa: PLC0415 - it loads the parsers

    if pdf.is_installed():
        return ""
    return f"PDF files are stored, but not searched for links, since pypdf is missing: {to_install(pdf.EXTRA)}"


def _parsed(tree: Tree, text: str) -> Settings:
    return parse_file(text, _where(tree), tree.record)


def _where(tree: Tree) -> str:
    return f"{tree.root}/{settings.FILE}"


def _fitting(tree: Tree, text: str) -> Settings:
    """Read settings; SettingsError if they are wrong, or differ from what was fixed when the tree was made."""
    found = _parsed(tree, text)
    check_fixed(tree.record, found, _where(tree))
    return found


def read_settings(tree: Tree, warn: Callable[[str], None]) -> Settings:
    """Read `crawl.toml` when a machine starts. SettingsError if it is wrong, or does not fit the tree.

    Half a file may be valid TOML. So one without its last line must stay the same for a while. Or it may be no TOML, as
    that of a moment in which a share shows zeros: such a mistake must stay for some seconds.
    """
    where = _where(tree)
    text, since = tree.controls.settings(), time.monotonic()
    warned = False
    while True:
        same_s = time.monotonic() - since
        try:
            settings.parse(text, where, tree.record)
        except SettingsError:
            if is_whole(text) or _age_s(tree, same_s) > _CUT_S:
                raise
        else:
            left_s = 0.0 if is_whole(text) else _left_s(tree, text, same_s)
            if left_s <= 0:
                return _fitting(tree, text)  # half a file may only lack what was fixed
            if not warned:
                warned = True
                warn(
                    f"{where}: its last line is not {settings.END!r}, so somebody may still be writing it; waiting for"
                    f" {left_s:.0f} s to see whether it changes. With that line, no machine waits"
                )
        time.sleep(_POLL_S)
        again = tree.controls.settings_if_there() or text
        if again != text:
            text, since = again, time.monotonic()


def _left_s(tree: Tree, text: str, same_s: float) -> float:
    """Give for how long settings without their last line must go on to be the same, as they were for `same_s`."""
    if tree.controls.copied() == digest_of(text):
        return 0.0
    return (caches_live_s(tree.root) or _WRITING_S) - _age_s(tree, same_s)


def _age_s(tree: Tree, same_s: float) -> float:
    return tree.controls.same_s(settings.FILE, same_s, time.time())


def is_whole(text: str) -> bool:
    """Return whether the text of the settings has its last line."""
    return text.rstrip().endswith(settings.END)


def digest_of(text: str) -> str:
    """Return a short hash of a `crawl.toml`. Machines report it, so that one can see which text each of them uses."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


class EditWatcher:
    """Finds edits, compared with the settings and seeds that the machine started with.

    `settings`, `seeds`, `stopped`, `paused` and `paused_hosts` are what is in force now. `labels` are those of seeds
    that have one. `origins` are the roots of the hosts that seeds of sites are on. `must_leave` says why this machine
    must not go on by settings that were good before.
    """

    def __init__(
        self,
        tree: Tree,
        current: Settings,
        seeds: frozenset[str],
        warn: Callable[[str], None],
        check: Callable[[Settings], None] = lambda settings: None,  # noqa: ARG005
        labels: Mapping[str, str] = _NO_LABELS,
        added: Iterable[str] = (),
    ) -> None:
        """`check`: raises SettingsError if valid settings cannot be used on this machine.

        `added`: those of the seeds that its own command has added to the file; the first look gives them as new ones.
        """
        self.settings = current
        self.seeds = seeds
        self.labels = {seed: label for seed, label in labels.items() if label}
        self.origins = origins(current.rules)
        self._refusal = ""  # the warning about an edit that cannot be used
        self._faults = Faults(warn)
        self.must_leave: NoBrowserError | None = None  # it could not begin by the settings that stand there
        self._tree = tree
        self._warn = warn
        self._check = check
        text = tree.controls.settings()
        self._text = self._used = text if _means(tree, text, current) else ""  # otherwise it has been edited meanwhile
        self._keep_copy()
        self._settings_file = EditedText(lambda: None, lambda: tree.controls.settings_if_there())  # noqa: PLW0108
        self._waits_for = ""  # the edit without its last line that was warned of
        self._seed_file = EditedText(lambda: tree.controls.stamp(SEEDS), lambda: tree.controls.seeds())  # noqa: PLW0108
        self._seed_file.look(time.monotonic())
        self._seeds_read: str | None = None  # lines may have been added since this machine read its seeds
        self._bad_seeds: set[str] = set()  # lines that were warned of
        self._added = list(added)
        self._reading: Iterator[None] | None = None  # what is left to do of seeds that have changed
        self._found: dict[str, str] = {}
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
            text = self._settings_file.look(now)
        except TreeError as error:
            self._faults.note(settings.FILE, error)
            return False
        same_s = self._settings_file.same_s(now)
        if text is None:
            if same_s > CACHES_LIVE_S:
                self._faults.say(settings.FILE, f"{_where(self._tree)}: somebody has deleted it")
            return False
        self._faults.forget(settings.FILE)
        if text == self._text:
            return False
        if not is_whole(text) and same_s <= CACHES_LIVE_S:
            if same_s > _CUT_S and self._waits_for != text:
                self._waits_for = text
                self._warn(
                    f"{_where(self._tree)}: its last line is not {settings.END!r}, so the edit counts only when it has"
                    f" been the same for {CACHES_LIVE_S:.0f} s"
                )
            return False
        edited = self._usable(text)
        if edited is None:
            return False
        self._text = self._used = text
        edited = edited.with_code(self.settings.code)
        changed, self.settings = edited != self.settings, edited
        self.origins = origins(edited.rules)
        self.settings_at = timestamp(time.time())
        self._keep_copy()
        if changed and (problem := missing(edited)):
            self._warn(problem)
        return changed

    def _usable(self, text: str) -> Settings | None:
        """Read an edit; None if it cannot be used. One that this machine lacks a file for is looked at again."""
        try:
            edited = _fitting(self._tree, text)
        except SettingsError as error:
            self._text = text
            self._refuse(error)
            return None
        try:
            self._check(edited)
        except NoBrowserError as error:
            self.must_leave = error
            return None
        except SettingsError as error:
            self._refuse(error)
            return None
        self._refusal = ""
        return edited

    def _refuse(self, error: SettingsError) -> None:
        if str(error) != self._refusal:
            self._refusal = str(error)
            self._warn(f"{error}; the last good settings stay in force")

    def _keep_copy(self) -> None:
        of = self.settings_digest if self._used else ""
        self._tree.controls.keep_copy(settings.render(self.settings, secrets=False), of)

    @property
    def settings_digest(self) -> str:
        """Short hash of the text of the settings in force, so that machines can be compared."""
        return digest_of(self._used)

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
        """Return the seeds on lines that were added since the last one; of many lines, once all were read (`go_on`)."""
        if not (self.is_reading or self.has_read):
            try:
                text = self._seed_file.whole_lines(time.monotonic()) or ""
            except TreeError as error:
                self._faults.note(SEEDS, error)
                return []
            self._faults.forget(SEEDS)
            if text != self._seeds_read:
                self._reading = self._read_seeds(text)
        until = time.monotonic() + _SLICE_S
        self.go_on(lambda: time.monotonic() >= until)
        if self._reading is not None:
            return []
        new = [url for url in self._found if url not in self.seeds]
        self._found = {}
        self.seeds |= frozenset(new)
        added, self._added = self._added, []
        return [*added, *new]

    @property
    def is_reading(self) -> bool:
        """There are lines still to be read."""
        return self._reading is not None

    @property
    def has_read(self) -> bool:
        """There are seeds that were read, and are given by the next look."""
        return bool(self._found)

    def go_on(self, is_late: Callable[[], bool]) -> None:
        """Read on in seeds that have changed, until it is late."""
        for done, _ in enumerate(self._reading or (), 1):
            if done % _LINES_A_LOOK == 0 and is_late():
                return
        self._reading = None

    def _read_seeds(self, text: str) -> Iterator[None]:
        """Read seeds that have changed; most often some were added behind the others, and only they are read.

        A seed whose line is gone keeps its label: an editor may write the file anew.
        """
        before = self._seeds_read
        warn = _say_nothing if before is None else self._warn  # the first lines were warned of when the machine began
        where, found = f"{self._tree.root}/{SEEDS}", dict[str, str]()
        beginning = before if before and before.endswith("\n") and text.startswith(before) else ""
        if beginning:
            yield from reading(found, text, where, warn, self._bad_seeds, len(beginning))
        if not beginning or not self.seeds.isdisjoint(found):  # else a line before it may say another label
            found.clear()
            yield from reading(found, text, where, warn, self._bad_seeds, 0)
        self.labels = {seed: label for seed, label in {**self.labels, **found}.items() if label}
        self._found, self._seeds_read = found, text


def _say_nothing(message: str) -> None:
    """Take the place of a warning that was given before."""


def _means(tree: Tree, text: str, current: Settings) -> bool:
    try:
        return settings.parse(text, settings.FILE, tree.record).with_code(current.code) == current
    except SettingsError:
        return False


# -- the lists that seeds of [[site]] tables name: text files in the root of the tree, one value a line
# They may grow, and what counts of them is as for seeds.


def check_lists(root: Path, chosen: Settings) -> None:
    """Raise SettingsError if a list is missing, or if the tables give too many seeds. Nothing is made for that.

    `root`: of a tree, or the directory in which one will be made.
    """
    texts: dict[str, str] = {}
    for name in rules.files(chosen.rules):
        text = text_if_there(root, name)
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
        wait_for_lines(tree, name, partial(_list_text, tree, name), warn)
    check_lists(tree.root, chosen)


def _list_text(tree: Tree, name: str) -> str:
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
