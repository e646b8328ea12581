"""One HTTP exchange over TLS."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import certifi
import pytest

from fscrawl.errors import SettingsError
from fscrawl.http import tls
from fscrawl.http.answers import Failed
from tests.support.crawling import crawl, errors
from tests.support.exchanges import ENDS_S, SLOW, silence
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, ok


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
    """Make the certificate one that is trusted, in place of the usual authorities."""
    monkeypatch.setattr(certifi, "where", lambda: f"{certificate}.crt")


def test_self_signed(make: Make, context: ssl.SSLContext) -> None:
    """A certificate that nobody vouches for is a failure of class tls, and trying again would be no use."""
    with Raw(answering(ok(b"<p>")), context) as server:
        answer = failed(make().get(server.url(scheme="https")))
    assert (answer.class_, answer.retry) == ("tls", False)


@pytest.mark.parametrize(
    ("days", "host", "is_trusted", "why"),
    [(2, HOST, False, "self-signed"), (2, "127.0.2.2", True, "mismatch"), (-1, HOST, True, "has expired")],
    ids=["unknown", "another name", "expired"],
)
def test_error_records_say_why(
    certificate: Path, tmp_path: Path, days: int, host: str, is_trusted: bool, why: str
) -> None:
    """Each page of a host whose certificate is not valid says what is wrong with that, also behind the first."""
    given = tmp_path / "given.pem"
    words = (
        f"openssl x509 -in {certificate}.crt -signkey {certificate} -days {days} -copy_extensions copyall -out {given}"
    )
    subprocess.run(words.split(), check=True, capture_output=True, timeout=20)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given, certificate)
    settings = {"fetch.ca_file": given} if is_trusted else {}
    with Raw(answering(ok(b"<p>")), context, host) as server:
        crawl(tmp_path / "tree", seeds=[server.url(path, "https") for path in ["/", "/a", "/b"]], settings=settings)
    found = errors(tmp_path / "tree").values()
    assert [error.class_ for error in found] == ["tls"] * 3
    assert all(why in error.message for error in found), found


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
    ask = socket.getaddrinfo
    asked: list[str] = []

    def getaddrinfo(host: str, *args: Any, **more: Any) -> Any:
        asked.append(host)
        return ask(HOST, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with Raw(answering(ok(b"<p>")), context) as server:
        fetcher = make()
        for _ in range(2):
            answer = failed(fetcher.get(f"https://bank.example:{server.port}/"))
            assert (answer.class_, answer.retry) == ("tls", False)
    assert asked == ["bank.example"] * 2  # its address may have changed


@pytest.mark.parametrize(
    "sent",
    [
        b"",  # such as a balancer without a server behind it
        b"\x15\x03\x03\x00\x02\x02\x50",  # internal_error
        b"\x15\x03\x03\x00\x02\x02\x28",  # handshake_failure: some say that of any trouble
        b"\x15\x03\x03\x00\x02\x02\x46",  # protocol_version
    ],
    ids=["end", "internal_error", "handshake_failure", "protocol_version"],
)
def test_a_handshake_that_is_broken_off(make: Make, sent: bytes) -> None:
    """It is worth another try: only a certificate is the same then."""

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(sent)

    with Raw(behave) as server:
        answer = failed(make().get(server.url(scheme="https")))
    assert (answer.class_, answer.retry) == ("tls", True)


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
    assert elapsed_s < ENDS_S


def test_tls_to_a_silent_port(make: Make) -> None:
    """A handshake that is not answered ends by the deadline."""
    with Raw(silence) as server:
        began = time.monotonic()
        answer = failed(make(timeout=1.0).get(server.url(scheme="https")))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert elapsed_s < ENDS_S


def test_tls_to_a_plain_port(make: Make) -> None:
    """A port that speaks plain HTTP is a failure of class tls."""

    def bad_request(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with Raw(bad_request) as server:
        answer = failed(make().get(server.url(scheme="https")))
    assert answer.class_ == "tls"


class Noting:
    """Answers one request of each connection; `resumed`: of each, whether it resumed a session."""

    def __init__(self, *lines: str) -> None:
        self.resumed: list[bool | None] = []
        self.answer = answering(ok(b"<p>", *lines), 1)

    def __call__(self, connection: socket.socket) -> None:
        assert isinstance(connection, ssl.SSLSocket)
        self.resumed.append(connection.session_reused)
        self.answer(connection)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed(make: Make, context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    """A new connection to a host resumes the session of the one before, again and again."""
    context.maximum_version = version
    noting = Noting()
    with Raw(noting, context) as server:
        fetcher = make()
        for n in range(4):
            assert fetched(fetcher.get(server.url(f"/{n}", "https"))).body == b"<p>"
            assert server.over.wait(5)
            server.over.clear()
    assert noting.resumed == [False, True, True, True]


@pytest.mark.usefixtures("trusted")
def test_sessions_after_connection_close(make: Make, context: ssl.SSLContext) -> None:
    """An answer that closes its connection leaves a session, too."""
    noting = Noting("Connection: close")
    with Raw(noting, context) as server:
        fetcher = make()
        for n in range(2):
            assert fetched(fetcher.get(server.url(f"/{n}", "https"))).body == b"<p>"
    assert noting.resumed == [False, True]


@pytest.mark.usefixtures("trusted")
def test_a_session_that_is_not_accepted(make: Make, certificate: Path, context: ssl.SSLContext) -> None:
    """A server that has forgotten a session gets a full handshake, and nobody notices."""
    noting = Noting()
    with Raw(noting, context) as server:
        fetcher = make()
        for n in range(3):
            assert fetched(fetcher.get(server.url(f"/{n}", "https"))).body == b"<p>"
            assert server.over.wait(5)
            server.over.clear()
            server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # other keys for tickets
            server.context.load_cert_chain(certificate)
    assert noting.resumed == [False, False, False]


@pytest.mark.usefixtures("trusted")
def test_sessions_belong_to_host_and_port(make: Make, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session is not offered to another port of its host, nor to another name, and not by another fetcher."""
    noting = Noting()
    with Raw(noting, context) as one, Raw(noting, context) as other:
        fetcher = make()
        for url in (one.url(scheme="https"), other.url(scheme="https")):
            assert fetched(fetcher.get(url)).status == 200
        asked = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda _, *args, **more: asked(HOST, *args, **more))
        answer = failed(fetcher.get(f"https://bank.example:{one.port}/"))  # its certificate is looked at
        assert answer.class_ == "tls"
        assert fetched(make().get(one.url(scheme="https"))).status == 200
    assert noting.resumed in ([False] * 3, [False] * 4)


def test_sessions_end_with_their_trust(make: Make, certificate: Path, context: ssl.SSLContext, tmp_path: Path) -> None:
    """By other authorities a server is looked at anew: a session from before does not vouch for it."""
    noting = Noting()
    with Raw(noting, context) as server:
        assert fetched(make(ca_file=f"{certificate}.crt").get(server.url(scheme="https"))).status == 200
        assert failed(make().get(server.url(scheme="https"))).class_ == "tls"
    assert noting.resumed == [False]


@pytest.mark.usefixtures("trusted")
def test_a_host_with_many_certificates(make: Make, certificate: Path, tmp_path: Path) -> None:
    """A host that sends 50 KB of certificates is fetched, but its connection and its session are not kept."""
    (tmp_path / "many.pem").write_bytes(certificate.read_bytes() + Path(f"{certificate}.crt").read_bytes() * 120)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "many.pem")
    noting = Noting()
    noting.answer = answering(ok(b"<p>"))
    with Raw(noting, context) as server:
        fetcher = make()
        for n in range(3):
            assert fetched(fetcher.get(server.url(f"/{n}", "https"))).body == b"<p>"
    assert noting.resumed == [False] * 3


@pytest.mark.usefixtures("trusted")
def test_sessions_are_few(make: Make, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many hosts have a session; those that were asked last."""
    monkeypatch.setattr(tls, "MOST_SESSIONS", 2)
    noting = Noting("Connection: close")
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Raw(noting, context)) for _ in range(3)]
        fetcher = make()
        for server in (*servers, servers[2], servers[0]):
            assert fetched(fetcher.get(server.url(scheme="https"))).status == 200
    assert noting.resumed == [False, False, False, True, False]


@pytest.mark.usefixtures("trusted")
def test_a_resumed_session_that_fails(make: Make, context: ssl.SSLContext) -> None:
    """A server that resumes a session and then hangs up is asked with a full handshake the next time."""
    noting = Noting("Connection: close")

    def behave(connection: socket.socket) -> None:
        assert isinstance(connection, ssl.SSLSocket)
        if connection.session_reused:
            noting.resumed.append(True)
            return
        noting(connection)

    with Raw(behave, context) as server:
        fetcher = make()
        classes = []
        for n in range(4):
            answer = fetcher.get(server.url(f"/{n}", "https"))
            classes.append(answer.class_ if isinstance(answer, Failed) else "page")
    assert classes == ["page", "connect", "page", "connect"]
    assert noting.resumed == [False, True, False, True]


@pytest.mark.usefixtures("trusted")
def test_a_session_that_makes_the_server_hang_up(
    make: Make, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is worth another try, which has a full handshake."""
    noting = Noting("Connection: close")
    with Raw(noting, context) as server:
        fetcher = make()
        fetched(fetcher.get(server.url(scheme="https")))
        with monkeypatch.context() as broken:
            broken.setattr(server, "context", None)
            broken.setattr(server, "behave", lambda connection: connection.recv(65536))
            answer = failed(fetcher.get(server.url(scheme="https")))
        assert (answer.class_, answer.retry) == ("tls", True)
        fetched(fetcher.get(server.url(scheme="https")))
    assert noting.resumed == [False, False]


@pytest.mark.usefixtures("trusted")
def test_bytes_behind_an_answer(make: Make, context: ssl.SSLContext) -> None:
    """What comes behind an answer in the same TLS record is not taken for the answer of the next request."""
    padding = "X-Padding: "
    head = f"HTTP/1.1 304 Not Modified\r\n{padding}"
    first = (head + "x" * (8192 - len(head) - 4) + "\r\n\r\n").encode()
    evil = ok(b"evil")

    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(first + evil)
        if connection.recv(65536):
            connection.sendall(ok(b"good"))

    with Raw(behave, context) as server:
        fetcher = make()
        assert fetched(fetcher.get(server.url("/1", "https"))).status == 304
        server.behave = answering(ok(b"good"))
        assert fetched(fetcher.get(server.url("/2", "https"))).body == b"good"


@pytest.mark.usefixtures("trusted")
def test_keys_are_logged(make: Make, context: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks at what goes over the wire gets the keys, as from other programs that speak TLS."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    with Raw(answering(ok(b"<p>")), context) as server:
        fetched(make().get(server.url(scheme="https")))
    assert "CLIENT_TRAFFIC_SECRET" in (tmp_path / "keys").read_text(encoding="ascii")


@pytest.mark.usefixtures("trusted")
def test_keys_cannot_be_logged(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place where no keys can be written is an error of one line."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "missing" / "keys"))
    with pytest.raises(SettingsError, match=r"^SSLKEYLOGFILE: .*No such file.*keys'$"):
        make()


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("where", ["missing", "", None])
def test_authorities_that_are_gone(
    make: Make, context: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    """An upgrade may remove them for a moment while machines run: then the page is tried again, and they are read."""
    fetcher = make()
    with monkeypatch.context() as gone, Raw(answering(ok(b"<p>")), context) as server:
        if where is None:
            gone.setitem(sys.modules, "certifi", None)
        else:
            gone.setattr(certifi, "where", lambda: str(tmp_path / where))
        answer = failed(fetcher.get(server.url(scheme="https")))
        assert (answer.class_, answer.retry) == ("connect", True)
    with Raw(answering(ok(b"<p>")), context) as server:
        fetched(fetcher.get(server.url(scheme="https")))
