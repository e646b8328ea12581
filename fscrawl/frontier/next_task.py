"""Which task a host gets when its turn has come.

Vocabulary:
  settled     a URL of which nothing is left to do: it was told by another machine meanwhile
  open        a host whose robots.txt is known: before that, the only task it gets is "robots"
  full        a host with as many stored pages as `max_pages_per_host` allows

Promise: a host that is full gets only tasks of stored pages, whose links must be told. Tasks of a host that was given
up are handed out only to be written down as failed.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from fscrawl.frontier.hosts import Host, Hosts
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.politeness.robots import VALID_S

_LISTING_PAUSE_S = 1.0  # then a host that waits for its listing is looked at again


class Knowledge(Protocol):
    """What is asked about a pending task."""

    def is_settled(self, task: PageTask) -> bool:
        """Tell whether nothing is left to do."""
        ...

    def is_there(self, task: PageTask) -> bool:
        """Tell whether the tree has a record of it, so that no host is asked."""
        ...

    def may_miss(self, task: PageTask, now: float) -> bool:
        """Tell whether the tree may have a record of it although `is_there` does not know."""
        ...


class NextTask:
    """Chooses tasks. `cut`: gets the number of URLs that are left out, by the limit that did it."""

    def __init__(self, hosts: Hosts, knowledge: Knowledge, cut: Counter[str]) -> None:
        self._hosts = hosts
        self._knowledge = knowledge
        self._cut = cut

    def of(self, host: Host, now: float, limit: int | None) -> PageTask | RobotsTask | None:
        """Take a host's next task out of its queue; None if there is none now. `limit`: of its stored pages."""
        task = self._pop_unsettled(host)
        if task is None:
            return None
        if host.given_up:
            return task._replace(flags=task.flags.with_host_given_up(host.given_up))
        if now - host.opened_at > VALID_S:
            host.is_open = False
        is_full = limit is not None and host.pages + host.in_flight >= limit
        if host.is_open and not is_full:
            return task
        self._hosts.put_first(host, task)
        if not host.is_open:
            return self._robots_task(host)
        return self._stored_one_of(host, now) if host.pages >= (limit or 0) else None

    def _pop_unsettled(self, host: Host) -> PageTask | None:
        """Take the next task of a host that is not settled, and drop those before it."""
        while host.queue.count or host.urgent:
            task = self._hosts.pop(host)
            if not self._knowledge.is_settled(task):
                return task
        return None

    def drop_settled(self, host: Host) -> bool:
        """Drop tasks of a host until one is not settled; tell whether there is one."""
        task = self._pop_unsettled(host)
        if task is not None:
            self._hosts.put_first(host, task)
        return task is not None

    def _stored_one_of(self, host: Host, now: float) -> PageTask | None:
        """Give the next task that the tree has a record of; leave out all before it: the host has enough pages.

        As long as that is not known for sure, the host waits: the links of a stored page must be told.
        """
        while self.drop_settled(host):
            task = self._hosts.peek(host)
            may_miss = self._knowledge.may_miss(task, now)  # asked first: it may list the host again
            if self._knowledge.is_there(task):
                return self._hosts.pop(host)
            if may_miss:
                host.ready_at = max(host.ready_at, now + _LISTING_PAUSE_S)
                return None
            self._hosts.pop(host)
            self._cut["max_pages_per_host"] += 1
        return None

    def _robots_task(self, host: Host) -> RobotsTask | None:
        """Give the task that opens a host; None as long as any task of it is in flight."""
        if host.in_flight:
            return None
        return RobotsTask(self._hosts.peek(host).url, host.name, host.robots_attempt)
