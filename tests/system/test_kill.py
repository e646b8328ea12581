"""A crawl that is killed again and again, at any moment, loses nothing and repeats little.

FSCRAWL_KILLS in the environment says how often (6 without it), FSCRAWL_SEED chooses the moments.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.fixtures import in_both
from tests.support.ledger import Entry, note
from tests.support.web import Request, Response, Web, linked_site

HOSTS = [f"127.0.6.{n}" for n in range(1, 5)]
KILLS = int(os.environ.get("FSCRAWL_KILLS", "6"))
CHECKED_EVERY = max(1, KILLS // 50)  # kills: to look at the whole tree after each takes longer and longer
WORKERS, THREADS = 2, 4
SPAN_S = 0.6  # after its first request, a run is killed within this time
DELAY_S = 0.058  # of each page, on average
# of each host; two of them at a time are answered for somewhat longer than all runs that are killed
PAGES = max(75, round(KILLS * SPAN_S * 1.2 / DELAY_S))
EARLY = 0.2  # so many runs are killed before their first request, perhaps
STORING_S = 2.0  # a page answered longer than this before a kill must have been stored
SLACK_S = 0.2  # a request sent just before the kill is seen just after it


@in_both
@pytest.mark.timeout(60 + 8 * KILLS)
def test_kills_lose_nothing(root: Path, layout: dict[str, object]) -> None:
    """After any number of SIGKILLs, the tree is whole, every page is in it, and only what was in flight came twice."""
    rng = random.Random(int(os.environ.get("FSCRAWL_SEED", "1")))
    site = linked_site(PAGES, 6, body_bytes=20_000)

    def serve(request: Request) -> Response:
        answer = site(request)
        wait_s = 0.0 if request.path == "/robots.txt" else DELAY_S * rng.uniform(0.5, 1.5)
        return Response(answer.status, answer.headers, answer.body, wait_s)

    kills: list[float] = []
    with Web(serve, HOSTS, deadline_s=60 + 8 * KILLS) as web:
        seeds = [web.url(host) for host in HOSTS]
        # A machine that was killed between making its log and saying hello counts as live for dead_after, and the next
        # run leaves it its share for so long.
        settings = {"politeness.per_host": 2, "fleet.beat": 2, "fleet.dead_after": 8, **layout}
        while len(kills) < KILLS:
            words = command(root, "--quiet", seeds=seeds, settings=settings, workers=WORKERS, threads=THREADS)
            with Running(words) as running:
                _wait(running, web, rng)
                running.signal(signal.SIGKILL, group=True)
                kills.append(time.monotonic())
                done = running.wait()
                assert done.code in (0, -signal.SIGKILL), done
            if len(kills) % CHECKED_EVERY == 0 and (root / ".fscrawl" / "tree.json").exists():
                check_tree(root, whole=False)
        done = crawl(root, seeds=seeds, settings=settings, workers=WORKERS, threads=THREADS)
        assert done.code == 0, done
        stored, wanted = set(pages(root)), {web.url(host, f"/{n}") for host in HOSTS for n in ["", *range(PAGES)]}
        _note(web, len(kills), len(stored), len(wanted - stored))
        assert stored == wanted
        assert errors(root) == {}
        check_tree(root)
        _check_repeats(web, kills)


def _note(web: Web, kills: int, stored: int, lost: int) -> None:
    again = sum(times - 1 for times in web.duplicates().values())
    name = "SIGKILL of a machine that is alone"
    note(Entry("local disk", name, faults=kills, kills=kills, pages=stored, lost=lost, duplicates=again))


def _wait(running: Running, web: Web, rng: random.Random) -> None:
    """Wait for the moment of the kill."""
    before = web.count()
    if rng.random() < EARLY:
        deadline = running.began + rng.uniform(0.05, 0.6)
    else:
        running.until(
            lambda: web.connections or web.count() > before or running.process.poll() is not None, "a request"
        )
        deadline = time.monotonic() + rng.uniform(0.0, SPAN_S)
    while time.monotonic() < deadline:
        time.sleep(0.005)


def _check_repeats(web: Web, kills: list[float]) -> None:
    """Every page asked for again had been in flight, or about to be stored, when a kill came."""
    causes = []  # of each repeat, the kills that may have caused it: runs are so short that it may be one of several
    for host, path in web.duplicates():
        asked = web.requests(host, path)
        for exchange, again in itertools.pairwise(asked):
            between = [at for at in kills if exchange.arrived - SLACK_S <= at <= again.arrived]
            assert between, f"{host}{path} was asked for twice, and no kill between"
            assert exchange.answered > between[0] - STORING_S, f"{host}{path} was answered long before the kill"
            causes.append(between)
    print(f"{len(kills)} kills, {len(causes)} pages fetched again")
    # Each kill explains as many repeats as were in flight at it. Those that may have several causes are given to the
    # earliest that has room, in the order of their latest: if any assignment works, this one does.
    room = dict.fromkeys(kills, WORKERS * THREADS)
    for between in sorted(causes, key=lambda causes: causes[-1]):
        cause = next((at for at in between if room[at]), None)
        assert cause is not None, f"more came twice than was in flight at {between}"
        room[cause] -= 1
