"""What a worker leaves undone without a permit, which heartbeats give."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import cast

import pytest

from fscrawl import store
from fscrawl.errors import TreeBusyError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.flags import NO_FLAGS, REFRESH, Flags, format_flags
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Returned
from fscrawl.storage.records import SITEMAP
from fscrawl.worker import Worker
from tests.support.web import Web
from tests.support.workers import GENERATION, HOST, SETTINGS, Work, opened, page, site, stored_record, task, what


def test_no_permit_while_the_tree_cannot_be_written(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that could not be stored is returned if no heartbeat can be written either; else a TreeError is raised."""
    may = [True]
    permit = cast("Permit", SimpleNamespace(holds=lambda: may[0]))

    def put_page(*_: object) -> None:
        may[0] = not give_back
        raise TreeBusyError("no server")

    with Web(site({"/": page("<p>")}), [HOST]) as web:
        monkeypatch.setattr(store.Tree, "put_page", put_page)
        give_back = True
        assert what(work(permit=permit).do(task(web.url(HOST)))) == Returned
        may[0], give_back = True, False
        with pytest.raises(TreeBusyError):
            work(permit=permit).do(task(web.url(HOST)))


class Expired:
    """The permit of a machine that cannot write heartbeats: it expires after `looks` looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def holds(self) -> bool:
        self.looks -= 1
        return self.looks >= 0


@pytest.mark.parametrize("flags", [NO_FLAGS, REFRESH, Flags(SITEMAP)], ids=format_flags)
def test_without_permit(tree: store.Tree, work: Work, flags: Flags) -> None:
    """Without a permit nothing is fetched, and an answer that comes after the permit expired is not stored.

    The permit is looked at before the tree is, just before the request, and after it.
    """
    with Web(site({"/a": page("new")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=flags, check=False)
        tree.put_page(asked.host, stored_record(asked.url), b"old")
        opened(work(), asked.url)
        for looks in (0, 1, 2):
            before = tree.page(asked.host, asked.key)
            worker = Worker(tree, CrawlConfig(SETTINGS, frozenset({web.url(HOST)}), GENERATION), 1, Expired(looks))
            assert what(worker.do(asked)) == Returned
            assert tree.page(asked.host, asked.key) == before
            assert web.count(path="/a") == (looks == 2)


@pytest.mark.parametrize("look", ["is_done", "robots"])
def test_a_look_at_the_tree_that_lasts(work: Work, monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    """A permit that expires while the tree does not answer is missed before the request: another machine asks it now.

    Seen on GlusterFS, whose call failed after 13 s, when its server was silent for the ping timeout.
    """
    may = [True]
    permit = cast("Permit", SimpleNamespace(holds=lambda: may[0]))

    def lasts(*_: object) -> None:
        may[0] = False

    monkeypatch.setattr(store.Tree, look, lasts)
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        asked = task(web.url(HOST))._replace(check=True)
        assert what(work(permit=permit).do(asked)) == Returned
        assert web.count() == 0


def test_a_worker_that_is_replaced_is_gone(work: Work) -> None:
    """After an edit of the settings, the connections of the worker before end at once, and not some day."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        gc.disable()
        try:
            worker = work()
            opened(worker, web.url(HOST))
            outcome = worker.do(task(web.url(HOST)))
            left = weakref.ref(worker._context.fetcher)
            del worker
            assert what(outcome) == "page"
            assert left() is None
        finally:
            gc.enable()
