"""What a user may write to search for words."""

from __future__ import annotations

import pytest

from fscrawl.dataset.search import parse
from fscrawl.errors import UsageError


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("", "nothing to search for; give a word that pages must have"),
        ("  -java ", "give a word that pages must have besides -words"),
        ('a "phrase', 'has a " at its beginning only'),
        ("++", "++: there is no letter or digit in it"),
        ('rust ""', '"": there is no letter'),
        ("-", "-: there is no letter"),
        ("*", "*: there is no letter"),
        ("a*b", "a*b: a * can stand at the end"),
        ("x" * 1001, "1,001 characters; it may have 1,000"),
        ("a\udcff", "must be UTF-8"),
    ],
)
def test_says_what_is_wrong(asked: str, says: str) -> None:
    """A query that cannot be meant is refused in one line that names the part."""
    with pytest.raises(UsageError) as error:
        parse(asked)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
