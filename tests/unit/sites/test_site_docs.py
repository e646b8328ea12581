"""The pages about rules of sites say what the code does."""

import re
import tomllib
from pathlib import Path

import pytest

from fscrawl.config.settings import parse
from fscrawl.sites import matchers, templates
from fscrawl.sites.read import KEYS

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = (DOCS / "reference/site-rules.md").read_text(encoding="utf-8")
PAGES = [DOCS / "reference/site-rules.md", DOCS / "how-to/json-interface.md", DOCS / "how-to/check-pages.md"]


def rows(heading: str) -> list[str]:
    """Give what stands in code marks in the first column of the first table below a heading."""
    below = f"\n{REFERENCE}".partition(f"\n{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None
    return [code for line in table[0].splitlines()[2:] for code in re.findall(r"`([^`]+)`", line.split(" | ")[0])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_can_be_read(page: Path) -> None:
    """Each example of a `crawl.toml` is one, and has a [[site]] table."""
    examples = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    for text in examples:
        assert len(parse(text).sites) == len(tomllib.loads(text)["site"]) == 1


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
