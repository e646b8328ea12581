"""One HTTP exchange: what is answered, and what is sent."""

from __future__ import annotations

import socket

import pytest

from fscrawl import urls
from fscrawl.config.settings import PolitenessSettings
from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, Raw, answering, fetched, ok
from tests.support.web import Request, Response, Web

OFFERED = {"gzip", "deflate", "br", "zstd"}


@pytest.mark.parametrize("status", [200, 203, 301, 304, 404, 410, 418, 429, 500, 503])
def test_any_status_is_an_answer(make: Make, status: int) -> None:
    """Whatever the status, it is an answer and not a failure, with its body if it has one."""
    with Web(lambda _: Response(status, HTML, b"" if status == 304 else b"<p>"), [HOST]) as web:
        answer = fetched(make().get(web.url(HOST)))
    assert (answer.status, answer.body) == (status, None if status == 304 else b"<p>")


def test_headers_are_lower_case_and_joined(make: Make) -> None:
    """Header names come in lower case, repeated ones as lines of one text, values as UTF-8."""
    lines = ["X-One: a", "x-ONE: b", "Set-Cookie: c=1", "Set-Cookie: d=2", "Title: caf\u00e9", "Empty:"]
    with Raw(answering(ok(b"", *lines))) as server:
        headers = fetched(make().get(server.url())).headers
    assert headers == {
        "content-length": "0",
        "x-one": "a\nb",
        "set-cookie": "c=1\nd=2",
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
