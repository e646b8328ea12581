"""The tests' own web server."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.support.web import Response, Web

HOSTS = ["127.0.1.1", "127.0.1.2"]


@contextmanager
def client(web: Web, host: str = HOSTS[0]) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(host, web.port, timeout=10)) as connection:
        yield connection


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection.request(method, path)
    response = connection.getresponse()
    return response.status, response.read()


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


def test_a_failing_page_fails_the_test() -> None:
    """An exception of the pages function is a 500 for the client and is raised when the web ends."""
    with pytest.raises(ZeroDivisionError), Web(lambda _: 1 // 0, HOSTS) as web, client(web) as c:
        assert ask(c, "/")[0] == 500
