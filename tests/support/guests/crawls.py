"""Crawls in guests: a web on the host, machines on the clients, the tree read back from the server's disk.

Vocabulary:
  site     webs on the host's 127.0.0.1, each on a port of its own; to a guest each is a host, 10.0.2.2:<port>
  lanes    fetches that a machine has under way at most, so what may be fetched twice for each fault

Promise: the times asked of a site are those of the host's clock (`time.monotonic`); no guest's clock is looked at.
"""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from fscrawl import urls
from tests.support.crawling import SETTINGS, check_tree, errors, pages
from tests.support.guests.guest import Begun, Guest
from tests.support.guests.lab import Lab
from tests.support.web import Exchange, Web, linked_site

BEAT_S = 5.0
DEAD_AFTER_S = 30.0
LANES = 4  # one worker of so many threads
CRAWL_S = 600.0  # the deadline of a crawl; a busy host makes guests slow
_ROUNDING_S = 0.02  # between what a guest's clock and the host's call the delay


class Site:
    """Several hosts of linked pages, as context manager."""

    def __init__(self, hosts: int, pages_each: int, *, links: int = 5, body_bytes: int = 2000) -> None:
        self._pages_each = pages_each
        content = linked_site(pages_each, links, body_bytes=body_bytes)
        self.webs = [Web(content, deadline_s=3000) for _ in range(hosts)]

    def __enter__(self) -> Self:
        for web in self.webs:
            web.start()
        return self

    def __exit__(self, *_: object) -> None:
        for web in self.webs:
            web.stop()

    def seeds(self) -> list[str]:
        return [self._url(web, "/") for web in self.webs]

    def urls(self) -> set[str]:
        """Give every page there is."""
        return {self._url(web, f"/{page}") for web in self.webs for page in ("", *range(self._pages_each))}

    @staticmethod
    def _url(web: Web, path: str) -> str:
        return f"http://10.0.2.2:{web.port}{path}"

    @staticmethod
    def directory(web: Web) -> str:
        """Give the name of a web's directory in the tree."""
        return urls.host(Site._url(web, "/"))

    def count(self) -> int:
        return sum(len(web.exchanges) for web in self.webs)

    def arrivals(self, begin: float, end: float, web: Web | None = None) -> int:
        """Give how many requests arrived between two moments, at one host or at all."""
        chosen = self.webs if web is None else [web]
        return sum(begin <= exchange.arrived <= end for each in chosen for exchange in list(each.exchanges))

    def duplicates(self) -> int:
        """Give the fetches of pages beyond each one's first."""
        return sum(count - 1 for web in self.webs for count in web.duplicates().values())

    def too_soon(self, delay_s: float) -> list[tuple[Exchange, Exchange]]:
        """Give the pairs of requests to one host that are closer than its delay."""
        rows = (web.requests() for web in self.webs)
        pairs = (pair for row in rows for pair in itertools.pairwise(row))
        return [(one, other) for one, other in pairs if other.arrived - one.arrived < delay_s - _ROUNDING_S]

    def next_answer(self, moment: float) -> float:
        """Give when the first request that arrived after a moment was answered; infinite if there was none."""
        return min(
            (e.answered for web in self.webs for e in list(web.exchanges) if e.arrived > moment), default=float("inf")
        )


def begin(
    client: Guest,
    root: str,
    *,
    site: Site | None = None,
    user: int = 0,
    threads: int = LANES,
    settings: Mapping[str, object] | None = None,
) -> Begun:
    """Start a machine on a client; the first is given the site, and makes the tree with the settings."""
    words = ["python3", "/opt/checkout/crawl.py", "--root", root, "--quiet"]
    words += ["--workers", "1", "--threads", str(threads)]
    if site is not None:
        words += [word for seed in site.seeds() for word in ("--seed", seed)]
        ours = {"fleet.beat": BEAT_S, "fleet.dead_after": DEAD_AFTER_S, "politeness.robots": "false"}
        ours["fetch.allow_addresses"] = '["10.0.2.2"]'  # the host
        words += [
            word
            for name, value in {**SETTINGS, **ours, **(settings or {})}.items()
            for word in ("--set", f"{name}={value}")
        ]
    if user:
        words = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *words]
    return client.begin(f"cd /tmp && HOME=/tmp exec {shlex.join(words)}", CRAWL_S)


def stored(lab: Lab, root: str) -> int:
    """Give how many pages are stored in a tree, as files or in packs, as the server sees it."""
    links = f"{_served(root)}/links"
    count = f"find {links} -name '[!.]*.json' | wc -l; cat {links}/*+*/*.jsonl 2>/dev/null | wc -l"
    return sum(map(int, lab.server.run(count).out.split()))


def holders(lab: Lab, root: str) -> Mapping[str, str]:
    """Give which client has stored the newest page of each host directory."""
    script = 'for d in */; do echo "${d%/} $(grep -o \'"machine":"[^"]*"\' "$d$(ls -t "$d" | head -n 1)")"; done'
    told = lab.server.run(f"cd {_served(root)}/links && {script}").out
    return {line.split()[0]: line.split('"')[3].split("-")[0] for line in told.splitlines()}


def lost(lab: Lab, root: str, site: Site, target: Path) -> int:
    """Check that a finished tree, copied from the server, is whole, and give how many pages of the site it lacks."""
    lab.server.fetch(_served(root), target)
    check_tree(target, whole=False)
    assert errors(target) == {}
    found = set(pages(target))
    assert found <= site.urls()
    return len(site.urls() - found)


def await_over(machines: list[Begun], timeout_s: float = CRAWL_S) -> None:
    """Wait until all machines have left by themselves, the crawl being finished."""
    deadline = time.monotonic() + timeout_s
    for machine in machines:
        done = machine.wait(max(1.0, deadline - time.monotonic()))
        assert done.code == 0, done


def _served(root: str) -> str:
    return root.replace("/mnt/", "/srv/", 1)
