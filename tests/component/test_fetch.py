"""One HTTP exchange within limits, against servers that behave and servers that do not."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import shutil
import socket
import ssl
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import brotli
import pytest
import requests.adapters

from fscrawl import urls
from fscrawl.config.settings import PolitenessSettings
from fscrawl.http import connections
from fscrawl.http.fetch import Failed, Fetched
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, fetchers, head, ok
from tests.support.web import Request, Response, Web

HTML = {"Content-Type": "text/html"}


@pytest.fixture
def make() -> Iterator[Make]:
    """Make fetchers that may go to loopback, and close them."""
    with fetchers() as fetcher:
        yield fetcher


# -- what is answered


@pytest.mark.parametrize("status", [200, 203, 301, 304, 404, 410, 418, 429, 500, 503])
def test_any_status_is_an_answer(make: Make, status: int) -> None:
    """Whatever the status, it is an answer and not a failure, with its body if it has one."""
    with Web(lambda _: Response(status, HTML, b"" if status == 304 else b"<p>"), [HOST]) as web:
        answer = fetched(make().get(web.url(HOST)))
    assert (answer.status, answer.body) == (status, None if status == 304 else b"<p>")


def test_headers_are_lower_case_and_joined(make: Make) -> None:
    """Header names come in lower case, repeated ones joined by a comma, values as UTF-8."""
    lines = ["X-One: a", "x-ONE: b", "Set-Cookie: c=1", "Set-Cookie: d=2", "Title: caf\u00e9", "Empty:"]
    with Raw(answering(ok(b"", *lines))) as server:
        headers = fetched(make().get(server.url())).headers
    assert headers == {
        "content-length": "0",
        "x-one": "a, b",
        "set-cookie": "c=1, d=2",
        "title": "caf\u00e9",
        "empty": "",
    }


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_returned(make: Make, status: int) -> None:
    """A redirect is returned with its Location and not followed."""
    with Web(lambda _: Response(status, {"Location": "/b?c#d"}, b"moved"), [HOST]) as web:
        answer = fetched(make().get(web.url(HOST, "/a")))
    assert (answer.status, answer.headers["location"]) == (status, "/b?c#d")
    assert web.counts() == {(HOST, "/a"): 1}


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data)


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": _zstd,
}
OFFERED = {"gzip", "deflate", "br", "zstd"}


@pytest.mark.parametrize(
    ("name", "pack"), [*CODINGS.items(), ("deflate", _raw_deflate), ("identity", bytes), ("GZIP", gzip.compress)]
)
def test_codings_are_decoded(make: Make, name: str, pack: Callable[[bytes], bytes]) -> None:
    """A body comes out of every content coding byte for byte as it went in."""
    body = bytes(range(256)) * 1000 + "Straße\n".encode()
    with Web(lambda _: Response(200, {**HTML, "Content-Encoding": name}, pack(body)), [HOST]) as web:
        assert fetched(make().get(web.url(HOST))).body == body


def test_codings_in_layers_are_decoded(make: Make) -> None:
    """Codings applied one upon the other are taken off in turn."""
    coded = brotli.compress(gzip.compress(b"<p>both"))
    with Web(lambda _: Response(200, {"Content-Encoding": "gzip, br"}, coded), [HOST]) as web:
        assert fetched(make().get(web.url(HOST))).body == b"<p>both"


@pytest.mark.parametrize("name", CODINGS)
def test_broken_coding(make: Make, name: str) -> None:
    """A body that is not in the coding its header names is a failure that no further attempt can help."""
    with Web(lambda _: Response(200, {"Content-Encoding": name}, b"<p>plainly not packed" * 50), [HOST]) as web:
        answer = failed(make().get(web.url(HOST)))
    assert (answer.class_, answer.retry) == ("decode", False)


# -- what is sent


def test_headers_sent(make: Make) -> None:
    """The user agent, what is accepted and the configured headers go with every request."""
    fetcher = make(PolitenessSettings(user_agent="me/1 (+mailto:me@example.org)"), headers={"X-Team": "blue"})
    with Web(lambda _: Response(), [HOST]) as web:
        fetcher.get(web.url(HOST))
    sent = web.requests()[0].headers
    assert sent["user-agent"] == "me/1 (+mailto:me@example.org)"
    assert sent["accept"].startswith("text/html,application/xhtml+xml,")
    assert {name.strip() for name in sent["accept-encoding"].split(",")} == OFFERED
    assert sent["x-team"] == "blue"
    assert sent["host"] == f"{HOST}:{web.port}"


@pytest.mark.parametrize(
    "path",
    [
        "/a%20b/%c3%a9/%C3%A9",
        "/q?x=%2f&y=a+b&z='&&=",
        "/~u/!$&'()*+,;=:@[]|^",
        "//double//slash",
        "/%",
        "/%zz?%",
        "/a;p=1?b=c?d",
        '/"<>`{}',
        "/q?[a]=|b|^{c}\\",
        "/%2e%2E/x",
    ],
)
def test_url_is_sent_as_it_is(make: Make, path: str) -> None:
    """What is asked for is the normal form, character for character."""
    with Web(lambda _: Response(), [HOST]) as web:
        url = urls.normalise(web.url(HOST, path))
        assert url is not None
        fetched(make().get(url))
    assert web.requests()[0].path == url[url.index("/", 8) :]


# -- connections


def test_connections_are_kept(make: Make) -> None:
    """Requests to one host one after the other go through one connection."""
    with Raw(answering(ok(b"<p>"))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url(f"/{n}"))).body for n in range(5)] == [b"<p>"] * 5
        assert server.accepted == 1


def test_connections_of_threads_are_kept(make: Make) -> None:
    """Threads that fetch from one host at the same time keep no more than a connection each."""
    with Raw(answering(ok(b"<p>"))) as server, ThreadPoolExecutor(4) as threads:
        fetcher = make()
        answers = list(threads.map(lambda n: fetcher.get(server.url(f"/{n}")), range(40)))
        assert all(fetched(answer).body == b"<p>" for answer in answers)
        assert server.accepted <= 4


def test_kept_connection_that_was_closed(make: Make) -> None:
    """A kept connection that the server has closed meanwhile is replaced, and nobody notices."""
    with Raw(answering(ok(b"<p>"), times=1)) as server:
        fetcher = make()
        for n in range(3):
            assert fetched(fetcher.get(server.url())).body == b"<p>"
            assert server.over.wait(5)
            server.over.clear()
            assert server.accepted == n + 1


def test_bytes_after_the_body_are_not_the_next_answer(make: Make) -> None:
    """What a server sends beyond its Content-Length is never taken for the answer to the next request."""
    with Raw(answering(ok(b"<p>") + ok(b"smuggled"))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url())).body for _ in range(3)] == [b"<p>"] * 3


def test_small_unwanted_body_keeps_the_connection(make: Make) -> None:
    """An unwanted body of a few bytes is passed over, and the connection used again."""
    with Raw(answering(ok(b"%PDF" * 100, "Content-Type: application/pdf"))) as server:
        fetcher = make()
        for _ in range(3):
            assert fetched(fetcher.get(server.url(), wants_body=lambda *_: False)).body is None
        assert server.accepted == 1


def test_large_unwanted_body_is_left(make: Make) -> None:
    """A large unwanted body is not read: the connection is closed under it."""
    sent = []

    def endless(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            sent.append(connection.send(b"%PDF" * 20_000))

    with Raw(endless) as server:
        answer = fetched(make().get(server.url(), wants_body=lambda status, headers: "html" in headers["content-type"]))
        assert (answer.status, answer.body) == (200, None)
        assert server.over.wait(5)
    assert sum(sent) < 50_000_000  # what fits into the kernel's buffers


def test_wants_is_asked_with_status_and_headers(make: Make) -> None:
    """Whether a body is wanted is decided on status and headers, before it is read."""
    asked = []
    with Web(lambda _: Response(404, HTML, b"<p>"), [HOST]) as web:
        fetched(make().get(web.url(HOST), wants_body=lambda *facts: not asked.append(facts)))
    ((status, headers),) = asked
    assert (status, headers["content-type"]) == (404, "text/html")


# -- limits of size


def test_content_length_over_the_limit(make: Make) -> None:
    """A body that announces to be too large is not read at all."""
    with Web(lambda _: Response(200, HTML, b"." * 2001), [HOST]) as web:
        fetcher = make(max_bytes=2000)
        answer = failed(fetcher.get(web.url(HOST)))
        assert (answer.class_, answer.retry) == ("too-large", False)
        assert "2001" in answer.message
        assert fetched(make(max_bytes=2001).get(web.url(HOST))).body == b"." * 2001


@pytest.mark.parametrize(("size", "read"), [(10, 10), (1000, 1000), (1001, 1000), (5000, 1000)])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_beginning(make: Make, size: int, read: int, coding: str) -> None:
    """Where the beginning of a body is enough no more of it is read, however long it is."""
    body, headers = b"." * size, HTML
    if coding:
        body, headers = gzip.compress(body, mtime=0), {**HTML, "Content-Encoding": coding}
    with Web(lambda _: Response(200, headers, body), [HOST]) as web:
        fetcher = make(max_bytes=2000)
        for _ in range(2):  # the connection of the first is not used again, or is whole
            assert fetched(fetcher.get(web.url(HOST), max_prefix_bytes=1000)).body == b"." * read


def _chunked(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"." * 65536 + b"\r\n")


def _unbounded(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"." * 65536)


@pytest.mark.parametrize("behave", [_chunked, _unbounded])
def test_endless_body(make: Make, behave: Callable[[socket.socket], None]) -> None:
    """A body without an end is cut at the limit, and its connection closed."""
    with Raw(behave) as server:
        answer = failed(make(max_bytes=1_000_000).get(server.url()))
        assert (answer.class_, answer.retry) == ("too-large", False)
        assert server.over.wait(5)


@pytest.mark.parametrize("name", CODINGS)
def test_bomb(make: Make, name: str) -> None:
    """Ten megabytes packed into some kilobytes stop at the limit, before they take memory."""
    bomb = CODINGS[name](b"\0" * 10_000_000)
    assert len(bomb) < 20_000
    with Web(lambda _: Response(200, {**HTML, "Content-Encoding": name}, bomb), [HOST]) as web:
        fetcher = make(max_bytes=100_000)
        tracemalloc.start()
        try:
            answer = failed(fetcher.get(web.url(HOST)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (answer.class_, answer.retry) == ("too-large", False)
    assert peak < 2_000_000


# -- limits of time


def _dripping(data: bytes) -> Callable[[socket.socket], None]:
    """Answer with a byte every 0.3 s."""

    def behave(connection: socket.socket) -> None:
        head(connection)
        for n in itertools.count():
            connection.sendall(data[n % len(data) : n % len(data) + 1])
            time.sleep(0.3)

    return behave


def _after_head(behave: Callable[[socket.socket], None], answer_head: bytes) -> Callable[[socket.socket], None]:
    def both(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(answer_head)
        for _ in range(100):
            behave(connection)

    return both


def _silence(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def _slow_byte(connection: socket.socket) -> None:
    connection.sendall(b".")
    time.sleep(0.3)


def _slow_chunk(connection: socket.socket) -> None:
    connection.sendall(b"1\r\n.\r\n")
    time.sleep(0.3)


SLOW = {
    "silence": _silence,
    "status line": _dripping(b"HTTP/1.1 200 OK and so on and so on"),
    "headers": _dripping(b"HTTP/1.1 200 OK\r\nA: b\r\n" + b"X" * 50),
    "body": _after_head(_slow_byte, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
    "chunks": _after_head(_slow_chunk, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "to the end": _after_head(_slow_byte, b"HTTP/1.1 200 OK\r\n\r\n"),
}


@pytest.mark.parametrize("part", SLOW)
def test_slow_drip(make: Make, part: str) -> None:
    """A server that keeps sending a little of anything does not outlast the deadline of the whole exchange."""
    with Raw(SLOW[part]) as server:
        fetcher = make(timeout=1.0)
        began = time.monotonic()
        answer = failed(fetcher.get(server.url()))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert 0.9 < elapsed_s < 2


def test_slow_unwanted_body(make: Make) -> None:
    """A small unwanted body that comes slowly does not outlast the deadline either."""
    with Raw(SLOW["body"]) as server:
        fetcher = make(timeout=1.0)
        began = time.monotonic()
        fetched(fetcher.get(server.url(), wants_body=lambda *_: False))
        assert time.monotonic() - began < 2


def test_connect_timeout(make: Make) -> None:
    """A host that does not take the connection costs connect_timeout."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((HOST, 0))
        listener.listen(0)
        for _ in range(3):  # fill the backlog: from here on the kernel does not answer
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(listener.getsockname())
        began = time.monotonic()
        answer = failed(make(connect_timeout=0.4).get(f"http://{HOST}:{listener.getsockname()[1]}/"))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert 0.3 < elapsed_s < 2


# -- what goes wrong


def test_refused(make: Make) -> None:
    """A port where nobody listens is a failure worth another try."""
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    answer = failed(make().get(f"http://{HOST}:{port}/"))
    assert (answer.class_, answer.retry) == ("connect", True)


def _reset(connection: socket.socket) -> None:
    head(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _reset_in_body(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n.....")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


@pytest.mark.parametrize("behave", [_reset, _reset_in_body, head], ids=["head", "body", "closed"])
def test_reset(make: Make, behave: Callable[[socket.socket], None]) -> None:
    """A connection that is reset, or closed without an answer, is a failure worth another try."""
    with Raw(behave) as server:
        answer = failed(make().get(server.url()))
    assert (answer.class_, answer.retry) == ("connect", True)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n.....",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n.....\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
    ids=["short body", "short chunks", "no chunks", "ssh", "status", "many headers", "long header"],
)
def test_what_is_not_http(make: Make, answer: bytes) -> None:
    """An answer cut short, or that is no HTTP, is a failure worth another try and never a page."""
    with Raw(answering(answer, times=1)) as server:
        outcome = failed(make().get(server.url()))
    assert outcome.class_ in ("protocol", "connect")
    assert outcome.retry
    assert "\n" not in outcome.message


@pytest.mark.parametrize("status", ["099", "1000", "-1"])
def test_strange_status(make: Make, status: str) -> None:
    """A status that HTTP does not know raises nothing."""
    with Raw(answering(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode(), times=1)) as server:
        assert isinstance(make().get(server.url()), Fetched | Failed)


@pytest.mark.parametrize("length", ["-5", "abc", "5, 5", "5, 6", "\u0665"])
def test_strange_content_length(make: Make, length: str) -> None:
    """A Content-Length that is no number raises nothing, and what is read is within the limit."""
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n.....".encode()
    with Raw(answering(answer, times=1)) as server:
        outcome = make(max_bytes=10).get(server.url())
    assert isinstance(outcome, Failed) or outcome.body in (b"", b".....")


def test_unknown_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that does not resolve is a failure of class dns, worth another try."""

    def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    answer = failed(make().get("http://nowhere.example/"))
    assert (answer.class_, answer.retry) == ("dns", True)


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..b", ".", "a" * 300])
def test_impossible_name(make: Make, name: str) -> None:
    """A name that cannot be asked for is a failure, not an exception."""
    assert failed(make().get(f"http://{name}/")).class_ in ("dns", "protocol", "connect")


# -- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a self-signed certificate for HOST, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl command to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    words = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={HOST}"
    words += f" -addext subjectAltName=IP:{HOST} -keyout {path} -out {path}.crt"
    subprocess.run(words.split(), check=True, capture_output=True, timeout=20)
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the certificate one that is trusted."""
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", f"{certificate}.crt")


def test_self_signed(make: Make, context: ssl.SSLContext) -> None:
    """A certificate that nobody vouches for is a failure of class tls, and trying again would be no use."""
    with Raw(answering(ok(b"<p>")), context) as server:
        answer = failed(make().get(server.url(scheme="https")))
    assert (answer.class_, answer.retry) == ("tls", False)


@pytest.mark.usefixtures("trusted")
def test_trusted(make: Make, context: ssl.SSLContext) -> None:
    """Pages come over TLS as they do without, through one kept connection."""
    with Raw(answering(ok(b"<p>" * 50_000)), context) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url(scheme="https"))).body for _ in range(3)] == [b"<p>" * 50_000] * 3
        assert server.accepted == 1


@pytest.mark.usefixtures("trusted")
def test_certificate_of_another(make: Make, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A good certificate of another name is none."""
    asked = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **more: asked(HOST, *args, **more))
    with Raw(answering(ok(b"<p>")), context) as server:
        answer = failed(make().get(f"https://bank.example:{server.port}/"))
    assert (answer.class_, answer.retry) == ("tls", False)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("part", ["headers", "body"])
def test_slow_drip_over_tls(make: Make, context: ssl.SSLContext, part: str) -> None:
    """The deadline of the whole exchange holds over TLS too."""
    with Raw(SLOW[part], context) as server:
        fetcher = make(timeout=1.0)
        began = time.monotonic()
        answer = failed(fetcher.get(server.url(scheme="https")))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert elapsed_s < 2


def test_tls_to_a_silent_port(make: Make) -> None:
    """A handshake that is not answered ends by the deadline."""
    with Raw(_silence) as server:
        began = time.monotonic()
        answer = failed(make(timeout=1.0).get(server.url(scheme="https")))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert elapsed_s < 2


def test_tls_to_a_plain_port(make: Make) -> None:
    """A port that speaks plain HTTP is a failure of class tls."""

    def bad_request(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with Raw(bad_request) as server:
        answer = failed(make().get(server.url(scheme="https")))
    assert (answer.class_, answer.retry) == ("tls", False)


# -- the guard


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::ffff:127.0.0.1]"]
)
def test_loopback_is_blocked(make: Make, host: str) -> None:
    """However loopback is written, nothing is asked of it."""
    with Web(lambda _: Response(), ["127.0.0.1"]) as web:
        answer = failed(make(allow_private_addresses=False).get(f"http://{host}:{web.port}/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)
    assert web.exchanges == []


@pytest.mark.parametrize("host", ["[::1]", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]"])
def test_private_address_is_blocked(make: Make, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection to a private, link-local or metadata address is even begun."""
    monkeypatch.setattr(connections._Socket, "connect", lambda *_: pytest.fail("it connects"))
    answer = failed(make(allow_private_addresses=False).get(f"http://{host}/"))
    assert (answer.class_, answer.retry) == ("blocked-address", False)


class _Resolver:
    """Stands in for getaddrinfo: gives a list of addresses each time, the last one for ever; and for connect."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.connected: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)
        monkeypatch.setattr(connections._Socket, "connect", lambda _, address: self.connect(address))

    def getaddrinfo(self, host: str, port: int, **_: object) -> list[Any]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]

    def connect(self, address: tuple[str, int]) -> None:
        self.connected.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")


def test_rebinding_gains_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when it is checked and private when asked again: what was checked is connected to."""
    resolver = _Resolver(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    fetcher = make(allow_private_addresses=False)
    assert failed(fetcher.get("http://rebind.example/")).class_ == "connect"
    assert (resolver.asked, resolver.connected) == (["rebind.example"], ["93.184.216.34"])
    assert failed(fetcher.get("http://rebind.example/")).class_ == "blocked-address"
    assert resolver.connected == ["93.184.216.34"]


def test_only_public_addresses_of_several(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name's addresses only the public ones are tried, one after the other."""
    resolver = _Resolver(monkeypatch, ["10.0.0.1", "93.184.216.34", "127.0.0.1", "93.184.216.35"])
    assert failed(make(allow_private_addresses=False).get("http://mixed.example/")).class_ == "connect"
    assert resolver.connected == ["93.184.216.34", "93.184.216.35"]


def test_second_address_is_tried(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose first address refuses is asked at its second."""
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _, port, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in ("127.0.2.9", HOST)],
    )
    with Web(lambda _: Response(200, HTML, b"<p>"), [HOST]) as web:
        assert fetched(make().get(f"http://two.example:{web.port}/")).body == b"<p>"


def test_request_type_is_what_the_web_saw() -> None:
    """The test web gives the path as sent, without which the tests above would show nothing."""
    seen: list[Request] = []
    with (
        Web(lambda request: seen.append(request) or Response(), [HOST]) as web,
        socket.create_connection((HOST, web.port), timeout=5) as client,
    ):
        client.sendall(b"GET /%c3?|[] HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(100)
    assert seen[0].path == "/%c3?|[]"
