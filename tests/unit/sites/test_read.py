"""Items in [[site]] tables: what is refused."""

import re

import pytest

from fscrawl.config.settings import parse
from fscrawl.errors import SettingsError


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ('{eech = "css:b"}', 'crawl.toml: [[site]] 1 (a.example): items: unknown key "eech"; the keys are'),
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
    with pytest.raises(SettingsError, match="items: n is float, and string in"):
        parse(tables)
