"""What `status` says while hosts go from one machine to another: real machines, which come and are killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from fscrawl.monitor.snapshot import Observer
from fscrawl.monitor.status import as_json
from fscrawl.store import Tree
from tests.support.fleet import DYING, Fleet, Place
from tests.support.web import Request, Response, Web

PAGES = 1500
HTML = {"Content-Type": "text/html"}


def many_pages(request: Request) -> Response:
    """A first page that names all others at once: they wait until the end."""
    links = "".join(f"<a href=/{number}>" for number in range(PAGES)) if request.path == "/" else ""
    return Response(200, HTML, f"<title>{request.path}</title>{links}".encode())


@contextmanager
def watched(root: Path) -> Iterator[list[dict[str, Any]]]:
    """Look at a tree again and again, with an eye that is new each time, and with one that stays."""
    looks: list[dict[str, Any]] = []
    over = Event()

    def look() -> None:
        tree = Tree(root, "observer-1-aa")
        staying = Observer(tree)
        while not over.wait(0.1):
            looks.extend(as_json(observer.look()) for observer in (staying, Observer(tree)))

    thread = Thread(target=look)
    thread.start()
    try:
        yield looks
    finally:
        over.set()
        thread.join()


def wrong(looks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the looks that say that nothing waits: of all, or of the task."""
    return [
        look
        for look in looks
        if look["alive"] and (look["pending"] == 0 or any(one["pending"] == 0 for one in look["labels"].values()))
    ]


def test_nothing_is_done_while_machines_join_and_die(place: Place, tmp_path: Path) -> None:
    """While URLs wait, no look says that none do: not when machines join, and not when the holder of them is killed."""
    hosts = [f"127.0.93.{number}" for number in range(1, 2)]
    with Web(many_pages, hosts=hosts) as web, Fleet(place, {"politeness.delay": 0.2, **DYING}) as fleet:
        seeds = tmp_path / "seeds"
        seeds.write_text("".join(f"{web.url(host, '/')}  # task\n" for host in hosts))
        fleet.start("--seeds", str(seeds), new=True)
        fleet.wait_for_tree()
        fleet.members[0].until(lambda: web.count() > 20, "it has begun")
        with watched(place.root) as looks:
            for _ in range(2):
                fleet.start()
                time.sleep(4)
            for member in fleet.members[:2]:
                member.kill()
                time.sleep(6)
        assert not wrong(looks), [(look["pending"], look["labels"], look["machines"]) for look in wrong(looks)][:3]
        unknown = [look for look in looks if look["pending"] is None]
        assert unknown, "some hosts were on their way"
        assert all(look["ends_in_s"] is None for look in unknown)
        assert looks[-1]["pending"], "all is known again"
