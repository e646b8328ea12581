"""What the dashboard shows of one page, of the pages of a host, and of failures."""

from __future__ import annotations

import random
from urllib.parse import quote

import pytest

from fscrawl.monitor.dashboard import pages
from fscrawl.request import Request, spelling
from tests.support.dashboards_in_process import PORT, A, Ask
from tests.support.trees import Grown


def key(grown: Grown, url: str) -> str:
    return (grown.records.get(url) or grown.failures[url]).key


# -- pages


@pytest.mark.parametrize("typed", [A + "b", "HTTP://A.example:80/./b#top", "a.example/b", " a.example/b "])
def test_page_by_url(ask: Ask, grown: Grown, typed: str) -> None:
    """A URL is found in any spelling, and tells where it was found first."""
    facts = ask(f"/api/page?url={typed.replace('#', '%23').replace(' ', '+')}").json()
    assert (facts["url"], facts["record"]["title"], facts["has_body"]) == (A + "b", "表", True)
    assert facts["referrer"]["url"] == A
    assert facts["error"] is None


def test_requests(ask: Ask, grown: Grown) -> None:
    """A request is found by its spelling, and shown as people read it."""
    asked = spelling(Request(A + "search", form={"q": "a b"}))
    grown.page(asked, b"<title>Found</title>")
    grown.page(A + "form", b"<p>", links=(asked,))
    facts = ask(f"/api/page?url={quote(asked, safe='')}").json()
    assert (facts["url"], facts["shown"]) == (asked, f"POST {A}search q=a+b")
    assert "shown" not in ask(f"/api/page?url={A}form").json()


def test_page_of_another_host_tells_its_key(ask: Ask, grown: Grown) -> None:
    """Where a URL was found on another host only the key is known; a seed was found nowhere."""
    assert ask(f"/api/page?url={PORT}").json()["referrer"] == {"key": key(grown, A)}
    assert ask(f"/api/page?url={A}").json()["referrer"] is None


def test_failure_by_key(ask: Ask, grown: Grown) -> None:
    """A failure is found by host and key, with a colon before the port or without."""
    facts = ask(f"/api/page?host=a.example&key={key(grown, A + 'gone')}").json()
    assert (facts["error"]["class"], facts["record"], facts["has_body"]) == ("http-4xx", None, False)
    assert ask(f"/api/page?host=p.example:8080&key={key(grown, PORT)}").json()["url"] == PORT


def test_damaged_record(ask: Ask, grown: Grown) -> None:
    """A record that cannot be read is said to be damaged."""
    grown.file("links", A + "b").write_bytes(b"{")
    facts = ask(f"/api/page?url={A}b").json()
    assert (facts["record"], facts["url"], len(facts["damages"])) == (None, None, 1)


def test_file_that_cannot_be_read(ask: Ask, grown: Grown) -> None:
    """What stands in the place of a record and is no file is a damage, and not a page that is missing."""
    grown.file("links", A + "b").unlink()
    grown.file("links", A + "b").mkdir()
    assert "it is a directory, not a file" in ask(f"/api/page?url={A}b").json()["damages"][0]


def test_bodies(ask: Ask, grown: Grown) -> None:
    """A body is decoded as its record says, as a page, as what one reads, and as source."""
    place = f"/body/a.example/{key(grown, A + 'b')}"
    page, source = ask(place), ask(f"{place}?as=source")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert source.body.decode() == "<meta charset=shift_jis><title>表</title><p>表"
    assert page.body.decode().startswith(source.body.decode())
    assert source.headers["content-type"] == "text/plain; charset=utf-8"
    assert ask(f"{place}?as=text").body.decode() == "表"
    for answer in (page, source, ask("/body/x/y")):
        assert answer.headers["content-security-policy"].startswith("sandbox;")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_rendered_page(ask: Ask, grown: Grown) -> None:
    """What scripts have made is shown; what the server sent, too; and how the scripts were run, in a line."""
    url, dom = "http://a.example/app", "<p>größer<a href=/x>x</a>".encode()
    grown.rendered(url, "<p>gro\xdf".encode("latin1"), dom, encoding="windows-1252")
    facts = ask(f"/api/page?url={url}").json()
    assert (facts["has_dom"], facts["record"]["rendered"]) == (True, "done, in 0.5 s")
    place = f"/body/a.example/{key(grown, url)}"
    assert ask(f"{place}?as=source").body.decode() == dom.decode()
    assert ask(f"{place}?as=text").body.decode() == "größerx"
    assert ask(f"{place}?as=answer").body.decode() == "<p>groß"
    assert not ask(f"/api/page?url={A}b").json()["has_dom"]


def test_pages_of_a_host(ask: Ask, grown: Grown) -> None:
    """A host's records and failures are listed, and what cannot be read is counted."""
    rows = ask("/api/pages?host=a.example").json()
    assert [(row["url"], row["kind"]) for row in rows["rows"]] == [
        (A, "page"),
        (A + "b", "page"),
        (A + "doc.pdf", "other"),
        (A + "old", "redirect"),
    ]
    grown.file("errs", A + "gone").write_bytes(b"")
    failures = ask("/api/pages?host=a.example&list=failures").json()
    assert [row["class"] for row in failures["rows"]] == ["dns"]
    assert (failures["found"], failures["unreadable"], failures["pages"]) == (2, 1, 1)
    assert ask("/api/pages?host=nowhere.example").json()["rows"] == []


@pytest.mark.parametrize("host", ["p.example:8080", "p.example_8080", "P.Example:8080", "http://p.example:8080/x"])
def test_a_host_in_any_form(ask: Ask, host: str) -> None:
    """A host may be written in any form."""
    assert ask(f"/api/pages?host={host}").json()["found"] == 1


def test_examples_of_failures(ask: Ask, grown: Grown) -> None:
    """A few failures of each class are shown; a file that is torn is passed over."""
    for number in range(30):
        grown.fail(f"{A}{number}")
    grown.file("errs", A + "3").write_bytes(b"x")
    facts = ask("/api/errors").json()
    assert {name: len(rows) for name, rows in facts["classes"].items()}.get("http-4xx") == 5
    assert facts["looked"] == 32
    few = pages.examples(grown.tree, random.Random(1))
    assert set(few["classes"]) == {"dns", "http-4xx"}
    assert pages.examples(Grown(grown.root.parent / "empty").tree) == {"looked": 0, "classes": {}}
