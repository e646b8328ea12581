"""A small crawl whose machines say what the test lets them say, and what is explained of it."""

import shutil

from fscrawl.fleet.terms import Term, Terms

from fscrawl import urls
from fscrawl.config import settings
from fscrawl.config.settings import apply
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.frontier.flags import parse_flags
from fscrawl.monitor.explain import explain

SEED = "http://a.example/"
MISSING = "http://a.example/missing"


def ask(tree, url, *assignments, all_inlinks=False, seeds=(SEED,)):
    chosen = apply(settings.Settings(), ["crawl.scope=host", *assignments])
    return explain(tree.tree, chosen, dict.fromkeys(seeds, ""), url, all_inlinks=all_inlinks)


def names(found):
    return [reason.name for reason in found.reasons]


class Writer:
    """The log of a machine; `term`: of the marks that it writes."""

    def __init__(self, tree, machine="h-9-bb", term=None):
        self._tree, self._machine = tree, machine
        self._writer = LogWriter(TreeLogs(tree.tree), machine)
        self._term = term or term_of(tree)

    def say(self, *lines):
        for line in lines:
            self._writer.add(line, own=False)
        self._writer.flush()
        return self

    def tell(self, url, depth=0, failed_at=""):
        Terms(self._tree.tree.files, self._term)
        return self.say(Told(shard_of(self._tree, url), urls.key(url), depth, self._term.digest, failed_at))


def term_of(tree, *assignments):
    chosen = apply(settings.Settings(), ["crawl.scope=host", *assignments])
    return Term.of(chosen, [SEED], tree.tree.record, 0)


def say(tree, *lines, machine="h-9-bb"):
    """Let a machine write lines into its log."""
    return Writer(tree, machine).say(*lines)


def snapshot(tree, shard, term=None):
    """Make a snapshot of all that logs say of a shard, and remove the logs."""
    logs = TreeLogs(tree.tree)
    snapshots = Snapshots(tree.tree.files, logs, "m-1-aa")
    ends = {machine: LogReader(logs, "").end_of(machine) for machine in logs.log_machines()}
    assert snapshots.make(shard, 1, ends, term or term_of(tree))
    shutil.rmtree(tree.root / ".fscrawl/log")
    (tree.root / ".fscrawl/log").mkdir()


def shard_of(tree, url):
    return urls.shard(urls.host(url), tree.tree.record.shards)


def line_of(tree, url, depth=1, referrer=SEED, mark=""):
    return Found(shard_of(tree, url), depth, urls.key(referrer) if referrer else "", url, parse_flags(mark))
