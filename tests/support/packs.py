"""What is there of past runs: in files of their own, and in packs."""

import itertools
import os

from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.logs import TreeLogs
from fscrawl.store import Tree


def files(world):
    """Name the heartbeat logs, logs and packs that are there."""
    machinery = world.root / ".fscrawl"
    beats = [path.name.removesuffix(".log") for path in machinery.glob("machines/*.log")]
    status = [path.name.removesuffix(".status.json") for path in machinery.glob("machines/*.status.json")]
    assert set(status) <= set(beats)
    return sorted(beats), sorted(path.name for path in machinery.glob("log/*")), len(packs(world))


def packs(world):
    return sorted((world.root / ".fscrawl/machines").glob("past.*"))


def generations(world):
    return sorted(path.name for path in (world.root / ".fscrawl/again").iterdir())


def all_read(world):
    """Read all heartbeats and logs, by names and from some places, as others do."""
    tree = Tree(world.root, "reader")
    machinery, logs = Machinery(tree), TreeLogs(tree)
    found = {}
    machinery.with_status()
    for machine in machinery.machines():
        size = machinery.heartbeats_size(machine)
        for offset, most in itertools.product((0, 7, 300, size, size + 9), (64, 4096)):
            lines, end = machinery.read_newest_heartbeats(machine, offset, most)
            found[machine, "newest", offset, most] = lines.splitlines()[-2:], end
            found[machine, "lines", offset, most] = machinery.read_heartbeats(machine, offset, most)
        found[machine, "all"] = machinery.read_heartbeats(machine, 0), size
        found[machine, "status"] = machinery.status(machine)
    for machine in logs.log_machines():
        for segment in [*logs.log_segments(machine), 7]:
            view = logs.open_segment(machine, segment)
            content = None if view is None else (view.size, view.read(0, view.size), view.read(5, 9))
            found[machine, segment] = content, logs.segment_size(machine, segment)
            if view is not None:
                view.close()
    return found


class CrashError(BaseException):
    """The machine ends here."""


def crashes(monkeypatch, call, work, most):
    """Do work again and again, each time to one more call of `os`. Yield after each crash, until it comes to its end.

    `call`: the name of a function of `os`; `most`: calls of it at which it crashes.
    """
    real = getattr(os, call)
    for last in range(most):
        calls = iter(range(last))

        def crashing(*args, calls=calls, **facts):
            if next(calls, None) is None:
                raise CrashError
            return real(*args, **facts)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, crashing)
            try:
                work()
                break
            except CrashError:
                pass
        yield
    assert last > 0
