"""What stands in place of the outside: files, clocks, threads, worker processes, the network.

Nothing else of the product is replaced. Limits that are large for the sake of speed are made small, so that a small
schedule meets them: blocks, snapshots, slices of work.
"""

from __future__ import annotations

import contextlib
import threading
import time as real_time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self
from unittest.mock import patch

from fscrawl.admin import retry
from fscrawl.config import seeds, watcher
from fscrawl.engine import machine as engine
from fscrawl.engine import outcomes, watchdog
from fscrawl.fleet import (
    anchor,
    assignment,
    generations,
    heartbeat,
    housekeeping,
    intake,
    ledger,
    machinery,
    membership,
    ownership,
    rulebook,
    status_file,
    survey,
)
from fscrawl.fleet.beat import Hello
from fscrawl.frontier.frontier import Frontier
from fscrawl.handlers import context, pages, records, refreshes, robots, writer
from fscrawl.handlers import robots as probes
from fscrawl.http.answers import Failed, Fetched, Limits
from fscrawl.parse import headers
from fscrawl.storage import (
    append_log,
    atomic,
    block_log,
    controls,
    files,
    permissions,
    retrying,
    safe_open,
    temporary,
)
from fscrawl.store import Tree

if TYPE_CHECKING:
    from tests.component.schedules.world import World

_OF_FILES = (append_log, atomic, block_log, controls, files, permissions, safe_open, temporary)
_OF_CLOCKS = (
    *(
        seeds,
        watcher,
        engine,
        outcomes,
        watchdog,
        heartbeat,
        survey,
        context,
        headers,
        pages,
        probes,
        records,
        refreshes,
    ),
    *(robots, writer, files, retrying),
)
EPOCH = 1.7e9
_A_LOOK_S = 0.0005  # at the clock takes time, so that work is done in slices


class Clock:
    """The module `time` of the machine whose turn it is. Clocks of two machines show different times."""

    CLOCK_BOOTTIME = real_time.CLOCK_BOOTTIME
    gmtime = staticmethod(real_time.gmtime)
    strftime = staticmethod(real_time.strftime)

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        self._world.now += _A_LOOK_S
        return self._world.now + self._world.skew_s

    def clock_gettime(self, clock: int) -> float:
        return self._world.now + self._world.skew_s

    def time(self) -> float:
        return EPOCH + self._world.now + (0.0 if self._world.are_clocks_right else self._world.skew_s)

    def thread_time(self) -> float:
        return 0.0  # nothing that a machine does takes time by itself

    def sleep(self, seconds: float) -> None:
        self._world.now += seconds


class NoThread:
    """A thread that never runs: the schedule does what it would do."""

    def __init__(self, *_: object, **__: object) -> None: ...
    def start(self) -> None: ...
    def is_alive(self) -> bool:
        return False

    def join(self, timeout: float | None = None) -> None: ...


class AtOnce:
    """An executor that does everything at once."""

    def __init__(self, *_: object, **__: object) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...
    def submit(self, job: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(job())
        return done


def one_by_one(read: Callable[[Any], Any], items: Iterable[Any], threads: int) -> Generator[Any]:
    """Read in this thread, however long that takes."""
    yield from map(read, items)


class Threading:
    """The module `threading`, without threads."""

    Event = threading.Event
    Thread = NoThread


def _network(world: World) -> type:
    class Network:
        address = None
        limits = Limits(30.0, 1 << 20)

        def __init__(self, *_: object, **__: object) -> None: ...
        def close(self) -> None: ...
        def get(self, url: str, conditions: object = None, limits: object = None) -> Fetched | Failed:
            return world.ask(url)

    return Network


def _machinery_membership(world: World) -> Any:
    def make(tree: Tree, *args: Any, **facts: Any) -> membership.Membership:
        return membership.Membership(tree, *args, **facts, clock=world.clock.monotonic, caches_s=world.caches_s)

    return make


def _frontier(world: World) -> Callable[..., Frontier]:
    def make(*args: Any, **facts: Any) -> Frontier:
        return Frontier(*args, **{**facts, "rng": world.rng})

    return make


@contextlib.contextmanager
def installed(world: World) -> Iterator[None]:
    """Run the product over a world."""
    with contextlib.ExitStack() as stack:

        def put(module: Any, name: str, value: object) -> None:
            stack.enter_context(patch.object(module, name, value))

        for module in _OF_FILES:
            put(module, "os", world.share)
        for module in _OF_CLOCKS:
            put(module, "time", world.clock)
        for module in (machinery, generations):
            put(module, "os", world.nonces)
        put(heartbeat, "threading", Threading)
        put(watchdog, "threading", Threading)
        put(heartbeat, "hello", lambda machine: Hello(machine, machine, machine, machine, 1, "1", format=3))
        put(heartbeat, "_surroundings", lambda: ("boot", "namespace"))
        put(survey, "ThreadPoolExecutor", AtOnce)
        for module in (ledger, ownership, retry):
            put(module, "in_turn_if_slow", one_by_one)
        put(context, "Fetcher", _network(world))
        put(engine, "Membership", _machinery_membership(world))
        put(engine, "Frontier", _frontier(world))
        put(rulebook, "_age_s", world.age_s)
        put(engine, "anonymous_bytes", lambda: 0)
        put(status_file.StatusWriter.__init__, "__defaults__", (world.clock.monotonic,))
        put(engine, "remove_own_temporaries", lambda hosts, tree: None)
        put(anchor.Anchor.__init__, "__defaults__", (None, world.clock.sleep))
        put(ownership, "assign", world.assign(assignment.assign))
        put(housekeeping, "in_thread", world.aside)
        put(housekeeping, "_FEWEST_LINES", world.limits.fewest_lines)
        put(housekeeping, "_QUIET_BYTES", world.limits.quiet_bytes)
        put(housekeeping, "_REMOVAL_PAUSE_S", world.limits.removal_pause_s)
        put(intake, "_SLICE_S", world.limits.slice_s)
        put(intake, "_STEPS_A_LOOK", 2)
        yield
