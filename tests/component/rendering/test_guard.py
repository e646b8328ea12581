"""What a page in the browser can reach: nothing that the guard refuses, by any way, and no log-in of another origin."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.config import addresses
from fscrawl.config.settings import END
from fscrawl.render.may_ask import MOST_OF_OTHER, READS
from tests.support.crawling import USER_AGENT, crawl, pages
from tests.support.neighbours import customised
from tests.support.web import HTML, Request, Response, Web

HOST, OTHER = "127.0.63.1", "127.0.63.2"
REFUSED = "127.0.64.1"
WAYS_OUT = """
<script>
const trap = "%(trap)s", host = "%(host)s", port = "%(port)s", tried = [];
const attempt = async (name, way) => { try { await way(); } catch (error) {}
  tried.push(name); document.title = tried.length + " ways, at last " + name; };
const element = (tag, more) => { document.body.append(Object.assign(document.createElement(tag), more)); };
const wait = seconds => new Promise(done => setTimeout(done, seconds * 1000));
async function all() {
  await attempt("fetch", () => fetch(trap + "fetch"));
  await attempt("no-cors", () => fetch(trap + "opaque", {mode: "no-cors", credentials: "include"}));
  await attempt("keepalive", () => fetch(trap + "keepalive", {keepalive: true, mode: "no-cors"}));
  await attempt("xhr", () => { const x = new XMLHttpRequest(); x.open("GET", trap + "xhr", false); x.send(); });
  await attempt("redirect", () => fetch("/redirect"));
  await attempt("image", () => new Promise((a, b) => element("img", {src: trap + "image", onload: a, onerror: b})));
  await attempt("script", () => new Promise((a, b) =>
    element("script", {src: trap + "script", onload: a, onerror: b})));
  await attempt("style", () => element("link", {rel: "stylesheet", href: trap + "style"}));
  const hints = ["prefetch", "preload", "prerender", "preconnect", "dns-prefetch", "modulepreload", "icon", "manifest"];
  for (const rel of hints)
    await attempt(rel, () => element("link", {rel, href: trap + rel, as: "script"}));
  await attempt("frame", () => element("iframe", {src: trap + "frame"}));
  await attempt("object", () => element("object", {data: trap + "object"}));
  await attempt("embed", () => element("embed", {src: trap + "embed"}));
  await attempt("video", () => element("video", {src: trap + "video", autoplay: true}));
  await attempt("font", () => new FontFace("f", `url(${trap}font)`).load());
  await attempt("websocket", () => new Promise((a, b) => {
    const each = new WebSocket(trap.replace("http", "ws") + "socket"); each.onopen = a; each.onerror = b; }));
  await attempt("eventsource", () => { new EventSource(trap + "events"); });
  await attempt("beacon", () => { navigator.sendBeacon(trap + "beacon", "x"); });
  await attempt("ping", () => { const a = document.createElement("a"); a.href = "#x"; a.ping = trap + "ping";
    document.body.append(a); a.click(); });
  await attempt("webrtc", async () => {
    const servers = [{urls: `stun:${host}:${port}`}];
    servers.push({urls: `turn:${host}:${port}?transport=tcp`, username: "u", credential: "c"});
    const peer = new RTCPeerConnection({iceServers: servers});
    peer.createDataChannel("x"); await peer.setLocalDescription(await peer.createOffer()); await wait(0.5); });
  await attempt("webtransport", async () => { await new WebTransport(trap.replace("http:", "https:")).ready; });
  const work = code => new Promise((a, b) => {
    const each = new Worker(URL.createObjectURL(new Blob([code])));
    each.onmessage = a; each.onerror = b; });
  await attempt("worker", () => work(`fetch("${trap}worker").finally(() => postMessage(1))`));
  await attempt("importScripts", () => work(`importScripts("${trap}import"); postMessage(1)`));
  await attempt("shared worker", () => { new SharedWorker(trap + "shared"); });
  await attempt("service worker", () => navigator.serviceWorker.register("/service.js"));
  await attempt("import", () => import(trap + "module.js"));
  await attempt("popup", () => { open(trap + "popup"); });
  await attempt("form", () => { const form = document.createElement("form"); form.action = trap + "form";
    form.target = "_blank"; document.body.append(form); form.submit(); });
  await attempt("file", () => fetch("file:///etc/passwd"));
  await attempt("frame of a file", () => element("iframe", {src: "file:///etc/passwd"}));
  await attempt("chrome", () => { location = "chrome://settings"; });
  await attempt("download", () => { const a = document.createElement("a"); a.href = trap + "download"; a.download = "x";
    document.body.append(a); a.click(); });
  await attempt("navigation", () => { location = trap + "navigation"; });
}
all();
</script>
"""


class Trap:
    """Counts what reaches an address that the guard refuses, by TCP and by UDP."""

    def __init__(self, port: int = 0) -> None:
        self.reached = 0
        self._tcp = socket.create_server((REFUSED, port))
        self.port = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((REFUSED, self.port))
        for sock, step in ((self._tcp, self._accept), (self._udp, self._receive)):
            sock.settimeout(60.0)
            threading.Thread(target=self._listen, args=(step,), daemon=True).start()

    def _listen(self, step: object) -> None:
        try:
            while True:
                step()  # type: ignore[operator]
                self.reached += 1
        except OSError:  # closed
            pass

    def _accept(self) -> None:
        self._tcp.accept()[0].close()

    def _receive(self) -> None:
        self._udp.recvfrom(2048)

    def close(self) -> None:
        for sock in (self._tcp, self._udp):
            sock.shutdown(socket.SHUT_RDWR) if sock is self._tcp else None
            sock.close()


@pytest.fixture
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.close()


@pytest.mark.parametrize("block", ['["image", "font", "media", "frame"]', "[]"])
def test_no_way_out(root: Path, trap: Trap, block: str) -> None:
    """A page tries some forty ways to an address that is refused: no connection, and no packet, gets there."""
    to = {"trap": f"http://{REFUSED}:{trap.port}/", "host": REFUSED, "port": str(trap.port)}

    def answer(request: Request) -> Response:
        if request.path == "/redirect":
            return Response(302, {"Location": to["trap"] + "redirected"})
        if request.path == "/service.js":
            return Response(200, {"Content-Type": "text/javascript"}, f'fetch("{to["trap"]}service")'.encode())
        return Response(200, HTML, (WAYS_OUT % to).encode())

    with Web(answer, [HOST]) as web:
        settings = {
            "render.hosts": json.dumps([f"{HOST}:{web.port}"]),
            "render.block": block,
            "fetch.allow_addresses": '["127.0.63.0/24"]',
            "crawl.max_depth": "0",
        }
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, timeout_s=60)
    assert done.code == 0, done
    record = pages(root)[web.url(HOST)]
    assert trap.reached == 0
    assert record.rendered is not None
    assert record.rendered.ended == "done", record.rendered
    assert record.title == "39 ways, at last navigation"
    assert record.rendered.blocked is not None
    assert record.rendered.blocked["blocked-address"] >= 10
    assert record.rendered.requests is not None
    assert f"{to['trap']}navigation" in record.links


# The name is that of an address that is allowed, when it is asked for first; then of one that is not. What was looked
# up is not kept, so that each request asks anew.
REBINDING = f"""\
import socket, sys
_asked, _answers = socket.getaddrinfo, ["{OTHER}"]
def _answer(host, *args, **more):
    sys.modules["fscrawl.http.dialling"].KEPT_S = 0.0
    if host in ("turns.test", b"turns.test"):
        host = _answers.pop() if _answers else "{REFUSED}"
    return _asked(host, *args, **more)
socket.getaddrinfo = _answer
"""
TURNS = """<script>
const ask = n => fetch("http://turns.test:PORT/" + n, {mode: "no-cors"}).then(() => "got", () => "refused");
(async () => { document.title = [await ask(1), await ask(2), await ask(3)].join(); })();
</script>"""


def test_rebinding(root: Path, tmp_path: Path) -> None:
    """A name that leads elsewhere when it is asked for again gains a page nothing: the address counts, each time."""

    def answer(request: Request) -> Response:
        port = request.headers["host"].partition(":")[2]
        return Response(200, {**HTML, "Connection": "close"}, TURNS.replace("PORT", port).encode())

    with Web(answer, [HOST, OTHER]) as web:
        trap = Trap(web.port)
        settings = {
            "render.when": "always",
            "fetch.allow_addresses": '["127.0.63.0/24"]',
            "crawl.max_depth": "0",
        }
        env = customised(tmp_path, REBINDING)
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, workers=1, timeout_s=60, env=env)
        trap.close()
    assert done.code == 0, done
    record = pages(root)[web.url(HOST)]
    assert record.title == "got,refused,refused"
    assert web.count(OTHER) == 1
    assert trap.reached == 0
    assert record.rendered is not None
    assert record.rendered.blocked == {"blocked-address": 2}


def test_log_ins_stay_at_their_origin(root: Path) -> None:
    """A page of another origin gets no log-in and no header for what it loads, not even by asking for it."""
    page = (
        f'<script>fetch("http://{OTHER}:PORT/api", {{mode: "no-cors", credentials: "include"}});fetch("/own")</script>'
    )

    def answer(request: Request) -> Response:
        return Response(200, HTML, page.replace("PORT", request.headers["host"].partition(":")[2]).encode())

    with Web(answer, [HOST, OTHER]) as web:
        origins = [f"http://{host}:{web.port}" for host in (HOST, OTHER)]
        settings = {
            "render.when": "always",
            "crawl.max_depth": "0",
            "fetch.auth": "{" + ", ".join(f'"{each}" = "user:word"' for each in origins) + "}",
        }
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, timeout_s=60)
    assert done.code == 0, done
    assert [e.headers.get("authorization") for e in web.requests(OTHER, "/api")] == [None]
    assert [bool(e.headers.get("authorization")) for e in web.requests(HOST, "/own")] == [True]


# What a page may want of a host that has nothing to do with the crawl.
FLOOD = """<iframe name=frame></iframe><script>
const other = "http://OTHER", tried = [];
const attempt = async way => { try { await way(); } catch (error) {} tried.push(1); document.title = tried.length; };
const post = (url, more) => fetch(url, {method: "POST", body: "x".repeat(1000), mode: "no-cors", ...more});
const json = {mode: "cors", headers: {"content-type": "application/json"}};
const work = code => new Promise((done, fail) => {
  const each = new Worker(URL.createObjectURL(new Blob([code]))); each.onmessage = done; each.onerror = fail; });
(async () => {
  for (let n = 0; n < 50; n++) await attempt(() => post(other + "/post"));
  await attempt(() => post(other + "/json", json));
  await attempt(() => post(other + "/keepalive", {keepalive: true}));
  await attempt(() => post("/307"));
  await attempt(() => post("/308"));
  await attempt(() => fetch("/307", {method: "PUT", body: "x"}));
  await attempt(() => { const x = new XMLHttpRequest(); x.open("POST", other + "/xhr", false); x.send("x"); });
  await attempt(() => navigator.sendBeacon(other + "/beacon", "x"));
  await attempt(() => work(`fetch("${other}/worker", {method: "POST", body: "x"}).finally(() => postMessage(1))`));
  await attempt(() => { const form = Object.assign(document.createElement("form"), {method: "post", target: "frame"});
    form.action = other + "/form"; document.body.append(form); form.submit(); });
  await Promise.all(Array.from({length: 60}, (_, n) => attempt(() => fetch(other + "/get" + n, {mode: "no-cors"}))));
  await attempt(() => work(`importScripts("${other}/import"); postMessage(1)`));
})();
</script>"""


@pytest.mark.parametrize("block", ['["frame"]', "[]"])
def test_no_flood_of_others(root: Path, block: str) -> None:
    """A host outside the scope gets no request with a body, by whatever way or redirect, and no more than a few."""

    def answer(request: Request) -> Response:
        if request.path in ("/307", "/308"):
            port = request.headers["host"].partition(":")[2]
            return Response(int(request.path[1:]), {"Location": f"http://{OTHER}:{port}/redirected"})
        other = f"{OTHER}:{request.headers['host'].partition(':')[2]}"
        return Response(200, {**HTML, "Access-Control-Allow-Origin": "*"}, FLOOD.replace("OTHER", other).encode())

    with Web(answer, [HOST, OTHER]) as web:
        settings = {
            "render.hosts": json.dumps([f"{HOST}:{web.port}"]),
            "render.block": block,
            "crawl.max_depth": "0",
            "crawl.scope": "host",
        }
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, timeout_s=60)
    assert done.code == 0, done
    record = pages(root)[web.url(HOST)]
    assert record.rendered is not None
    assert (record.rendered.ended, record.title) == ("done", "120")
    assert {each.method for each in web.requests(OTHER)} <= READS
    assert 10 < web.count(OTHER) <= MOST_OF_OTHER
    assert {each.method for each in web.requests(HOST, "/307")} == {"POST"}


INSIDE = """<script>
const inside = "http://INSIDE", ways = [];
const attempt = way => way().then(() => ways.push("came"), () => ways.push("refused"));
const element = (tag, more) => new Promise((done, fail) =>
  document.body.append(Object.assign(document.createElement(tag), {onload: done, onerror: fail, ...more})));
const work = code => new Promise((done, fail) => {
  const each = new Worker(URL.createObjectURL(new Blob([code])));
  each.onmessage = said => said.data ? done() : fail(); each.onerror = fail; });
(async () => {
  await attempt(() => fetch(inside + "/fetch", {mode: "no-cors"}));
  await attempt(() => fetch(inside + "/post", {mode: "no-cors", method: "POST", body: "x"}));
  await attempt(() => fetch("/redirect", {mode: "no-cors"}));
  await attempt(() => element("script", {src: inside + "/script"}));
  await attempt(() => element("link", {rel: "stylesheet", href: inside + "/style"}));
  await attempt(() => work(`fetch("${inside}/worker", {mode: "no-cors"})
    .then(() => postMessage(1), () => postMessage(0))`));
  document.title = ways.join();
})();
</script><body>"""


@pytest.mark.parametrize("is_public", [True, False])
def test_a_public_page_does_not_look_inside(root: Path, is_public: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the crawl itself may visit on private addresses, and has just visited, is not there for a public page."""
    monkeypatch.setattr(addresses, "is_public", lambda address: is_public and address == HOST)

    def answer(request: Request) -> Response:
        inside = f"{OTHER}:{request.headers['host'].partition(':')[2]}"
        if request.path == "/redirect":
            return Response(302, {"Location": f"http://{inside}/redirected"})
        if request.path in ("/script", "/style"):
            return Response(200, {"Content-Type": "text/css" if request.path == "/style" else "text/javascript"}, b"")
        return Response(200, HTML, INSIDE.replace("INSIDE", inside).encode())

    with Web(answer, [HOST, OTHER]) as web:
        settings = {
            "render.hosts": json.dumps([f"{HOST}:{web.port}"]),
            "fetch.allow_addresses": '["127.0.63.0/24"]',
            "crawl.max_depth": "0",
            "crawl.scope": "host",
        }
        seeds = [web.url(OTHER), web.url(HOST)]
        done = crawl(root, seeds=seeds, settings=settings, timeout_s=60)
    assert done.code == 0, done
    assert set(pages(root)) == set(seeds)
    record = pages(root)[web.url(HOST)]
    assert record.title == ",".join(["refused" if is_public else "came"] * 6)
    assert web.count(OTHER) - web.count(OTHER, "/robots.txt") == (1 if is_public else 7)
    assert record.rendered is not None
    assert record.rendered.blocked == ({"blocked-address": 6} if is_public else None)


SECRETS = f"""
[crawl]
max_depth = 0
scope = "any"
[politeness]
delay = 0
user_agent = "{USER_AGENT}"
[render]
when = "always"
[fetch]
allow_addresses = ['127.0.0.0/8']
headers = {{X-Secret = "word", Cookie = "session=word", User-Agent = "word", Accept-Language = "word"}}
[[site]]
hosts = ["{HOST}:PORT", "{OTHER}"]
headers = {{X-Site = "word"}}
{END}
"""


def test_no_header_of_the_settings_for_others(root: Path) -> None:
    """Another host, and another port of the page's own, get no header of the settings, by any way and no redirect."""
    page = """<link rel=stylesheet href="THEM/style"><body><script>
    fetch("/own"); fetch("/redirect", {mode: "no-cors"}); fetch("THEM/api", {mode: "no-cors", credentials: "include"});
    fetch("THEM/post", {mode: "no-cors", method: "POST", body: "x"});
    document.body.append(Object.assign(document.createElement("script"), {src: "THEM/script"}));
    </script>"""

    def answer(request: Request) -> Response:
        if request.path == "/redirect":
            return Response(302, {"Location": f"{them}/redirected"})
        return Response(200, HTML, page.replace("THEM", them).encode())

    for host in (OTHER, HOST):
        with Web(answer, [HOST]) as web, Web(answer, [host]) as others:
            them = others.url(host).rstrip("/")
            tree = root / host
            tree.mkdir(parents=True)
            (tree / "crawl.toml").write_text(SECRETS.replace("PORT", str(web.port)))
            done = crawl(tree, seeds=[web.url(HOST)], timeout_s=60)
        assert done.code == 0, done
        assert all(each.headers["x-secret"] == "word" for each in web.requests(HOST, "/own"))
        assert {each.path for each in others.requests(host)} >= {"/style", "/redirected", "/api", "/script"}
        for each in others.requests(host):
            assert "word" not in str(each.headers), (each.path, each.headers)
            assert each.headers["user-agent"] == USER_AGENT


def test_robots_and_pace_hold_for_what_a_page_loads(root: Path) -> None:
    """What robots.txt forbids is not loaded from the page's own host, and its requests keep the delay."""
    page = "<script>for (const n of [1, 2, 3]) fetch('/api/' + n); fetch('/private/x')</script>"

    def answer(request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n")
        return Response(200, HTML, page.encode())

    with Web(answer, [HOST]) as web:
        settings = {"render.when": "always", "politeness.delay": "0.4", "politeness.adaptive": "false"}
        done = crawl(root, seeds=[web.url(HOST), web.url(HOST, "/2")], settings=settings, timeout_s=60)
    assert done.code == 0, done
    assert web.count(path="/private/x") == 0
    assert web.count(path="/api/1") == 2
    assert web.smallest_gap_s(HOST) > 0.35
    assert web.most_in_flight(HOST) == 1
    rendered = pages(root)[web.url(HOST)].rendered
    assert rendered is not None
    assert rendered.blocked == {"robots": 1}


def test_cookies_of_the_crawl(root: Path) -> None:
    """The browser has the crawl's cookies for the site, HttpOnly or not; those that scripts set go along as well."""
    page = (
        "<script>document.cookie = 'mine=1'; fetch('/api').then(r => r.text()).then(t => document.title = t)</script>"
    )

    def answer(request: Request) -> Response:
        if request.path == "/api":
            cookies = sorted(request.headers.get("cookie", "").split("; "))
            return Response(200, {"Content-Type": "text/plain"}, ",".join(cookies).encode())
        return Response(200, {**HTML, "Set-Cookie": "given=2; HttpOnly; Path=/"}, page.encode())

    with Web(answer, [HOST]) as web:
        settings = {"render.when": "always", "crawl.max_depth": "0"}
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, timeout_s=60)
    assert done.code == 0, done
    assert pages(root)[web.url(HOST)].title == "given=2,mine=1"
