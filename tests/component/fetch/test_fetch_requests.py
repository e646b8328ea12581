"""What a host gets of a request: method, body, headers and cookies; and how often it gets it."""

from __future__ import annotations

import base64
import socket

import pytest

from fscrawl.http.cookies import Jar
from fscrawl.request import FORM, JSON, Request
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, head, ok
from tests.support.web import Exchange, Response, Web
from tests.support.web import Request as Asked


def echo(asked: Asked) -> Response:
    return Response(200, {"Content-Type": "text/html", "Set-Cookie": "id=1; Path=/"}, asked.body)


def only(web: Web) -> Exchange:
    (exchange,) = web.requests()
    return exchange


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_method_and_body(make: Make, method: str) -> None:
    """Method, body and its type are sent as they are, with the length of the body."""
    with Web(echo, [HOST]) as web:
        asked = Request(web.url(HOST, "/s?q"), method, JSON, b'{"a":\r\n"\x00\xff"}')
        assert fetched(make().send(asked)).body == asked.body
    exchange = only(web)
    assert (exchange.method, exchange.path, exchange.body) == (method, "/s?q", asked.body)
    assert exchange.headers["content-type"] == JSON
    assert exchange.headers["content-length"] == str(len(asked.body))


def test_the_largest_body(make: Make) -> None:
    """A body of 8 KiB arrives whole."""
    with Web(echo, [HOST]) as web:
        assert fetched(make().send(Request(web.url(HOST), "POST", FORM, b"a" * 8192))).body == b"a" * 8192


def test_a_post_without_a_body(make: Make) -> None:
    """Servers expect a length of 0 from a POST that has no body."""
    with Web(echo, [HOST]) as web:
        fetched(make().send(Request(web.url(HOST), "POST")))
    assert only(web).headers["content-length"] == "0"
    assert "content-type" not in only(web).headers


def test_a_plain_get_is_as_ever(make: Make) -> None:
    """A GET has no length and no type, and its headers are the usual ones."""
    with Web(echo, [HOST]) as web:
        fetcher = make()
        fetched(fetcher.get(web.url(HOST, "/1")))
        fetched(fetcher.send(Request(web.url(HOST, "/2")), jar=None))
    first, second = web.requests()
    assert first.headers == second.headers
    assert set(first.headers) == {"host", "user-agent", "accept", "accept-encoding"}


def test_own_headers(make: Make) -> None:
    """Headers of a request take the place of the usual ones, for this request only; repeated ones are joined."""
    headers = (("accept", JSON), ("x-a", "1"), ("x-a", "é"))
    with Web(echo, [HOST]) as web:
        fetcher = make()
        fetched(fetcher.send(Request(web.url(HOST), "POST", headers=headers)))
        fetched(fetcher.get(web.url(HOST)))
    first, second = web.requests()
    assert first.headers["accept"] == JSON
    assert first.headers["x-a"].encode("latin-1").decode() == "1, é"
    assert "x-a" not in second.headers
    assert second.headers["accept"] != JSON


def test_logins_hold(make: Make) -> None:
    """A POST has the login of its origin."""
    with Web(echo, [HOST]) as web:
        fetcher = make(auth={f"{HOST}:{web.port}": "me:pw"})
        fetched(fetcher.send(Request(web.url(HOST, "/s"), "POST")))
    assert only(web).headers["authorization"] == "Basic " + base64.b64encode(b"me:pw").decode()


def test_the_jar_of_a_session(make: Make) -> None:
    """A jar that the caller gives takes and gives the cookies; the fetcher's own one knows nothing of them."""
    with Web(echo, [HOST]) as web:
        fetcher, jar = make(), Jar()
        for given in (jar, jar, None):
            fetched(fetcher.send(Request(web.url(HOST), "POST", session="1"), jar=given))
        fetched(fetcher.get(web.url(HOST)))
        fetched(fetcher.get(web.url(HOST)))
    assert [e.headers.get("cookie") for e in web.requests()] == [None, "id=1", None, None, "id=1"]


def test_blocked_ports_and_addresses(make: Make) -> None:
    """A POST is refused where a GET is."""
    assert failed(make().send(Request("http://a.example:25/", "POST"))).class_ == "blocked-address"
    guarded = make(allow_addresses=())
    with Web(echo, [HOST]) as web:
        assert failed(guarded.send(Request(web.url(HOST), "POST"))).class_ == "blocked-address"
    assert web.count() == 0


@pytest.mark.parametrize(("method", "connections"), [("POST", 2), ("PATCH", 2), ("PUT", 1), ("GET", 1)])
def test_what_may_be_sent_only_once_begins_a_connection(make: Make, method: str, connections: int) -> None:
    """A host may close a waiting connection just when a request comes. Then nobody knows whether a POST was done."""

    def behave(connection: socket.socket) -> None:
        for _ in range(2):
            head(connection)
            connection.sendall(ok(b"<p>"))

    with Raw(behave) as server:
        fetcher = make()
        fetched(fetcher.get(server.url("/1")))
        fetched(fetcher.send(Request(server.url("/2"), method)))
        assert server.accepted == connections


def test_a_closed_connection_does_not_send_it_twice(make: Make) -> None:
    """If a connection ends in the middle of a request, that is a failure: the host gets the request once."""
    heads: list[bytes] = []

    def behave(connection: socket.socket) -> None:
        heads.append(head(connection))  # and no answer

    with Raw(behave) as server:
        answer = failed(make().send(Request(server.url("/2"), "POST", FORM, b"pay=1")))
        assert server.over.wait(5)
        assert server.accepted == 1
    assert (answer.class_, answer.retry, answer.unsent) == ("connect", True, False)
    assert [each.split(b" ")[:2] for each in heads] == [[b"POST", b"/2"]]


def test_what_was_not_sent(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure says whether any of the request may have left: not before a connection stands, TLS included."""

    def end(connection: socket.socket) -> None:
        connection.recv(65536)

    with Raw(end) as server, socket.create_server((HOST, 0)) as unused:
        nobody = f"{HOST}:{unused.getsockname()[1]}"
        unused.close()
        fetcher = make(proxies=(f"http://{nobody}",))
        failures = [
            failed(make().send(Request(server.url(), "POST", FORM, b"pay=1"))),
            failed(make().send(Request(server.url(scheme="https"), "POST", FORM, b"pay=1"))),
            failed(make().send(Request(f"http://{nobody}/", "POST", FORM, b"pay=1"))),
            failed(fetcher.send(Request("http://a.example/", "POST", FORM, b"pay=1"))),
        ]
    assert [(each.class_, each.unsent) for each in failures] == [
        ("connect", False),
        ("tls", True),
        ("connect", True),
        ("proxy", True),
    ]


def test_proxies(make: Make) -> None:
    """A POST goes through a proxy whole: the next one if one cannot be reached, and none if one has taken it."""
    taken: list[bytes] = []

    def behave(connection: socket.socket) -> None:
        taken.append(head(connection))
        while not taken[-1].endswith(b"q=1"):
            taken[-1] += connection.recv(100)
        if len(taken) == 1:
            connection.sendall(ok(b"<p>").replace(b"\r\n", b"\r\nConnection: close\r\n", 1))

    with socket.create_server((HOST, 0)) as unused:
        nobody = f"http://{HOST}:{unused.getsockname()[1]}"
    with Raw(behave) as proxy:
        fetcher = make(proxies=(nobody, f"http://{HOST}:{proxy.port}"), timeout=3.0)
        asked = Request("http://page.example/s", "POST", FORM, b"q=1")
        assert fetched(fetcher.send(asked)).body == b"<p>"
        assert failed(fetcher.send(asked)).class_ in ("connect", "proxy", "protocol")
    assert [each.partition(b"\r\n")[0] for each in taken] == [b"POST http://page.example/s HTTP/1.1"] * 2
    assert all(each.endswith(b"\r\n\r\nq=1") for each in taken)


def test_an_answer_to_head(make: Make) -> None:
    """It has no body, whatever length it names, and its connection is used again."""
    with Raw(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")) as server:
        fetcher = make()
        assert [fetched(fetcher.send(Request(server.url(), "HEAD"))).body for _ in range(2)] == [b""] * 2
        assert server.accepted == 1
