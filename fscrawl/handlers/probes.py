"""A probe: ask a host for anything, to see whether the network is there."""

from __future__ import annotations

import time
from dataclasses import replace

from fscrawl import urls
from fscrawl.frontier.task import ProbeTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import health_of
from fscrawl.handlers.outcome import Exchange, Probed
from fscrawl.http.answers import Failed, nothing
from fscrawl.politeness.robots import ROBOTS_PATH


class ProbeHandler:
    def __init__(self, context: Context) -> None:
        self._context = context

    def fetch(self, task: ProbeTask) -> Probed:
        """Ask for robots.txt, whose body is not read."""
        url = urls.origin(task.url) + ROBOTS_PATH
        answer = self._context.fetcher.get(url, limits=replace(self._context.fetcher.limits, wants=nothing))
        asked_at = time.monotonic()
        if isinstance(answer, Failed):
            return Probed(task, Exchange(asked_at, health_of(answer)), answer.class_, answer.message)
        return Probed(task, Exchange(asked_at, "answered", answer.elapsed_s))
