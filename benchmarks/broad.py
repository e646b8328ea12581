"""A broad crawl: few pages of many hosts, over TLS and without. What do names, handshakes and connections cost?

    python -m benchmarks.broad [--hosts H] [--pages P] [--workers N] [--threads M] [--delay S] [--keep-alive S]

The same pages are crawled over TLS and then over plain HTTP. The last part is a host whose first address is silent.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks import broad_web, corpus, measure
from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.http.fetch import Fetched, Fetcher

MOST_LOOK_UPS = 1.1  # of each host
MOST_FULL = 1.2  # handshakes of each host
MOST_CPU = 1.5  # times that of plain HTTP
MOST_LATE_S = 0.5  # beside a host whose first address answers
_SILENT = "127.20.250.1"


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl. `descriptors`: the most that one process had open."""

    name: str
    cost: measure.Cost
    pages: int
    counts: broad_web.Counts
    look_ups: int
    descriptors: int


def main() -> None:
    arguments = _arguments()
    corpus.exit_on_terminate()
    if not Path(corpus.PACKAGES["nginx-light"]).exists():
        sys.exit("the benchmark needs nginx; on Debian, as root: apt-get install nginx-light")
    print(f"{arguments.hosts} hosts, {arguments.pages} pages each, {arguments.workers} × {arguments.threads} threads, ")
    print(f"a delay of {arguments.delay:g} s; the server keeps idle connections for {arguments.keep_alive} s")
    secure, plain = _run(arguments, tls=True), _run(arguments, tls=False)
    _report(arguments.hosts, (secure, plain))
    late_s = _late_s()
    ratio = secure.cost.cpu_s / secure.pages / (plain.cost.cpu_s / plain.pages)
    verdicts = [
        ("look-ups/host", max(secure.look_ups, plain.look_ups) / arguments.hosts, MOST_LOOK_UPS),
        ("full handshakes/host", secure.counts.full / arguments.hosts, MOST_FULL),
        ("CPU/page, TLS ÷ plain", ratio, MOST_CPU),
        ("seconds that a silent first address costs", late_s, MOST_LATE_S),
    ]
    for name, figure, most in verdicts:
        print(f"wanted: {name} ≤ {most:g}: {figure:.3f}: {'yes' if figure <= most else 'NO'}")
    sys.exit(any(figure > most for _, figure, most in verdicts))


def _run(arguments: argparse.Namespace, *, tls: bool) -> Run:
    served = broad_web.serve(arguments.hosts, arguments.pages, arguments.page_bytes, arguments.keep_alive, tls=tls)
    with served as web, _directory() as directory, _Descriptors() as descriptors:
        path = os.pathsep.join([str(web.resolver), str(measure.PROJECT)])
        command = _command(arguments, web, directory)
        cost = measure.run(command, limit_s=3600, sample_s=2, environment={"PYTHONPATH": path})
        stored = sum(1 for _ in (directory / "tree" / "htmls").rglob("*.html"))
        if cost.exit_code or stored != arguments.hosts * arguments.pages:
            sys.exit(f"exit {cost.exit_code}, {stored} of {arguments.hosts * arguments.pages} pages:\n{cost.message}")
        return Run("TLS" if tls else "plain", cost, stored, web.counts(), web.look_ups(), descriptors.most)


def _command(arguments: argparse.Namespace, web: broad_web.Broad, directory: Path) -> list[str]:
    seeds = directory / "seeds.txt"
    seeds.write_text("\n".join(web.urls()) + "\n", encoding="ascii")
    command = [sys.executable, str(measure.PROJECT / "crawl.py"), "--root", str(directory / "tree"), "--quiet"]
    command += ["--seeds", str(seeds), "--workers", str(arguments.workers), "--threads", str(arguments.threads)]
    for setting in (
        f"politeness.delay={arguments.delay}",
        "fetch.allow_addresses=['127.0.0.0/8']",
        *([f"fetch.ca_file={web.authority}"] if web.tls else []),
        "crawl.scope=host",
    ):
        command += ["--set", setting]
    return command


def _report(hosts: int, runs: tuple[Run, ...]) -> None:
    columns = ("pages/s", "CPU ms/page", "conn./host", "full/host", "resumed/host", "look-ups/host", "all MB")
    print(f"{'':6}" + "".join(f"{name:>15}" for name in (*columns, "largest MB", "descriptors")))
    for run in runs:
        counts, cost = run.counts, run.cost
        figures = [
            f"{run.pages / cost.wall_s:.1f}",
            f"{1000 * cost.cpu_s / run.pages:.2f}",
            f"{(counts.full + counts.resumed + counts.plain) / hosts:.2f}",
            f"{counts.full / hosts:.2f}",
            f"{counts.resumed / hosts:.2f}",
            f"{run.look_ups / hosts:.3f}",
            f"{cost.sum_peak_bytes / 1e6:.0f}",
            f"{cost.peak_bytes / 1e6:.0f}",
            f"{run.descriptors}",
        ]
        print(f"{run.name:6}" + "".join(f"{figure:>15}" for figure in figures), flush=True)


class _Descriptors:
    """Looks every second how many descriptors the processes of a crawl have open; `most`: of one at one time."""

    def __init__(self) -> None:
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(1):
            for pid in measure.descendants(os.getpid()):
                with contextlib.suppress(OSError):  # it has just ended
                    if Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").startswith("nginx"):
                        continue
                    self.most = max(self.most, sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))


def _late_s() -> float:
    """Give how much later the first page of a host comes if the first of its two addresses is silent."""
    with broad_web.serve(1, 1, 10_000, 15, tls=False) as web, contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server((_SILENT, web.port), backlog=0))
        for _ in range(4):  # its queue is full now, and the kernel drops what comes
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(server.getsockname())
        time.sleep(0.1)
        return _first_page_s(web.port, _SILENT, broad_web.address(0)) - _first_page_s(web.port, broad_web.address(0))


def _first_page_s(port: int, *addresses: str) -> float:
    def answer(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in addresses]

    resolver, socket.getaddrinfo = socket.getaddrinfo, answer  # type: ignore[assignment]
    fetcher = Fetcher(FetchSettings(allow_addresses=("127.0.0.0/8",)), PolitenessSettings(), 1)
    try:
        began = time.monotonic()
        page = fetcher.get(f"http://two.test:{port}/")
        took_s = time.monotonic() - began
    finally:
        fetcher.close()
        socket.getaddrinfo = resolver
    if not isinstance(page, Fetched):
        sys.exit(f"the host with a silent address cannot be fetched: {page}")
    return took_s


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fscrawl-broad-tree-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broad", description="Few pages of many hosts.")
    parser.add_argument("--hosts", type=int, default=2000, help="(default 2000; at most 60000)")
    parser.add_argument("--pages", type=int, default=10, help="of each host (default 10)")
    parser.add_argument("--page-bytes", type=int, default=30_000, help="of each page (default 30000)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=32, help="of each worker (default 32)")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds between two requests to a host (default 1)")
    parser.add_argument("--keep-alive", type=int, default=15, help="seconds that the server keeps a connection")
    return parser.parse_args()


if __name__ == "__main__":
    main()
