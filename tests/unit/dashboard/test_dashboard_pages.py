"""What the dashboard shows of one page, and of the pages that a search finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from fscrawl.errors import TreeError
from fscrawl.monitor.dashboard import scan
from fscrawl.monitor.dashboard.app import Dashboard
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
    """A request is found by its spelling, and shown as people read it; so is the search for pages that link to it."""
    asked = spelling(Request(A + "search", form={"q": "a b"}))
    grown.page(asked, b"<title>Found</title>")
    grown.page(A + "form", b"<p>", links=(asked,))
    facts = ask(f"/api/page?url={quote(asked, safe='')}").json()
    assert (facts["url"], facts["shown"]) == (asked, f"POST {A}search q=a+b")
    assert "shown" not in ask(f"/api/page?url={A}form").json()
    lines = ask(f"/api/links-in?url={quote(asked, safe='')}").lines()
    assert [line["page"]["url"] for line in lines if "page" in line] == [A + "form"]


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


def test_half_a_surrogate_pair(ask: Ask, grown: Grown) -> None:
    """A record in which somebody has written half of a surrogate pair is shown with a question mark for it."""
    path = grown.file("links", A + "b")
    data = path.read_bytes()
    path.write_bytes(data.replace("表".encode(), rb"a\ud800b"))
    assert ask(f"/api/page?url={A}b").json()["record"]["title"] == "a?b"
    path.write_bytes(data.replace(b'"url":"http://a.example/b"', rb'"url":"http://\udfff/b"'))
    assert ask(f"/api/page?url={A}b").status == 200
    assert ask("/api/pages?host=a.example&room=pages&page=0").status == 200


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


def test_body_without_encoding(ask: Ask, grown: Grown) -> None:
    """A body whose record is gone is read as its own declaration has it."""
    grown.file("links", A + "b").unlink()
    assert "表" in ask(f"/body/a.example/{key(grown, A + 'b')}").body.decode()


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
    failures = ask("/api/pages?host=a.example&room=failures").json()
    assert [row["class"] for row in failures["rows"]] == ["dns"]
    assert (failures["found"], failures["unreadable"], failures["pages"]) == (2, 1, 1)
    assert ask("/api/pages?host=nowhere.example").json()["rows"] == []


# -- searches


def test_search_within_a_host(ask: Ask) -> None:
    """A part of a URL or of a title is found in any case, and the end says that it is all."""
    lines = ask("/api/search?host=a.example&q=FRONT").lines()
    assert [(line["page"]["url"], line["page"]["how"]) for line in lines if "page" in line] == [(A, "title")]
    assert lines[-2:] == [{"looked": 4, "hosts": 1}, {"end": "all"}]
    urls = [line["page"]["url"] for line in ask("/api/search?host=a.example&q=.PDF").lines() if "page" in line]
    assert urls == [A + "doc.pdf"]
    assert not any("page" in line for line in ask("/api/search?host=a.example&q=sha256").lines())


def found_everywhere(ask: Ask, text: str) -> tuple[list[str], list[tuple[str, str]]]:
    lines = ask(f"/api/search?q={text}").lines()
    assert lines[-1] == {"end": "all"}
    pages = [(line["page"]["url"], line["page"]["how"]) for line in lines if "page" in line]
    return [line["spoken"] for line in lines if "host" in line], pages


@pytest.mark.parametrize(
    ("text", "hosts", "pages"),
    [
        ("FRONT", [], [(A, "title")]),
        (".pdf", [], [(A + "doc.pdf", "url")]),
        ("example", ["a.example", "p.example:8080"], []),
        ("p.example:8080", ["p.example:8080"], [(PORT, "url")]),
        ("p.example_8080", ["p.example:8080"], [(PORT, "url")]),
        ("A.example.", ["a.example"], []),
        ("a.example/old", [], [(A + "old", "url")]),
        ("a.example/gone", [], [(A + "gone", "url")]),
        ("le/doc", [], [(A + "doc.pdf", "url")]),
        ("sha256", [], []),
    ],
)
def test_search_in_all(ask: Ask, text: str, hosts: list[str], pages: list[tuple[str, str]]) -> None:
    """A text is searched for in all hosts: the page with this URL, hosts, then other pages; none of them twice."""
    assert found_everywhere(ask, text) == (hosts, pages)


def test_search_in_very_many_hosts(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the hosts only the first are given, and the number of the others."""
    monkeypatch.setattr(scan, "_MOST_HOSTS", 1)
    lines = ask("/api/search?q=example").lines()
    assert lines[:2] == [{"host": "a.example", "spoken": "a.example"}, {"more_hosts": 1}]


@pytest.mark.parametrize("host", ["p.example:8080", "p.example_8080", "P.Example:8080", "http://p.example:8080/x"])
def test_a_host_in_any_form(ask: Ask, host: str) -> None:
    """A host may be written in any form."""
    assert ask(f"/api/pages?host={host}").json()["found"] == 1


def test_links_in(ask: Ask) -> None:
    """All pages that lead to a URL are found on all hosts, with how they do."""
    found = {
        line["page"]["url"]: line["page"]["how"] for line in ask(f"/api/links-in?url={A}b").lines() if "page" in line
    }
    assert found == {A: "link", A + "old": "redirect", PORT: "canonical"}
    nofollow = ask(f"/api/links-in?url={A}c").lines()
    assert [line["page"]["how"] for line in nofollow if "page" in line] == ["nofollow"]


def test_links_in_of_what_only_looks_like_it(grown: Grown) -> None:
    """A record that names a URL elsewhere than in its links does not lead to it, nor does the page itself."""
    grown.page(A + "z", b"", headers={"x": A + "b"}, links=(A + "z",), sitemaps=(A + "s",))
    found = [event["page"]["url"] for event in scan.links_in(grown.tree, A + "z", "a.example") if "page" in event]
    assert found == []
    assert A + "z" not in [e["page"]["url"] for e in scan.links_in(grown.tree, A + "b", "a.example") if "page" in e]
    assert [e["page"]["how"] for e in scan.links_in(grown.tree, A + "s", "a.example") if "page" in e] == ["link"]


def test_searches_are_bounded(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search ends when it has found enough or took long enough, tells how far it came, and skips what is torn."""
    grown.file("links", A + "old").write_bytes(b'{"a.example')
    ticks = iter(range(0, 1000, 50))
    events = list(scan.matching(grown.tree, "a.example", "a.example", lambda: float(next(ticks))))
    assert events[-1] == {"end": "time"}
    assert {"looked": 1, "hosts": 1} in events
    monkeypatch.setattr(scan, "_MOST_FOUND", 2)
    events = list(scan.matching(grown.tree, "a.example", "a.example"))
    assert events[-1] == {"end": "enough"}
    assert sum("page" in event for event in events) == 2


def test_search_of_a_tree_that_goes(dashboard: Dashboard) -> None:
    """A tree that goes away during a search is its last line."""

    def events() -> Iterator[scan.Event]:
        yield {"looked": 1}
        raise TreeError("gone")

    assert list(dashboard._lines(events())) == ['{"looked":1}\n', '{"error":"gone"}\n']


def test_search_ends_with_the_dashboard(dashboard: Dashboard) -> None:
    """A search does not outlive the dashboard."""
    dashboard.close()
    assert len(list(dashboard._lines(iter([{"looked": 1}, {"looked": 2}])))) == 1


def test_examples_of_failures(ask: Ask, grown: Grown) -> None:
    """A few failures of each class are shown; a file that is torn is passed over."""
    for number in range(30):
        grown.fail(f"{A}{number}")
    grown.file("errs", A + "3").write_bytes(b"x")
    facts = ask("/api/errors").json()
    assert {name: len(rows) for name, rows in facts["classes"].items()}.get("http-4xx") == 5
    assert facts["looked"] == 32
    few = scan.examples(grown.tree, random.Random(1))
    assert set(few["classes"]) == {"dns", "http-4xx"}
    assert scan.examples(Grown(grown.root.parent / "empty").tree) == {"looked": 0, "classes": {}}
