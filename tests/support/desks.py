"""A bookkeeper of a machine, with all that it needs: what it discovers and tells is noted."""

import io
import random
from types import SimpleNamespace

from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.engine.progress import Progress
from fscrawl.frontier.flags import NO_FLAGS
from fscrawl.politeness.outage import Outage
from tests.support.frontiers import chosen


class Discoveries(list):
    """Stands for the membership: what was discovered, and what was told when so much had been discovered."""

    def __init__(self):
        super().__init__()
        self.tellings = []
        self.rules = SimpleNamespace(generation=1)

    def tell(self, task, failed_at):
        self.tellings.append((task.url, task.depth, failed_at or len(self)))

    def discover(self, links, depth, referrer, flags=None, host=""):
        if links:
            self.append((tuple(links), depth, referrer, None if flags is NO_FLAGS else flags))


class Tree:
    machine = "machine-1"
    files = None  # only figures by label are written into them

    def __init__(self):
        self.errors = []

    def put_error(self, host, record):
        self.errors.append(record)


class Desk:
    """A bookkeeper with all that it needs."""

    def __init__(self, frontier, tree, *assignments):
        self.frontier, self.tree = frontier, tree
        self.stream = io.StringIO()
        self.found = Discoveries()
        self.outage = Outage()
        progress = Progress("json", verbose=True, stream=self.stream)
        settings = chosen(*assignments)
        self.bookkeeper = Bookkeeper(
            tree, frontier, self.found, self.outage, progress, lambda: settings, lambda _: True, random.Random(1)
        )
        self.counts = self.bookkeeper.counts

    def take(self, answer):
        return self.bookkeeper.take(answer)
