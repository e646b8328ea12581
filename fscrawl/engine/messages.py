"""What a machine and its worker processes send each other.

It is apart from `worker_process`, since the machine need not load what fetches and reads pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from fscrawl.errors import TreeError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.task import Task
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Outcome
from fscrawl.http.cookies import Cookies
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree

MOST_PARKED = 32  # pages of a worker that wait to be read; each is held in memory


class Drain(msgspec.Struct, frozen=True):
    """Give back the tasks that no thread has begun: each comes back as `Returned`."""


class Stop(msgspec.Struct, frozen=True):
    """End, when the threads have done what is in the inbox."""


class TreeUnusable(NamedTuple):
    """The tree could not be used for `task`."""

    task: Task
    error: TreeError


class Begun(msgspec.Struct, frozen=True):
    """The process has threads that work."""


class Parked(NamedTuple):
    """`task` waits for its page to be read or rendered: it is no load any more. Its outcome comes later."""

    task: Task


Message = list[Task] | CrawlConfig | Cookies | Drain | Stop
Answer = Outcome | TreeUnusable
Sent = Answer | Parked


class WorkerSetup(msgspec.Struct, frozen=True):
    """What a worker process needs to work on its tree. It has the tree's `record`, so it need not read it.

    `browsers`: the address of the machine's keepers, "" if it has none.
    """

    root: Path
    record: TreeRecord
    machine: str
    fsync: bool
    threads: int
    permit: Permit | None = None
    umask: int | None = None
    allow_env: tuple[str, ...] = ()
    browsers: str = ""

    @classmethod
    def of(cls, tree: Tree, threads: int, permit: Permit, allow_env: tuple[str, ...], browsers: str) -> Self:
        """Give the setup of a machine's workers on its open tree."""
        files = tree.files
        return cls(tree.root, tree.record, tree.machine, files.fsync, threads, permit, files.umask, allow_env, browsers)

    def retrying(self, wait_s: float) -> Retrying:
        """Give how long the tree is waited for; not without a permit: another machine may have the host by then."""
        return Retrying(wait_s, self.permit.holds) if self.permit else Retrying(wait_s)

    def tree(self) -> Tree:
        """Give the tree."""
        tree = Tree(self.root, self.machine, fsync=self.fsync, record=self.record)
        if self.umask is not None:
            tree.files.adopt_umask(self.umask)  # this process was forked before the machine had taken it
        return tree
