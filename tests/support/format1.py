"""A tree of format 1, byte by byte as the last version of fscrawl wrote it that knew nothing newer.

Its machines said hello on another computer, so that nobody looks for their processes here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fscrawl import urls
from fscrawl.config.settings import Settings, apply, render

SHARDS = 256
SETTINGS = ("fleet.shards=256", "fleet.dead_after=60")
_ROOMS = ("htmls", "links", "errs", ".fscrawl/machines", ".fscrawl/leases", ".fscrawl/feed", ".fscrawl/robots")
_AT = "2026-11-22T09:35:48.594Z"
_COUNTERS = {
    "pages": 1,
    "bytes": 138,
    "errors": {"timeout": 1},
    "pending": 0,
    "in_flight": 0,
    "hosts": 1,
    "memory": 77271040,
    "state": "",
    "settings": "4b4ac097",
    "settings_at": _AT,
    "resting": 0,
    "gave_up": 0,
    "slow": {},
    "failing": {},
}


class OldTree:
    """The files of a tree of format 1."""

    def __init__(
        self, root: Path, seeds: tuple[str, ...] = ("http://a.example/",), settings: tuple[str, ...] = ()
    ) -> None:
        self.root = root
        for room in _ROOMS:
            (root / room).mkdir(parents=True)
        (root / "crawl.toml").write_text(render(apply(Settings(), [*SETTINGS, *settings])))
        (root / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
        (root / ".fscrawl/README").write_text("Internal files of a crawl by fscrawl.\n")
        (root / ".fscrawl/tree.json").write_text(
            f'{{"format":1,"crawl":"c4ad1a","created_at":"{_AT}","shards":{SHARDS},"fanout":0,"partition":"host"}}\n'
        )

    # -- heartbeats

    def log(self, machine: str) -> Path:
        return self.root / f".fscrawl/machines/{machine}.log"

    def hello(self, machine: str, **changes: Any) -> None:
        there = {"host": "far", "boot": "another", "pidns": "pid:[4026531836]", "pid": 9500, "start": "1476271"}
        self._append(machine, {"hello": machine, **there, **changes, "at": _AT})

    def beat(self, machine: str, number: int = 1) -> None:
        begin = {"beat": number, "idle": False, "sent": 375, "consumed": 375, "shards": 1}
        self._append(machine, {**begin, **_COUNTERS, "at": _AT})

    def bye(self, machine: str, *, finished: bool = False) -> None:
        begin = {"bye": True, "idle": True, "sent": 375, "consumed": 375, "shards": 1}
        self._append(machine, {**begin, **_COUNTERS, "finished": finished, "clean": True, "at": _AT})

    def _append(self, machine: str, facts: dict[str, Any]) -> None:
        with self.log(machine).open("a") as file:
            file.write(json.dumps(facts, separators=(",", ":")) + "\n")

    # -- feeds

    def feed(self, machine: str, *lines: str, segment: int = 0) -> None:
        """Append lines "<depth> <referrer> <url>[ <flags>]"."""
        path = self.root / f".fscrawl/feed/{machine}{f'.{segment}' if segment else ''}.log"
        with path.open("a") as file:
            file.writelines(f"{self._shard_of(line)} {line}\n" for line in lines)

    def _shard_of(self, line: str) -> int:
        return urls.shard(urls.host(line.split(" ")[2]), SHARDS)

    def lease(self, url: str, epoch: int, holder: str) -> None:
        path = self.root / f".fscrawl/leases/{urls.shard(urls.host(url), SHARDS)}.{epoch}"
        path.write_text(json.dumps({"holder": holder, "by": holder, "nonce": "f7de3ed63326184b"}) + "\n")

    def stands(self, name: str, *lines: str) -> None:
        """Leave what a machine leaves that stored the seed, found `lines`, and neither ended nor was killed so far."""
        self.hello(name)
        self.beat(name)
        self.lease("http://a.example/", 1, name)
        self.feed(name, *lines)
