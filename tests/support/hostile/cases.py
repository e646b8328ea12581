"""The table of cases of a web that means harm (`tests.support.hostile.web`), and what cases are made of.

Vocabulary:
  case     a path, the address that serves it, and what is done to whoever asks for it
  fixture  127.1.0.0/16, where the cases are: the network that a crawl of them must permit (ALLOWED)
  refused  other addresses of loopback, on the same port: a connection to one of them is written down in `trapped`
  name     a host name; RESOLVER answers for those of this web and for no other, so that no query leaves the machine

A case closes its connection unless it answers in full.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.raw import ok

ALLOWED = '["127.1.0.0/16"]'
REFUSED = ("127.0.0.1", "127.0.0.2", "::1")
SEED = "127.1.0.1"
WILD_ADDRESSES = 80  # of the trap whose every page leads to a further address
CHAIN = 1000  # redirects in a row
PAGES_PER_HOST = 60  # what the encodings are spread by: a crawl may have a limit of as many
OK = b"HTTP/1.1 200 OK\r\n"
HTML = "Content-Type: text/html; charset=utf-8"

# Put into sitecustomize.py: names of this web, and the end of all others.
RESOLVER = """\
import re, socket
_asked = socket.getaddrinfo
_names = {"rebind.test": "127.0.0.2", "localhost": "127.0.0.1"}
def _answer(host, *args, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if name.endswith(".wild.test"):
        name = "127.1.6.8"
    name = _names.get(name, name)
    if name is not None and not re.fullmatch(r"[0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*", name):
        raise socket.gaierror(socket.EAI_NONAME, "no such name here")
    return _asked(name, *args, **more)
socket.getaddrinfo = _answer
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its connection, which address it reached and by which name, its path with query."""

    connection: socket.socket
    address: str
    name: str
    path: str
    port: int

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


Serve = Callable[[Call], bool]  # whether the connection may go on


@dataclass(frozen=True, slots=True)
class Case:
    address: str
    serve: Serve
    linked: bool = True  # the index links to it


CASES: dict[str, Case] = {}
PREFIXES: dict[str, Serve] = {}  # of paths that go on for ever
ROBOTS: dict[str, Serve] = {}  # by address; all others have none


def case(path: str, address: str, *, linked: bool = True) -> Callable[[Serve], Serve]:
    def add(serve: Serve) -> Serve:
        assert path not in CASES, path
        CASES[path] = Case(address, serve, linked)
        return serve

    return add


def answer(answer: bytes) -> Serve:
    """Answer with these bytes, and go on."""

    def serve(call: Call) -> bool:
        call.send(answer)
        return True

    return serve


def made(make: Callable[[], bytes]) -> Serve:
    """Answer with what is made when somebody asks: it is large."""

    def serve(call: Call) -> bool:
        call.send(make())
        return True

    return serve


def once(answer: bytes) -> Serve:
    """Answer with these bytes, and close."""

    def serve(call: Call) -> bool:
        call.send(answer)
        return False

    return serve


def flood(first: bytes, then: bytes) -> Serve:
    """Answer with `first`, then with `then` for ever."""

    def serve(call: Call) -> bool:
        call.send(first)
        while True:
            call.send(then)

    return serve


def drip(first: bytes, then: bytes) -> Serve:
    """Answer with `first`, then with `then` once a second for ever."""

    def serve(call: Call) -> bool:
        call.send(first)
        while True:
            _never.wait(1.0)
            call.send(then)

    return serve


_never = threading.Event()


def page(html: str | bytes, *lines: str) -> bytes:
    return ok(html if isinstance(html, bytes) else html.encode(), *(lines or (HTML,)))


def moved(location: bytes, status: int = 302) -> bytes:
    return b"HTTP/1.1 %d Moved\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % (status, location)


def xml(body: str, *lines: str) -> bytes:
    return ok(body.encode(), "Content-Type: application/xml", *lines)


def add(address: str, serves: dict[str, Serve]) -> None:
    for path, serve in serves.items():
        case(path, address)(serve)


MISSING = ok(b"no such page", "Content-Type: text/plain").replace(b"200 OK", b"404 Not Found", 1)
