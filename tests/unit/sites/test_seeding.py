"""Seeds by template on their way into the frontier, and the lists that they need."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl import urls
from fscrawl.config.settings import Settings, parse, render
from fscrawl.config.watcher import ListFiles, check_lists
from fscrawl.errors import SettingsError, TreeError
from fscrawl.fleet.seeding import Seeding
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.shards import Location
from fscrawl.sites.rules import near_to, origins
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create
from fscrawl.util.distinct import LeftOut

SHARDS = 8
HOST = "a.example"
SHARD = urls.shard(HOST, SHARDS)


def table(seed: str, host: str = HOST) -> str:
    return f"[[site]]\nhosts = ['{host}']\nseeds = ['{seed}']\n"


class Desk:
    """A tree, a watcher with settings, and a frontier and a ledger that keep what they get."""

    def __init__(self, root: Path, text: str, partition: str = "host", held: frozenset[int] | None = None) -> None:
        record = TreeRecord(FORMAT, "c", "t", SHARDS, partition, "0" * 32)
        create(root, record, render(Settings()), "")
        self.root, self.tree = root, Tree(root, "m")
        self.now = 0.0
        self.said: list[str] = []
        self.found: list[str] = []
        self.labels: list[str] = []
        self.held = frozenset(range(SHARDS)) if held is None else held
        self.by_url = partition == "url"
        self.watch = SimpleNamespace(is_reading=False, has_read=False, go_on=lambda is_late: None)
        self.frontier = SimpleNamespace(location=self.location, holds=self.held.__contains__, shards=self.held)
        self.frontier.cut = LeftOut()
        self.ledger = SimpleNamespace(discover=self.discover)
        self.use(text)
        self.seeding = Seeding(self.tree, self.watch, self.frontier, self.ledger, self.said.append, self.clock)

    def use(self, text: str) -> None:
        chosen = parse(text)
        self.watch.settings, self.watch.origins = chosen, origins(chosen.rules)
        near = near_to(frozenset(), chosen.rules)
        self.ledger.rules = SimpleNamespace(scope=Scope(chosen.crawl, near))

    def clock(self) -> float:
        self.now += 0.01
        return self.now

    def location(self, url: str) -> Location:
        name = urls.host(url)
        return Location(name, urls.digest(url), urls.shard(urls.key(url) if self.by_url else name, SHARDS))

    def discover(self, links: list[str], depth: int, referrer: str, flags: Flags) -> None:
        assert (depth, referrer) == (0, "")
        self.found += links
        self.labels += [flags.label for _ in links]

    def all(self) -> list[str]:
        """Do all that is to be done; give what was found."""
        self.found = []
        self.seeding.want(self.held)
        while not self.seeding.is_done:
            self.seeding.step()
        self.seeding.step()
        return self.found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def test_seeds_of_held_shards(root: Path) -> None:
    """Each machine takes the seeds of its own shards, and those only that the scope allows."""
    text = (
        "[crawl]\ndeny = ['/2$']\n" + table(f"http://{HOST}/{{1..3}}") + table("http://b.example/{1..3}", "b.example")
    )
    desk = Desk(root, text, held=frozenset({SHARD}))
    assert desk.all() == [f"http://{HOST}/1", f"http://{HOST}/3"]
    assert desk.frontier.cut == {"deny": 1}
    assert desk.seeding.shards == {SHARD, urls.shard("b.example", SHARDS)}


def test_a_shard_that_is_lost_meanwhile(root: Path) -> None:
    """What is not held any more is left out."""
    desk = Desk(root, table(f"http://{HOST}/{{1..3}}"))
    desk.frontier.holds = lambda shard: False
    assert desk.all() == []


def test_partition_by_url(root: Path) -> None:
    """If URLs are divided, each seed belongs to a shard of its own, and all shards may have some."""
    text = table(f"http://{HOST}/{{1..40}}")
    desk = Desk(root, text, "url", held=frozenset({1, 2}))
    found = desk.all()
    assert found
    assert {desk.location(url).shard for url in found} == {1, 2}
    assert desk.seeding.shards == set(range(SHARDS))
    desk.use("")
    assert desk.seeding.shards == set()


def test_slices(root: Path) -> None:
    """Of 5,000 seeds only some are made before the workers are looked at again."""
    desk = Desk(root, table(f"http://{HOST}/{{1..5000}}"))
    desk.seeding.want(desk.held)
    desk.seeding.step()
    assert 0 < len(desk.found) < 1000
    assert not desk.seeding.is_done
    assert len(desk.all()) + 0 >= 4000
    desk.seeding.want(desk.held)
    desk.seeding.step()
    desk.seeding.restart()
    assert desk.seeding.is_done


def test_rules_that_are_not_for_their_seeds(root: Path) -> None:
    """Seeds on a host that no table has are taken, and one line says that no rules are for them."""
    desk = Desk(root, table("http://www.a.example/{1..3}") + "follow = []\n")
    assert len(desk.all()) == 3
    assert len(desk.all()) == 3
    [said] = desk.said
    assert said.startswith("[[site]] 1 (a.example): its rules are not for its seeds on http://www.a.example/")


@pytest.mark.parametrize(
    "text",
    [
        table("http://www.a.example/", "*.a.example") + "follow = []\n",
        table("http://www.a.example/") + "follow = []\n" + table(f"http://{HOST}/", "*") + "follow = []\n",
        table("http://www.a.example/"),
    ],
)
def test_seeds_with_rules_or_without(root: Path, text: str) -> None:
    """Nothing is said if some table is for the seeds, or if theirs has no rules."""
    desk = Desk(root, text)
    desk.all()
    assert desk.said == []


def test_a_list_that_becomes_too_long(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a list grows beyond what a crawl may have, nothing is taken, and that is said once."""
    desk = Desk(root, table(f"http://{HOST}/{{names.txt}}"))
    (root / "names.txt").write_text("a\nb\n")
    assert desk.all() == [f"http://{HOST}/a", f"http://{HOST}/b"]
    monkeypatch.setattr("fscrawl.sites.rules.MAX_SEEDS", 1)
    assert (desk.all(), desk.all()) == ([], [])
    [said] = desk.said
    assert said.endswith("{names.txt}); at most 1 are allowed; none of them is taken")


def test_a_list_that_grows(root: Path) -> None:
    """Whole lines that were added are taken at the next look, and half a line only when it stays as it is."""
    desk = Desk(root, table(f"http://{HOST}/{{names.txt}}"))
    desk.seeding.look()
    assert desk.all() == []
    (root / "names.txt").write_text("a\n")
    desk.seeding.look()
    assert not desk.seeding.is_done
    assert desk.all() == [f"http://{HOST}/a"]
    with (root / "names.txt").open("a") as file:
        file.write("b\nhal")
    desk.seeding.look()
    assert desk.all()[1:] == [f"http://{HOST}/b"]
    desk.seeding.look()
    assert desk.seeding.is_done
    desk.now += CACHES_LIVE_S
    desk.seeding.look()
    assert desk.all()[2:] == [f"http://{HOST}/hal"]
    (root / "names.txt").unlink()
    desk.seeding.look()
    assert desk.seeding.is_done
    (root / "names.txt").write_text("a\nb\nhal")  # somebody writes it anew
    desk.seeding.look()
    assert desk.all() == [f"http://{HOST}/a", f"http://{HOST}/b"]


def test_a_list_that_cannot_be_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that may pass changes nothing."""
    desk = Desk(root, table(f"http://{HOST}/{{names.txt}}"))
    (root / "names.txt").write_text("a")
    lists = ListFiles(desk.tree, print, desk.clock)
    assert lists("names.txt") == "a"

    def fails(name: str) -> str:
        raise TreeError("stale")

    monkeypatch.setattr(desk.tree.controls, "list_if_there", fails)
    assert lists.look(("names.txt",)) is False
    assert (lists("names.txt"), ListFiles(desk.tree, print)("names.txt")) == ("a", "")


def test_lists_are_checked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that is missing, or too long with all others, is an error with what would be right."""
    desk = Desk(root, table(f"http://{HOST}/{{names.txt}}"))
    with pytest.raises(SettingsError, match=r"names.txt does not exist; write it there, one value a line"):
        check_lists(root, desk.watch.settings)
    (root / "names.txt").write_text("a\nb")
    check_lists(root, desk.watch.settings)
    monkeypatch.setattr("fscrawl.sites.rules.MAX_SEEDS", 1)
    with pytest.raises(SettingsError, match=r"they give 2 URLs .most by .*; at most 1 are allowed"):
        check_lists(root, desk.watch.settings)
