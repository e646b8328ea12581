"""The material: real crawls through the pass-through, every call recorded, and the web that they can go on with.

Vocabulary:
  kind        "one": a machine, a crawl. "two": two machines on one tree. "refresh": one machine asks again for a tree's
              pages, of which some have changed, one has become a redirect, and one is new
  expected    what a complete tree holds: URL → the body's bytes, or None where a record has no body
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.support.crawling import crawl
from tests.support.faulty import coherent
from tests.support.fleet import DYING, QUICK, Fleet
from tests.support.passthrough import Passthrough
from tests.support.power.disk import Survivors
from tests.support.power.operations import Operation, read_operations
from tests.support.web import Request, Response, Web

Kind = Literal["one", "two", "refresh"]
KINDS: tuple[Kind, ...] = ("one", "two", "refresh")
ROOT = "tree"  # below the mount point, so that its own name may be lost, too
_PAGES = 12  # a host, and some more that are no pages
_NET = {
    ("one", False): 1,
    ("one", True): 2,
    ("two", False): 3,
    ("two", True): 4,
    ("refresh", False): 5,
    ("refresh", True): 6,
}
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_DEADLINE_S = 60.0


class Site:
    """Two chains of pages on each host, with links across, a redirect, a type nobody wants and a page that is missing.

    In its later `version` odd pages have changed, /4 has become a redirect, and / links to /new.
    """

    def __init__(self, hosts: tuple[str, ...], delay_s: float) -> None:
        self.hosts = hosts
        self.port = 0
        self.version = 0
        self._delay_s = delay_s

    def __call__(self, request: Request) -> Response:
        path = request.path
        if path == "/moved" or (path == "/4" and self.version):
            return Response(301, {"Location": self.url(self._after(request.host), "/3")})
        if path == "/paper.pdf":
            return Response(200, {"Content-Type": "application/pdf"}, b"%PDF-1.7")
        if path not in self._paths():
            return Response(404, {"Content-Type": "text/plain"}, b"no such page\n")
        body = self.body(request.host, path)
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == tag:
            return Response(304, {"ETag": tag})
        return Response(200, {**_HTML, "ETag": tag}, body, self._delay_s)

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    def expected(self) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for host in self.hosts:
            found |= {self.url(host, path): self.body(host, path) for path in self._paths()}
            found |= dict.fromkeys((self.url(host, "/moved"), self.url(host, "/paper.pdf")))
            if self.version:
                found[self.url(host, "/4")] = None
        return found

    def failing(self) -> set[str]:
        return {self.url(host, "/gone") for host in self.hosts}

    def body(self, host: str, path: str) -> bytes:
        """Give a page: bytes of its own, so that no other can be taken for it, and a length of its own, up to 40 kB."""
        number = int(path[1:]) if path[1:].isdecimal() else 0
        version = self.version if number % 2 or path == "/" else 0
        links = [f"/{number + 2}" if number + 2 <= _PAGES else "/", f"/{number * 5 % _PAGES + 1}"]
        links.append(self.url(self._after(host), f"/{number}" if number else "/"))
        links += ["/1", "/moved", "/gone", "/paper.pdf"] + (["/new"] if version else []) if path == "/" else []
        anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
        seal = hashlib.sha256(f"{host}{path}{version}".encode()).hexdigest()
        padding = " ".join([seal] * (int(seal[:2], 16) * 40 // 16 if number % 3 else 1))
        return f"<!DOCTYPE html><title>{host}{path} {version}</title>\n{anchors}<p>{padding}</p>\n".encode()

    def _paths(self) -> list[str]:
        return ["/", *(f"/{n}" for n in range(1, _PAGES + 1)), *(["/new"] if self.version else [])]

    def _after(self, host: str) -> str:
        return self.hosts[(self.hosts.index(host) + 1) % len(self.hosts)]


@dataclass(frozen=True)
class Recording:
    """A crawl that ended well, call by call. `there`: what was on the disk before, `left` after it.

    Its web is still up.
    """

    kind: Kind
    fsync: bool
    layout: str
    seed: str
    settings: Mapping[str, object]
    operations: list[Operation]
    there: Survivors
    left: Survivors
    expected: Mapping[str, bytes | None]
    failing: set[str]

    @property
    def flags(self) -> tuple[str, ...]:
        """With what the crawl is started again."""
        return ("--refresh", "0s") if self.kind == "refresh" else ()

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.layout}, fsync = {str(self.fsync).lower()}"


@contextmanager
def recorded(kind: Kind, directory: Path, *, fsync: bool, layout: str) -> Iterator[Recording]:
    """Crawl, and record it; the web stays up within the `with`, since crawls go on with it."""
    hosts = tuple(f"127.0.{60 + _NET[kind, fsync]}.{n}" for n in (1, 2, 3))
    site = Site(hosts, 0.05 if kind == "two" else 0.0)
    settings = {
        **QUICK,
        **DYING,
        "store.fsync": str(fsync).lower(),
        "politeness.robots": "true",
        "store.layout": layout,
    }
    settings |= {"crawl.partition": "url", "fleet.shards": 16} if kind == "two" else {}
    backing, log = directory / "backing", directory / "operations.jsonl"
    backing.mkdir(parents=True)
    with Web(site, hosts, deadline_s=3000) as web:
        site.port = web.port
        seed = site.url(hosts[0], "/")
        if kind == "refresh":
            done = crawl(backing / ROOT, seeds=[seed], settings=settings)
            assert done.code == 0, done
            site.version = 1
        there = read_directory(backing)
        with Passthrough(backing, record=log) as mount:
            _crawl(kind, mount.path / ROOT, seed, settings)
        operations = read_operations(log.read_text().splitlines())
        left = read_directory(backing)
        yield Recording(kind, fsync, layout, seed, settings, operations, there, left, site.expected(), site.failing())


def _crawl(kind: Kind, root: Path, seed: str, settings: Mapping[str, object]) -> None:
    if kind == "refresh":
        done = crawl(root, "--refresh", "0s", timeout_s=_DEADLINE_S, program=Path(coherent.__file__))
        assert done.code == 0, done
        return
    with Fleet(root, settings, workers=2, threads=2) as fleet:
        fleet.start(seeds=[seed])
        if kind == "two":
            fleet.wait_for_tree()
            fleet.start()
        fleet.wait_for_all(_DEADLINE_S)
        assert [member.code for member in fleet.members] == [0] * len(fleet.members), fleet.members[0].output()


def read_directory(directory: Path) -> Survivors:
    """Read all that is in a directory, as the model has it."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }
