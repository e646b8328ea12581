"""Generations are only added, and each machine may make the next."""

import errno
from pathlib import Path

import pytest

from fscrawl.fleet.generations import Generations, refresh_of
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import AGAIN, again_path
from tests.support.slow import Slow

CUT = {"reason": "cut", "log": "m-1"}
REFRESH = {"reason": "refresh", "before": "2026-01-01T00:00:00.000Z"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / AGAIN).mkdir(parents=True)
    return tmp_path


def generations(tree: Path, machine: str = "m") -> Generations:
    return Generations(TreeFiles(tree, machine))


def test_none(tree):
    """Before the first there is generation 0, which has no reason."""
    assert (generations(tree).newest(), generations(tree).reason(0)) == (0, {})


def test_advance(tree):
    """The next generation has the next number, and says why it was made."""
    one, other = generations(tree), generations(tree, "n")
    assert [one.advance(CUT), other.advance({"reason": "reseed"}), one.newest()] == [1, 2, 2]
    assert [generations(tree).reason(number) for number in (1, 2)] == [CUT, {"reason": "reseed"}]


def test_another_machine_is_first(tree, monkeypatch):
    """A generation that another machine makes at the same time is as good as the own one."""
    one, other = generations(tree), generations(tree, "n")
    real = one._files.claim

    def claim(path, data, **how):
        other.advance(CUT)
        return real(path, data, **how)

    monkeypatch.setattr(one._files, "claim", claim)
    assert one.advance({"reason": "reseed"}) == 1
    assert (one.newest(), one.reason(1)) == (1, CUT)


def test_stale_listing(tree, monkeypatch):
    """A generation that the listing does not show yet is found by name, one after another."""
    one, other = generations(tree), generations(tree, "n")
    monkeypatch.setattr(one._files, "names", lambda path: [])
    for _ in range(3):
        other.advance(CUT)
    assert one.newest() == 3
    assert one.advance(CUT) == 4


def test_stale_look_by_name(tree, monkeypatch):
    """A generation that cannot be found by name yet is found by the listing."""
    one = generations(tree)
    generations(tree, "n").advance(CUT)
    monkeypatch.setattr(one._files, "exists", lambda path: False)
    assert one.newest() == 1


def test_many_reasons(tree, monkeypatch):
    """On a slow share they are read at the same time: a crawl that is refreshed each night makes hundreds in a year."""
    made = generations(tree)
    for number in range(30):
        made.advance({"reason": "cut", "log": "m-1", "expected": [0, number]})
    later = generations(tree)
    later.newest()
    files = Slow(monkeypatch, TreeFiles, "read_or_torn")
    later.learn()
    assert files.most_at_once > 1
    with monkeypatch.context() as patch:
        patch.setattr(TreeFiles, "read_or_torn", lambda *_: None)
        later.learn()
        assert [later.reason(number)["expected"][1] for number in later.after(0)] == list(range(30))


def test_never_back(tree):
    """What was known is not forgotten if the files are gone."""
    one = generations(tree)
    one.advance(CUT)
    (tree / again_path(1)).unlink()
    assert one.newest() == 1


def test_other_names(tree):
    """Temporaries and files of others are no generations."""
    for name in (".3.m.1-0.tmp", "x", "0", "07", "5.old"):
        (tree / AGAIN / name).touch()
    assert generations(tree).newest() in {0, 7}


def test_ensure(tree):
    """Machines that are told the same make one generation, even if others are made between."""
    one, other = generations(tree), generations(tree, "n")
    assert [one.ensure(REFRESH), one.advance(CUT), other.ensure(REFRESH), one.ensure(REFRESH)] == [1, 2, 1, 1]
    assert other.ensure({**REFRESH, "before": "2026-02-01T00:00:00.000Z"}) == 3


def test_ensure_when_another_machine_is_first(tree, monkeypatch):
    """If the next generation was lost to another machine, it counts if it has the same reason."""
    for reason, number in ((CUT, 2), (REFRESH, 3)):
        one, other = generations(tree), generations(tree, "n")
        real, firsts = one._files.claim, [reason]

        def claim(path, data, real=real, firsts=firsts, other=other, **how):
            if firsts:
                other.advance(firsts.pop())
            return real(path, data, **how)

        monkeypatch.setattr(one._files, "claim", claim)
        wanted = {**REFRESH, "before": str(number)} if reason is CUT else REFRESH
        assert one.ensure(wanted) == number
        assert one.reason(number) == wanted


def test_refreshes_of_a_fleet(tree):
    """Machines that were started one after the other for the same refresh go by one time; a later one is another."""
    one, other = generations(tree), generations(tree, "n")
    times = [f"2026-01-01T00:{minute:02}:00.000Z" for minute in (0, 9, 11)]
    assert one.ensure_refresh(times[0], 600, others=False) == times[0]
    assert other.ensure_refresh(times[1], 600, others=True) == times[0]
    assert other.ensure_refresh(times[2], 600, others=True) == times[2]
    assert generations(tree, "o").ensure_refresh(times[0], 600, others=True) == times[2], "it asks for more"
    assert generations(tree, "o").newest() == 2


def test_refreshes_one_after_the_other(tree):
    """If nobody is at work, the refresh before is over: a page that it fetched may have changed again."""
    assert generations(tree).ensure_refresh("2026-01-01T00:00:00.000Z", 600, others=False)
    again = "2026-01-01T00:00:01.000Z"
    assert generations(tree, "n").ensure_refresh(again, 600, others=False) == again


def test_refreshes_at_the_same_moment(tree, monkeypatch):
    """Two machines that find nobody at work make one generation."""
    one, other = generations(tree), generations(tree, "n")
    real = one._files.claim

    def claim(path, data, **how):
        other.ensure_refresh("2026-01-01T00:00:00.000Z", 600, others=False)
        return real(path, data, **how)

    monkeypatch.setattr(one._files, "claim", claim)
    assert one.ensure_refresh("2026-01-01T00:00:01.000Z", 600, others=False) == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize("before", [3, "", "yesterday", "2026-01-01", "2026-01-01T00:00:00"])
def test_no_time(before):
    """A time that nobody can compare asks for nothing."""
    assert refresh_of({"reason": "refresh", "before": before}) == ""


@pytest.mark.parametrize("data", [b"", b"{", b"3", b"[" * 100_000])
def test_damaged(tree, data):
    """The number counts, whatever is in the file."""
    (tree / again_path(1)).write_bytes(data)
    assert (generations(tree).newest(), generations(tree).reason(1)) == (1, {})
    assert generations(tree).ensure(CUT) == 2


def test_lost_reply(tree, fault):
    """A link that was made although it reported an error is no second generation."""
    one = generations(tree)
    real = one._files.claim
    one._files.claim = lambda path, data, **how: real(path, data, **how) and real(path, data, **how)
    assert [one.advance(CUT), one.newest()] == [1, 1]
    fault("link", errno.EPERM)
    assert generations(tree, "n").newest() == 1
