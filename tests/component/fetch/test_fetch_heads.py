"""Heads that two readers could read in two ways are refused: a proxy and fscrawl must agree where an answer ends."""

from __future__ import annotations

import socket

import pytest

from fscrawl.http.answers import Failed, Limits
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, head, ok

CHUNKS = b"3\r\n<p>\r\n0\r\n\r\n"


def answer_of(*lines: str, body: bytes = b"<p>", status: str = "HTTP/1.1 200 OK") -> bytes:
    return "\r\n".join([status, *lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        answer_of("X: y\rTransfer-Encoding: chunked", "Content-Length: 3"),
        answer_of("X: y\r Transfer-Encoding: chunked", "Content-Length: 3"),
        answer_of("\rX: y", "Content-Length: 3"),
        answer_of("X: y\r", "Content-Length: 3"),
        answer_of("Content-Length: 3", status="HTTP/1.1 200 O\rK"),
        answer_of("X: \ry", "", "HTTP/1.1 200 OK", "Content-Length: 3", status="HTTP/1.1 103 Early Hints"),
        answer_of("X: \ry", "", "HTTP/1.1 200 OK", "Content-Length: 3", status="HTTP/1.1 100 Continue"),
    ],
    ids=["end of a value", "folded", "before a name", "two in a row", "status line", "103", "100"],
)
def test_bare_carriage_return(make: Make, answer: bytes) -> None:
    """A carriage return that ends no line makes the answer a failure that says so."""
    with Raw(answering(answer)) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == ("protocol", False)
    assert "carriage return" in outcome.message


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 3", "Transfer-Encoding: chunked"),
        ("transfer-encoding: chunked", "content-length: 13"),
        ("Transfer-Encoding: identity", "Content-Length: 3"),
    ],
)
@pytest.mark.parametrize("status", ["HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.0 200 OK"])
def test_length_and_coding(make: Make, lines: tuple[str, ...], status: str) -> None:
    """An answer has a length or a transfer coding, and not both."""
    with Raw(answering(answer_of(*lines, body=CHUNKS, status=status))) as server:
        outcome = failed(make().get(server.url(), limits=Limits(5.0, 1000, wants=lambda status, _: status == 200)))
    assert (outcome.class_, outcome.retry) == ("protocol", False)
    assert "both Content-Length and Transfer-Encoding" in outcome.message


@pytest.mark.parametrize("lines", [("Content-Length: 3", "Content-Length: 5"), ("Content-Length: 3, 5",)])
def test_two_lengths(make: Make, lines: tuple[str, ...]) -> None:
    """Two lengths that differ are refused."""
    with Raw(answering(answer_of(*lines))) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == ("protocol", False)
    assert "Content-Length" in outcome.message


@pytest.mark.parametrize("length", ["+3", "0_3", "3\x0b"])
def test_length_that_only_python_reads(make: Make, length: str) -> None:
    """A length that `http.client` reads, and others do not, is refused."""
    with Raw(answering(answer_of(f"Content-Length: {length}"))) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == ("protocol", False)
    assert "no number" in outcome.message


@pytest.mark.parametrize(
    "lines", [("Content-Length: 3", "Content-Length: 3"), ("Content-Length: 3, 3",), ("content-length: 3 ,3 ",)]
)
def test_length_twice(make: Make, lines: tuple[str, ...]) -> None:
    """The same length twice is no contradiction, and says where the body ends (RFC 9110 8.6)."""
    with Raw(answering(answer_of(*lines))) as server:
        fetcher = make(timeout=2.0)
        answers = [fetched(fetcher.get(server.url())) for _ in range(2)]
        assert [(each.body, each.headers["content-length"]) for each in answers] == [(b"<p>", "3")] * 2
        assert server.accepted == 1


@pytest.mark.parametrize(
    ("status", "lines", "accepted"),
    [
        ("HTTP/1.1 200 OK", ("Connection: x",), 1),
        ("HTTP/1.1 200 OK", ("Connection: x", "Connection: close"), 2),
        ("HTTP/1.1 200 OK", ("Connection: x,\tClose ",), 2),
        ("HTTP/1.0 200 OK", (), 2),
        ("HTTP/1.0 200 OK", ("Connection: x", "Connection: Keep-Alive"), 1),
        ("HTTP/1.0 200 OK", ("Proxy-Connection: keep-alive",), 1),
        ("HTTP/1.0 200 OK", ("Keep-Alive: timeout=60",), 1),
        ("HTTP/1.0 200 OK", ("Connection: keep-alive", "Connection: close"), 2),
    ],
)
def test_whether_a_connection_ends(make: Make, status: str, lines: tuple[str, ...], accepted: int) -> None:
    """All lines of Connection count; a connection of which one says that it ends is not used again."""
    with Raw(answering(answer_of("Content-Length: 3", *lines, status=status))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url())).body for _ in range(2)] == [b"<p>"] * 2
        assert server.accepted == accepted


TYPES = ["text/html", "message/rfc822", "multipart/mixed", "multipart/mixed; boundary=z"]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    "line",
    ["Transfer-Encoding : chunked", "no\r\nTransfer-Encoding: chunked", "no\r\nContent-Length: 4\r\n--z\r\nA: b"],
)
def test_hidden_coding(make: Make, line: str, type_: str) -> None:
    """A line that is no header, behind which the parser reads no further, must not hide how long the body is."""
    with Raw(answering(answer_of(f"Content-Type: {type_}", "Content-Length: 3", line))) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == ("protocol", False)


def test_first_line_that_is_no_header(make: Make) -> None:
    """It hides all others from the parser, the length of the body included."""
    with Raw(answering(answer_of("no header", "Content-Length: 3"))) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == ("protocol", False)


@pytest.mark.parametrize("line", ["X: y\x0ccontent-length:\x0b", "X: y\x0b transfer-encoding: chunked"])
def test_what_the_parser_could_not_write_down(make: Make, line: str) -> None:
    """Only line feeds end lines, so this is a value as any other, also beside a line that is no header."""
    with Raw(answering(answer_of("Content-Length: 3", line, "no header"))) as server:
        assert fetched(make().get(server.url())).body == b"<p>"


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("line", ["X: y", "no header", "no header\r\nX: Content-Length: 5"])
def test_lines_that_are_no_headers(make: Make, line: str, type_: str) -> None:
    """Other lines that are no headers do no harm."""
    with Raw(answering(answer_of("Content-Length: 3", f"Content-Type: {type_}", line))) as server:
        assert fetched(make().get(server.url())).body == b"<p>"


def test_lines_that_end_in_a_line_feed(make: Make) -> None:
    """Lines may end in LF alone, and values may be folded (RFC 9112 2.2, 5.2)."""
    with Raw(answering(b"HTTP/1.1 200 OK\nContent-Length: 3\nX: a\r\n b\n\n<p>")) as server:
        answer = fetched(make().get(server.url()))
    assert (answer.body, answer.headers["x"].split()) == (b"<p>", ["a", "b"])


def forwarding(connections: list[set[bytes]], poison: bytes) -> object:
    """Be an HTTP proxy that passes answers on as they are. The answer of evil.example has another one behind it."""

    def behave(connection: socket.socket) -> None:
        hosts: set[bytes] = set()
        connections.append(hosts)
        while True:
            host = head(connection).split(b" ")[1].split(b"/")[2]
            hosts.add(host)
            connection.sendall(poison if host == b"evil.example" else ok(b"good"))

    return behave


def test_a_proxy_passes_on_what_it_does_not_understand(make: Make) -> None:
    """A host's answer with another one behind it, through a lenient proxy, is never taken for that of another host."""
    forged = ok(b"forged")
    poison = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n{len(forged):x}\r\n"
    for first in (poison.encode() + forged + b"\r\n0\r\n\r\n", ok(b"") + forged):
        connections: list[set[bytes]] = []
        with Raw(forwarding(connections, first)) as proxy:  # type: ignore[arg-type]
            fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), allow_addresses=())
            fetcher.get("http://evil.example/")
            answers = [fetcher.get(f"http://{host}/") for host in ("good.example", "good.example:81")]
        assert [isinstance(each, Failed) or each.body for each in answers] == [b"good", b"good"]
        assert all(len(hosts) == 1 for hosts in connections)


def test_connections_of_one_host_are_kept_at_a_proxy(make: Make) -> None:
    """Each host has a connection of its own to the proxy, and keeps it."""
    connections: list[set[bytes]] = []
    with Raw(forwarding(connections, ok(b""))) as proxy:  # type: ignore[arg-type]
        fetcher = make(proxies=(f"http://{HOST}:{proxy.port}",), allow_addresses=())
        for host in ("a.example", "b.example", "a.example", "b.example"):
            fetched(fetcher.get(f"http://{host}/"))
    assert connections == [{b"a.example"}, {b"b.example"}]


@pytest.mark.parametrize(
    "coding",
    ["chunked ", "chunked\t", "chunked,", ", chunked", "identity, chunked", "Chunked", "identity,\r\n chunked"],
)
def test_lists_of_transfer_codings(make: Make, coding: str) -> None:
    """A body, or its beginning as of robots.txt, comes without the lines of its chunks, and nothing waits for more."""
    with Raw(answering(answer_of(f"Transfer-Encoding: {coding}", body=CHUNKS))) as server:
        fetcher = make(timeout=2.0)
        assert fetched(fetcher.get(server.url())).body == b"<p>"
        assert fetched(fetcher.get(server.url(), limits=Limits(2.0, 100, cuts=True))).body == b"<p>"
        assert server.accepted == 1


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, identity", "chunked, chunked", "x"])
def test_other_lists_of_transfer_codings(make: Make, coding: str) -> None:
    """A body whose end, or whose coding, is not clear is a failure."""
    with Raw(answering(answer_of(f"Transfer-Encoding: {coding}", body=CHUNKS))) as server:
        assert failed(make(timeout=2.0).get(server.url())).class_ == "protocol"


def test_folded_values(make: Make) -> None:
    """A value that goes on in the next line is one line, in records and for those who read it."""
    answer = answer_of("Content-Type: text/html;\r\n  charset=iso-8859-1", "Content-Length: 3")
    with Raw(answering(answer)) as server:
        assert fetched(make().get(server.url())).headers["content-type"] == "text/html; charset=iso-8859-1"
