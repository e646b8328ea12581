"""A tree with pages of every kind, which is read from Python."""

from pathlib import Path

from tests.support.trees import Grown

HOME = "http://a.example/"


def grown_in(root: Path) -> Grown:
    """Make a tree with four pages of four hosts, a redirect, a file that is no page, and two failures."""
    tree = Grown(root)
    tree.page(
        HOME,
        '<html lang=en><title>Ä title</title><p class=x>one</p><p class=x>two<a href="/b">b</a>'.encode(),
        ip="192.0.2.1",
        label="task",
        referrer="0b" * 12,
        headers={"content-type": "text/html; charset=utf-8", "set-cookie": "secret"},
    )
    tree.page("http://a.example:8080/8080")
    tree.page("http://sub.a.example/")
    tree.page("http://xn--bcher-kva.example/")
    tree.redirect("http://a.example/old", HOME)
    tree.skipped("http://a.example/paper")
    tree.fail("http://a.example/gone")
    tree.fail("http://b.example/slow", class_="timeout", status=None)
    return tree
