"""Seeds of a site: what their braces stand for, how many that is, and what is said of wrong ones."""

import itertools
import re

import pytest

from fscrawl.sites.rules import SiteRules, origins, too_many
from fscrawl.sites.seeds import read

LISTS = {"names.txt": "# names\na\n b/c # a slash\n\ná\n", "empty.txt": ""}.__getitem__
A = "http://a.example/"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", [""]),
        ("{1..3}", ["1", "2", "3"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{0..25..10}", ["0", "10", "20"]),
        ("{08..11}", ["08", "09", "10", "11"]),
        ("{8..010}", ["008", "009", "010"]),
        ("x{2024-02-28..2024-03-01}y", ["x2024-02-28y", "x2024-02-29y", "x2024-03-01y"]),
        ("{2024-01-01..2024-01-20..7}", ["2024-01-01", "2024-01-08", "2024-01-15"]),
        ("?c={names.txt}", ["?c=a", "?c=b%2Fc", "?c=%C3%A1"]),
        ("{empty.txt}", []),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    """Braces stand for these URLs, and they are counted without being made."""
    seed = read(A + text)
    assert list(seed.each(LISTS)) == [A + value for value in values]
    assert seed.count(LISTS) == len(values)
    assert seed.origin == A


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (A + "{1..2}/{1..2}", "it may have one pair of braces; write a site file for more"),
        (A + "{", "or %7B for a brace"),
        (A + "{}", "{} must be a range such as {1..100}"),
        (A + "{a,b}", "{a,b} must be a range"),
        (A + "{3..1}", "{3..1} is empty; the first value must not be more than the last"),
        (A + "{1..3..0}", "{1..3..0}: the step must be 1 or more"),
        (A + "{2024-02-30..2024-03-01}", "{2024-02-30..2024-03-01}: day"),
        (A + "{2024-03-01..2024-02-01}", "{2024-03-01..2024-02-01} is empty"),
        (A + "{../x.txt}", "a file must lie in the root of the tree"),
        (A + "{.x.txt}", "a file must lie in the root of the tree"),
        (A + "{" + "a" * 200 + ".txt}", "a file must lie in the root of the tree"),
        ("a.example/{1..2}", "it gives no http or https URL"),
        ("http://a{1..2}.example/", "braces stand behind the host"),
        ("http://a.example:25/", "port 25 is of another protocol"),
    ],
)
def test_wrong(text: str, said: str) -> None:
    """A wrong entry is refused with what is wrong."""
    with pytest.raises(ValueError, match=re.escape(said)):
        read(text)


def test_urls_are_made_one_by_one() -> None:
    """The first of a billion URLs are there at once."""
    seed = read(A + "{1..1000000000000}")
    assert seed.count(LISTS) == 10**12
    assert list(itertools.islice(seed.each(LISTS), 2)) == [A + "1", A + "2"]


def test_limit() -> None:
    """The seeds of all tables are counted together, lists included."""
    sites = [SiteRules("one", ("*",), seeds=(read(A + "{1..9999998}"), read(A + "{names.txt}")))]
    assert f"10,000,001 URLs (most by {A}{{1..9999998}}); at most 10,000,000" in too_many(sites, LISTS)
    assert too_many(sites, {"names.txt": "a\nb"}.__getitem__) == ""
    assert origins(sites) == {A}
