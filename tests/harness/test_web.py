"""The tests' own web server."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.support.web import Request, Response, Web, linked_site

HOSTS = ["127.0.1.1", "127.0.1.2"]


@contextmanager
def client(web: Web, host: str = HOSTS[0]) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(host, web.port, timeout=10)) as connection:
        yield connection


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection.request(method, path)
    response = connection.getresponse()
    return response.status, response.read()


def test_keep_alive_and_log() -> None:
    """One connection carries several requests, and each is logged with host, path, headers and times."""
    with Web(lambda request: Response(body=request.path.encode()), HOSTS) as web, client(web, HOSTS[1]) as c:
        c.connect()
        first = c.sock
        assert [ask(c, path) for path in ("/a", "/b?c=d")] == [(200, b"/a"), (200, b"/b?c=d")]
        assert c.sock is first
    assert [(e.host, e.path) for e in web.requests()] == [(HOSTS[1], "/a"), (HOSTS[1], "/b?c=d")]
    assert all(e.arrived <= e.answered and e.headers["host"] == f"{HOSTS[1]}:{web.port}" for e in web.exchanges)


def test_head_has_no_body() -> None:
    """HEAD answers with the length of the body and without the body."""
    with Web(lambda _: Response(body=b"12345")) as web, client(web, "127.0.0.1") as c:
        c.request("HEAD", "/")
        response = c.getresponse()
        assert (response.headers["Content-Length"], response.read()) == ("5", b"")
        assert ask(c, "/") == (200, b"12345")


def test_other_methods_are_refused() -> None:
    """DELETE is answered with 405."""
    with Web(linked_site(1, 1), HOSTS) as web, client(web) as c:
        assert ask(c, "/", "DELETE")[0] == 405


def test_requests_with_bodies() -> None:
    """A body is read before the request is answered, also if it comes in pieces; the connection stays usable."""
    with Web(lambda request: Response(body=request.method.encode() + b" " + request.body), HOSTS) as web:
        with client(web) as c:
            for body in (b"a=1", b"", b"b" * 60_000):
                c.request("POST", "/", body)
                assert c.getresponse().read() == b"POST " + body
            c.putrequest("PUT", "/")
            c.putheader("Content-Length", "4")
            c.endheaders()
            for piece in (b"ab", b"cd"):
                c.send(piece)
            assert c.getresponse().read() == b"PUT abcd"
        assert [(e.method, e.body[:3]) for e in web.exchanges] == [
            *[("POST", b"a=1"), ("POST", b""), ("POST", b"bbb")],
            ("PUT", b"abc"),
        ]
        for name, value in (("Content-Length", "70000"), ("Content-Length", "x"), ("Transfer-Encoding", "chunked")):
            with client(web) as c:
                c.putrequest("POST", "/")
                c.putheader(name, value)
                c.endheaders()
                assert c.getresponse().status == 400


def test_delay_drip_and_close() -> None:
    """A delay passes before the head, a drip sends its parts, and the connection closes when asked."""
    slow = Response(body=b"a", delay_s=0.05, drip=[(0.02, b"b"), (0.02, b"c")], close=True)
    with Web(lambda _: slow, HOSTS) as web, client(web) as c:
        c.request("GET", "/")
        response = c.getresponse()
        assert response.headers["Connection"] == "close"
        assert response.read() == b"abc"
    assert web.exchanges[0].answered - web.exchanges[0].arrived >= 0.09


def test_a_lying_length_cuts_the_body() -> None:
    """A Content-Length above the body's, with close, is a body cut short."""
    cut = Response(headers={"Content-Length": "10"}, body=b"abc", close=True)
    with Web(lambda _: cut, HOSTS) as web, client(web) as c, pytest.raises(http.client.IncompleteRead):
        ask(c, "/")


def test_pipelined_requests_are_answered_in_order() -> None:
    """What follows a slow request on its connection waits for it."""

    def pages(request: Request) -> Response:
        return Response(body=request.path.encode(), delay_s=0.05 if request.path == "/1" else 0, close=False)

    with Web(pages, HOSTS) as web, socket.create_connection((HOSTS[0], web.port), timeout=10) as s:
        s.sendall(b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    assert answer.index(b"/1") < answer.index(b"/2")


def test_what_is_not_http_is_refused() -> None:
    """Bytes that are no request get a 400 and the connection is closed."""
    with Web(linked_site(1, 1), HOSTS) as web, socket.create_connection((HOSTS[0], web.port), timeout=10) as s:
        s.sendall(b"hello\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 400 ")
        assert s.recv(65536) == b""


def test_duplicates_gaps_and_flights() -> None:
    """The log answers what was asked twice, how close together, and how many at once."""
    with Web(lambda _: Response(delay_s=1.0), HOSTS) as web, client(web) as one, client(web) as two:
        for c in (one, two):
            c.request("GET", "/")
        for c in (one, two):
            c.getresponse().read()
        ask(one, "/robots.txt")
        ask(two, "/robots.txt")
    assert web.duplicates() == {(HOSTS[0], "/"): 2}
    assert web.count(path="/robots.txt") == 2
    assert web.most_in_flight(HOSTS[0]) == 2
    assert 0 < web.smallest_gap_s(HOSTS[0]) < 1.0
    assert web.smallest_gap_s(HOSTS[1]) == float("inf")
    assert web.most_in_flight(HOSTS[1]) == 0


def test_three_hundred_hosts_share_a_port() -> None:
    """Three hundred addresses listen on one port, and each is seen as the host it is."""
    hosts = [f"127.0.{2 + n // 150}.{1 + n % 150}" for n in range(300)]
    with Web(lambda request: Response(body=request.host.encode()), hosts) as web:
        for host in (hosts[0], hosts[150], hosts[-1]):
            with client(web, host) as c:
                assert ask(c, "/") == (200, host.encode())


def test_it_stops_at_its_deadline() -> None:
    """After the deadline nobody listens, though nobody stopped it."""
    web = Web(linked_site(1, 1), HOSTS, deadline_s=0.05)
    web.start()
    web.wait(timeout_s=10)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOSTS[0], web.port), timeout=10)
    web.stop()


def test_stopping_cuts_what_is_under_way() -> None:
    """A request that still waits does not keep the server from stopping, and is logged."""
    asked = threading.Event()

    def pages(_: Request) -> Response:
        asked.set()
        return Response(delay_s=60)

    with Web(pages, HOSTS) as web, client(web) as c:
        c.request("GET", "/never")
        assert asked.wait(10)
    assert web.count(path="/never") == 1


def test_a_taken_port_is_an_error() -> None:
    """A port that is in use is an OSError, not another port."""
    with Web(linked_site(1, 1), HOSTS) as web, pytest.raises(OSError, match="in use"):
        Web(linked_site(1, 1), HOSTS, web.port).start()


def test_only_loopback() -> None:
    """An address outside 127.0.0.0/8 is refused."""
    with pytest.raises(ValueError, match="loopback"):
        Web(linked_site(1, 1), ["0.0.0.0"])


def test_a_failing_page_fails_the_test() -> None:
    """An exception of the pages function is a 500 for the client and is raised when the web ends."""
    with pytest.raises(ZeroDivisionError), Web(lambda _: 1 // 0, HOSTS) as web, client(web) as c:
        assert ask(c, "/")[0] == 500


@pytest.mark.parametrize(("n_pages", "links"), [(1, 1), (10, 1), (100, 7)])
def test_linked_site_is_connected(n_pages: int, links: int) -> None:
    """Every page of a linked site is reached from its first, and nothing else exists."""
    site = linked_site(n_pages, links)
    seen, todo = set(), ["/0"]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            answer = site(Request("GET", "127.0.0.1", path, {}, 0.0))
            assert answer.status == 200
            todo += [part.split('"')[0] for part in answer.body.decode().split('href="')[1:]]
    assert seen == {f"/{n}" for n in range(n_pages)}
    assert site(Request("GET", "127.0.0.1", f"/{n_pages}", {}, 0.0)).status == 404
