"""What a page in the browser gets, asked without a browser: the rules of `handlers.page_network`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fscrawl.config.settings import PolitenessSettings
from fscrawl.handlers import page_network
from fscrawl.handlers.page_network import Network, PageNetwork
from fscrawl.handlers.sessions import Asking
from fscrawl.http.answers import Failed, Fetched, Limits
from fscrawl.http.cookies import SharedJar
from fscrawl.render.may_ask import MOST_OF_OTHER
from fscrawl.render.messages import Ask
from fscrawl.request import Request

URL = "http://a.example/page"
PUBLIC = "93.184.216.34"
MAX_REST_S = 20.0
CACHEABLE = {"cache-control": "max-age=60"}


class Web:
    """A fetcher that answers at once. `asked`: what came."""

    limits = Limits(30.0, 1000)

    def __init__(self, answer: Fetched | Failed | None = None) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer or Fetched(200, {"content-type": "text/plain"}, b"four", 0.0, 0.0)

    def send(self, request: Any, headers: Any, limits: Limits, **how: Any) -> Fetched | Failed:
        self.asked.append((request.url, {"headers": headers, "type": request.type_, "limits": limits, **how}))
        how["jar"].learn(request.url, ["n=1"], 0.0)
        return self._answer


def network(
    web: Web,
    *,
    refuses: Callable[[str], Failed | None] = lambda url: None,
    waits: bool = True,
    adaptive: bool = False,
    delay_s: float = 0.0,
) -> Network:
    asking = Asking(lambda request, jar: Failed("timeout", "", retry=True), refuses, lambda url: waits)
    politeness = PolitenessSettings(delay=delay_s, max_rest=MAX_REST_S, adaptive=adaptive)
    return Network(web, asking, _Scope(), politeness)  # type: ignore[arg-type]


class _Scope:
    def refuses(self, url: str) -> str | None:
        return "deny" if "denied" in url else None

    def names(self, url: str) -> bool:
        return "//named.example" in url


def ask(url: str, kind: str = "XHR", method: str = "GET", **headers: str) -> Ask:
    return Ask(1, url, method, headers, b"", kind)


def test_own_host_and_others() -> None:
    """Log-ins go to the page's own origin only, new cookies into the machine's jar only from its site."""
    web, jar = Web(), SharedJar()
    page = PageNetwork(network(web), Request(URL), jar, 10.0, PUBLIC)
    for url in ("http://a.example/x", "http://b.example/x"):
        answer = page.answer(ask(url, Cookie="c=1", Host="x", **{"Sec-CH-UA": "x", "Content-Type": "a/b", "X-Y": "z"}))
        assert (answer.status, answer.body) == (200, b"four")
        assert ("set-cookie", "n=1") in answer.headers
    assert [how["logs_in"] for _, how in web.asked] == [True, False]
    first = web.asked[0][1]
    assert (first["headers"], first["type"], first["jar"].header("", 0.0)) == ({"x-y": "z"}, "a/b", "c=1")
    assert {site: [each.domain for each in learnt] for site, learnt in jar.pop_learnt().items()} == {
        "a.example": ["a.example"]
    }
    assert page.requests == {"a.example": 1, "b.example": 1}
    assert page.asked_at is not None


@pytest.mark.parametrize(
    ("url", "method", "headers", "status"),
    [
        ("http://a.example/x", "POST", {}, 200),
        ("http://a.example:81/x", "POST", {}, 200),  # another origin of its site
        ("http://b.a.example/x", "POST", {}, 200),
        ("http://named.example/x", "POST", {}, 200),
        ("http://other.example/x", "POST", {}, 0),
        ("http://a.example.other.example/x", "POST", {}, 0),
        ("http://other.example/x", "HEAD", {}, 200),
        ("http://other.example/x", "OPTIONS", {"Access-Control-Request-Method": "GET"}, 200),
        ("http://other.example/x", "OPTIONS", {"Access-Control-Request-Method": "POST"}, 0),
        ("http://other.example/x", "OPTIONS", {"access-control-request-method": "put"}, 0),
    ],
)
def test_methods_by_whom_they_are_sent_to(url: str, method: str, headers: dict[str, str], status: int) -> None:
    """Hosts that are neither of the page's site nor of the crawl are only read from."""
    web = Web()
    page = PageNetwork(network(web), Request(URL), None, 10.0, PUBLIC)
    assert page.answer(ask(url, method=method, **headers)).status == status
    assert len(web.asked) == bool(status)
    assert page.lacking == ({} if status else {"method": 1})


def test_little_is_asked_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may ask each other host for so much, at the crawl's own pace; what is kept costs nothing of that."""
    slept: list[float] = []
    monkeypatch.setattr(page_network.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(page_network.time, "sleep", slept.append)
    web = Web(Fetched(200, CACHEABLE, b"x", 0.0, 0.0))
    page = PageNetwork(network(web, delay_s=2.0), Request(URL), None, 10.0, PUBLIC)
    for n in range(MOST_OF_OTHER + 5):
        page.answer(ask("http://b.example/kept.js", "Script"))
        page.answer(ask(f"http://b.example/{n}"))
        page.answer(ask(f"http://c.example/{n}"))
        page.answer(ask(f"http://named.example/{n}"))
    assert page.requests == {"b.example": MOST_OF_OTHER, "c.example": MOST_OF_OTHER, "named.example": MOST_OF_OTHER + 5}
    assert page.lacking == {"too many": 6 + 5}
    assert sorted({round(each, 3) for each in slept}) == [0.0, 0.125, 2.0]


@pytest.mark.parametrize(
    ("address", "url", "public_only"),
    [
        (PUBLIC, URL, True),
        ("10.0.0.1", URL, False),
        ("::ffff:10.0.0.1", URL, False),
        ("", URL, True),  # behind a proxy the name must do
        ("", "http://10.0.0.1/", False),
        ("", "http://localhost/", False),
    ],
)
def test_public_pages_stay_outside(address: str, url: str, public_only: bool) -> None:
    """A page from a public address reaches public ones only, also on its own host, whose name may lead elsewhere."""
    web = Web()
    page = PageNetwork(network(web), Request(url), None, 10.0, address)
    for each in (f"{url.partition('//')[0]}//{url.split('/')[2]}/x", "http://b.example/x"):
        page.answer(ask(each))
    assert [how["public_only"] for _, how in web.asked] == [public_only] * 2


@pytest.mark.parametrize(
    ("url", "why"),
    [("ftp://a.example/", "url"), ("http://b.example/denied", "deny"), ("http://a.example/robots", "robots")],
)
def test_what_is_refused(url: str, why: str) -> None:
    """It is not asked for, and counted by what refused it."""
    web = Web()
    failure = Failed("robots", "", retry=False)
    page = PageNetwork(
        network(web, refuses=lambda each: failure if "robots" in each else None), Request(URL), None, 10.0, PUBLIC
    )
    assert page.answer(ask(url)).status == 0
    assert (page.lacking, web.asked) == ({why: 1}, [])


def test_scope_of_the_own_host() -> None:
    """What is outside the scope there is not loaded either."""
    refused = Failed("site", "", retry=False)
    page = PageNetwork(network(Web(), refuses=lambda url: refused), Request(URL), None, 10.0, PUBLIC)
    assert page.answer(ask("http://a.example/x")).status == 0
    assert page.lacking == {"scope": 1}


def test_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request may take what is left, and when nothing is left, none is made."""
    monkeypatch.setattr(page_network, "MAX_BYTES", 10)
    web = Web()
    page = PageNetwork(network(web), Request(URL), None, 10.0, PUBLIC)
    assert [page.answer(ask(f"http://b.example/{n}")).status for n in range(4)] == [200, 200, 200, 0]
    assert [how["limits"].max_bytes for _, how in web.asked] == [10, 6, 2]
    assert (page.loaded, page.lacking) == (12, {"max_bytes": 1})


def test_failures() -> None:
    """A failure is an answer that the browser takes for a network error; its class is counted."""
    page = PageNetwork(network(Web(Failed("timeout", "", retry=True))), Request(URL), None, 10.0, PUBLIC)
    assert page.answer(ask("http://b.example/")).status == 0
    assert page.lacking == {"timeout": 1}


@pytest.mark.parametrize(("status", "class_"), [(404, "http-4xx"), (500, "http-5xx")])
def test_answers_that_are_errors(status: int, class_: str) -> None:
    """The browser gets them as they are; that the page lacks what it asked for is counted."""
    page = PageNetwork(network(Web(Fetched(status, {}, b"no", 0.0, 0.0))), Request(URL), None, 10.0, PUBLIC)
    for url in ("http://a.example/x.js", "http://b.example/x.js"):
        assert page.answer(ask(url, "Script")).status == status
    assert (page.lacking, page.requests) == ({class_: 2}, {"a.example": 1, "b.example": 1})


@pytest.mark.parametrize("waits", [True, False])
def test_after_the_end(waits: bool) -> None:
    """When the page is over, or another machine may have the host, nothing is asked for."""
    web = Web()
    page = PageNetwork(network(web, waits=waits), Request(URL), None, 10.0, PUBLIC)
    if waits:
        page.close()
    assert page.answer(ask("http://a.example/x")).status == 0
    assert (page.lacking, web.asked) == ({"over": 1}, [])


def test_scripts_are_kept_for_all_pages() -> None:
    """A script that may be kept is fetched once, and then costs no request and no delay; JSON is fetched each time."""
    web = Web(Fetched(200, CACHEABLE, b"x", 0.0, 0.0))
    shared = network(web)
    for _ in range(2):
        page = PageNetwork(shared, Request(URL), None, 10.0, PUBLIC)
        assert page.answer(ask("http://a.example/a.js", "Script")).body == b"x"
        assert page.answer(ask("http://a.example/a.json")).body == b"x"
    assert [url for url, _ in web.asked] == ["http://a.example/a.js", *["http://a.example/a.json"] * 2]


@pytest.mark.parametrize("host", ["a.example", "b.example"])
def test_a_slow_host(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left alone for as long as its last answer took, be it the page's own host or another one."""
    now, slept = [100.0], []

    class Slow(Web):
        def send(self, request: Any, headers: Any, limits: Limits, **how: Any) -> Fetched | Failed:
            now[0] += 3.0
            return super().send(request, headers, limits, **how)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(page_network.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(page_network.time, "sleep", sleep)
    page = PageNetwork(network(Slow(), adaptive=True), Request(URL), None, 10.0, PUBLIC)
    for _ in range(2):
        assert page.answer(ask(f"http://{host}/x")).status == 200
    assert slept == [0.0, 3.0]
    assert page.answer(ask(f"http://{host}/x")).status == 0  # its time would be over before
    assert page.lacking == {"over": 1}


def test_another_host_that_wants_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """It rests for all pages, but not for years: no longer than the host of a page would (politeness.max_rest)."""
    now = [100.0]
    monkeypatch.setattr(page_network.time, "monotonic", lambda: now[0])
    shared = network(Web(Fetched(503, {"retry-after": "999999999"}, b"", 0.0, 0.0)))

    def asked() -> PageNetwork:
        page = PageNetwork(shared, Request(URL), None, 10.0, PUBLIC)
        page.answer(ask("http://b.example/a.js", "Script"))
        return page

    assert asked().requests == {"b.example": 1}
    assert asked().lacking == {"rest": 1}
    now[0] += MAX_REST_S
    assert asked().requests == {"b.example": 1}
