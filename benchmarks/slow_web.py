"""Many hosts that answer slowly: 127.x.y.z addresses on one port, one asyncio process, HTTP/1.1 with keep-alive.

    python -m benchmarks.slow_web --hosts H --pages P --latency S

It prints `ready PORT`, serves until its standard input ends, and then prints one JSON line: when each request
arrived and when it was answered (seconds, monotonic). Standard input ends with the process that started the server,
so the server never outlives it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time

from benchmarks import measure

_LIMIT_BYTES = 65536  # of a request's head


def addresses(hosts: int) -> list[str]:
    """Name so many loopback addresses.

    >>> addresses(3)
    ['127.16.0.1', '127.16.0.2', '127.16.0.3']
    """
    return [f"127.16.{number // 250}.{number % 250 + 1}" for number in range(hosts)]


class SlowWeb:
    """The server, in a process of its own; `stop` returns when requests arrived and were answered."""

    def __init__(self, hosts: int, pages: int, latency_s: float) -> None:
        command = [sys.executable, "-m", "benchmarks.slow_web"]
        command += ["--hosts", str(hosts), "--pages", str(pages), "--latency", str(latency_s)]
        self._process = subprocess.Popen(command, cwd=measure.PROJECT, stdin=-1, stdout=-1, text=True)
        assert self._process.stdout
        self.port = int(self._process.stdout.readline().split()[1])

    def stop(self) -> list[tuple[float, float]]:
        out, _ = self._process.communicate()
        return [(arrived, answered) for arrived, answered in json.loads(out)]


class Log:
    """When requests arrived and were answered, in the order of the answers."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []


class Connection(asyncio.Protocol):
    """One connection: answers each GET after the latency, in order."""

    def __init__(self, log: Log, pages: int, latency_s: float) -> None:
        self._log, self._pages, self._latency_s = log, pages, latency_s
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("ascii", "replace")
            loop = asyncio.get_running_loop()
            loop.call_later(self._latency_s, self._answer, path, time.monotonic())
        if len(self._received) > _LIMIT_BYTES:
            self._transport.abort()

    def _answer(self, path: str, arrived: float) -> None:
        if not self._transport.is_closing():
            self._transport.write(_response(path, self._pages))
            self._log.spans.append((arrived, time.monotonic()))


def _response(path: str, pages: int) -> bytes:
    if path == "/":
        body = "".join(f'<a href="/{number}.html">page {number}</a>\n' for number in range(1, pages))
    elif path.endswith(".html") and path[1:-5].isdigit() and 0 < int(path[1:-5]) < pages:
        body = '<a href="/">index</a>'
    else:
        return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
    html = f"<!doctype html><title>{path}</title>{body}".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(html) + html


async def serve(hosts: int, pages: int, latency_s: float) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    log = Log()
    names = addresses(hosts)
    port = _free_port(names[0])
    server = await loop.create_server(lambda: Connection(log, pages, latency_s), names, port, backlog=128)
    print("ready", port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    print(json.dumps(log.spans), flush=True)


def _free_port(address: str) -> int:
    with socket.socket() as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_web")
    parser.add_argument("--hosts", type=int, default=256)
    parser.add_argument("--pages", type=int, default=60, help="of each host")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.hosts, arguments.pages, arguments.latency))


if __name__ == "__main__":
    main()
