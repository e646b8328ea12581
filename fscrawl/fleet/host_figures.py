"""What each machine says about its hosts and shards, for people to look at: in a file beside its heartbeat log.

They are not in the heartbeats, since a log keeps every beat. A crawl that is over before the first figures are due has
no such file, and a machine that leaves by itself removes its own.

Promise: the file has `MOST_HOSTS` hosts and `_MOST_SHARDS` shards at most. It is written every `_FIRST_S` seconds at
most; more seldom, if it takes long to put together: the main loop spends half a percent of its time on it. Nothing
that machines decide depends on it. Times in it are seconds that remain at the moment `at`, by the machine's own clock,
as in its beats. So nobody has to compare the clocks of two machines.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from fscrawl.errors import TreeError
from fscrawl.frontier.host_figures import Figures, HostFigure
from fscrawl.storage.layout import hosts_path, is_host
from fscrawl.storage.records import timestamp

MOST_HOSTS = 500
_MOST_SHARDS = 4096
_FIRST_S = 15.0
_TIMES_ITS_COST = 200
_MOST_BYTES = 1 << 20  # of a file: host names have 250 letters at most
_MOST = 1 << 62  # no higher number was written by a machine
_LONGEST_S = 1e9  # of a wait: thirty years; its end must be a date
_MOST_CHARS = 40  # of a cause; a newer version may have others


class Said(NamedTuple):
    """What a machine has said at the moment `at` of its own clock (UNIX time)."""

    at: float
    figures: Figures


NOTHING = Said(0.0, Figures({}, {}))


class Files(Protocol):
    """The part of `TreeFiles` that is used here."""

    machine: str

    def publish(self, path: str, data: bytes) -> None: ...
    def read_or_torn(self, path: str) -> bytes | None: ...
    def remove(self, path: str) -> None: ...


class HostTeller:
    """Writes the file of one machine. Only the main loop uses it."""

    def __init__(
        self, files: Files, figures: Callable[[float, int], Figures], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`figures`: gives the figures at a time of the monotonic `clock`, of so many hosts at most."""
        self._files = files
        self._figures = figures
        self._clock = clock
        self._due = clock() + _FIRST_S
        self._is_there = False

    def tell(self, now: float) -> None:
        """Write the file if it is due. The crawl goes on if it cannot be written."""
        if now < self._due:
            return
        figures = self._figures(now, MOST_HOSTS)
        if figures.shards or figures.hosts or self._is_there:
            with contextlib.suppress(TreeError):
                self._files.publish(hosts_path(self._files.machine), _to_json(Said(time.time(), figures)))
                self._is_there = True
        took_s = self._clock() - now
        self._due = now + max(_FIRST_S, _TIMES_ITS_COST * took_s)

    def remove(self) -> None:
        """Remove the file: the machine leaves. It may stay if the tree cannot be used."""
        if self._is_there:
            with contextlib.suppress(TreeError):
                self._files.remove(hosts_path(self._files.machine))


def read_hosts(files: Files, machine: str) -> Said:
    """Read a machine's file; what somebody else has written into it is left out. TreeError as of any file."""
    data = files.read_or_torn(hosts_path(machine)) or b""
    try:
        facts = json.loads(data) if len(data) <= _MOST_BYTES else None
        at = datetime.fromisoformat(facts["at"]).timestamp() if isinstance(facts, dict) else 0.0
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return NOTHING
    if not isinstance(facts, dict):
        return NOTHING
    shards, hosts = _table(facts.get("shards")), _table(facts.get("hosts"))
    pending = {int(name): int(_number(value)) for name, value in shards.items() if name.isascii() and name.isdecimal()}
    return Said(at, Figures(pending, {name: _figure(_table(each)) for name, each in hosts.items() if is_host(name)}))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    return value if type(value) in {int, float} and 0 <= value <= _MOST else 0


def _word(value: Any) -> str:
    return value[:_MOST_CHARS] if isinstance(value, str) and value.isprintable() else ""


def _figure(said: dict[str, Any]) -> HostFigure:
    pending, in_flight, failures = (int(_number(said.get(name))) for name in ("pending", "in_flight", "failures"))
    delay_s, wait_s = (min(_number(said.get(name)), _LONGEST_S) for name in ("delay", "wait"))
    return HostFigure(pending, in_flight, delay_s, _word(said.get("set_by")), wait_s, _word(said.get("why")), failures)


def _to_json(said: Said) -> bytes:
    """One host a line: people read these files, too."""
    shards = dict(sorted(said.figures.shards.items(), key=lambda each: -each[1])[:_MOST_SHARDS])
    lines = (f"{json.dumps(host)}: {json.dumps(_facts(each))}" for host, each in said.figures.hosts.items())
    hosts = ",\n".join(lines)
    text = f'{{"at": "{timestamp(said.at)}",\n"shards": {json.dumps(shards)},\n"hosts": {{\n{hosts}\n}}}}\n'
    return text.encode()


def _facts(figure: HostFigure) -> dict[str, Any]:
    said = {
        "pending": figure.pending,
        "in_flight": figure.in_flight,
        "delay": round(figure.delay_s, 2),
        "set_by": figure.set_by,
        "wait": round(figure.wait_s, 1),
        "why": str(figure.cause),
        "failures": figure.failures,
    }
    return {name: value for name, value in said.items() if value}
