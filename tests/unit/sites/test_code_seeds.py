"""Seeds of a site file on their way into the frontier: early ones, edits, mistakes, and classes that give none yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings
from fscrawl.fleet import seeding
from fscrawl.fleet.seeding import CodeSeeds, no_seeds
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.shards import Location
from fscrawl.sites.code import Code
from fscrawl.sites.rules import SiteFault, SiteFile, SiteRules
from fscrawl.sites.seeds import Labelled
from fscrawl.util.distinct import LeftOut

SHARDS = 8
SITE = SiteRules("class A in site.py", ("*",), code=Code(SiteFile("site.py", ""), 0, frozenset({"seeds"})))


class Given:
    """What a class gives: URLs, "" for none yet, and faults that are raised."""

    def __init__(self, *items: str | SiteFault) -> None:
        self.items = list(items)
        self.closed = 0

    def __iter__(self) -> Iterator[Labelled | None]:
        for item in self.items:
            if isinstance(item, SiteFault):
                raise item
            yield (item, "") if item else None

    def close(self) -> None:
        self.closed += 1


class Desk:
    """A frontier and a ledger that keep what they get."""

    def __init__(
        self, *given: str | SiteFault, held: Iterable[int] = (), code: tuple[SiteRules, ...] = (SITE,)
    ) -> None:
        self.held = set(held)
        self.found: list[str] = []
        self.said: list[str] = []
        self.given = Given(*given)
        self.cut = LeftOut()
        frontier: Any = SimpleNamespace(location=location, holds=self.held.__contains__, cut=self.cut)
        scope = Scope(CrawlSettings(scope="any", deny=("/no",)), frozenset())
        self.needed: set[int] = set()
        self.ledger: Any = SimpleNamespace(
            rules=SimpleNamespace(scope=scope), needed=self.needed, discover=lambda links, *_: self.found.extend(links)
        )
        watch: Any = SimpleNamespace(settings=SimpleNamespace(code=code))
        self.seeds = CodeSeeds(watch, frontier, self.ledger, self.said.append, lambda _: self.given)

    def step(self) -> None:
        self.seeds.step(lambda: False)

    def hold(self, *given: str) -> None:
        shards = {shard_of(url) for url in given}
        self.held.update(shards)
        self.seeds.want(shards)


def location(url: str) -> Location:
    return Location(urls.host(url), urls.fingerprint_of(url), shard_of(url))


def shard_of(url: str) -> int:
    return urls.shard(urls.host(url), SHARDS)


A, B = "http://a.example/1", "http://b.example/1"


def test_without_a_site_file() -> None:
    """There is nothing to do."""
    desk = Desk(code=())
    desk.seeds.want({1})
    assert desk.seeds.is_done
    desk.step()
    assert list(no_seeds(SITE)) == []


def test_the_first_pass_tells_which_shards_are_needed() -> None:
    """Seeds of shards that are not held yet are kept until they are; then no other pass is made for them."""
    desk = Desk(A, B, "http://a.example/no")
    assert not desk.seeds.is_done
    desk.step()
    assert desk.needed == {shard_of(A), shard_of(B)}
    assert desk.found == []
    assert desk.seeds.is_done
    desk.given.items = []
    desk.hold(A)
    assert desk.found == [A]
    assert desk.given.closed == 1
    desk.step()  # another pass: what the first one gave may have been lost with a shard
    assert (desk.found, desk.given.closed) == ([A], 2)


def test_seeds_are_fetched_while_others_come() -> None:
    """A class that gives its seeds slowly does not keep those back that are there."""
    desk = Desk(A, "", B, "", "http://a.example/2", "http://b.example/no")
    desk.step()
    desk.hold(A)
    assert desk.found == [A]
    desk.step()
    desk.hold(B)
    desk.step()
    assert desk.found == [A, B, "http://a.example/2"]
    assert desk.cut == {"deny": 1}
    assert desk.seeds.is_done


def test_early_seeds_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """If more come early than can be kept, they are gone through once more when their shard is held."""
    monkeypatch.setattr(seeding, "_MOST_EARLY", 1)
    desk = Desk(A, "http://a.example/2", "")
    desk.step()
    desk.hold(A)
    assert desk.found == [A]
    desk.step()
    assert not desk.seeds.is_done
    desk.step()
    desk.step()
    assert sorted(set(desk.found)) == [A, "http://a.example/2"]


def test_an_edit_begins_anew() -> None:
    """An edit in the midst of a pass loses no seed: all begins again, with a process of its own."""
    desk = Desk(A, "", B)
    desk.step()
    desk.seeds.restart()
    assert desk.given.closed == 1
    assert not desk.seeds.is_done
    desk.hold(A, B)
    desk.step()
    desk.step()
    assert desk.found == [A, B]
    assert desk.seeds.is_done


def test_a_pass_gives_the_time_back() -> None:
    """After some seeds the clock is looked at."""
    desk = Desk(*(f"http://a.example/{n}" for n in range(500)))
    desk.seeds.step(lambda: True)
    assert not desk.seeds.is_done
    desk.seeds.close()
    assert desk.given.closed == 1


def test_mistakes_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake ends the seeds of its class with one line; so does the limit."""
    desk = Desk(A, SiteFault("site.py:3: seeds: KeyError"))
    desk.hold(A)
    desk.step()
    assert desk.found == [A]
    assert desk.said == [
        "site.py:3: seeds: KeyError; no more seeds are taken until a machine starts with a file that is right"
    ]
    monkeypatch.setattr(seeding, "MAX_SEEDS", 1)
    desk = Desk(A, B)
    desk.hold(A, B)
    desk.step()
    assert desk.found == [A]
    assert desk.said == ["class A in site.py: seeds: only 1 are taken"]
