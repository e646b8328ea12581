"""What of a host comes next: what is new, what is tried again, and sitemaps take turns."""

from fscrawl.frontier.flags import SITEMAP, flags_of
from tests.support.frontiers import A, fill, paths


def asked_until_done(frontier, is_bad):
    """Ask a host second by second; URLs that are bad fail each time, and are tried again like those of a crawl.

    Give the paths that were asked, and the class of failures by which the host was given up.
    """
    asked = []
    for now in map(float, range(30_000)):
        task = frontier.take(now)
        if task is None:
            continue
        if task.flags.given_up:
            return asked, task.flags.given_up
        asked += paths([task])
        if is_bad(task.url):
            frontier.scheduler.failed(task, "http-5xx", now)
            if task.attempt <= 3:
                frontier.retry(task, now + 2.0 ** (task.attempt - 1))
        else:
            frontier.scheduler.answered(task.host, 0.01)
        frontier.finish(task, now)
    return asked, ""


def test_pages_take_turns_with_what_is_tried_again(make_frontier):
    """Three pages that fail each time do not let a host be given up that has others: these are asked between."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(A + str(n) for n in range(20)))
    asked, given_up = asked_until_done(frontier, lambda url: url in (A + "0", A + "1", A + "2"))
    assert given_up == ""
    assert sorted(asked, key=int) == [*"000011112222", *map(str, range(3, 20))]


def test_pages_take_turns_with_sitemaps(make_frontier):
    """Thirty sitemaps that fail, as of a site whose generator is broken, do not let its pages wait."""
    frontier = make_frontier("politeness.delay=1")
    for n in range(30):
        frontier.add(f"{A}s{n}.xml", 0, "", flags=flags_of(SITEMAP))
    fill(frontier, *(A + str(n) for n in range(60)))
    asked, given_up = asked_until_done(frontier, lambda url: url.endswith("xml"))
    assert given_up == ""
    assert set(asked) >= set(map(str, range(60)))
