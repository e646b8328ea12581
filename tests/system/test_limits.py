"""Limits of a crawl, run by run: what is left out now is found when the limit goes, and depth is by the nearest way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.crawling import check_tree, crawl, pages
from tests.support.web import Response, Web, site

pytestmark = pytest.mark.proof

A, B = "127.0.44.1", "127.0.44.2"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def links(*targets: str) -> str:
    return "".join(f'<a href="{target}">x</a>' for target in targets)


def stored(root: Path) -> set[str]:
    """Give the stored pages as host and path."""
    return {re.sub(r"^http://([^:/]*)(:\d+)?", r"\1", url) for url in pages(root)}


@pytest.mark.parametrize(
    ("limit", "left_out"), [({"crawl.deny": '["/secret/"]'}, "/secret/"), ({"crawl.max_depth": 1}, "/deep")]
)
def test_a_limit_that_is_taken_away(root: Path, limit: dict[str, object], left_out: str) -> None:
    """A crawl that has ended with a limit finds the rest in the next run without it; nothing is asked for twice.

    A shard that was left clean was never read again: the next run found nothing, however often it was run.
    """
    answers: dict[str, str | Response] = {
        "/": links("/secret/1", "/open"),
        "/open": links("/deep", "/secret/2"),
        "/secret/1": links("/secret/3"),
        "/deep": links("/deeper"),
    }
    answers |= dict.fromkeys(["/secret/2", "/secret/3", "/deeper"], "the end")
    with Web(site(answers), [A]) as web:
        assert crawl(root, seeds=[web.url(A, "/")], settings=limit).code == 0
        first = stored(root)
        assert 0 < len(first) < len(answers)
        assert not any(page.startswith(A + left_out) for page in first)
        name = next(iter(limit)).rpartition(".")[2]
        toml = root / "crawl.toml"
        toml.write_text(re.sub(rf"(?m)^{name} = ", f"# {name} = ", toml.read_text()))
        again = crawl(root)
        assert again.code == 0, again
        assert stored(root) == {A + path for path in answers}
        assert web.duplicates() == {}
    check_tree(root)


@pytest.mark.parametrize("longer", [False, True])
def test_a_slow_page_is_the_nearest_way(root: Path, longer: bool) -> None:
    """X is two links away by a page that answers late, and three or four by quick ones: what X links to is stored.

    X was taken for told though it had been cut for its depth, or kept the depth at which it was found first.
    """
    answers: dict[str, str | Response] = {
        "/a": links("/b"),
        "/b": links("/c" if longer else "/x"),
        "/c": links("/x"),
        "/x": links("/y"),
        "/y": links("/z"),
        "/z": "too deep",
    }
    with Web(site(answers), [A, B]) as web:
        answers["/"] = links(web.url(B, "/slow"), "/a")
        answers["/slow"] = Response(200, HTML, links(web.url(A, "/x")).encode(), 2.0)
        done = crawl(root, seeds=[web.url(A, "/")], settings={"crawl.max_depth": 3})
        assert done.code == 0, done
        assert stored(root) == {A + path for path in ("/", "/a", "/b", "/x", "/y", *(["/c"] if longer else []))} | {
            f"{B}/slow"
        }
        assert web.duplicates() == {}
    check_tree(root)
