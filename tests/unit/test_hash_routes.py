"""Links to the states of an application behind `#`."""

from __future__ import annotations

import pytest

from fscrawl.parse import links
from fscrawl.parse.links import ParsedPage, extract
from fscrawl.parse.resolving import MAX_CHARS
from fscrawl.request import MAX_FRAGMENT_CHARS, flaw, read, route_of
from fscrawl.urls import MAX_URL_CHARS, Joiner, Spelling

SHOP = "http://a.example/shop"


def page(dom: str, *, drop_query: bool = False, **how: object) -> ParsedPage:
    return extract(dom.encode(), SHOP, Joiner(Spelling(drop_query)), with_routes=True, **how)  # type: ignore[arg-type]


def routes(found: ParsedPage) -> list[str]:
    """List the addresses of a page's routes."""
    return [read(each).address for each in found.links if "#" in each]


@pytest.mark.parametrize(
    ("dom", "found"),
    [
        ('<a href="#/item/3">', [f"{SHOP}#/item/3"]),
        ('<a href="#!item=3"><a href="#!/a">', [f"{SHOP}#!item=3", f"{SHOP}#!/a"]),
        ('<a href="/other?q#/a">', ["http://a.example/other?q#/a"]),
        ('<a href="http://b.example/#/a">', ["http://b.example/#/a"]),
        ('<base href="/app/"><a href="x#/a">', ["http://a.example/app/x#/a"]),
        ('<base href="mailto:a"><a href="#/a">', [f"{SHOP}#/a"]),
        ('<a href="#/a"><a href=" #/a ">', [f"{SHOP}#/a"]),
        ('<a href="#/a b/&#xfc;">', [f"{SHOP}#/a%20b/%C3%BC"]),
        ('<a rel="Nofollow me" href="#/a"><a href="#/b">', [f"{SHOP}#/b"]),
        ('<a href="#top"><a href="#"><a href="#!"><a href="#/"><a href="#!/"><a><a href><a name="#/a">', []),
        ('<a href="javascript:#/a"><a href="mailto:a#/a">', []),
        (f'<a href="#/{"a" * MAX_FRAGMENT_CHARS}"><a href="/{"b" * MAX_URL_CHARS}#/a">', []),
        ("<p>#/a", []),
    ],
)
def test_routes(dom: str, found: list[str]) -> None:
    """Both ways to write a route; bases, blanks, other alphabets; what is no route, or must not be followed."""
    of_page = page(dom)
    assert routes(of_page) == found
    assert not any(flaw(read(each)) for each in of_page.links if "#" in each)
    assert routes(page(dom, parser="html5lib")) == found


@pytest.mark.gate
def test_most_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that links to endless routes gives the first ones, by their number and by their length."""
    with monkeypatch.context() as patch:
        patch.setattr(links, "MAX_LINKS", 2)
        found = page("".join(f'<a href="#/{number}">' for number in range(5)))
    assert (routes(found), found.truncated) == ([f"{SHOP}#/0", f"{SHOP}#/1"], True)
    long = "".join(f'<a href="#/{number:0{MAX_FRAGMENT_CHARS - 1}}">' for number in range(5000))
    found = page(long)
    assert sum(map(len, found.links)) < MAX_CHARS
    assert found.truncated


def test_routes_obey_the_settings_of_links() -> None:
    """A query that is dropped is dropped of routes, too; what is not followed gives none; nofollow counts."""
    assert routes(page('<a href="?q=1#/a">', drop_query=True)) == [f"{SHOP}#/a"]
    assert routes(page('<a href="#/a">', follow=frozenset({"img"}))) == []
    found = page('<meta name=robots content=nofollow><a href="#/a">')
    assert (found.links, found.nofollow) == ((), (f"{SHOP}#method=GET&fragment=/a",))


@pytest.mark.parametrize(
    ("written", "route"),
    [("http://a.example/#/a\tb\n", "/ab"), ('#!x<y>`"', "!x%3Cy%3E%60%22"), ("#/%41#b", "/%41#b"), ("/a", "")],
)
def test_a_route(written: str, route: str) -> None:
    """A fragment is written as a browser writes it in `location.hash`."""
    assert route_of(written) == route
