"""The view Search of the dashboard in a browser: hostile pages, where results lead, and what is missing."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.support.dashboards import Served
from tests.support.trees import Grown
from tests.system.browser.conftest import Open

EVIL = b"<title>&lt;img src=x onerror=alert(1)&gt; words</title><p>some words &lt;script&gt;alert(2)&lt;/script&gt;"


def test_search(tmp_path: Path, open_page: Open) -> None:
    """Words are found, marked, and shown as text; a result leads to the stored page, and Back to the results."""
    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/", EVIL)
    for number in range(24):
        tree.page(f"http://b.example/{number}", b"<title>Other</title><p>common words here")
    tree.merge(tmp_path / "out", index=True)
    with Served(tree.root, "--dataset", str(tmp_path / "out")) as served:
        page = open_page()
        page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
        page.goto(f"{served.url}#search")
        page.get_by_label("Words of titles and texts").fill("words")
        page.get_by_role("search").get_by_role("button", name="Search").locator("visible=true").click()
        page.get_by_text("25 pages found").wait_for()
        assert page.locator("#search-found li").count() == 20
        assert page.locator("#search-found mark").first.inner_text() == "words"
        first = page.locator("#search-found li").first
        assert first.locator("h3").inner_text() == "<img src=x onerror=alert(1)> words"
        assert page.locator("#search-found img, #search-found script").count() == 0
        first.get_by_role("link").click()
        page.get_by_role("heading", name="Stored body").wait_for()
        page.go_back()
        page.get_by_text("25 pages found").wait_for()
        page.get_by_role("link", name="Later").click()
        expect(page.locator("#search-found li")).to_have_count(5)
        page.get_by_label("Words of titles and texts").fill('"open')
        page.keyboard.press("Enter")
        page.get_by_text("at its beginning only").wait_for()


def test_no_dataset(tmp_path: Path, open_page: Open) -> None:
    """A dashboard without a dataset says how to start one with it."""
    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/")
    with Served(tree.root) as served:
        page = open_page()
        page.goto(f"{served.url}#search?q=words")
        page.get_by_text("start it with --dataset DIR").wait_for()
