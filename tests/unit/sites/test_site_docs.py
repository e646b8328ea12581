"""The pages about rules of sites say what the code does."""

import re
import tomllib
from pathlib import Path

import pytest

from fscrawl.config.settings import parse
from fscrawl.sites import matchers, templates
from fscrawl.sites.code import load
from fscrawl.sites.page import Page
from fscrawl.sites.read import KEYS
from fscrawl.sites.site_file import SiteFile

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = (DOCS / "reference/site-rules.md").read_text(encoding="utf-8")
FIND = "https://search.example/find"
HOW_TO = ("json-interface", "check-pages", "search-form", "several-tasks")
PAGES = [DOCS / "reference/site-rules.md", *(DOCS / f"how-to/{name}.md" for name in HOW_TO)]


def rows(heading: str) -> list[str]:
    """Give what stands in code marks in the first column of the first table below a heading."""
    below = f"\n{REFERENCE}".partition(f"\n{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None
    return [code for line in table[0].splitlines()[2:] for code in re.findall(r"`([^`]+)`", line.split(" | ")[0])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_can_be_read(page: Path) -> None:
    """Each example of a `crawl.toml` is one; most have a [[site]] table."""
    examples = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    assert [len(parse(text).sites) for text in examples] == [
        len(tomllib.loads(text).get("site", [])) for text in examples
    ]
    assert any(parse(text).sites for text in examples)


def test_the_site_files_of_the_form() -> None:
    """The examples of the how-to are site files that understand such pages."""
    text = (DOCS / "how-to/search-form.md").read_text(encoding="utf-8")
    plain, of_session = (
        load(SiteFile("site.py", source))[0]
        for source in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )
    table = b"<table class=results></table><a class=hit href=/1>x</a>"
    found = plain.understand(Page(FIND, table + b"<input name=day value=d><a class=next data-page=2>n</a>"))
    assert [each.partition("body=")[2] for each in found.requests or ()] == ["", "day=d%26page=2"]
    assert plain.understand(Page(FIND, b"please wait")).unexpected == "neither results nor an article"
    assert plain.fields(Page(FIND, b"<h1 class=article>T</h1>")).values == {"heading": "T"}
    for site in (plain, of_session):
        spelled, label = next(site.seeds())
        assert label == "2024-01-01"
        assert ("&session=2024-01-01" in spelled) == (site is of_session)
    moved = of_session.understand(Page(FIND, b"", status=302, headers={"location": "/login"}))
    assert (moved.unexpected, moved.renew) == ("sent to the log-in", True)


def test_every_key_is_documented() -> None:
    """The reference has a row for each key, and no row too many."""
    assert sorted(rows("# Rules of sites")) == sorted(KEYS)


def test_braces_are_as_documented() -> None:
    """What the reference writes in braces is a template."""
    found = rows("## Seeds")
    assert len(found) == 8
    for text in found[:6]:
        assert templates.read(text).values
    assert [templates.read(text).pieces for text in found[6:]] == [("{",), ("}",)]


def test_entries_are_as_documented() -> None:
    """What the reference writes for `follow` and `expect` is an entry."""
    found = rows("## Follow")
    assert len(found) == 4
    for text in found:
        assert matchers.follow(text).text == text
    assert matchers.expectation("!redirect:/login")


def test_the_error_is_as_documented() -> None:
    """The error that the reference shows is the one that is given."""
    with pytest.raises(Exception, match=re.escape("[[site]] 1 (api.example): unknown key folow; did you mean follow?")):
        parse('[[site]]\nhosts = ["api.example"]\nfolow = []')
    assert "unknown key folow; did you mean follow?" in REFERENCE
