"""Heartbeat logs for the tests of what is read from them, made without a crawl.

    logs = Logs(tmp_path / "tree")
    logs.write("m-1-aa", [logs.beat(10, pages=5), logs.bye(20, pages=9, finished=True)])
    view = logs.observer().look(logs.at(25))

Times are seconds after `BEGAN_S`. The hosts that said hello are of another boot, so nobody looks for their processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fscrawl import store
from fscrawl.config.settings import Settings, render
from fscrawl.fleet.beat import Hello, Line, line_of
from fscrawl.monitor.snapshot import Observer
from fscrawl.storage.records import TreeRecord, timestamp
from fscrawl.store import Tree

BEGAN_S = 1_790_000_000.0


def facts_of(line: Line) -> dict[str, Any]:
    """Give a line as the object that is written, for a test that changes it."""
    facts: dict[str, Any] = json.loads(line_of(line))
    return facts


class Clock:
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Logs:
    """A tree with the logs of machines that were never there."""

    def __init__(self, root: Path, crawl: str = "c1") -> None:
        self.root = root
        record = TreeRecord(format=3, machinery="0" * 32, crawl=crawl, created_at="t", shards=512, partition="host")
        store.create(root, record, render(Settings()), "http://a.example/\n")
        self.tree = Tree(root, "observer-1-aa")
        self.clock = Clock()

    def at(self, seconds: float) -> float:
        return BEGAN_S + seconds

    def hello(self, name: str, at: float = 0.0, **facts: Any) -> dict[str, Any]:
        there = {"host": "far", "boot": "another", "pidns": "another", "pid": 1, "start": "1"}
        return {"hello": name, **there, **facts, "at": timestamp(self.at(at))}

    def beat(self, at: float, **facts: Any) -> dict[str, Any]:
        return {"beat": int(at), "ready": 0, "needed": 0, **facts, "at": timestamp(self.at(at))}

    def bye(self, at: float, **facts: Any) -> dict[str, Any]:
        return {"bye": True, **facts, "at": timestamp(self.at(at))}

    def path(self, name: str) -> Path:
        return self.root / ".fscrawl" / "machines" / f"{name}.log"

    def write(self, name: str, lines: Iterable[dict[str, Any]], *, hello: bool = True) -> None:
        """Write a log, or what it grows by if it is there."""
        new = hello and not self.path(name).exists()
        counted = ({**line, "stored": line.get("stored", line.get("pages", 0))} for line in lines)
        lines = [*([self.hello(name)] if new else []), *counted]
        with self.path(name).open("ab") as file:
            file.writelines(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)

    def say(self, name: str, at: float = 0, **facts: Any) -> None:
        """Write a machine's status file: its `labels`, `hosts`, …"""
        path = self.path(name).with_suffix(".status.json")
        path.write_text(json.dumps({"at": timestamp(self.at(at)), "known": [0, 0], **facts}))

    def observer(self, gone: Callable[[Hello], bool] = lambda hello: False) -> Observer:
        return Observer(self.tree, gone=gone, clock=self.clock)


def busy(number: int, every_s: float = 10.0) -> dict[str, Any]:
    """Give the facts of a machine's beat as they are after a while: some 400 bytes."""
    return {
        "idle": False,
        "generation": 1,
        "log": number * 997,
        "rules": "0123456789abcdef",
        "shards": 85,
        "dead_after": 60.0,
        "pages": number * 100,
        "stored": number * 100,
        "bytes": number * 2_000_000,
        "errors": {"http-4xx": number, "timeout": number // 3},
        "pending": max(0, 1_000_000 - number * 50),
        "in_flight": 32,
        "hosts": 850,
        "memory": 250_000_000,
        "state": "",
        "settings": "01234567",
        "settings_at": timestamp(BEGAN_S),
        "resting": 3,
        "gave_up": 1,
        "at": timestamp(BEGAN_S + number * every_s),
    }
