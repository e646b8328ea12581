"""A small crawl whose machines say what the test lets them say, and what is explained of it."""

from fscrawl import urls
from fscrawl.config import settings
from fscrawl.config.settings import apply
from fscrawl.fleet.generations import Generations, UrlLogs
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.frontier.flags import parse_flags
from fscrawl.monitor.explain import explain
from tests.support.generations import begin

SEED = "http://a.example/"
MISSING = "http://a.example/missing"


def ask(tree, url, *assignments, all_inlinks=False, seeds=(SEED,)):
    chosen = apply(settings.Settings(), ["crawl.scope=host", *assignments])
    return explain(tree.tree, chosen, dict.fromkeys(seeds, ""), url, all_inlinks=all_inlinks)


def names(found):
    return [reason.name for reason in found.reasons]


class Writer:
    """The log of a machine in the newest generation; in the first one, if there is none yet."""

    def __init__(self, tree, machine="h-9-bb"):
        self._tree = tree
        generations = Generations(tree.tree.files)
        number = max(generations.numbers(), default=0) or begin_with(tree)
        self._writer = LogWriter(UrlLogs(tree.tree.files, number), machine)

    def say(self, *lines):
        for line in lines:
            self._writer.add(line, own=False)
        self._writer.flush()
        return self

    def tell(self, url, depth=0, failed_at=""):
        return self.say(Told(shard_of(self._tree, url), urls.key(url), depth, failed_at))


def begin_with(tree, *assignments):
    """Begin the next generation, with link rules of these settings; give its number."""
    return begin(tree.tree, apply(settings.Settings(), ["crawl.scope=host", *assignments]), [SEED])


def say(tree, *lines, machine="h-9-bb"):
    """Let a machine write lines into its log."""
    return Writer(tree, machine).say(*lines)


def shard_of(tree, url):
    return urls.shard(urls.host(url), tree.tree.record.shards)


def line_of(tree, url, depth=1, referrer=SEED, mark=""):
    return Found(shard_of(tree, url), depth, urls.key(referrer) if referrer else "", url, parse_flags(mark))
