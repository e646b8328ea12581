"""Is all here that a crawl needs? For a tree, or for the directory that will hold one.

Vocabulary:
  check      looks at one thing, and says of it "ok", "warning" or "problem", and what to do
  problem    a crawl would fail, or lose work; a warning is worth knowing

Promise: nothing is fetched and nothing of the crawl is changed. What is tried out is removed again. Where a file
system does not answer, that is said while it is waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from fscrawl import store, urls
from fscrawl.admin.doctor import crawl, here, place
from fscrawl.admin.doctor.said import OK, PROBLEM, WARNING, Said
from fscrawl.config import settings
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import Settings
from fscrawl.errors import TreeError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.storage.atomic import translated
from fscrawl.store import Tree

__all__ = ["OK", "PROBLEM", "WARNING", "Said", "examine"]

_HUNG_S = 10.0
_RESOLVE_S = 10.0


def examine(
    root: Path, workers: int, threads: int, say: Callable[[str], None], lookup: here.Lookup = here.addresses_of
) -> Iterator[Said]:
    """Check this machine, the directory and, where there is one, the crawl; `say`: what is waited for.

    `workers`, `threads`: as a crawl would be given them. `lookup`: gives a host name's addresses.
    """
    yield from here.python()
    yield from here.packages()
    yield from here.memory(workers)
    waiting = threading.Timer(_HUNG_S, say, (f"still waiting for {root}: does the file system answer?",))
    waiting.daemon = True
    waiting.start()
    try:
        yield from _directory(root, workers, threads, say, lookup, waiting)
    except TreeError as error:
        yield Said(PROBLEM, str(error))
    finally:
        waiting.cancel()


def _directory(
    root: Path, workers: int, threads: int, say: Callable[[str], None], lookup: here.Lookup, waiting: threading.Timer
) -> Iterator[Said]:
    directory = place.holder_of(root)
    if not directory.is_dir():
        yield Said(PROBLEM, f"{directory} is not there", "is the share mounted, and the path right?")
        return
    yield from place.mount(directory)
    yield from place.room(directory)
    state = store.state_of(root)
    tree = Tree(root, new_machine_id()) if state == "tree" else None
    yield from place.try_out(tree, directory)
    waiting.cancel()
    if tree is None:
        yield Said(OK, f"there is no tree at {root} yet: the first crawl with seeds makes it")
    chosen, said = _settings(root)
    yield from said
    yield from here.open_files(workers, threads, chosen.politeness.per_host)
    yield from _seeds(root, chosen, lookup)
    if tree is not None:
        yield from crawl.user_agent(chosen)
        yield from _fleet(tree, chosen, say)


def _settings(root: Path) -> tuple[Settings, list[Said]]:
    text = store.kept_settings(root)
    return (Settings(), []) if text is None else crawl.read_settings(text, f"{root}/{settings.FILE}")


def _seeds(root: Path, chosen: Settings, lookup: here.Lookup) -> Iterator[Said]:
    """Look at `seeds.txt`, also one that waits for a tree to be made."""
    path = root / store.SEEDS
    with translated(path):
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    bad: list[str] = []
    found = read_seeds(text, str(path), bad.append)
    yield from crawl.few(Said(WARNING, line) for line in bad)
    if text and not found:
        yield Said(PROBLEM, f"there is no URL in {path}", "add one, in full, like https://example.org/")
    yield from crawl.few(here.names(map(urls.hostname, found), chosen.fetch, _RESOLVE_S, lookup))


def _fleet(tree: Tree, chosen: Settings, say: Callable[[str], None]) -> Iterator[Said]:
    yield from crawl.signs(tree)
    machines = crawl.Machines(tree)
    yield from machines.collisions()
    yield from crawl.few(machines.watch(chosen.fleet.beat, say))
    yield from crawl.state(tree, chosen, machines)
    yield from machines.temporaries()
