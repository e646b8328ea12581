"""Links to the states of an application behind `#`."""

from __future__ import annotations

import pytest

from fscrawl.parse import hash_routes
from fscrawl.request import MAX_FRAGMENT_CHARS, flaw, read, route_of
from fscrawl.urls import MAX_URL_CHARS

SHOP = "http://a.example/shop"


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
    routes = hash_routes.hash_routes(dom.encode(), SHOP)
    assert [read(each).address for each in routes] == found
    assert not any(flaw(read(each)) for each in routes)


def test_most_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that links to endless routes gives the first ones."""
    monkeypatch.setattr(hash_routes, "MOST_ROUTES", 2)
    dom = b"".join(b'<a href="#/%d">' % number for number in range(5))
    assert [read(each).fragment for each in hash_routes.hash_routes(dom, SHOP)] == ["/0", "/1"]


@pytest.mark.parametrize(
    ("written", "route"),
    [("http://a.example/#/a\tb\n", "/ab"), ('#!x<y>`"', "!x%3Cy%3E%60%22"), ("#/%41#b", "/%41#b"), ("/a", "")],
)
def test_a_route(written: str, route: str) -> None:
    """A fragment is written as a browser writes it in `location.hash`."""
    assert route_of(written) == route
