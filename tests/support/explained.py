"""A small crawl whose machines say what the test lets them say, and what is explained of it."""

from fscrawl import urls
from fscrawl.config import settings
from fscrawl.config.settings import apply
from fscrawl.monitor.explain import explain

SEED = "http://a.example/"
MISSING = "http://a.example/missing"


def ask(tree, url, *assignments, all_inlinks=False, seeds=(SEED,)):
    chosen = apply(settings.Settings(), ["crawl.scope=host", *assignments])
    return explain(tree.tree, chosen, frozenset(seeds), url, all_inlinks=all_inlinks)


def names(found):
    return [reason.name for reason in found.reasons]


def feed(tree, *lines, machine="h-9-bb", segment=""):
    path = tree.root / ".fscrawl/feed" / f"{machine}{segment}.log"
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.writelines(line.encode() + b"\n" for line in lines)


def line_of(tree, url, depth=1, referrer=SEED, mark=""):
    shard = urls.shard(urls.host(url), tree.tree.record.shards)
    return f"{shard} {depth} {urls.key(referrer) if referrer else ''} {url}{mark}"
