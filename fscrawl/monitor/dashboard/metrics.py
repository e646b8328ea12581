"""A snapshot as metrics for Prometheus, in its text format 0.0.4. Pure.

What the tree has more is of every machine that ever took part, the rest of machines that are alive. All are gauges: a
page that is fetched again may be smaller than before, and Prometheus takes a counter that falls for one that has begun
at 0 again, so its `rate` would jump by all that was ever stored.
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fscrawl import __version__
from fscrawl.monitor.snapshot import MachineStatus, Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_Samples = Iterable[tuple[dict[str, str], float]]
# counter of a beat → name and meaning of a metric
_EVER = {
    "pages": ("pages", "How many pages the tree has more by this machine."),
    "bytes": ("bytes", "How many bytes of bodies the tree has more by this machine."),
}
_NOW = {
    "pending": ("pending", "URLs that wait to be fetched."),
    "in_flight": ("in_flight", "URLs that are being fetched."),
    "hosts": ("hosts", "Hosts that the machine knows."),
    "shards": ("shards", "Shards that the machine holds."),
    "resting": ("resting_hosts", "Hosts that are left alone for a while."),
    "memory": ("memory_bytes", "Memory of all processes of the machine."),
}


def metrics(snapshot: Snapshot | None) -> str:
    """Give the metrics of a snapshot. None: the tree could not be read, and no other metric is given.

    >>> print(metrics(None), end="")
    # HELP fscrawl_tree_up Whether the tree could be read: 1 or 0.
    # TYPE fscrawl_tree_up gauge
    fscrawl_tree_up 0
    """
    return "".join(f"{line}\n" for family in _families(snapshot) for line in _lines(*family))


def _families(snapshot: Snapshot | None) -> Iterator[tuple[str, str, _Samples]]:
    """Give name, meaning and samples of each metric."""
    yield "tree_up", "Whether the tree could be read: 1 or 0.", [({}, snapshot is not None)]
    if snapshot is None:
        return
    version = {"crawl": snapshot.crawl, "version": __version__}
    yield "info", "The crawl, and the version of this program.", [(version, 1)]
    yield "tree_free_bytes", "Free space on the tree's disk.", [({}, snapshot.free_bytes)]
    yield "sign", "A sign in the root that steers the machines.", [({"sign": sign}, 1) for sign in snapshot.signs]
    all_, alive = snapshot.machines, snapshot.alive()
    yield "machine_up", "Whether the machine is alive: 1 or 0.", [(_of(each), each.state == "alive") for each in all_]
    beats = [(_of(machine), machine.last.at) for machine in all_ if machine.history]
    yield "last_beat_timestamp_seconds", "When the machine beat last, by its own clock.", beats
    for counter, (name, meaning) in _EVER.items():
        yield name, meaning, _counted(all_, counter)
    failures = [
        ({**_of(machine), "class": name}, number)
        for machine in all_
        for name, number in sorted(machine.last.errors.items())
    ]
    yield "errors", "How many failures the tree has more by this machine, by class.", failures
    for counter, (name, meaning) in _NOW.items():
        yield name, meaning, _counted(alive, counter)


def _counted(machines: Iterable[MachineStatus], counter: str) -> _Samples:
    return [(_of(machine), getattr(machine.last, counter) or 0) for machine in machines]


def _of(machine: MachineStatus) -> dict[str, str]:
    return {"machine": machine.name}


def _lines(name: str, meaning: str, samples: _Samples) -> Iterator[str]:
    yield f"# HELP fscrawl_{name} {meaning}"
    yield f"# TYPE fscrawl_{name} gauge"
    for labels, value in samples:
        written = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"fscrawl_{name}{f'{{{written}}}' if written else ''} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
