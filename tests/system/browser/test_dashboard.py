"""The dashboard in a real browser: over a running crawl, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import CHECKOUT
from tests.support.dashboards import Served, write_log
from tests.support.fleet import Fleet
from tests.support.trees import Grown
from tests.support.web import Request, Response, Web
from tests.system.browser.conftest import HTML, Open
from tests.system.browser.keys import focused, tab_to, until

# ruff: noqa: E501 - pages and scripts as they are
pytestmark = pytest.mark.timeout(180)

HOSTS = [f"127.0.21.{n}" for n in range(1, 10)]
IMAGES = CHECKOUT / "docs" / "images"
SCREENSHOTS = os.environ.get("FSCRAWL_SCREENSHOTS") == "1"


def almanac(request: Request) -> Response:
    """A web without end, whose hosts know each other; each page takes its time, and some are not there."""
    if request.path == "/robots.txt":
        return Response(404)
    number = int(re.sub(r"\D", "", request.path) or 0)
    if number % 23 == 22:
        return Response((404, 503, 410)[number % 3], {"Content-Type": "text/plain"}, b"no", delay_s=0.1)
    port = request.headers["host"].rpartition(":")[2]
    links = [f"/{number * 3 + n}" for n in range(1, 4)] + [f"http://{host}:{port}/" for host in HOSTS]
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    styled = "<style>body { font: 16px sans-serif; margin: 2em } h1 { color: #16677c }</style>"
    html = (
        f"<!DOCTYPE html><title>Leaf {number}</title>{styled}<h1>Leaf {number}</h1><p>{'On and on. ' * 25}</p>{anchors}"
    )
    return Response(200, HTML, html.encode(), delay_s=0.1 + (number % 7) / 20)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard with control over a crawl of three machines, which goes on for as long as the tests do."""
    root = tmp_path_factory.mktemp("live") / "tree"
    settings = {"politeness.per_host": 2, "crawl.max_depth": 200}
    with Web(almanac, HOSTS, deadline_s=170) as web, Fleet(root, settings) as fleet:
        fleet.start(seeds=[web.url(HOSTS[0])])
        fleet.wait_for_tree()
        fleet.start()
        fleet.start()
        with Served(root, "--control") as served:
            served.seed = web.url(HOSTS[0])  # type: ignore[attr-defined]
            yield served


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Grown, Served]]:
    """A dashboard over a small tree in which nothing happens."""
    grown = Grown(tmp_path_factory.mktemp("still") / "tree")
    grown.many(hosts=60, pages=2)
    grown.fail("http://h1.example/gone")
    write_log(grown.root, "m-1-aa", *({"beat": n, "pages": 9 * n, "pending": 4} for n in range(30)), alive=True)
    with Served(grown.root) as served:
        yield grown, served


def tile(page: Any, name: str) -> str:
    return page.locator(f"#tiles div[data-key='{name}'] dd").inner_text().splitlines()[0].replace(",", "")


# -- a running crawl


@pytest.mark.gate
def test_updates_by_itself(live: Served, open_page: Open) -> None:
    """Pages and curves of three machines grow on the page while nobody touches it."""
    page = open_page()
    page.goto(live.url)
    until(page, "document.querySelectorAll('#machines tr').length === 3")
    before = int(tile(page, "Pages"))
    drawn = page.locator("#charts path.edge").first.get_attribute("d")
    until(
        page,
        "Number(document.querySelector('#tiles div dd').firstChild.data.replaceAll(',', '')) > given + 20",
        before,
    )
    until(page, "document.querySelector('#charts path.edge')?.getAttribute('d') !== given", drawn)
    assert page.locator("#state").inner_text() == "running"
    assert page.locator("#charts figure").count() == 4
    page.locator("#figures summary").click()
    until(page, "document.querySelectorAll('#figures-table tbody tr').length >= 3")
    page.get_by_text("1 hour").click()
    until(page, "document.querySelector('#window input:checked').value === '1h'")


def test_finds_a_page_and_its_links(live: Served, open_page: Open) -> None:
    """A URL in any spelling leads to its record, its links, and its body in a frame and as text."""
    page = open_page()
    page.goto(f"{live.url}#pages")
    url: str = live.seed + "1"  # type: ignore[attr-defined]
    until(page, "document.getElementById('state').textContent === 'running'")
    page.fill("#pages-q", url.replace("http://", " HTTP://") + "#top")
    page.press("#pages-q", "Enter")
    page.get_by_role("heading", name="Leaf 1", exact=True).wait_for()
    assert page.locator("ol.list a").first.inner_text().endswith("/4")
    assert page.locator(".where a").last.inner_text() == live.seed  # type: ignore[attr-defined]
    frame = page.frame_locator("iframe")
    assert frame.locator("h1").inner_text() == "Leaf 1"
    page.get_by_role("button", name="As text").click()
    frame.get_by_text("On and on.").wait_for()
    assert frame.locator("h1").count() == 0


def test_pages_of_a_host(live: Served, open_page: Open) -> None:
    """A host leads to the list of its pages."""
    page = open_page()
    page.goto(f"{live.url}#pages")
    host = live.seed.split("/")[2]  # type: ignore[attr-defined]
    page.fill("#pages-q", host)
    page.get_by_role("button", name="Find").click()
    page.locator("#pages-found h3", has_text=host).wait_for()
    assert page.locator("#pages-found tbody tr").count() > 1


@pytest.mark.gate
def test_control_in_the_page(live: Served, open_page: Open) -> None:
    """The printed address makes buttons appear, is not kept in the address bar, and pauses, resumes, seeds, per host too."""
    page = open_page()
    page.goto(f"{live.url}#token={live.token}")
    page.get_by_role("button", name="Pause", exact=True).click()
    until(page, "document.getElementById('state').textContent === 'paused'")
    assert live.token not in page.url
    page.get_by_role("button", name="Resume", exact=True).click()
    until(page, "document.getElementById('state').textContent === 'running'")
    page.fill("#seed-url", "http://127.0.21.200/new")
    page.press("#seed-url", "Enter")
    page.get_by_text("added: http://127.0.21.200/new").wait_for()
    page.get_by_role("link", name="Hosts").click()
    page.locator("#hosts-rows button[data-verb=pause]").first.click()
    page.get_by_text("created: PAUSE.127.0.21.").wait_for()
    page.locator("#hosts-rows button[data-verb=resume]").first.click()
    page.get_by_text("removed: PAUSE.127.0.21.").wait_for()


def test_no_control_without_the_token(live: Served, open_page: Open) -> None:
    """Who opens the bare address sees no buttons."""
    page = open_page()
    page.goto(live.url)
    until(page, "document.getElementById('about').textContent.includes('read-only')")
    assert not page.locator("#control").is_visible()
    assert not page.locator("#seed").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots(live: Served, open_page: Open, scheme: str, tmp_path: Path) -> None:
    """The main views can be drawn, below 150 KB each; with FSCRAWL_SCREENSHOTS=1 into the documentation."""
    target = IMAGES if SCREENSHOTS else tmp_path
    target.mkdir(exist_ok=True)
    page = open_page(color_scheme=scheme, viewport={"width": 1180, "height": 760})
    page.goto(live.url)
    if SCREENSHOTS:
        drawn = "(document.querySelector('#charts path.edge')?.getAttribute('d') || '').split('L').length > 15"
        until(page, drawn, timeout_s=90)
    until(page, "document.querySelectorAll('#machines tr').length === 3")
    seed: str = live.seed  # type: ignore[attr-defined]
    counted = "[...document.querySelectorAll('#hosts-rows td.n:nth-child(-n+3)')].filter(cell => cell.textContent !== '–').length"
    for name, fragment in {"overview": "overview", "hosts": "hosts", "page": f"pages?url={seed}1"}.items():
        page.set_viewport_size({"width": 1180, "height": 600})
        page.goto(f"{live.url}#{fragment}")
        if name == "hosts":
            until(page, f"{counted} >= {2 * len(HOSTS)}")
        if name == "page":
            page.frame_locator("iframe").locator("h1").wait_for()
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": 1180, "height": max(600, min(height, 1040))})
        page.evaluate("document.getElementById('about').textContent = '/mnt/shared · crawl 65edb1 · read-only ·'")
        picture = target / f"dashboard-{name}-{scheme}.png"
        page.screenshot(path=picture)
        assert picture.stat().st_size < 150_000


# -- a crawl that stands still, and people


def test_stored_page_cannot_frame_the_dashboard(still: tuple[Grown, Served], open_page: Open) -> None:
    """The dashboard is shown in nobody's frame, and a script of another origin reads nothing of it."""
    served = still[1]
    html = f"<iframe src={served.url}></iframe><p id=said></p><script>fetch('{served.url}api/state').then(() => said.textContent = 'read', () => said.textContent = 'refused')</script>"
    with Web(lambda request: Response(200, HTML, html.encode()), ["127.0.21.98"]) as web:
        page = open_page()
        page.goto(web.url("127.0.21.98"))
        page.get_by_text("refused").wait_for()
        assert page.frame_locator("iframe").locator("#tiles").count() == 0


def test_keyboard_only(still: tuple[Grown, Served], open_page: Open) -> None:
    """From the skip link to a stored page by Tab, Enter and arrows alone, the focus visible all the way."""
    page = open_page()
    page.goto(still[1].url)
    page.locator("#machines tr").first.wait_for()
    tab_to(page, "Skip to the content", 1)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    slider = page.locator(":focus")
    assert slider.get_attribute("role") == "slider"
    before = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") != before
    page.reload()
    page.locator("#machines tr").first.wait_for()
    tab_to(page, "Hosts")
    page.keyboard.press("Enter")
    page.locator("#hosts-rows tr").first.wait_for()
    tab_to(page, "hosts-q")
    page.keyboard.type("h1")
    until(page, "document.querySelectorAll('#hosts-rows tr').length === 11")
    tab_to(page, "Host")
    page.keyboard.press("Enter")
    page.locator("th[aria-sort=ascending]").wait_for()
    assert focused(page) == "Host"
    tab_to(page, "h1.example")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="h1.example: 2 pages").wait_for()
    tab_to(page, "http://h1.example/0")
    page.keyboard.press("Enter")
    page.frame_locator("iframe").get_by_text("next").wait_for()


def test_paging_and_history(still: tuple[Grown, Served], open_page: Open) -> None:
    """Sixty hosts are two pages of a table, and the browser's way back leads to the first."""
    page = open_page()
    page.goto(f"{still[1].url}#hosts")
    page.get_by_text("page 1 of 2").wait_for()
    page.get_by_role("link", name="Later").click()
    page.get_by_text("page 2 of 2").wait_for()
    until(page, "document.querySelectorAll('#hosts-rows tr').length === 10")
    page.go_back()
    page.get_by_text("page 1 of 2").wait_for()


def test_machines_fit(tmp_path: Path, open_page: Open) -> None:
    """At 1,000 pixels all columns of the machines can be seen, with long names, high numbers and a date."""
    grown = Grown(tmp_path / "tree")
    counters = {"pages": 123_456_789, "bytes": 9_876_543_210_123, "pending": 12_345_678, "hosts": 1_234_567}
    counters |= {"shards": 512, "in_flight": 1_024, "memory": 12_345_678_901}
    for number in range(3):
        name = f"crawler-node-of-the-institute-0{number}-12345-0123456789abcdef"
        beats = [{"beat": n, **counters, "errors": {"http-404": 1_234_567}} for n in range(30)]
        write_log(grown.root, name, *beats, alive=number > 0)
    with Served(grown.root) as served:
        page = open_page(viewport={"width": 1000, "height": 800})
        page.goto(served.url)
        until(page, "document.querySelectorAll('#machines tr').length === 3")
        assert page.evaluate("(t => t.scrollWidth <= t.clientWidth)(document.querySelector('[aria-label=Machines]'))")


class _SubPath(socketserver.StreamRequestHandler):
    """Passes a request on to a port, without the part of the path that begins all, as a reverse proxy does."""

    path, port = b"", 0

    def handle(self) -> None:
        method, rest = self.rfile.readline().split(b" ", 1)
        if not rest.startswith(self.path + b"/"):
            return
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as onward:
            onward.sendall(method + b" " + rest.removeprefix(self.path))
            while (line := self.rfile.readline()) != b"\r\n":
                onward.sendall(line)
            onward.sendall(b"\r\n")
            with contextlib.suppress(OSError):
                while data := onward.recv(1 << 16):
                    self.wfile.write(data)


def test_below_a_sub_path(still: tuple[Grown, Served], open_page: Open) -> None:
    """Behind a reverse proxy that has it at a sub-path, the page, its streams, searches and stored pages are there."""
    handler = type("Handler", (_SubPath,), {"path": b"/tools/crawl", "port": still[1].port})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        page = open_page()
        url = f"http://127.0.0.1:{proxy.server_address[1]}/tools/crawl/"
        page.goto(url)
        until(page, "document.getElementById('state').textContent === 'running'")
        page.goto(f"{url}#hosts")
        page.locator("#hosts-rows tr").first.wait_for()
        page.goto(f"{url}#pages?host=h1.example")
        page.locator("#pages-found a").first.wait_for()
        page.goto(f"{url}#pages?url=http://h1.example/0")
        page.frame_locator("iframe").locator("body").wait_for()
        assert page.locator("iframe").get_attribute("src").startswith("body/")
        page.goto("about:blank")
        proxy.shutdown()


@pytest.mark.parametrize("view", ["#overview", "#hosts", "#pages?host=h1.example", "#pages?url=http://h1.example/0"])
def test_phone(still: tuple[Grown, Served], open_page: Open, view: str) -> None:
    """On a phone nothing is wider than the screen, and what is touched is large enough."""
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.goto(still[1].url + view)
    until(page, "document.getElementById('state').textContent === 'running'")
    page.locator(
        {"#overview": "#machines tr", "#hosts": "#hosts-rows tr"}.get(view, "#pages-found h3")
    ).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    heights = page.evaluate(
        "[...document.querySelectorAll('header nav a, form button')].filter(e => e.offsetHeight).map(e => e.offsetHeight)"
    )
    assert min(heights) >= 32


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(still: tuple[Grown, Served], open_page: Open, scheme: str) -> None:
    """In both schemes every text is told from its ground by 4.5 : 1 (WCAG AA), and the dark one is dark."""
    page = open_page(color_scheme=scheme)
    page.goto(still[1].url)
    page.locator("#machines tr").first.wait_for()
    found = page.evaluate(_CONTRASTS)
    assert min(found["contrasts"].values()) >= 4.5, found
    assert (found["ground"] < 0.1) == (scheme == "dark")


_CONTRASTS = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } };
  const contrasts = {};
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color).slice(0, 3)), light(ground(e))];
    contrasts[`${e.tagName} ${e.className} ${e.textContent.slice(0, 20)}`] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }
  return { contrasts, ground: light(ground(document.body)) };
}"""


def test_tree_that_goes_and_comes_back(tmp_path: Path, open_page: Open) -> None:
    """An unmounted tree is a line on the page, which goes when the tree is back."""
    grown = Grown(tmp_path / "tree")
    with Served(grown.root) as served:
        page = open_page()
        page.goto(served.url)
        until(page, "document.getElementById('state').textContent === 'new'")
        away = grown.root.rename(tmp_path / "away")
        page.get_by_text("The tree cannot be read").wait_for()
        away.rename(grown.root)
        page.get_by_text("The tree cannot be read").wait_for(state="hidden")
