"""Dashboards for the tests: the application called in this process, and `fscrawl dashboard` as a process of its own.

answer = call(application, "/api/state")
with Served(root, "--control") as served:
    served.ask("GET", "/metrics")
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fscrawl.fleet.heartbeat import hello
from fscrawl.storage.records import timestamp
from tests.support.beats import facts_of
from tests.support.crawling import CHECKOUT, Done, Running

BEGAN_S = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


def call(
    app: Any,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    host: str = "127.0.0.1",
    timeout_s: float = 20.0,
) -> Answer:
    """Ask an ASGI application, and wait until it has answered."""
    where, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in {"host": host, **(headers or {})}.items()],
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []
    asked = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if asked:
            return asked.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError("unreachable")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        with contextlib.suppress(_Expected):
            await asyncio.wait_for(app(scope, receive, send), timeout_s)

    asyncio.run(run())
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))


class _Expected(Exception):  # noqa: N818 - what a test's application raises, and starlette hands on
    pass


Expected = _Expected


def write_log(root: Path, machine: str, *beats: Mapping[str, Any], every_s: float = 10.0, alive: bool = False) -> None:
    """Write a machine's heartbeat log: a hello, and these beats. `alive`: as of this process, and up to now."""
    greeting = facts_of(hello(machine)) if alive else {"hello": machine, "host": "elsewhere", "boot": "other", "pid": 1}
    began = time.time() - every_s * len(beats) if alive else BEGAN_S
    lines: list[Mapping[str, Any]] = [{**greeting, "at": timestamp(began)}]
    lines += [{**beat, "at": timestamp(began + every_s * number)} for number, beat in enumerate(beats, 1)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (root / ".fscrawl" / "machines" / f"{machine}.log").write_text(text)


class Served:
    """`fscrawl dashboard` on a free port, over at the end of the `with`."""

    def __init__(self, root: Path, *flags: str) -> None:
        words = [sys.executable, "-m", "fscrawl", "dashboard", "--root", str(root), "--port", "0", *flags]
        self.running = Running(words, cwd=CHECKOUT)
        self.port, self.token = 0, ""

    def __enter__(self) -> Self:
        assert self.running.process.stdout is not None
        first = self.running.process.stdout.readline().decode()
        said = re.search(r"http://127\.0\.0\.1:(\d+)/(?:#token=(\S+))?", first)
        if said is None:
            raise AssertionError(f"no address: {first}{self.running.wait()}")
        self.port, self.token = int(said[1]), said[2] or ""
        return self

    def __exit__(self, *_: object) -> None:
        self.running.__exit__()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def end(self, timeout_s: float = 10.0) -> Done:
        """Press Ctrl-C."""
        self.running.signal(signal.SIGINT, group=True)
        return self.running.wait(timeout_s)

    def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        """Ask over a connection of its own; `path` goes out as it is."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.putrequest(method, path, skip_host="host" in (headers or {}), skip_accept_encoding=True)
            for name, value in {**(headers or {}), "content-length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())

    def control(self, verb: str, given: object = None, **headers: str) -> Answer:
        """Ask as the page does; `headers` in place of its own, "" for none."""
        chosen = {"x-fscrawl-token": self.token, **{name.replace("_", "-"): value for name, value in headers.items()}}
        body = json.dumps(given or {}).encode()
        return self.ask("POST", f"/control/{verb}", {name: value for name, value in chosen.items() if value}, body)

    @contextlib.contextmanager
    def events(self, path: str = "/events") -> Iterator[Iterator[tuple[str, Any]]]:
        """Listen to a stream: (kind, facts) of each event."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", path)
            yield _events(connection.getresponse())


def _events(lines: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in iter(lines.readline, b""):
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def until(events: Iterator[tuple[str, Any]], kind: str, wanted: Any = lambda facts: True, most: int = 60) -> Any:
    """Give the first event of a kind that is as wanted, among the next `most`."""
    seen: Sequence[str] = []
    for _, (came, facts) in zip(range(most), events, strict=False):
        if came == kind and wanted(facts):
            return facts
        seen = [*seen, came]
    raise AssertionError(f"no such {kind}; came: {seen}")
