"""Which task a host gets when its turn has come.

Vocabulary:
  settled     a URL of which nothing is left to do: it was told by another machine meanwhile
  open        a host whose robots.txt is known: before that, it gets tasks of stored pages, and then only "robots"
  twin        a pending task whose URL is in flight: one of both is a refresh, or a retry that a user wants
  full        a host with as many stored pages as `max_pages_per_host` allows

Promise: a host that is full gets only tasks of stored pages, whose links must be told. Tasks of a host that was given
up are handed out only to be written down as failed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Protocol

from fscrawl import urls
from fscrawl.frontier.hosts import Host, Hosts
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.frontier.url_table import Standing
from fscrawl.util.distinct import LeftOut

_LISTING_PAUSE_S = 1.0  # then a host that waits for its listing is looked at again


class Knowledge(Protocol):
    """What is asked about a pending task. `shard`: that of its host; None if its host has URLs in many."""

    def standing(self, task: PageTask, shard: int | None) -> Standing:
        """Tell what is known of its URL."""
        ...

    def is_robots_first(self, host: str) -> bool:
        """Tell whether a host is asked for its robots.txt even if only stored pages are to be told."""
        ...

    def may_miss(self, task: PageTask, shard: int | None, now: float) -> bool:
        """Tell whether the tree may have a record of it that `standing` does not know; this may list the host again."""
        ...


class NextTask:
    """Chooses tasks."""

    def __init__(
        self, hosts: Hosts, knowledge: Knowledge, in_flight: Container[str], cut: LeftOut, why: Mapping[str, str]
    ) -> None:
        """`in_flight`: the keys of the pages that are. `cut`: counts the URLs left out, by the limit.

        `why`: hosts that were given up, with the message of the last failure.
        """
        self._hosts = hosts
        self._knowledge = knowledge
        self._in_flight = in_flight
        self._cut = cut
        self._why = why

    def of(self, host: Host, now: float, limit: int | None, *, robots: bool) -> PageTask | RobotsTask | None:
        """Take a host's next task out of its queue; None if there is none now.

        `limit`: of its stored pages; `robots`: whether its robots.txt is asked for.
        """
        host.look_at_robots(now, wanted=robots)
        is_full = limit is not None and host.pages + host.in_flight >= limit
        if host.given_up:
            task = self._pop(host, now)
            failed = f"{host.given_up} {self._why.get(host.name, '')}".rstrip()
            return task and task._replace(check=True, flags=task.flags.with_host_given_up(failed))
        if host.is_open and not is_full:
            return self._pop(host, now)
        if not self.drop_settled(host):
            return None
        if not host.is_open:
            return self._stored_first(host, now) or self._robots_task(host)
        return self._stored_one_of(host, now) if host.pages >= (limit or 0) else None

    def drop_settled(self, host: Host) -> bool:
        """Drop tasks of a host until one is not settled; tell whether there is one."""
        while host.queue.count or host.urgent:
            task = self._hosts.pop(host)
            if task.flags.wanted_again or not self._knowledge.standing(task, host.shard).settled:
                self._hosts.put_first(host, task)
                return True
        return False

    def _pop(self, host: Host, now: float) -> PageTask | None:
        """Take a host's next task that is not a twin; these stay pending."""
        twins = []
        while (task := self._pop_open(host, now)) is not None and task.key in self._in_flight:
            twins.append(task)
        for twin in twins:
            self._hosts.put_first(host, twin)
        return task

    def _pop_open(self, host: Host, now: float) -> PageTask | None:
        """Take a host's next task that is not settled, as it is handed out: with the least depth that is known.

        A worker must look into the tree first if the tree may have a record.
        """
        while host.queue.count or host.urgent:
            task = self._hosts.pop(host)
            check = task.check or task.flags.is_special or self._knowledge.may_miss(task, host.shard, now)
            settled, recorded, known = self._knowledge.standing(task, host.shard)
            if settled and not task.flags.wanted_again:
                continue
            check = check or recorded
            depth = task.depth if known is None else known
            return task if check is task.check and depth == task.depth else task._replace(check=check, depth=depth)
        return None

    def _stored_one_of(self, host: Host, now: float) -> PageTask | None:
        """Give the next task that the tree has a record of; leave out all before it: the host has enough pages.

        As long as that is not known for sure, the host waits: the links of a stored page must be told.
        """
        while (task := self._pop(host, now)) is not None:
            may_miss = self._knowledge.may_miss(task, host.shard, now)  # asked first: it may list the host again
            if self._knowledge.standing(task, host.shard).recorded:
                return task
            if may_miss:
                self._hosts.put_first(host, task)
                host.ready_at = max(host.ready_at, now + _LISTING_PAUSE_S)
                return None
            self._cut.add("max_pages_per_host", urls.fingerprint(task.key))
        return None

    def _stored_first(self, host: Host, now: float) -> PageTask | None:
        """Give the first task if the tree has a record of it: a worker tells it, and asks the host nothing.

        So a host of which nothing is left is not asked for its robots.txt, as after `.fscrawl` was deleted.
        """
        first = self._hosts.peek(host)
        is_new = first.flags.is_special or first.key in self._in_flight or self._knowledge.is_robots_first(host.name)
        return None if is_new or not self._knowledge.standing(first, host.shard).recorded else self._pop(host, now)

    def _robots_task(self, host: Host) -> RobotsTask | None:
        """Give the task that opens a host; None as long as any task of it is in flight."""
        if host.in_flight:
            return None
        return RobotsTask(self._hosts.peek(host).url, host.name, host.robots_attempt)
