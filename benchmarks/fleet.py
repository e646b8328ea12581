"""Many machines on one directory: are ten machines ten times as fast as one, and how many calls does a page cost?

    python -m benchmarks.fleet [--machines N…] [--workers N] [--threads M] [--hosts H] [--pages P] [--no-calls]
                               [--layout files|packs]

Each machine has its own mount of one directory (sshfs with default options, from an sshd on loopback), and as many
hosts and pages as any other: N times the web for N machines (weak scaling). Hosts answer after 0.8 s, so a machine can
fetch threads ÷ 0.8 s pages, and all machines together do not fill the cores of this one computer.

How the shares become equal: the first machine crawls a chain of pages `/wait/…` until all machines have met. Then the
names of the machines say which shards each will hold. The hosts are chosen by that, and the next page of the chain
links to them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import measure, slow_web
from benchmarks.corpus import exit_on_terminate
from demo.server import Exchange, Request, Response, Server
from fscrawl import urls
from fscrawl.fleet.assignment import assign
from tests.support.crawling import command, leases, pages
from tests.support.fleet import Member
from tests.support.shares.sshfs import Sshd, missing

WANTED_SPEED_UP = 0.95  # of the number of machines
WANTED_CALLS = 0.10  # more or less of them per page than one machine makes
_MEETING_S = 22.0  # sshfs shows a directory's new names, logs among them, after 20 s at the latest
_LIMIT_S = 900
_SHARDS = 512
_LATENCY_S = 0.8  # after a second, a worker would add threads: then chance would decide how fast one machine is
_SETTINGS = {
    "politeness.robots": "false",
    "politeness.per_host": 1,
    "fleet.shards": _SHARDS,
}
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_HEAD = (
    "machines  pages/s    ×  each | steady    ×  each | last began  meeting  wall s | pages of each  twice  cores busy"
)
_CALL = re.compile(r"\d+ +(?P<at>[\d.]+) (?P<name>\w+)\(")

Row = tuple[str, str, float, float]  # host, path, when a request arrived and when it was answered


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl.

    rows      requests for pages of the hosts
    owners    which machine stored a page, by (host, path)
    busy      how much of the cores' time was used meanwhile
    calls     of the machine `first`, by kind
    """

    machines: int
    rows: list[Row]
    owners: dict[tuple[str, str], str]
    wall_s: float
    meeting_s: float
    busy: float
    calls: Counter[str]
    first: str

    @property
    def rate(self) -> float:
        """Pages per second, from the first request to the last answer."""
        return len(self.rows) / (max(row[3] for row in self.rows) - min(row[2] for row in self.rows))

    @property
    def steady(self) -> float:
        """Pages per second, between the answers at 10 % and 90 %."""
        answers = sorted(row[3] for row in self.rows)
        first, last = len(answers) // 10, len(answers) * 9 // 10
        return (last - first) / (answers[last] - answers[first])

    @property
    def shares(self) -> Counter[str]:
        """Pages stored, by machine."""
        return Counter(self.owners.values())

    @property
    def late_s(self) -> float:
        """Seconds from the first request of all to the first of the last machine that began."""
        begun: dict[str, float] = {}
        for host, path, arrived, _ in self.rows:
            owner = self.owners.get((host, path), "")
            begun[owner] = min(arrived, begun.get(owner, arrived))
        return max(begun.values()) - min(begun.values())

    @property
    def duplicates(self) -> int:
        return len(self.rows) - len({row[:2] for row in self.rows})


# -- the web, in a process of its own


class _Site:
    """Hosts whose front page links to all others, and the row of pages that ends when there is something to crawl."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self.seeds: list[str] = []

    def __call__(self, request: Request) -> Response:
        if request.path.startswith("/wait/"):
            number = int(request.path.rpartition("/")[2])
            found = self.seeds or [f"/wait/{number + 1}"]
        elif request.path == "/":
            found = [f"/{number}.html" for number in range(1, self._pages)]
        else:
            found = ["/"]
        body = f"<!doctype html><title>{request.path}</title>" + "".join(f'<a href="{url}">x</a>\n' for url in found)
        return Response(200, _HTML, body.encode(), delay_s=_LATENCY_S)


def serve(hosts: int, pages: int) -> None:
    """Print the port; read the chosen hosts, one JSON list; when standard input ends, print what was asked for."""
    rows: list[Row] = []

    def log(exchange: Exchange) -> None:
        rows.append((exchange.host, exchange.path, exchange.arrived, exchange.answered))

    site = _Site(pages)
    with Server(site, slow_web.addresses(hosts), deadline_s=2 * _LIMIT_S, log=log) as server:
        print(server.port, flush=True)
        line = sys.stdin.readline()
        site.seeds = [server.url(host) for host in json.loads(line or "[]")]
        sys.stdin.read()
    print(json.dumps(rows), flush=True)


class Web:
    def __init__(self, hosts: int, pages: int) -> None:
        words = [sys.executable, "-m", "benchmarks.fleet", "--serve", str(hosts), "--pages", str(pages)]
        self._process = subprocess.Popen(words, cwd=measure.PROJECT, stdin=-1, stdout=-1, text=True)
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())

    def link_to(self, hosts: list[str]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(hosts) + "\n")
        self._process.stdin.flush()

    def stop(self) -> list[Row]:
        out, _ = self._process.communicate()
        return [(host, path, arrived, answered) for host, path, arrived, answered in json.loads(out)]


# -- a crawl


def crawl(arguments: argparse.Namespace, machines: int, sshd: Sshd, *, traced: bool = False) -> Run:
    """Crawl with so many machines; `traced`: count the calls of the first."""
    addresses = slow_web.addresses(3 * machines * arguments.hosts)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(_temporary_directory()))
        tree = directory / "tree"
        tree.mkdir()
        mounts = [stack.enter_context(sshd.mount(tree)) for _ in range(machines)]
        web = Web(len(addresses), arguments.pages)
        try:
            began = time.monotonic()
            members = _meet(arguments, tree, mounts, f"http://{addresses[0]}:{web.port}/wait/0", stack)
            tracer = _Tracer(mounts[0], members[0].pid, directory / "strace") if traced else None
            meeting_s = time.monotonic() - began
            before = _cpu()
            web.link_to(_choose(addresses[1:], web.port, _names(tree), arguments.hosts))
            _until(lambda: any(member.over for member in members), members, _LIMIT_S)
            busy = _busy(before, _cpu())
            _until(lambda: all(member.over for member in members), members, 120)
            wall_s = time.monotonic() - began
        finally:
            rows = [row for row in web.stop() if not row[1].startswith("/wait/")]
        owners = _owners(tree)
        first = next(name for name in _names(tree) if f"-{members[0].pid}-" in name)
        own = [row for row in rows if owners.get(row[:2]) == first]
        calls = tracer.stop(min(row[2] for row in own), max(row[3] for row in own)) if tracer else Counter[str]()
    return Run(machines, rows, owners, wall_s, meeting_s, busy, calls, first)


def _meet(
    arguments: argparse.Namespace, tree: Path, mounts: list[Path], seed: str, stack: contextlib.ExitStack
) -> list[Member]:
    """Start the machines, which end with the `stack`; return when each knows of all."""
    members: list[Member] = []
    stack.callback(lambda: [member.close() for member in members])
    for mount in mounts:
        seeds = [] if members else [seed]
        size = {"workers": arguments.workers, "threads": arguments.threads}
        settings = {**_SETTINGS, "store.layout": arguments.layout}
        members.append(Member(command(mount, "--quiet", seeds=seeds, settings=settings, **size)))
        _until((tree / ".fscrawl" / "tree.json").exists, members, 30)
    _until(lambda: len(_names(tree)) == len(mounts), members, 60)
    shard = urls.shard(urls.host(seed), _SHARDS)
    finder = assign(_SHARDS, _names(tree))[shard]  # of the hosts; the chain's row must be with it by then
    _until(lambda: finder in _holder(tree, shard), members, 120)
    time.sleep(_MEETING_S if len(mounts) > 1 else 1)
    return members


def _holder(tree: Path, shard: int) -> str:
    """Give the newest lease of a shard, as its text."""
    held = {int(name.partition(".")[2]): text for name, text in leases(tree).items() if name.startswith(f"{shard}.")}
    return held[max(held)] if held else ""


def _owners(tree: Path) -> dict[tuple[str, str], str]:
    """Tell of each page's (host, path) which machine stored it."""
    split = [(record.machine, urlsplit(record.url)) for record in pages(tree).values()]
    return {(url.hostname or "", url.path): machine for machine, url in split if not url.path.startswith("/wait/")}


@contextlib.contextmanager
def _temporary_directory() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="fscrawl-fleet-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _until(holds: Any, members: list[Member], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        failed = [member for member in members if member.code]
        if failed or time.monotonic() > deadline:
            told = "\n".join(f"exit {member.code}\n{member.output()[-2000:]}" for member in failed or members)
            sys.exit(f"a machine failed, or {limit_s:g} s were not enough:\n{told}")
        time.sleep(0.05)


def _names(tree: Path) -> list[str]:
    return [path.stem for path in (tree / ".fscrawl" / "machines").glob("[!.]*.log") if path.stat().st_size]


def _choose(addresses: list[str], port: int, machines: list[str], each: int) -> list[str]:
    """Choose hosts so that each machine gets as many."""
    shares: dict[str, list[str]] = {machine: [] for machine in machines}
    holders = assign(_SHARDS, machines)
    for address in addresses:
        share = shares[holders[urls.shard(f"{address}_{port}", _SHARDS)]]
        if len(share) < each:
            share.append(address)
    assert all(len(share) == each for share in shares.values()), "too few hosts to choose from"
    return [address for share in shares.values() for address in share]


def _cpu() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]


def _busy(before: list[int], after: list[int]) -> float:
    """Give how much of the cores' time was not idle."""
    spent = [b - a for a, b in zip(before, after, strict=True)]
    return 1 - (spent[3] + spent[4]) / sum(spent)


# -- calls


class _Tracer:
    """strace on all processes of a machine; only calls whose path or file is on the mount count."""

    def __init__(self, mount: Path, pid: int, output: Path) -> None:
        self._mount = str(mount)
        self._output = output
        words = ["strace", "-f", "-y", "-ttt", "-s", "0", "-e", "trace=%file,%desc", "-e", "signal=none"]
        pids = [word for each in _tree_of(pid) for word in ("-p", str(each))]
        self._process = subprocess.Popen([*words, "-o", str(self._output), *pids], stderr=subprocess.DEVNULL)
        time.sleep(1)  # it attaches to every thread

    def stop(self, begin: float, end: float) -> Counter[str]:
        """Count the calls between two monotonic times, by kind."""
        self._process.wait(30)  # it ends with the last of what it traces
        behind = time.time() - time.monotonic()
        calls: Counter[str] = Counter()
        with self._output.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                call = _CALL.match(line)
                place = line.find(self._mount)
                if call and place >= 0 and begin <= float(call["at"]) - behind <= end:
                    calls[f"{_directory(line[place + len(self._mount) + 1 :])} {call['name']}"] += 1
        return calls


def _tree_of(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            found += _tree_of(int(child))
    return found


def _directory(path: str) -> str:
    parts = re.split(r'[/">]', path)
    return f"{parts[0]}/{parts[1]}" if parts[0] == ".fscrawl" else parts[0] or "root"


# -- what came of it


def main() -> None:
    arguments = _arguments()
    exit_on_terminate()
    if arguments.serve:
        serve(arguments.serve, arguments.pages)
        return
    if missing():
        sys.exit(f"this needs {', '.join(missing())} (Debian: openssh-server sshfs)")
    print(
        f"{arguments.workers} × {arguments.threads} threads and {arguments.hosts} hosts × {arguments.pages} pages a"
        f" machine, answers after {_LATENCY_S:g} s; {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n"
    )
    with Sshd() as sshd:
        _speed(arguments, sshd)
        if not arguments.no_calls:
            _calls(arguments, sshd)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description="Many machines, one directory.")
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 2, 4, 10], help="default 1 2 4 10")
    parser.add_argument("--workers", type=int, default=1, help="of each machine (default 1)")
    parser.add_argument("--threads", type=int, default=8, help="of each worker (default 8)")
    parser.add_argument("--hosts", type=int, default=16, help="of each machine (default 16)")
    parser.add_argument("--pages", type=int, default=40, help="of each host (default 40: 80 s)")
    parser.add_argument("--layout", choices=("files", "packs"), default="files", help="of the trees (default files)")
    parser.add_argument("--no-calls", action="store_true", help="do not count file-system calls")
    parser.add_argument("--only-calls", action="store_true", help="do nothing else")
    parser.add_argument("--serve", type=int, metavar="HOSTS", help=argparse.SUPPRESS)
    return parser.parse_args()


def _speed(arguments: argparse.Namespace, sshd: Sshd) -> None:
    if arguments.only_calls:
        return
    print(_HEAD)
    one: Run | None = None
    for machines in arguments.machines:
        run = crawl(arguments, machines, sshd)
        one = one or run
        up, steady = run.rate / one.rate * one.machines, run.steady / one.steady * one.machines
        shares = f"{min(run.shares.values())}–{max(run.shares.values())}"
        print(
            f"{machines:8} {run.rate:8.2f} {up:4.2f} {up / machines:5.1%} | {run.steady:6.2f} {steady:4.2f}"
            f" {steady / machines:5.1%} | {run.late_s:10.1f} {run.meeting_s:8.1f} {run.wall_s:7.1f} |"
            f" {shares:>13} {run.duplicates:6} {run.busy:11.0%}",
            flush=True,
        )
        if len(run.owners) != len(run.rows):
            print(f"         NO: {len(run.rows)} requests, but {len(run.owners)} pages stored")
    verdict = "yes" if up >= WANTED_SPEED_UP * machines else "NO"
    print(f"wanted: ≥ {WANTED_SPEED_UP * machines:g} × one machine from first request to last answer: {verdict}\n")


def _calls(arguments: argparse.Namespace, sshd: Sshd) -> None:
    if shutil.which("strace") is None:
        print("file-system calls: strace is not there")
        return
    few, many = (crawl(arguments, machines, sshd, traced=True) for machines in (1, max(arguments.machines)))
    print(f"file-system calls a page, of one of {few.machines} and one of {many.machines} machines")
    rates = [{kind: count / run.shares[run.first] for kind, count in run.calls.items()} for run in (few, many)]
    kinds = sorted(rates[0].keys() | rates[1].keys(), key=lambda kind: -rates[1].get(kind, 0))
    for kind in kinds:
        one, other = (rate.get(kind, 0) for rate in rates)
        if max(one, other) >= 0.01:
            print(f"  {kind:36}{one:8.2f} {other:8.2f}  {other - one:+.2f}")
    one, other = (sum(rate.values()) for rate in rates)
    verdict = "yes" if abs(other / one - 1) < WANTED_CALLS else "NO"
    print(f"  {'all':36}{one:8.2f} {other:8.2f}  {other / one - 1:+.1%}; wanted within {WANTED_CALLS:.0%}: {verdict}")


if __name__ == "__main__":
    main()
