"""In which generation a machine works, and when it begins the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.rulebook import Rulebook
from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.layout import rules_path
from fscrawl.store import TreeFiles
from tests.support.snapshot_files import FilesInMemory

CACHES_S = 60.0
PATIENCE_S = CACHES_S + 10.0
NARROW, USUAL, WIDE = CrawlSettings(scope="host"), CrawlSettings(scope="domain"), CrawlSettings(scope="any")
LONG_AGO, BEFORE = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"


class Watch:
    """The settings and seeds of one machine, which a test edits."""

    def __init__(self, crawl: CrawlSettings) -> None:
        self.settings = Settings(crawl)
        self.seeds = frozenset({"http://a.example/"})
        self._edited = False

    def edit(self, crawl: CrawlSettings = USUAL, **more: Any) -> None:
        self.settings = Settings(crawl, **more)
        self._edited = True

    def settings_edited(self, now: float) -> bool:
        edited, self._edited = self._edited, False
        return edited

    def new_seeds(self) -> list[str]:
        return []


class Machine:
    """One machine with a view of the files that all have."""

    def __init__(self, files: FilesInMemory, crawl: CrawlSettings = USUAL, refresh: str = "") -> None:
        self.watch = Watch(crawl)
        generations = Generations(cast("TreeFiles", files))
        self.book = Rulebook(cast("EditWatcher", self.watch), generations, refresh, caches_s=CACHES_S)

    def begin(self, *, reseed: bool = False, others: bool = False) -> Machine:
        self.book.begin(reseed=reseed, others=others)
        return self

    @property
    def generation(self) -> int:
        return self.book.rules.generation


@pytest.fixture
def files() -> FilesInMemory:
    return FilesInMemory()


@pytest.fixture
def machine(files: FilesInMemory) -> Callable[..., Machine]:
    return lambda crawl=USUAL, refresh="", **how: Machine(files, crawl, refresh).begin(**how)


def newest(files: FilesInMemory) -> int:
    found = Generations(cast("TreeFiles", files)).newest()
    return found.number if found else 0


# -- how a machine begins


def test_the_first_begins_a_generation_and_all_others_join_it(files: FilesInMemory, machine: Any) -> None:
    """One that covers the own settings does, also if it is wider; one that does not is followed by the next."""
    assert [machine().generation, machine().generation, machine(NARROW).generation] == [1, 1, 1]
    assert machine(NARROW).book.rules.is_narrowed
    assert machine(WIDE).generation == newest(files) == 2
    assert not machine(USUAL).book.waits


def test_reseed(files: FilesInMemory, machine: Any) -> None:
    assert [machine().generation, machine(reseed=True).generation, newest(files)] == [1, 2, 2]


def test_rules_that_cannot_be_read_are_followed_by_the_next_generation(files: FilesInMemory, machine: Any) -> None:
    machine()
    files.there[rules_path(1)] = b"\0\0"
    assert machine().generation == newest(files) == 2


# -- edits


def test_a_narrowing_edit_stays_in_the_generation(files: FilesInMemory, machine: Any) -> None:
    """It is a filter; all is taken in anew, so that what is outside leaves the frontier. So is the way back."""
    one = machine()
    for crawl in (NARROW, USUAL):
        one.watch.edit(crawl)
        change = one.book.look(1.0)
        assert (change.edited, change.retake) == (True, True)
        assert (one.generation, one.book.waits, newest(files)) == (1, False, 1)
    one.watch.edit(replace(USUAL, order="random"))
    assert one.book.look(2.0).retake
    assert one.book.look(3.0) is None


def test_a_widening_edit_begins_the_next_generation_at_once(files: FilesInMemory, machine: Any) -> None:
    """Whoever reads the edit later works in it: it covers what was wanted before the edit, too."""
    one, late = machine(), machine()
    one.watch.edit(WIDE)
    assert one.book.look(1.0).retake
    assert (one.generation, one.book.rules.is_narrowed) == (2, False)
    change = late.book.look(1.0)
    assert (change.edited, change.retake, late.generation, late.book.waits) == (False, True, 2, False)
    assert late.book.rules.is_narrowed
    late.watch.edit(WIDE)
    late.book.look(2.0)
    assert (late.generation, late.book.rules.is_narrowed, newest(files)) == (2, False, 2)


def test_two_machines_with_the_same_edit_make_one_generation(
    files: FilesInMemory, machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever link comes first."""
    one, other = machine(), machine()
    one.watch.edit(WIDE)
    other.watch.edit(WIDE)
    real = files.claim

    def claim(path: str, data: bytes, *, fsync: bool = False) -> bool:
        monkeypatch.setattr(files, "claim", real)
        other.book.look(1.0)
        return real(path, data, fsync=fsync)

    monkeypatch.setattr(files, "claim", claim)
    one.book.look(1.0)
    assert (one.generation, other.generation, newest(files)) == (2, 2, 2)
    assert not one.book.waits


def begun_by_another(files: FilesInMemory, links: LinkRules) -> None:
    """Let another machine begin the next generation."""
    Generations(cast("TreeFiles", files)).begin_next(links, "", "settings")


def test_a_newer_generation_that_does_not_do_is_worked_in_and_waited_for(files: FilesInMemory, machine: Any) -> None:
    """Another machine has read an edit. If this one does not read it before long, it begins the next generation."""
    one = machine()
    begun_by_another(files, Machine(files, NARROW).book.rules.own)
    change = one.book.look(100.0)
    assert (change.retake, one.generation, one.book.waits) == (True, 2, True)
    assert one.book.look(100.0 + PATIENCE_S - 1) is None
    assert one.book.waits
    assert one.book.look(100.0 + PATIENCE_S).retake
    assert (one.generation, one.book.waits, newest(files)) == (3, False, 3)


def test_an_edit_that_is_read_while_waiting_ends_the_wait(files: FilesInMemory, machine: Any) -> None:
    one = machine()
    begun_by_another(files, Machine(files, NARROW).book.rules.own)
    one.book.look(1.0)
    assert (one.generation, one.book.waits) == (2, True)
    one.watch.edit(NARROW)
    one.book.look(2.0)
    assert (one.generation, one.book.waits, newest(files)) == (2, False, 2)


def test_other_rules_of_sites_are_waited_for_and_not_entered(files: FilesInMemory, machine: Any) -> None:
    """Links that this machine would find by its own rules are no links of that generation."""
    one = machine()
    begun_by_another(files, msgspec.structs.replace(one.book.rules.links, sites="ab" * 8))
    assert one.book.look(1.0) is None
    assert (one.generation, one.book.waits) == (1, True)
    assert one.book.look(1.0 + PATIENCE_S).retake
    assert (one.generation, one.book.waits, newest(files)) == (3, False, 3)


def test_rules_that_cannot_be_read_are_waited_for(files: FilesInMemory, machine: Any) -> None:
    """It may be an old view of the file. If it is not, the next generation begins."""
    one = machine()
    begun_by_another(files, one.book.rules.links)
    good = files.there[rules_path(2)]
    late = machine()
    for each, data in ((one, b""), (late, good)):
        files.there[rules_path(2)] = data
        each.book.look(1.0)
    assert (one.generation, one.book.waits, late.generation) == (1, True, 2)
    files.there[rules_path(2)] = b""
    assert one.book.look(1.0 + PATIENCE_S).retake
    assert (one.generation, one.book.waits, newest(files)) == (3, False, 3)


# -- refreshes


def test_a_refresh_by_two_machines_makes_one_generation(files: FilesInMemory, machine: Any) -> None:
    """Older than a day is another time on each machine. A later one by much is another refresh."""
    assert machine(refresh=LONG_AGO).generation == 1
    soon = LONG_AGO.replace("00:00.", "09:00.")
    other = machine(refresh=soon, others=True)
    assert (other.generation, other.book.rules.refresh_before) == (1, LONG_AGO)
    later = machine(refresh="2099-01-01T00:00:00.000Z", others=True)
    assert (later.generation, newest(files)) == (2, 2)


def test_a_refresh_at_the_same_moment(files: FilesInMemory, machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines that find nobody at work make one generation."""
    real = files.claim

    def claim(path: str, data: bytes, *, fsync: bool = False) -> bool:
        monkeypatch.setattr(files, "claim", real)
        machine(refresh=LONG_AGO)
        return real(path, data, fsync=fsync)

    monkeypatch.setattr(files, "claim", claim)
    one = machine(refresh=LONG_AGO.replace("00:00.", "00:01."))
    assert (one.generation, one.book.rules.refresh_before, newest(files)) == (1, LONG_AGO, 1)


def test_refreshes_one_after_the_other(files: FilesInMemory, machine: Any) -> None:
    """If nobody is at work, the refresh before is over: a page that it fetched may have changed again."""
    assert [machine(refresh=LONG_AGO).generation, machine(refresh=LONG_AGO).generation] == [1, 2]


def test_a_refresh_goes_on_in_all_later_generations(files: FilesInMemory, machine: Any) -> None:
    one = machine(refresh=BEFORE)
    one.watch.edit(WIDE)
    one.book.look(1.0)
    assert (one.generation, one.book.rules.refresh_before) == (2, BEFORE)
    one.book.mend("x")
    assert (machine().generation, machine().book.rules.refresh_before) == (3, BEFORE)
    asked_again = machine(refresh=LONG_AGO)
    assert asked_again.book.rules.refresh_before == BEFORE, "a later time asks for more"


# -- damage


def test_mending_twice_makes_one_generation(files: FilesInMemory, machine: Any) -> None:
    """All machines may find the same damage: those that come later find that the next generation is there."""
    one, other = machine(NARROW), machine(NARROW)
    one.book.mend("a log")
    one.book.mend("a log")
    other.book.mend("a log")
    assert newest(files) == 2
    assert [each.book.look(1.0).retake for each in (one, other)] == [True, True]
    one.book.mend("another log")
    assert newest(files) == 3
    assert Generations(cast("TreeFiles", files)).read(3).reason == "damage: another log"
