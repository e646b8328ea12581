"""What `make docs` makes sure of: each page has a place, links lead somewhere, nothing is loaded from elsewhere.

The site itself is built by `make docs`, which .ci/run runs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.site.anchors import slug
from tools.site.check import troubles
from tools.site.pages import NavError, complete, copy_pages

CHECKOUT = Path(__file__).parents[2]


def test_every_page_has_a_place() -> None:
    """The navigation of mkdocs.yml has a place for each page that there is, and no page that is not there."""
    yaml = pytest.importorskip("yaml")
    text = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(re.sub(r"!!python/name:\S+", "", text))["nav"]
    patterns = ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md")
    pages = [path.relative_to(CHECKOUT).as_posix() for each in patterns for path in CHECKOUT.glob(each)]
    whole = str(complete(nav, pages))
    assert [page for page in pages if whole.count(f"'{page}'") != 1] == []


def test_a_new_page_finds_its_place_by_itself() -> None:
    """A page in a directory that the navigation names stands behind those that are named."""
    nav = [{"How to": ["docs/how-to/z.md", "docs/how-to/"]}]
    assert complete(nav, ["docs/how-to/a.md", "docs/how-to/z.md"]) == [
        {"How to": ["docs/how-to/z.md", "docs/how-to/a.md"]}
    ]


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        (["docs/a.md", "docs/new.md"], r"mkdocs\.yml: nav has no place for docs/new\.md; add it"),
        ([], r"mkdocs\.yml: nav has docs/a\.md, which is not there"),
    ],
)
def test_a_page_without_a_place_is_named(pages: list[str], message: str) -> None:
    """A page that the navigation does not have, and one that it has in vain, is an error that names the page."""
    with pytest.raises(NavError, match=message):
        complete(["docs/a.md"], pages)


def test_pages_are_copied_with_what_they_show(tmp_path: Path) -> None:
    """Pages keep their paths, so that their links hold; what an earlier build left is gone."""
    into = tmp_path / "pages"
    into.mkdir()
    (into / "old.md").touch()
    pages = copy_pages(CHECKOUT, into)
    assert {"README.md", "docs/how-to/export.md", "examples/README.md"} <= set(pages)
    assert "old.md" not in pages
    assert list((into / "docs/images").glob("*.png"))


def test_anchors_are_those_of_github() -> None:
    """Signs are left out, blanks become hyphens, and letters beyond ASCII stay."""
    assert slug("Unexpected, NoAnswer, dates") == "unexpected-noanswer-dates"
    assert slug("[crawl]") == "crawl"
    assert slug("Größe – 1 MB") == "größe--1-mb"


WHOLE = '<link rel="stylesheet" href="a.css"><h1 id="x">A</h1><p>Text</p><a href="b.html#y">b</a><a href="#x">x</a>'


def site(tmp_path: Path, body: str = WHOLE) -> Path:
    (tmp_path / "a.html").write_text(body, encoding="utf-8")
    (tmp_path / "b.html").write_text('<h1 id="y">B</h1><a href="https://example.org/">out</a>', encoding="utf-8")
    (tmp_path / "a.css").write_text("body {}", encoding="utf-8")
    return tmp_path


def test_a_whole_site_is_whole(tmp_path: Path) -> None:
    """Links within it, and links of a proper form to the outside, are no trouble."""
    assert troubles(site(tmp_path)) == []


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        ('<a href="c.html">c</a>', "a.html: links to c.html, which is not there"),
        ('<a href="../up.html">c</a>', "a.html: links to ../up.html, which is not there"),
        ('<a href="b.html#z">b</a>', "a.html: links to b.html#z; there is no such place on that page"),
        ('<a href="#z">z</a>', "a.html: links to #z; there is no such place on that page"),
        ('<a href="https:/x">z</a>', "a.html: links to https:/x, which is no URL"),
        ('<a href="javascript:x()">z</a>', "a.html: links to javascript:x(), which is no URL"),
        ('<script src="https://cdn.example/x.js"></script>', "a.html: loads https://cdn.example/x.js"),
        ('<link rel="preconnect" href="//fonts.example">', "a.html: loads //fonts.example"),
        ('<img src="x.png">', "a.html: loads x.png, which is not there"),
        ("<p>These:\n- one</p>", "a.html: shows Markdown as text; a blank line may be missing before it: - o"),
        ("<p>| a | b |</p>", "a.html: shows Markdown as text; a blank line may be missing before it: | a | b |"),
    ],
)
def test_trouble_of_a_site_is_named(tmp_path: Path, body: str, trouble: str) -> None:
    """What is missing, or would be loaded from elsewhere, is named with its page."""
    assert troubles(site(tmp_path, body)) == [trouble]


def test_styles_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    """A font of another server in a style sheet is found, too."""
    where = site(tmp_path)
    (where / "a.css").write_text("@font-face { src: url(https://fonts.example/a.woff2) }", encoding="utf-8")
    assert troubles(where) == ["a.css: loads from elsewhere"]
