"""What somebody with access to a tree may put there: files, links and pipes of any name, type, size and content.

planted = LISTED + draws(random.Random(7), root, 10)
for each in planted:
    plant(root, each)
for name, done in every_command(root, out):
    check(name, done)
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.crawling import DEADLINE_S, Done, Running
from tests.support.dashboards import Served

KEY = "0123456789abcdef01234567"
HUGE_BYTES = 50 * 10**9
LIMIT_S = 30.0
EXIT_CODES = (0, 1, 75)  # of commands whose words are right
TYPES = (
    *("file", "fifo", "socket", "device", "directory", "full-directory", "link-to-file", "link-to-directory"),
    *("link-to-device", "loop", "dangling", "sparse", "hard-link", "unreadable"),
)
_DEEP = b"[" * 100_000
_BEATS = (
    b'{"beat":1,"sent":"x","rests":[1,2],"generation":-1,"log":["a"],"errors":[],"slow":7,"pages":"many","at":"yesterday"}\n',
    b'{"hello":"m","host":7,"boot":[],"pidns":{},"pid":"\\u0000","start":null,"at":"2026-01-01T00:00:00.000Z"}\n',
    b'{"hello":"x","pid":99999999999999999999,"at":"9999-12-31T23:59:59.999Z"}\n{"bye":1,"finished":"no","generation":1,"log":-1}\n',
    b'{"beat":1e999,"generation":1,"log":1e308,"pages":-1,"dead_after":1e308,"shards":1e300,"at":"0001-01-01T00:00:00+14:00"}\n',
    b'{"hello":"' + b"m" * 100_000 + b'","host":"\\ud800"}\n{"beat":1,"rests":{"\\ud800":1},"rules":"\\u0000"}\n',
)
CONTENTS = (
    *(
        b"",
        b"\n",
        b"\0" * 5000,
        b"{}",
        b"[]",
        b"null",
        b"3",
        b'"text"',
        _DEEP,
        b"{" * 5000,
        b"\xff\xfe\x00",
        b"{\n" * 9,
    ),
    *(
        b'{"holder":7}',
        b'{"holder":"../../x"}',
        b'{"holder":"a\\u0000b"}',
        b'{"holder":"\\ud800"}',
        b'{"holder":"planted"}\n',
        b'{"links":7,"refresh_before":"","reason":"x","by":"m","nonce":""}\n',
    ),
    *(
        b'{"links":{"mode":"any","members":[],"allow":["("],"deny":[],"follow_nofollow":false,"max_depth":-1,"sites":"",'
        b'"sitemaps":true},"refresh_before":"now","reason":"refresh","by":"m","nonce":""}\n',
    ),
    *(b"B 1 2 3\n" * 50, b"B " + b"9" * 2_000_000),
    *(b'{"snapshot":1,"shard":99999,"at":{"m":12},"told":99999999999}\n', b'{"snapshot":1,"at":{}}\n' * 100),
    *(b'{"url":"http://a.example/","key":"' + KEY.encode() + b'","depth":-1,"links":[7]}', *_BEATS),
)


@dataclass(frozen=True, slots=True)
class Planted:
    """Something at `path`, below the root. `content`: of a regular file."""

    path: str
    type: str
    content: bytes = b""

    def __str__(self) -> str:
        return f"{self.path!r}: {self.type} {self.content[:60]!r}"


LISTED = (
    *(Planted(f".fscrawl/machines/beat-{number}.log", "file", line) for number, line in enumerate((*_BEATS, _DEEP))),
    Planted(".fscrawl/machines/pipe.log", "fifo"),
    Planted(".fscrawl/machines/zero.log", "link-to-device"),
    Planted(".fscrawl/machines/huge.log", "sparse"),
    Planted(".fscrawl/machines/huge.status.json", "sparse"),
    Planted(".fscrawl/generations/1/log/pipe.log", "fifo"),
    Planted(".fscrawl/generations/1/log/huge.log", "sparse"),
    Planted(".fscrawl/generations/1/log/link.log", "link-to-directory"),
    Planted(".fscrawl/generations/1/log/loop.log", "loop"),
    Planted(".fscrawl/generations/1/log/\udcff.log", "file"),
    Planted(".fscrawl/generations/1/snap/1.1.1", "sparse"),
    Planted(".fscrawl/generations/1/snap/2.1.1", "fifo"),
    Planted(".fscrawl/generations/1/notes", "file"),
    Planted(".fscrawl/generations/5", "link-to-directory"),
    Planted(".fscrawl/generations/6/log", "fifo"),
    Planted(".fscrawl/leases/3.999999999", "file"),
    Planted(".fscrawl/leases/99999999.1", "fifo"),
    Planted(".fscrawl/leases/5.9", "file", b'{"holder":"../../private/x"}'),
    Planted(".fscrawl/leases/6.9", "file", b'{"holder":"a\\u0000b"}'),
    Planted(".fscrawl/robots/planted.example.json", "fifo"),
    Planted(".fscrawl/waited", "fifo"),
    Planted(f"links/planted.example/{KEY}.json", "fifo"),
    Planted(f"links/planted.example/1{KEY[1:]}.json", "link-to-device"),
    Planted(f"links/planted.example/2{KEY[1:]}.json", "sparse"),
    Planted(f"links/planted.example/3{KEY[1:]}.json", "full-directory"),
    Planted(f"links/planted.example/4{KEY[1:]}.json", "file", _DEEP),
    Planted(f"htmls/planted.example/{KEY}.html", "fifo"),
    Planted(f"htmls/planted.example/1{KEY[1:]}.html", "link-to-file"),
    Planted(f"files/planted.example/{KEY}.pdf", "fifo"),
    Planted(f"files/planted.example/1{KEY[1:]}.jpg", "link-to-file"),
    Planted(f"files/planted.example/2{KEY[1:]}.json", "sparse"),
    Planted(f"files/planted.example/3{KEY[1:]}.bin", "full-directory"),
    Planted(f"errs/planted.example/{KEY}.json", "fifo"),
    Planted(f"errs/planted.example/2{KEY[1:]}.json", "sparse"),
    Planted("links/loop", "loop"),
    Planted("links/link.example", "link-to-directory"),
    Planted("htmls/file.example", "file"),
    Planted("files/link.example", "link-to-directory"),
    Planted("errs/pipe.example", "fifo"),
    Planted(".link.tmp", "link-to-file"),
)


def draws(chance: random.Random, root: Path, count: int) -> list[Planted]:
    """Draw what to plant: in any directory of a tree, beside what is there, or in place of a machine's small file."""
    found: list[Planted] = []
    while len(found) < count:
        path = chance.choice(_places(root))(chance)
        above = any(path.startswith(f"{each.path}/") or each.path.startswith(f"{path}/") for each in found)
        if not above and path not in {each.path for each in found}:
            found.append(Planted(path, chance.choice(TYPES), chance.choice(CONTENTS)))
    return found


def _places(root: Path) -> list[Callable[[random.Random], str]]:
    """Give, for each directory, what draws a name in it. No stored page is replaced, nor what a person edits."""
    hosts = sorted(path.name for path in (root / "links").iterdir())
    small = [path for directory in ("machines", "leases", "robots") for path in _files(root, directory)]
    generations = _files(root, "generations")

    def key(chance: random.Random) -> str:
        return "".join(chance.choices("0123456789abcdef", k=24))

    def number(chance: random.Random) -> str:
        return str(chance.choice([0, 1, 2, 3, 17, 511, 512, 99_999, 10**9, 2**63, 2**64, 10**40, 10**200]))

    def name(chance: random.Random) -> str:
        odd = ["-", "~", " ", "a\nb", "\x1b[31m", "é", "\udcff", "x" * 240, "..a", ".b", "%2e%2e", "planted.example"]
        return chance.choice(odd)

    return [
        lambda chance: f"{chance.choice(['htmls', 'files', 'links', 'errs'])}/{name(chance)}",
        lambda chance: (
            f"files/{chance.choice([*hosts, 'new.example'])}/{key(chance)}.{chance.choice(['pdf', 'x', 'é'])}"
        ),
        lambda chance: f"htmls/{chance.choice([*hosts, 'new.example'])}/{key(chance)}.html",
        lambda chance: f"links/{chance.choice([*hosts, 'new.example'])}/{key(chance)}.json",
        lambda chance: f"errs/{chance.choice([*hosts, 'new.example'])}/{key(chance)}.json",
        lambda chance: f"{chance.choice(['htmls', 'links', 'errs'])}/{chance.choice(hosts)}/{name(chance)}",
        lambda chance: f"{chance.choice(['links', 'errs'])}/{name(chance)}/{key(chance)}.json",
        lambda chance: f".fscrawl/generations/{name(chance)}",
        lambda chance: f".fscrawl/machines/{chance.choice(['planted', 'x-1-ab', name(chance)])}.log",
        lambda chance: f".fscrawl/leases/{number(chance)}.{number(chance)}",
        lambda chance: f".fscrawl/generations/1/log/{name(chance)}",
        lambda chance: f".fscrawl/generations/1/log/{chance.choice(['planted', name(chance)])}.log",
        lambda chance: f".fscrawl/generations/1/snap/{number(chance)}.{number(chance)}.{number(chance)}",
        lambda chance: f".fscrawl/generations/{number(chance)}",
        lambda chance: f".fscrawl/generations/{number(chance)}/rules.json",
        lambda chance: f".fscrawl/robots/{name(chance)}.json",
        lambda chance: f".fscrawl/{chance.choice(['waited', 'probe-x', name(chance)])}",
        lambda chance: chance.choice([".creation.1", "notes", f".{name(chance)}.m-1-ab.1-1.tmp", "dir"]),
        lambda chance: str(chance.choice(small).relative_to(root)),
        lambda chance: str(chance.choice(generations).relative_to(root)),
    ]


def _files(root: Path, directory: str) -> list[Path]:
    return sorted(path for path in (root / ".fscrawl" / directory).rglob("*") if path.is_file())


def plant(root: Path, planted: Planted) -> None:
    """Put something there. What had the name before is removed."""
    path, outside = root / planted.path, root.parent / "private"
    path.parent.mkdir(parents=True, exist_ok=True)
    (outside / "directory").mkdir(parents=True, exist_ok=True)
    secret = outside / "secret"
    secret.write_bytes(b"not for others\n")
    (outside / "directory" / f"{KEY}.json").write_bytes(b"{}")
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    _MAKE[planted.type](path, planted.content, outside)


def _make_socket(path: Path, _: bytes, __: Path) -> None:
    here = os.open(path.parent, os.O_PATH)  # an address has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as each:
            each.bind(f"/proc/self/fd/{here}/{path.name}"[:107])
    except OSError:
        path.touch()
    finally:
        os.close(here)


def _make_device(path: Path, _: bytes, __: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        os.mkfifo(path)


def _make_full(path: Path, _: bytes, __: Path) -> None:
    path.mkdir()
    (path / "inside").write_bytes(b"mine\n")


def _make_sparse(path: Path, _: bytes, __: Path) -> None:
    path.touch()
    os.truncate(path, HUGE_BYTES)


def _make_unreadable(path: Path, content: bytes, _: Path) -> None:
    path.write_bytes(content)
    path.chmod(0)


_MAKE: dict[str, Callable[[Path, bytes, Path], object]] = {
    "file": lambda path, content, _: path.write_bytes(content),
    "fifo": lambda path, *_: os.mkfifo(path),
    "socket": _make_socket,
    "device": _make_device,
    "directory": lambda path, *_: path.mkdir(),
    "full-directory": _make_full,
    "link-to-file": lambda path, _, outside: path.symlink_to(outside / "secret"),
    "link-to-directory": lambda path, _, outside: path.symlink_to(outside / "directory"),
    "link-to-device": lambda path, *_: path.symlink_to("/dev/zero"),
    "loop": lambda path, *_: path.symlink_to(path.name),
    "dangling": lambda path, _, outside: path.symlink_to(outside / "new"),
    "sparse": _make_sparse,
    "hard-link": lambda path, _, outside: path.hardlink_to(outside / "secret"),
    "unreadable": _make_unreadable,
}


def outside_of(root: Path) -> dict[str, bytes]:
    """Give what is outside of the tree, which nobody may change."""
    outside = root.parent / "private"
    return {str(path.relative_to(outside)): path.read_bytes() for path in outside.rglob("*") if path.is_file()}


def every_command(root: Path, out: Path, url: str) -> Iterator[tuple[str, Done]]:
    """Run all commands, one after the other; `url`: of a stored page, to show."""
    given = {
        "crawl": ["--quiet", "--workers", "1", "--threads", "2"],
        "status": ["--json"],
        "report": ["--out", str(out / "report.html")],
        "show": [url, "--inlinks"],
        "audit": ["--json"],
        "merge": ["--out", str(out / "dataset"), "--format", "jsonl"],
        "retry": [],
        "doctor": [],
    }
    out.mkdir(exist_ok=True)
    for name, more in given.items():
        with Running([sys.executable, "-m", "fscrawl", name, "--root", str(root), *more]) as running:
            yield name, running.wait(DEADLINE_S)
    yield "dashboard", _look(root, url)


def _look(root: Path, url: str) -> Done:
    """Open a dashboard and ask for all that it shows."""
    with Served(root) as served:
        host = url.split("/")[2].replace(":", "_")
        asked = ("/", "/api/state", "/api/hosts", "/api/errors", f"/api/page?url={url}", "/metrics")
        of_host = [
            f"/api/{what}?host={host}{more}" for what, more in (("pages", "&list=pages&page=0"), ("search", "&q=a"))
        ]
        for path in (*asked, *of_host, f"/api/links-in?url={url}", f"/body/planted.example/1{KEY[1:]}"):
            answer = served.ask("GET", path)
            assert answer.status in (200, 404), (path, answer)
            assert b"not for others" not in answer.body, path
        return served.end()


def check(name: str, done: Done) -> None:
    """Assert that a command ended in time, by itself, and said what it had to say in lines."""
    assert done.elapsed_s < LIMIT_S, (name, done)
    assert done.code in EXIT_CODES, (name, done)
    assert "Traceback" not in done.out + done.err, (name, done)
    assert "not for others" not in done.out + done.err, (name, done)


def planted_of(audit: Done) -> tuple[int, list[str]]:
    """Give how many planted things an audit has counted, and the examples it names."""
    found = json.loads(audit.out)["found"]["planted"]
    return found["count"], found["examples"]
