"""Items in [[site]] tables and in site files: what is refused, and what a class without them gives."""

import re

import pytest

from fscrawl.config.settings import parse
from fscrawl.errors import SettingsError
from fscrawl.sites.page import Page
from fscrawl.sites.site import Site


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ('{eech = "css:b"}', "crawl.toml: [[site]] 1 (a.example): items: unknown key eech; did you mean each?"),
        ('{each = "css:b", fields = {url = "css:b"}}', "url: the dataset already has a column url"),
        ("7", "crawl.toml: [[site]] 1 (a.example): items: must be a table, for example"),
    ],
)
def test_mistakes_in_items(items: str, said: str) -> None:
    """A mistake names the place and the table."""
    with pytest.raises(SettingsError, match=re.escape(said)):
        parse(f'[[site]]\nhosts = ["a.example"]\nitems = {items}\n')


def test_columns_of_two_tables() -> None:
    """A column of items has one type, whatever the table."""
    tables = "".join(
        f'[[site]]\nhosts = ["{host}"]\nitems = {{each = "css:b", fields = {{n = {{css = "b", type = "{kind}"}}}}}}\n'
        for host, kind in (("a.example", "string"), ("b.example", "float"))
    )
    with pytest.raises(SettingsError, match="n has two types"):
        parse(tables)


def test_a_class_without_items() -> None:
    """It gives none."""
    assert list(Site().items(Page("http://a.example/"))) == []
