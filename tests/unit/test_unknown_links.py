"""Which links of a page the frontier need not look at: those that are known. Leaving them out changes nothing."""

import random

import pytest

from fscrawl.frontier.flags import Flags
from fscrawl.frontier.task import End
from fscrawl.frontier.url_table import UrlTable
from tests.support.frontiers import A, B, chosen, drain, fill


def unknown(frontier, *links, always=frozenset()):
    return [url for url, _ in frontier.unknown(links, always)]


def test_known_links_are_left_out(make_frontier):
    """What was added is left out, also after it was handed out; all others come with their locations."""
    frontier = make_frontier()
    fill(frontier, A + "1", A + "2")
    assert drain(frontier)
    found = frontier.unknown([A + "1", A + "3", B + "1", A + "2"], frozenset())
    assert found == [(url, frontier.location(url)) for url in (A + "3", B + "1")]


def test_what_is_not_left_out(make_frontier):
    """URLs that the caller names, those of shards that were let go, and what is there but not known."""
    frontier = make_frontier()
    fill(frontier, A + "1", A + "2")
    assert unknown(frontier, A + "1", A + "2", always={A + "2"}) == [A + "2"]
    shard = frontier.location(A).shard
    frontier.hold(shard)
    frontier.mark_told(shard, int.from_bytes(frontier.location(A + "3").digest[:8]), 0)
    assert unknown(frontier, A + "3") == [A + "3"]
    frontier.let_go(shard)
    assert unknown(frontier, A + "1") == [A + "1"]


def test_a_host_whose_shard_is_held_no_more(make_frontier):
    """A host may be known by name while its shard is not held, because a page of it is in flight."""
    frontier = make_frontier()
    fill(frontier, A + "1")
    host = frontier._by_name["a.example"]
    frontier.let_go(host.shard)
    frontier._by_name["a.example"] = host
    assert unknown(frontier, A + "1") == [A + "1"]


def test_partition_by_url(make_frontier):
    """Where the URLs of a host have many shards, none is left out."""
    frontier = make_frontier("crawl.partition=url")
    fill(frontier, A + "1")
    assert frontier.unknown([A + "1"], frozenset()) == [(A + "1", frontier.location(A + "1"))]


def test_limit_of_depth(make_frontier):
    """With a limit none is left out: this way may be shorter. Nor when the limit has just been removed."""
    frontier = make_frontier("crawl.max_depth=3")
    frontier.add(A + "1", 2, "")
    assert unknown(frontier, A + "1") == [A + "1"]
    frontier.use(chosen())
    assert unknown(frontier, A + "1") == [A + "1"]


@pytest.mark.parametrize("seed", range(20))
def test_leaving_them_out_changes_nothing(make_frontier, seed):
    """Whatever was done before: to add a link that is left out is no news, and nothing becomes pending by it."""
    rng = random.Random(seed)
    frontier = make_frontier()
    links = [f"http://{host}.example/{n}" for host in "abcde" for n in range(12)]
    for _ in range(60):
        url = rng.choice(links)
        match rng.randrange(6):
            case 0:
                frontier.add(url, rng.randrange(4), "", None, Flags(retry_of="x"))
            case 1:
                location = frontier.location(url)
                frontier.mark_told(location.shard, int.from_bytes(location.digest[:8]), 1, failed=rng.random() < 0.5)
            case 2 if (task := frontier.take(1e9)) is not None:
                frontier.finish(task, None, End.TOLD)
            case 3 if frontier.holds(shard := frontier.location(url).shard):
                frontier.let_go(shard)
            case _:
                frontier.add(url, rng.randrange(4), "")
        left_out = set(links) - set(unknown(frontier, *links))
        before = frontier.pending
        assert [frontier.add(each, rng.randrange(4), "") for each in sorted(left_out)] == [False] * len(left_out)
        assert frontier.pending == before


def test_is_known():
    """A URL that is told or there need not be known."""
    table = UrlTable()
    for number in (3, 5, 2**63):
        assert not table.is_known(number)
        table.mark_there(number)
        table.told(number, 0)
        assert not table.is_known(number)
        table.known(number, 0)
        assert table.is_known(number)
    assert not table.is_known(4)
    assert not table.is_known(6)
