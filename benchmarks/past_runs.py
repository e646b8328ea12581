"""What do past runs of a crawl cost the next one, and `fscrawl status`, on a share where each call takes a while?

    python -m benchmarks.past_runs [--runs N…] [--call-ms MS] [--base DIR]

Each run of a machine leaves its heartbeats and its log. So a crawl that ten machines continue each night has some
thousands of them after a year. Here a crawl of one small site is over, and each past run said the same thirty pages
once more: a run finds that nothing is left to fetch, and ends. The mount is the one of `slow_mount`, which keeps
nothing in a cache: sshfs and NFS ask their servers less often.

Machines pack what past runs have left, and remove its files. So each number of runs is measured twice, before and
after that. A base is only measured before.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import measure
from demo.server import Request, Response, Server
from fscrawl import urls
from fscrawl.fleet.beat import Beat, Goodbye, Hello, line_of
from fscrawl.fleet.hearing import said_end
from fscrawl.fleet.heartbeat import Peer
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.logs import Logs, TreeLogs
from fscrawl.fleet.packing import Packing
from fscrawl.storage.records import FORMAT
from fscrawl.store import Tree
from tests.support.faults import Fault
from tests.support.passthrough import Passthrough, missing

RUNS = (0, 100, 400)
CALL_MS = 5.0
PAGES = 30
HOST = "127.0.0.77"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.past_runs", description="What past runs cost.")
    parser.add_argument("--runs", nargs="+", type=int, default=RUNS, help="how many past runs (default 0 100 400)")
    parser.add_argument("--call-ms", type=float, default=CALL_MS, help="of each call on the mount (default 5)")
    parser.add_argument("--base", type=Path, metavar="DIR", help="a checkout of another fscrawl")
    arguments = parser.parse_args()
    if lacking := missing():
        sys.exit(f"bench-past-runs needs {' and '.join(lacking)}")
    checkouts = [measure.PROJECT, *([arguments.base.resolve()] if arguments.base else [])]
    print(f"{arguments.call_ms:g} ms a call")
    print(f"{'past runs':>9}  {'checkout':20} packed {'crawl s':>8} {'calls':>7} {'status s':>9} calls", flush=True)
    server = Server(_page, hosts=[HOST], deadline_s=1800)
    with tempfile.TemporaryDirectory(prefix="fscrawl-past-runs-") as directory, server:
        first = Path(directory) / "first"
        settings = ("politeness.delay=0", "fetch.allow_addresses=['127.0.0.0/8']")
        _run(measure.PROJECT, "crawl", first, "--quiet", "--seed", server.url(HOST, "/0"), *_set(settings))
        for runs, checkout in itertools.product(arguments.runs, checkouts):
            root = Path(directory) / "root"
            shutil.copytree(first, root)
            lines = _lines(root)
            for number in range(runs):
                _leave(root, f"night-{number}-{number:016x}", lines)
            _measure(root, runs, checkout, arguments.call_ms)
            if runs and checkout == measure.PROJECT:
                _pack(root)
                _measure(root, runs, checkout, arguments.call_ms, packed="yes")
            shutil.rmtree(root)


def _page(_: Request) -> Response:
    links = "".join(f"<a href=/{number}>" for number in range(PAGES))
    return Response(body=links.encode(), headers={"content-type": "text/html"})


def _set(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def _lines(root: Path) -> list[Found]:
    """Give what each run says: the pages that are stored."""
    tree = Tree(root, "reader")
    records = [tree.page(path.parent.name, path.stem) for path in (root / "links").glob("*/*.json")]
    shards = tree.record.shards
    return [Found(urls.shard(urls.host(r.url), shards), r.depth, r.referrer, r.url) for r in records]


def _leave(root: Path, machine: str, lines: list[Found]) -> None:
    """Leave in a tree what a past run leaves."""
    tree = Tree(root, machine)
    writer = LogWriter(TreeLogs(tree), machine)
    for line in lines:
        writer.add(line, own=True)
    writer.flush()
    writer.close()
    log = Logs(tree).heartbeat_log()
    beat = Beat(1, idle=True, log=writer.place, pages=PAGES, stored=PAGES)
    for line in (
        Hello(machine, "far", "another", "another", 1, "1", format=FORMAT),
        beat,
        Goodbye(beat, finished=True),
    ):
        log.append(line_of(line))
    log.close()


def _pack(root: Path) -> None:
    """Do what the housekeeping of a machine does that runs for some minutes."""
    tree = Tree(root, "packer")
    machinery = Machinery(tree)
    ends = {}
    for name in machinery.machines():
        peer = Peer(name, 0.0)
        peer.read(machinery, 0.0)
        ends[name] = said_end(peer)
    packing = Packing(tree.files, machinery.past)
    packing.pack(ends)
    packing.remove(0.0)


def _measure(root: Path, runs: int, checkout: Path, call_ms: float, packed: str = "no") -> None:
    found = []
    with Passthrough(root) as mount:
        mount.inject(Fault("slow", every=1, seconds=call_ms / 1000))
        for command, *more in (("crawl", "--quiet"), ("status",)):
            before = mount.calls()
            seconds = _run(checkout, command, mount.path, *more)
            found += [seconds, (mount.calls() - before).total()]
    print(
        f"{runs:9}  {checkout.name:20} {packed:6} {found[0]:8.1f} {found[1]:7} {found[2]:9.1f} {found[3]}", flush=True
    )


def _run(checkout: Path, command: str, root: Path, *more: str) -> float:
    """Run a command of a checkout; give its seconds."""
    words = [sys.executable, "-m", "fscrawl", command, "--root", str(root), *more]
    cost = measure.run(words, cwd=checkout, limit_s=600)
    if cost.exit_code:
        sys.exit(f"{command} ended with {cost.exit_code}:\n{cost.message}")
    return cost.wall_s


if __name__ == "__main__":
    main()
