"""The cookies of a machine: one jar for all of its worker processes.

A worker sends what it has learnt ahead of the outcome of the task that it was learnt by, so before any task is made
that follows from this. The cookies of a site go to another worker ahead of the next task there that needs them. So a
site whose hosts stay with one worker costs a little for each change, and a site without cookies costs nothing.

Vocabulary:
  version   of the cookies of a site: another number after each change
  author    the worker process that all cookies of a site are from, as long as it is only one: it need not be told

Promise: whatever workers learn at the same time, all of them have the same cookies in the end: those of the machine.
Nothing is written. After another identity, such as another user agent, all begin without cookies.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable
from functools import partial
from typing import NamedTuple

from fscrawl import urls
from fscrawl.frontier.task import Task
from fscrawl.http.cookies import MAX_SITES, Cookies, Jar
from fscrawl.request import names_session, url_of
from fscrawl.util.lru import Lru

_Told = Lru[str, int]  # what a process was told: site → version


class _Standing(NamedTuple):
    version: int
    author: _Told | None


class SharedCookies:
    """The cookies that requests under one identity get."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self._jar = Jar()
        self._sites: Lru[str, _Standing] = Lru(MAX_SITES)
        self._told: defaultdict[Hashable, _Told] = defaultdict(partial(Lru, MAX_SITES))
        self._versions = itertools.count(1)

    def take(self, process: Hashable, learnt: Cookies) -> None:
        """Take in what a process has learnt."""
        if learnt.identity != self.identity:
            return
        told = self._told[process]
        for site, cookies in learnt.of_sites.items():
            if self._jar.add(site, cookies, time.time()):
                before = self._sites.get(site)
                author = told if before is None or before.author is told else None
                self._sites.put(site, _Standing(next(self._versions), author))

    def news(self, process: Hashable, tasks: Iterable[Task]) -> Cookies | None:
        """Give the cookies that a process must know for these tasks, and does not; None if it knows all."""
        if not len(self._sites):
            return None
        told, news = self._told[process], {}
        for task in tasks:
            site = urls.site(urls.hostname(task.url))
            standing = self._sites.get(site)
            if standing is not None and standing.author is not told and told.get(site) != standing.version:
                told.put(site, standing.version)
                news[site] = self._jar.of_site(site, time.time())
        return Cookies(self.identity, news) if news else None

    def go_to(self, asked: str) -> bool:
        """Tell whether a request gets a cookie; of a session only its worker knows. `asked`: its spelling."""
        return names_session(asked) or self._jar.header(url_of(asked), time.time()) is not None

    def forget(self, process: Hashable) -> None:
        """A new process knows of no cookies."""
        self._told.pop(process, None)
