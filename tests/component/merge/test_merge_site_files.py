"""`merge --site`: columns that a site file fills, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.dataset import extract
from fscrawl.parse.fields import Extracted
from fscrawl.sites.rules import SiteRules
from fscrawl.sites.site import Answer
from tests.support.trees import Grown, Made

NAMED = ("a", "mine"), ("b", "other")
Merge = Callable[..., tuple[int, str, str]]
SITE = """\
from fscrawl.site import Site

class A(Site):
    hosts = ["a.example"]
    columns = {"words": "integer", "name": "string"}

    def fields(self, page):
        if page.url.endswith("/b"):
            raise KeyError("b")
        return {"words": len(page.css("p")[0].split()), "name": page.url}

class C(Site):
    hosts = ["b.example"]
    columns = {"name": "string"}

    def fields(self, page):
        return {"name": "c", "more": 1}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.py"
    path.write_text(SITE)
    return path


def test_columns(fscrawl: Merge, out: Path, site: Path) -> None:
    """Each class fills the columns for its hosts; a page that shows a mistake has none, and the report counts it."""
    code, said, err = fscrawl("--site", str(site), "--format", "parquet")
    assert code == 0
    assert f"field words: the first value that is not of its type: {site}:9: fields: KeyError: 'b'" in err
    found = {row["url"]: (row["words"], row["name"]) for row in Made(out).rows() if row["words"] or row["name"]}
    assert found == {"http://a.example/": (5, "http://a.example/"), "http://b.example/c": (None, "c")}
    assert "field words: found on 1 of 2 pages, 1 with a value of the wrong type" in said


@pytest.mark.gate
def test_what_never_ends(
    tree: Grown, fscrawl: Merge, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that never ends on a page is a bad value of it, and an expression ends; all others have theirs."""
    monkeypatch.setattr(extract, "_OF_USERS_S", 0.2)
    site = tmp_path / "site.py"
    site.write_text(SITE.replace('raise KeyError("b")', "while True: pass"))
    tree.sites("[[site]]\nhosts = ['*']\nfields = {last = {css = 'p', regex = '^([a-z]+)+4?$'}}\n")
    tree.page("http://c.example/", b"<p>" + b"x" * 60 + b"!")
    tree.page("http://d.example/", b"<p>x4")
    code, said, _ = fscrawl("--site", str(site))
    assert code == 0
    rows = Made(out).by_url()
    assert (rows["http://a.example/"]["words"], rows["http://a.example/b"]["words"]) == (5, None)
    assert (rows["http://c.example/"]["last"], rows["http://d.example/"]["last"]) == (None, "x")
    assert "field words: found on 1 of 2 pages, 1 with a value of the wrong type" in said
    assert "field last: found on 1 of 2 pages\n" in said


def test_what_never_ends_is_bad_where_it_counts(tree: Grown, fscrawl: Merge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page whose rules do not end has bad values in the columns for its host, and none in those for others."""
    tables = [f"[[site]]\nhosts = ['{host}.example']\nfields = {{{name} = 'css:title'}}\n" for host, name in NAMED]
    tree.sites("".join(tables))
    values_of = SiteRules.values_of

    def never_ends(self: SiteRules, page: Answer) -> Extracted:
        if page.url == "http://a.example/b":
            raise TimeoutError
        return values_of(self, page)

    monkeypatch.setattr(SiteRules, "values_of", never_ends)
    _, said, _ = fscrawl()
    assert "field mine: found on 1 of 2 pages, 1 with a value of the wrong type" in said
    assert "field other: found on 0 of 1 page\n" in said


@pytest.mark.gate
def test_the_same_file_for_all_runs(fscrawl: Merge, site: Path) -> None:
    """A dataset keeps the digest of the file, never its text; later runs need the same file."""
    assert fscrawl("--site", str(site))[0] == 0
    assert fscrawl("--site", str(site))[0] == 0
    code, _, said = fscrawl()
    assert (code, "give it again, by --site FILE" in said) == (2, True)
    site.write_text(SITE + "# edited\n")
    code, _, said = fscrawl("--site", str(site))
    assert (code, "was made with a site file of digest" in said) == (2, True)
    assert fscrawl("--site", str(site), "--rebuild")[0] == 0


def test_a_dataset_without_site_file_stays_so(fscrawl: Merge, site: Path) -> None:
    """Columns cannot be added to a dataset that has pages already."""
    assert fscrawl()[0] == 0
    code, _, said = fscrawl("--site", str(site))
    assert (code, "was made with no site file" in said) == (2, True)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"words": "integer"', '"title": "string"', "the dataset already has a column title"),
        ('columns = {"name": "string"}', 'columns = {"name": "float"}', "fields: name is float, and string in class A"),
        ('"words": "integer"', '"words": "int"', "type: must be"),
        ("import Site", "import Sites", "site.py:1: ImportError: cannot import name 'Sites'"),
    ],
)
def test_files_that_are_refused(fscrawl: Merge, site: Path, before: str, after: str, said: str) -> None:
    """A mistake in the file is one line, before anything is written."""
    site.write_text(SITE.replace(before, after))
    code, _, err = fscrawl("--site", str(site))
    assert code == 2
    assert said in err


def test_a_column_of_both(tree: Grown, fscrawl: Merge, out: Path, site: Path) -> None:
    """A class and a table may fill the same column, each for its hosts; a class comes before a table."""
    tree.sites("[[site]]\nhosts = ['*']\nfields = {name = 'css:title'}\n")
    tree.page("http://c.example/", b"<title>of the table")
    assert fscrawl("--site", str(site))[0] == 0
    names = {row["url"]: row["name"] for row in Made(out).rows()}
    assert (names["http://a.example/"], names["http://c.example/"]) == ("http://a.example/", "of the table")


def test_columns_of_two_types(tree: Grown, fscrawl: Merge, site: Path) -> None:
    """They are refused, with both places."""
    tree.sites("[[site]]\nhosts = ['*']\nfields = {name = {css = 'b', type = 'float'}}\n")
    code, _, err = fscrawl("--site", str(site))
    assert code == 2
    assert f"[[site]] 1 (*): fields: name is float, and string in class A in {site}; a column must have one type" in err
