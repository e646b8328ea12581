"""Frontiers for tests: what goes in, what comes out, and hosts that fail. Time is an argument, so no test waits."""

from fscrawl import urls
from fscrawl.config.settings import Settings, apply
from fscrawl.frontier.task import PageTask, RobotsTask

A, B, C = ("http://a.example/", "http://b.example/", "http://c.example/")


class StoredFake:
    """A tree that holds some URLs; `pages`: host → how many pages. `asked`: the hosts that it was asked about.

    late   URLs that a listing shows only when all hosts are listed once more
    """

    def __init__(self, *links, pages=None, late=()):
        self._links, self._pages, self._late, self.asked = links, pages or {}, late, []
        self.robots_first = set()

    def list_hosts(self):
        self._links, self._late = (*self._links, *self._late), ()

    def keys(self, host):
        self.asked.append(host)
        return [urls.key(url) for url in self._links]

    def page_count(self, host):
        return self._pages.get(host, 0)


def chosen(*assignments):
    return apply(Settings(), ["politeness.robots=false", *assignments])


def fill(frontier, *links, depth=0):
    return [frontier.add(url, depth, "") for url in links]


def drain(frontier, now=0.0):
    """Take and finish until nothing is left, moving to the next time when there is nothing; give the tasks."""
    tasks = []
    while True:
        task = frontier.take(now)
        if task is not None:
            tasks.append(task)
            frontier.finish(task, now)
        elif frontier.next_at() is None:
            return tasks
        else:
            now = frontier.next_at()


def paths(tasks):
    return [task.url.rpartition("/")[2] for task in tasks]


def take_and_finish(frontier, now, *, asked=True):
    task = frontier.take(now)
    assert task is not None
    frontier.finish(task, now if asked else None)
    return task


def fail(frontier, now, class_="timeout", *, robots=False, attempt=1, name="a.example"):
    task = RobotsTask(A, name, attempt) if robots else PageTask(A, name, "", 0, "", attempt)
    frontier.scheduler.failed(task, class_, now)


def give_up(frontier, class_="timeout", since=0.0):
    """Let A's host fail until it is given up."""
    for now in (since, since + 60):
        for _ in range(10):
            fail(frontier, now, class_)
