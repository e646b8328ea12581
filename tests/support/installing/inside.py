"""Runs one command inside a root directory whose layers are given; a process in namespaces of its own calls this.

    unshare --mount --pid --fork --kill-child [--net] python -m tests.support.installing.inside JSON

The mounts are made here and end with the process. With `site` the network is one of its own: it has nothing but a small
web at http://example.org/, on this machine's loopback device.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.web import Request, linked_site

NAME, ADDRESS = "example.org", "93.184.215.14"  # an address that a crawl takes for a public one
PAGES = 8  # and the first page


@dataclass(frozen=True)
class Work:
    """A command, and where it runs.

    lower        layers, the newest first; `upper`: the one that is written, `scratch`: an empty directory beside it
    binds        directories and files of the outer machine → where they are inside
    environment  all variables of the command
    directory    inside, where it runs
    site         whether it sees the web of the test, and no other
    """

    lower: list[str]
    upper: str
    scratch: str
    command: str
    directory: str
    environment: dict[str, str]
    binds: dict[str, str] = field(default_factory=dict)
    site: bool = False


class Site(BaseHTTPRequestHandler):
    """The pages of the tests' web. Its own server answers only on 127.x.y.z, which crawls refuse by default."""

    pages = staticmethod(linked_site(PAGES, 3))

    def do_GET(self) -> None:
        answer = self.pages(Request("GET", NAME, self.path, {}, 0.0))
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the output is that of the command."""


def main() -> int:
    work = Work(**json.loads(sys.argv[1]))
    root = _mounted(work)
    words = ["chroot", str(root), "sh", "-c", f"cd {work.directory} && {work.command}"]
    with contextlib.ExitStack() as until_end:
        if work.site:
            with (root / "etc/hosts").open("a", encoding="utf-8") as hosts:
                hosts.write(f"{ADDRESS} {NAME}\n")
            _run("ip", "link", "set", "lo", "up")
            _run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
            server = until_end.enter_context(ThreadingHTTPServer((ADDRESS, 80), Site))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            until_end.callback(server.shutdown)
        return subprocess.run(words, env=work.environment, stdin=subprocess.DEVNULL, check=False).returncode


def _mounted(work: Work) -> Path:
    root = Path(work.scratch, "root")
    made = Path(work.scratch, "work")
    root.mkdir()
    made.mkdir()
    _run("mount", "--make-rprivate", "/")
    layers = f"lowerdir={':'.join(work.lower)},upperdir={work.upper},workdir={made}"
    _run("mount", "-t", "overlay", "overlay", "-o", layers, str(root))
    _run("mount", "-t", "proc", "proc", str(root / "proc"))
    _run("mount", "--rbind", "/dev", str(root / "dev"))
    for outer, inner in work.binds.items():
        target = root / inner.lstrip("/")
        if Path(outer).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _run("mount", "--bind", outer, str(target))
    return root


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


if __name__ == "__main__":
    sys.exit(main())
