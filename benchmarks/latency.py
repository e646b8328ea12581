"""Many slow hosts: does fscrawl keep every thread waiting on the network, and none waiting on fscrawl?

    python -m benchmarks.latency [--hosts H] [--pages P] [--latency S] [--workers N] [--threads M]

Each host answers after 500 ms and gets one request at a time. Threads that only wait would fetch
workers × threads ÷ latency pages a second; the goal is 95 % of that.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import measure, slow_web
from benchmarks.corpus import exit_on_terminate

WANTED = 0.95
_CUT = 0.10  # the steady state leaves out the first and the last tenth of the requests

Span = tuple[float, float]  # when a request arrived at the server and when it was answered


class SlowWeb:
    """The server, in a process of its own; `stop` returns when requests arrived and were answered."""

    def __init__(self, hosts: int, pages: int, latency_s: float) -> None:
        command = [sys.executable, "-m", "benchmarks.slow_web"]
        command += ["--hosts", str(hosts), "--pages", str(pages), "--latency", str(latency_s)]
        self._process = subprocess.Popen(command, cwd=measure.PROJECT, stdin=-1, stdout=-1, text=True)
        assert self._process.stdout
        self.port = int(self._process.stdout.readline().split()[1])

    def stop(self) -> list[Span]:
        out, _ = self._process.communicate()
        return [(arrived, answered) for arrived, answered in json.loads(out)]


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fscrawl-latency-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def main() -> None:
    arguments = _arguments()
    exit_on_terminate()
    web = SlowWeb(arguments.hosts, arguments.pages, arguments.latency)
    with _directory() as directory:
        try:
            cost = measure.run(_command(arguments, web.port, directory), limit_s=600)
        finally:
            spans = web.stop()
        stored = sum(1 for _ in (directory / "tree" / "htmls").rglob("*.html"))
    _report(arguments, cost, stored, spans)


def _command(arguments: argparse.Namespace, port: int, directory: Path) -> list[str]:
    seeds = directory / "seeds.txt"
    urls = [f"http://{address}:{port}/" for address in slow_web.addresses(arguments.hosts)]
    seeds.write_text("\n".join(urls) + "\n", encoding="ascii")
    command = [sys.executable, str(measure.PROJECT / "crawl.py"), "--root", str(directory / "tree"), "--quiet"]
    command += ["--seeds", str(seeds), "--workers", str(arguments.workers), "--threads", str(arguments.threads)]
    for setting in (
        "politeness.delay=0",
        "politeness.per_host=1",
        "politeness.robots=false",
        "fetch.allow_addresses=['127.0.0.0/8']",
        "crawl.scope=host",
    ):
        command += ["--set", setting]
    return command


def _report(arguments: argparse.Namespace, cost: measure.Cost, stored: int, spans: list[Span]) -> None:
    expected = arguments.hosts * arguments.pages
    if cost.exit_code or stored != expected or len(spans) < stored:
        sys.exit(f"exit {cost.exit_code}, {stored} of {expected} pages, {len(spans)} requests:\n{cost.message}")
    threads = arguments.workers * arguments.threads
    ideal = threads / arguments.latency
    rate, in_flight = steady(spans)
    whole = stored / cost.wall_s
    print(f"{arguments.hosts} hosts, {stored} pages, {len(spans)} requests answered after {arguments.latency:g} s each")
    print(f"the arithmetic       {threads} threads ÷ {arguments.latency:g} s = {ideal:.1f} pages/s")
    print(f"steady state         {rate:.1f} pages/s, {rate / ideal:.1%}; {in_flight:.1f} requests in flight (mean)")
    print(
        f"whole run            {whole:.1f} pages/s, {whole / ideal:.1%}; {cost.wall_s:.1f} s from process start to exit"
    )
    print(
        f"start and end        {_ends(cost, spans):.1f} s of these before the first request and after the last answer"
    )
    print(f"CPU                  {1000 * cost.cpu_s / stored:.2f} ms/page, {cost.cpu_s / cost.wall_s:.2f} cores")
    verdict = "yes" if rate / ideal >= WANTED else "NO"
    print(f"wanted               {WANTED:.0%} in the steady state (between 10 % and 90 % of the answers): {verdict}")


def steady(spans: list[Span]) -> tuple[float, float]:
    """Give pages per second and mean requests in flight, between the answers at 10 % and 90 %."""
    answers = sorted(answered for _, answered in spans)
    first, last = int(len(answers) * _CUT), int(len(answers) * (1 - _CUT))
    begin, end = answers[first], answers[last]
    busy = sum(max(0.0, min(answered, end) - max(arrived, begin)) for arrived, answered in spans)
    return (last - first) / (end - begin), busy / (end - begin)


def _ends(cost: measure.Cost, spans: list[Span]) -> float:
    return cost.wall_s - (max(answered for _, answered in spans) - min(arrived for arrived, _ in spans))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description="Many slow hosts.")
    parser.add_argument("--hosts", type=int, default=256)
    parser.add_argument("--pages", type=int, default=60, help="of each host (default 60: a minute in all)")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds to each answer (default 0.5)")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--threads", type=int, default=8)
    return parser.parse_args()


if __name__ == "__main__":
    main()
