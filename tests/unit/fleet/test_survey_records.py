"""Records that are read in a survey, where a listing and a look-up by name do not agree."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fscrawl import store, urls
from fscrawl.errors import NotATreeError, TreeError
from fscrawl.fleet import survey, tidying
from fscrawl.fleet.survey import records_of
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import PageRecord, TreeRecord
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
URLS = {urls.key(url): url for url in (f"http://a.example/{n}" for n in range(2000))}
KEYS = sorted(URLS)[:3]


class Shared:
    """A tree that lists `KEYS`, and finds each by name from a time on."""

    def __init__(self, clock, found_from):
        self.record, self.clock, self.found_from = RECORD, clock, found_from
        self.gone = False

    def keys(self, directory, host):
        return KEYS

    def path_of(self, directory, host, key):
        return f"/t/{directory}/{host}/{key}.json"

    def page(self, host, key):
        if self.clock.now < self.found_from.get(key, 0):
            raise TreeError(f"{key}: it is not there") from FileNotFoundError()
        return PageRecord(URLS[key], key, 0, "", "t", "m", 200, {}, 0, "", 0.1, ())

    def check_there(self):
        if self.gone:
            raise NotATreeError("the crawl is gone")


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=0.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(survey, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


def records(shared, wanted, warn):
    return records_of(shared, LINKS, shared.page, "a.example", wanted, warn)


def read(shared, told=None):
    found = records(shared, lambda key: True, [].append if told is None else told.append)
    return [record.key for record in found if record is not None]


def test_found_at_once(clock):
    """Where all is found nothing is waited for."""
    assert read(Shared(clock, {})) == KEYS
    assert clock.now == 0


def test_only_what_is_wanted(clock):
    """Of what is listed, only what is wanted is read."""
    shared = Shared(clock, dict.fromkeys(KEYS[1:], 1e9))
    assert [record.key for record in records(shared, KEYS[:1].__contains__, print)] == KEYS[:1]
    assert clock.now == 0


def test_found_later(clock):
    """A record that is listed and not found by name, as on NFS for up to a minute, is waited for."""
    assert sorted(read(Shared(clock, {KEYS[1]: 41.0}))) == KEYS
    assert 41 <= clock.now < 43


def test_never_found(clock):
    """One that is not found for longer than caches live is told of, and the rest is read."""
    told = []
    assert read(Shared(clock, {KEYS[0]: 1e9}), told) == KEYS[1:]
    assert len(told) == 1
    assert KEYS[0] in told[0]
    assert 60 <= clock.now < 63


def test_never_found_as_the_share_is_gone(clock):
    """Where the tree itself is gone meanwhile, that is what is said."""
    shared = Shared(clock, {KEYS[0]: 1e9})
    shared.gone = True
    with pytest.raises(NotATreeError):
        read(shared)


def test_few_records_are_read_ahead(clock, monkeypatch):
    """However many records a host has, few are read before they are asked for: parsed, they take some 14 kB each."""
    keys, asked = list(URLS), []
    shared = Shared(clock, {})
    page = shared.page
    monkeypatch.setattr(shared, "keys", lambda directory, host: keys)
    monkeypatch.setattr(shared, "page", lambda host, key: asked.append(key) or page(host, key))
    found = records(shared, lambda key: True, print)
    first = next(found)
    assert len(asked) <= 8 * READERS
    assert [record.key for record in (first, *found)] == keys


def test_other_errors(clock, monkeypatch):
    """Any other error of the tree is one at once."""

    def page(host, key):
        raise TreeError("the disk is on fire")

    shared = Shared(clock, {})
    monkeypatch.setattr(shared, "page", page)
    with pytest.raises(TreeError, match="on fire"):
        read(shared)


def test_own_temporaries(tmp_path):
    """Of what is half-written in the directories of these hosts a machine removes its own, and nothing else."""
    root = tmp_path / "tree"
    store.create(root, RECORD, "", "")
    tree = Tree(root, "me-1-aa")
    names = [f".{KEYS[0]}.html.{owner}.31-0.tmp" for owner in ("me-1-aa", "other-1-bb")] + [f"{KEYS[1]}.html"]
    for host in ("a.example", "b.example"):
        (root / "htmls" / host).mkdir()
        for name in names:
            (root / "htmls" / host / name).touch()
    tidying.remove_own_temporaries(["a.example", "never.example"], tree)
    assert sorted(path.name for path in (root / "htmls" / "a.example").iterdir()) == sorted(names[1:])
    assert len(list((root / "htmls" / "b.example").iterdir())) == 3


PUBLISHED = [("", "tree.json"), ("leases/", "7.1"), ("generations/1/", "rules.json"), ("machines/", "x.status.json")]


def test_temporaries_of_the_machinery(tmp_path):
    """They are found wherever a machine publishes files in `.fscrawl`, also where a generation begins."""
    root = tmp_path / "tree"
    store.create(root, RECORD, "", "")
    (root / ".fscrawl/generations/1").mkdir()
    paths = [f".fscrawl/{where}.{name}.other-1-bb.5a0c66e2b9f1d374.tmp" for where, name in PUBLISHED]
    for path in paths:
        (root / path).touch()
    assert sorted(Tree(root, "me-1-aa").machinery_temporaries()) == sorted((path, "other-1-bb") for path in paths)


def test_temporaries_of_a_machine_that_was_killed_at_its_start(monkeypatch):
    """Its heartbeat log is empty. Its id tells that it ran here, and does not run any more."""
    removed = []
    tree = SimpleNamespace(machine="me", files=SimpleNamespace(remove=removed.append))
    tree.all_temporaries = lambda host: [(f"x/{name}", name) for name in "abc"]
    hello = SimpleNamespace()
    peers = {name: SimpleNamespace(greeting=greeting) for name, greeting in (("a", None), ("b", None), ("c", hello))}
    fleet = SimpleNamespace(peers=peers, is_live=lambda owner, now: True)
    monkeypatch.setattr(tidying, "is_gone_by_name", lambda owner: owner == "a")
    tidying.Tidying(tree, fleet, SimpleNamespace(), lambda: 0.0).host("h")
    assert removed == ["x/a"]


@pytest.mark.parametrize(
    "values",
    [
        *({"url": url} for url in ("x", "", "http://a.example/#top", "http://a.example/#method=BREW")),
        *({"key": "0" * 24}, {"key": "a b"}),
    ],
)
def test_records_of_other_urls(clock, values):
    """A record of another URL, or of none, is warned of, as a torn one is, and the others are read."""
    said = []
    tree = Shared(clock, {})
    tree.root = "/t"
    page = tree.page
    tree.page = lambda host, key: replace(page(host, key), **values) if key == KEYS[1] else page(host, key)
    found = [record for record in records(tree, lambda key: True, said.append) if record is not None]
    assert [record.key for record in found] == [KEYS[0], KEYS[2]]
    assert len(said) == 1
    assert "; to fetch it again:  " in said[0]
