"""Every page of the dashboard and the report for people who use a keyboard or a screen reader, on any screen."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fscrawl.storage.records import timestamp
from tests.support.axe import violations
from tests.support.crawling import CHECKOUT
from tests.support.dashboards import Served, write_log
from tests.support.trees import Grown
from tests.system.browser.conftest import Open
from tests.system.browser.keys import focused, tab_to, until

# ruff: noqa: E501 - pages and scripts as they are
pytestmark = pytest.mark.timeout(180)

NASTY = "<img src=x onerror=alert(1)>\"'&amp;"
HOSTS = {
    "h1.example": {"pending": 40, "delay": 1, "set_by": "settings", "wait": 3000, "why": "retry-after"},
    "h2.example": {"pending": 2, "delay": 3.5, "set_by": "robots", "wait": 2, "why": "delay"},
    "h3.example": {"pending": 9, "why": NASTY[:40], "set_by": NASTY[:40], "delay": 5},
    "new.example": {"pending": 1, "why": "failing", "wait": 900, "failures": 12, "delay": 64, "set_by": "failures"},
}
BEAT = {"pending": 4, "needed": 0, "slow": {"h2.example": 3.0}, "failing": {"h3.example": 4}, "errors": {"http-4xx": 2}}
VIEWS = {
    "overview": "#machines tr",
    "hosts": "#hosts-rows tr",
    "pages": "#pages-found p",
    "pages?host=h1.example": "#pages-found tbody tr",
    "pages?host=h1.example&list=failures": "#pages-found tbody tr",
    "pages?url=http://h1.example/0": "#pages-found iframe",
    "pages?url=http://none.example/": "#pages-found p.bad",
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A tree with a bit of everything: labels, rests, failures, slow hosts, titles that mean harm."""
    grown = Grown(tmp_path_factory.mktemp("seen") / "tree")
    grown.many(hosts=60, pages=2)
    grown.fail("http://h1.example/gone", "http-4xx", message=NASTY)
    grown.redirect("http://h1.example/old", "http://h1.example/0")
    grown.page("http://h1.example/day", f"<title>{NASTY}</title><p>x".encode(), label="day 1")
    grown.page("http://h4.example/nasty", b"<p>x", label=NASTY)
    for name in ("d1", "d2"):
        grown.page(f"http://h2.example/{name}", b"<p>the same")
    beats = ({"beat": n, "pages": 9 * n, "stored": 9 * n, **BEAT} for n in range(30))
    write_log(grown.root, "m-1-aa", *beats, alive=True)
    write_log(grown.root, "m-2-bb", {"beat": 1, "pages": 7}, {"bye": True, "pages": 9})
    machines = grown.root / ".fscrawl" / "machines"
    labels = {
        "day 1": {"stored": 20, "pending": 3, "failed": 1},
        NASTY: {"stored": 1},
        "day 2": {"pending": 5},
        "": {"known": [0, 0]},
    }
    (machines / "m-1-aa.labels.json").write_text(json.dumps(labels))
    said = {"at": timestamp(time.time()), "shards": {"3": 40, "4": 2}, "hosts": HOSTS}
    (machines / "m-1-aa.hosts.json").write_text(json.dumps(said))
    (grown.root / "crawl.toml").write_text('[crawl]\nstopped_labels = ["day 2"]\n')
    return grown


@pytest.fixture(scope="module")
def served(grown: Grown) -> Iterator[Served]:
    """A dashboard, and a machine that beats every second."""
    over = threading.Event()
    log = grown.root / ".fscrawl" / "machines" / "m-1-aa.log"

    def beat() -> None:
        number = 30
        while not over.wait(1.0):
            number += 1
            facts = {"beat": number, "pages": 9 * number, "stored": 9 * number, **BEAT, "at": timestamp(time.time())}
            with log.open("a") as file:
                file.write(json.dumps(facts) + "\n")

    heart = threading.Thread(target=beat)
    heart.start()
    with Served(grown.root, "--control") as served:
        yield served
    over.set()
    heart.join()


def shown(page: Any, served: Served, view: str) -> Any:
    """Open a view, with the buttons of control."""
    page.goto(f"{served.url}#token={served.token}")
    page.locator("#machines tr").first.wait_for()
    page.goto(f"{served.url}#{view}")
    page.locator(VIEWS[view]).first.wait_for()
    return page


# -- rules


@pytest.mark.parametrize("width", [1180, 1000, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken(served: Served, open_page: Open, scheme: str, width: int) -> None:
    """On every page of the dashboard axe-core finds nothing, and nothing is wider than the screen."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 760})
    for view in VIEWS:
        shown(page, served, view)
        if view == "overview":
            page.locator("#figures summary").click()
            page.locator("#show-examples").click()
            page.locator("#examples li").first.wait_for()
        assert violations(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        if width >= 1000:  # nor is a table cut off
            assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)")


@pytest.mark.parametrize("width", [1180, 1000, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report(grown: Grown, open_page: Open, scheme: str, width: int, tmp_path: Path) -> None:
    """The report breaks no rule either, asks for nothing, sorts and searches, and what it says of the web is text."""
    out = tmp_path / "report.html"
    words = [sys.executable, "-m", "fscrawl", "report", "--root", str(grown.root), "--out", str(out)]
    subprocess.run(words, check=True, capture_output=True, cwd=CHECKOUT)
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 760})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for view in ("overview", "hosts"):
        page.goto(f"{out.as_uri()}#{view}")
        page.locator(VIEWS[view]).first.wait_for()
        if view == "overview":
            page.locator("#show-examples").click()
            page.get_by_text(NASTY).first.wait_for()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("img").count() == 0
    assert page.locator("header nav a").all_inner_texts() == ["Overview", "Hosts"]
    page.fill("#hosts-q", "h1")
    until(page, "document.querySelectorAll('#hosts-rows tr').length === 11")
    page.locator("#hosts-head button", has_text="Records").click()
    page.locator("#hosts-head th[aria-sort=ascending]").wait_for()
    assert {url.partition("#")[0] for url in asked if not url.startswith("data:")} == {out.as_uri()}


def test_axe_finds_what_is_wrong(open_page: Open) -> None:
    """The rules are in force: a page that breaks some of them is found out."""
    page = open_page()
    page.set_content("<title>x</title><main><h1>x</h1><img src=x><input><p style='color:#ccc'>pale</p></main>")
    found = {line.split(" ")[0] for line in violations(page)}
    assert {"html-has-lang", "image-alt", "label", "color-contrast"} <= found


# -- what screen readers are told


def test_tables_have_captions_and_headers(served: Served, open_page: Open) -> None:
    """Each table has a caption, each column a header with its scope, and each row of the large tables its own."""
    page = open_page()
    for view in VIEWS:
        shown(page, served, view)
        found = page.evaluate(
            "[...document.querySelectorAll('table')].filter(t => t.checkVisibility()).map(t => ({ caption: t.caption?.textContent,"
            " heads: [...t.querySelectorAll('thead th')].every(c => c.scope === 'col' && c.textContent.trim()) }))"
        )
        assert all(table["caption"] and table["heads"] for table in found), (view, found)
        if view == "hosts":
            assert page.locator("#hosts-rows tr > th[scope=row]").count() == page.locator("#hosts-rows tr").count()
            assert page.locator("#hosts-head th[aria-sort]").count() == 1


def test_titles_and_headings(served: Served, open_page: Open) -> None:
    """The title says which view it is, and a link from one view to another leads to its heading."""
    page = open_page()
    for view, title in (("hosts", "Hosts"), ("pages", "Pages")):
        shown(page, served, view)
        assert page.title().startswith(f"{title} · "), view
        assert page.locator("header nav [aria-current=page]").inner_text() == title
    shown(page, served, "hosts")
    page.locator("#hosts-rows").get_by_role("link", name="h1.example", exact=True).press("Enter")
    page.locator("#pages-found tbody tr").first.wait_for()
    assert focused(page) == "Pages"


def test_states_are_words(served: Served, open_page: Open) -> None:
    """Whatever has a colour has a word, too: of machines, labels and hosts."""
    page = open_page()
    for view, words in {
        "overview": ["running", "alive", "left", "done", "stopped"],
        "hosts": ["rests: its answer asked for a pause (Retry-After)", "its delay is not over"],
    }.items():
        shown(page, served, view)
        if view == "hosts":
            page.get_by_text("rests:").first.wait_for()
        text = page.locator("body").inner_text()
        assert [word for word in words if word not in text] == []


_COUNT_SAID = """() => {
  window.said = [];
  for (const region of document.querySelectorAll("[role=status], [role=alert], [aria-live]")) {
    new MutationObserver(() => window.said.push(`${region.id}: ${region.textContent}`)).observe(region, { childList: true, characterData: true, subtree: true });
  }
}"""


def test_little_is_said_aloud(served: Served, open_page: Open) -> None:
    """While beats come in and hosts are counted nothing is said; after a search, one line is."""
    page = open_page()
    shown(page, served, "hosts")
    page.evaluate(_COUNT_SAID)
    before = page.locator("#tiles dd").first.inner_text()
    until(page, "document.querySelector('#tiles dd').textContent !== given", before)
    page.wait_for_timeout(3000)
    assert page.evaluate("window.said") == []
    page.fill("#hosts-q", "h1")
    until(page, "document.querySelectorAll('#hosts-rows tr').length === 11")
    assert page.evaluate("window.said") == ["hosts-status: 11 found; shown from number 1 on"]


# -- the keyboard


def test_focus_goes_in_the_order_of_the_page(served: Served, open_page: Open) -> None:
    """Tab goes from the skip link through the navigation to the table, from left to right and from top to bottom."""
    page = open_page()
    shown(page, served, "hosts")
    page.reload()
    page.locator("#hosts-rows tr").nth(5).wait_for()
    for wanted in ("Skip to the content", "Overview", "Hosts", "Pages", "Pause", "Resume", "Stop"):
        tab_to(page, wanted, 1)
    box = page.evaluate("document.activeElement.getBoundingClientRect().bottom")
    for name in ("hosts-q", "hosts-only", "Search", "Host"):
        tab_to(page, name, 2)
        there = page.evaluate("document.activeElement.getBoundingClientRect()")
        assert there["top"] >= box or there["left"] > 0
    tab_to(page, "Later ›", 160)


def test_tables_by_keyboard(served: Served, open_page: Open) -> None:
    """Search, parts, order, pages of a table: all by the keyboard, and the focus is never lost."""
    page = open_page()
    shown(page, served, "hosts")
    page.get_by_text("page 1 of 2").wait_for()
    page.focus("#hosts-pager a")
    page.keyboard.press("Enter")
    page.get_by_text("page 2 of 2").wait_for()
    assert focused(page) == "‹ Earlier"
    page.locator("#hosts-head button", has_text="Host").focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Space")
        page.locator(f"#hosts-head th[aria-sort={order}][data-sort=host]").wait_for()
    assert focused(page) == "Host"
    page.focus("#hosts-only")
    page.keyboard.type("held")
    until(page, "location.hash.includes('only=held')")
    assert page.evaluate("document.activeElement.id") == "hosts-only"
    page.focus("#hosts-q")
    page.keyboard.type("h1.ex")
    until(page, "document.querySelectorAll('#hosts-rows tr').length === 1")


def test_still(served: Served, open_page: Open) -> None:
    """Who wants no motion gets none."""
    page = open_page(reduced_motion="reduce")
    shown(page, served, "hosts")
    moving = "[...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e); return parseFloat(s.transitionDuration) > 0 || s.animationName !== 'none' }).length"
    assert page.evaluate(moving) == 0


def test_without_scripts(served: Served, open_page: Open) -> None:
    """Without JavaScript the page says what it needs, and breaks no layout."""
    page = open_page(java_script_enabled=False)
    page.goto(served.url)
    assert "This page needs JavaScript." in page.content()
    assert page.get_by_role("heading", name="fscrawl").is_visible()


# -- what means harm


@pytest.mark.parametrize(
    "view",
    ["overview", "hosts", "pages?host=h1.example", "pages?host=h1.example&list=failures"],
)
def test_what_means_harm_is_text(served: Served, open_page: Open, view: str) -> None:
    """Labels, reasons, titles and messages of failures are text on every page, whatever is in them."""
    page = open_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{served.url}#{view}")
    page.locator(f"#{view.split('?', maxsplit=1)[0]}").get_by_text(NASTY[:20]).first.wait_for()
    assert page.locator("main img").count() == 0
    assert dialogs == []


def test_labels_while_the_page_is_open(grown: Grown, served: Served, open_page: Open) -> None:
    """A label that is taken out of the settings while somebody looks is stopped no more, without another click."""
    page = open_page()
    shown(page, served, "overview")
    page.locator("#labels-rows").get_by_text("stopped").wait_for()
    settings = grown.root / "crawl.toml"
    before = settings.read_text()
    try:
        settings.write_text("[crawl]\n")
        page.locator("#labels-rows").get_by_text("stopped").wait_for(state="detached")
    finally:
        settings.write_text(before)
