"""Generations are only added, and each machine may make the next."""

import errno
import json
from pathlib import Path

import pytest

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.generations import Generation, Generations
from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import GENERATIONS, generation_path, log_path, rules_path, snapshot_path

LINKS = LinkRules.of(Settings(), ["http://a.example/"])
OTHER = LinkRules.of(Settings(CrawlSettings(scope="any")), [])
BEFORE = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / GENERATIONS).mkdir(parents=True)
    return tmp_path


def generations(tree: Path, machine: str = "m") -> Generations:
    return Generations(TreeFiles(tree, machine))


def test_none(tree):
    assert (generations(tree).newest(), generations(tree).numbers()) == (None, [])


def test_next(tree):
    """The next generation has the next number, and says by which rules links are chosen, and why it was made."""
    one, other = generations(tree), generations(tree, "n")
    first, second = Generation(1, LINKS, "", "settings"), Generation(2, OTHER, BEFORE, "refresh")
    assert one.begin_next(LINKS, "", "settings") == first
    assert other.begin_next(OTHER, BEFORE, "refresh") == second
    assert one.newest() == second
    assert [generations(tree).read(number) for number in (1, 2)] == [first, second]
    assert generations(tree).numbers() == [1, 2]
    assert {path.name for path in (tree / generation_path(1)).iterdir()} == {"rules.json", "log", "snap"}


def test_another_machine_is_first(tree, monkeypatch):
    """A generation that another machine makes at the same time is as good as the own one: it is given."""
    one, other = generations(tree), generations(tree, "n")
    real = one._files.claim

    def claim(path, data, **how):
        other.begin_next(OTHER, "", "reseed")
        return real(path, data, **how)

    monkeypatch.setattr(one._files, "claim", claim)
    assert one.begin_next(LINKS, "", "settings") == one.newest() == Generation(1, OTHER, "", "reseed")


def test_stale_listing(tree, monkeypatch):
    """A generation that the listing does not show yet is found by name, one after another."""
    one, other = generations(tree), generations(tree, "n")
    monkeypatch.setattr(one._files, "names", lambda path: [])
    for _ in range(3):
        other.begin_next(LINKS, "", "")
    assert one.newest().number == 3
    assert one.begin_next(LINKS, "", "").number == 4


def test_never_back(tree):
    """What was known is not forgotten if its files are gone."""
    one = generations(tree)
    one.begin_next(LINKS, "", "")
    (tree / rules_path(1)).unlink()
    assert one.newest().number == 1


def test_other_names(tree):
    """Temporaries, files of others, and a directory whose maker died before it had rules, are no generations."""
    for name in (".3.m.1-0.tmp", "x", "0", "07", "5.old", "9"):
        (tree / GENERATIONS / name).mkdir()
    one = generations(tree)
    assert one.newest() is None
    assert one.begin_next(LINKS, "", "").number == 1


@pytest.mark.parametrize("data", [b"", b"{", b"3", b"\xff", b"[" * 100_000, b'{"links":{}}', "("])
def test_damaged(tree, data):
    """The number counts, whatever is in the file; and it is read again, since it may have been an old view."""
    one = generations(tree)
    one.begin_next(LINKS, "", "reseed")
    good = (tree / rules_path(1)).read_bytes()
    if data == "(":  # an expression that is none
        data = good.replace(b'"deny":[]', b'"deny":["("]')
    (tree / rules_path(1)).write_bytes(data)
    late = generations(tree)
    assert late.newest() == Generation(1, None)
    (tree / rules_path(1)).write_bytes(good)
    assert late.newest() == Generation(1, LINKS, "", "reseed")
    assert late.begin_next(LINKS, "", "").number == 2


@pytest.mark.parametrize("before", ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00"])
def test_no_time(tree, before):
    """A time that nobody can compare asks for nothing."""
    generations(tree).begin_next(LINKS, BEFORE, "refresh")
    said = json.loads((tree / rules_path(1)).read_bytes())
    (tree / rules_path(1)).write_text(json.dumps({**said, "refresh_before": before}))
    assert generations(tree).newest() == Generation(1, LINKS, "", "refresh")


def test_lost_reply(tree, fault):
    """A link that was made although it reported an error is no second generation."""
    one = generations(tree)
    real = one._files.claim
    one._files.claim = lambda path, data, **how: real(path, data, **how) and real(path, data, **how)
    assert one.begin_next(LINKS, "", "").number == 1
    fault("link", errno.EPERM)
    assert generations(tree, "n").newest().number == 1


def test_removed_as_a_whole(tree, monkeypatch):
    """If a removal is interrupted, its rules are still there, so it is a generation, and the next call goes on."""
    one = generations(tree)
    for _ in range(2):
        one.begin_next(LINKS, "", "")
    for path in (log_path(1, "m"), snapshot_path(1, 7, 1, 1), log_path(2, "m")):
        (tree / path).write_bytes(b"x")
    with monkeypatch.context() as patch:
        real = one._files.remove

        def remove(path):
            if path == snapshot_path(1, 7, 1, 1):
                raise KeyboardInterrupt
            real(path)

        patch.setattr(one._files, "remove", remove)
        with pytest.raises(KeyboardInterrupt):
            one.remove_before(2)
    assert one.numbers() == generations(tree).numbers() == [1, 2]
    one.remove_before(2)
    assert one.numbers() == generations(tree).numbers() == [2]
    assert not (tree / generation_path(1)).exists()
    assert (tree / log_path(2, "m")).exists()
