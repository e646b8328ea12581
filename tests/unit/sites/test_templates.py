"""Templates of seeds: what they stand for, how many that is, and what is said of a wrong one."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Self
from unittest.mock import patch

import pytest

from fscrawl.request import read as read_request
from fscrawl.sites import seeds, templates
from fscrawl.sites.rules import Site, origins, too_many
from fscrawl.sites.templates import combinations, count, read

LISTS = {"names.txt": "# names\na\n b/c # a slash\n\ná\n", "empty.txt": ""}.__getitem__


def spellings(seed: seeds.SeedTemplate, lists: templates.Lists) -> Iterator[str | None]:
    return (each and each[0] for each in seed.requests(lists))


def filled(text: str) -> list[str]:
    template = read(text)
    return [template.fill(values) for values in combinations(template.values, LISTS)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a", ["a"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{0..25..10}", ["0", "10", "20"]),
        ("{08..11}", ["08", "09", "10", "11"]),
        ("{8..010}", ["008", "009", "010"]),
        ("{0..1}", ["0", "1"]),
        ("{2024-02-28..2024-03-01}", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("{2024-01-01..2024-01-20..7}", ["2024-01-01", "2024-01-08", "2024-01-15"]),
        ("{a, b,}", ["a", "b", ""]),
        ("{names.txt}", ["a", "b/c", "á"]),
        ("{empty.txt}x{1..9}", []),
        ("{{{1..2}}}", ["{1}", "{2}"]),
        ("{a,b}{1..2}", ["a1", "a2", "b1", "b2"]),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    """A template stands for these texts, and they are counted without being made."""
    assert filled(text) == values
    assert count(read(text).values, LISTS) == len(values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "a { has no partner; write {{ for a brace that is part of the text"),
        ("a}", "a } has no partner; write }} for a brace that is part of the text"),
        ("{}", "{} must be a range such as {1..100}"),
        ("{3..1}", "{3..1} is empty; the first value must not be more than the last"),
        ("{1..3..0}", "{1..3..0}: the step must be 1 or more"),
        ("{2024-02-30..2024-03-01}", "{2024-02-30..2024-03-01}: day"),
        ("{2024-03-01..2024-02-01}", "{2024-03-01..2024-02-01} is empty"),
        ("{../x.txt}", "a file must lie in the root of the tree"),
        ("{.x.txt}", "a file must lie in the root of the tree"),
        ("{seeds.txt}", "seeds.txt is a file of another kind"),
        ("{" + "a" * 200 + ".txt}", "a file must lie in the root of the tree"),
    ],
)
def test_wrong(text: str, said: str) -> None:
    """A wrong template is refused with what is wrong."""
    with pytest.raises(ValueError, match=re.escape(said)):
        read(text)


def test_files_are_named_once() -> None:
    """A template says which lists it needs, each once."""
    assert read("{names.txt}{1..2}{names.txt}{empty.txt}").files == ("names.txt", "empty.txt")


def test_combinations_are_made_one_by_one() -> None:
    """The first combinations of a billion are there at once, and hardly anything is kept of them."""
    template = read("{1..1000000}/{1..1000000}/{a,b}")
    assert count(template.values, LISTS) == 2 * 10**12
    first = list(itertools.islice(combinations(template.values, LISTS), 3))
    assert first == [("1", "1", "a"), ("1", "1", "b"), ("1", "2", "a")]


def test_seeds_are_never_held_together() -> None:
    """Of 20,000 seeds that are made, each is gone before the next but a few have come."""
    seed = seeds.read("http://a.example/{1..20}/{1..1000}")
    made, most = [], 0

    class Counted(str):  # noqa: SLOT000 - __del__ needs none
        alive = 0

        def __new__(cls, value: str) -> Self:
            cls.alive += 1
            return super().__new__(cls, value)

        def __del__(self) -> None:
            type(self).alive -= 1

    with patch.object(seeds.urls, "normalise", lambda text: Counted(text)):  # noqa: PLW0108 - it must be a function
        for number, url in enumerate(spellings(seed, LISTS), 1):
            most = max(most, Counted.alive)
            made = [number, str(url)]
    assert made == [20_000, "http://a.example/20/1000"]
    assert most <= 3


def test_urls_of_seeds() -> None:
    """Values of files are percent-encoded in URLs; what makes no URL gives None."""
    seed = seeds.read("http://a.example/{names.txt}?{x y,b}")
    assert list(spellings(seed, LISTS))[2:4] == ["http://a.example/b%2Fc?x%20y", "http://a.example/b%2Fc?b"]
    assert list(spellings(seeds.read("http://{a.example,a b}/"), LISTS)) == ["http://a.example/", None]
    assert list(spellings(seeds.read("http://a.example:{80,25}/"), LISTS)) == ["http://a.example/", None]


def test_forms_and_json() -> None:
    """Bodies are templates, too: all combinations with those of the URL; a range alone gives a number in JSON."""
    seed = seeds.read("http://a.example/{a,b}", kind="form", body={"q": "{names.txt}", "n": "1"})
    found = [read_request(each or "") for each in spellings(seed, LISTS)]
    assert [(each.url[-1], each.method, each.body) for each in found[:2]] == [
        ("a", "POST", b"q=a&n=1"),
        ("a", "POST", b"q=b%2Fc&n=1"),
    ]
    assert seed.count(LISTS) == len(found) == 6
    body = {"page": "{1..2}", "of": {"day": ["{01..02}", True, None]}}
    asked = seeds.read("http://a.example/", "PUT", "json", body)
    [first, *_, last] = [read_request(each or "") for each in spellings(asked, LISTS)]
    assert (first.method, first.type_, json.loads(first.body)) == (
        "PUT",
        "application/json",
        {"page": 1, "of": {"day": ["01", True, None]}},
    )
    assert json.loads(last.body) == {"page": 2, "of": {"day": ["02", True, None]}}
    assert list(spellings(seeds.read("http://a.example/", "POST"), LISTS)) == ["http://a.example/#method=POST"]
    assert seeds.read("http://a.example/{names.txt}", kind="json", body={"a": "{empty.txt}"}).files == (
        "names.txt",
        "empty.txt",
    )


def test_a_body_that_becomes_too_long() -> None:
    """A combination whose body is longer than a request may have gives None."""
    seed = seeds.read("http://a.example/", kind="form", body={"q": "{names.txt}"})
    assert list(spellings(seed, {"names.txt": "a\n" + "b" * 9000}.__getitem__))[1] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.example/{1..2}",), "it gives no http or https URL"),
        (("http://a.example:25/",), "port 25 is of another protocol"),
        (("http://a.example/", "GET", "form", {"a": "b"}), "a GET has no body"),
        (("http://a.example/", "", "json", {"a": "b" * 9000}), "its body has 9,009 bytes"),
        (("http://{names.txt}/",), "a file cannot give the hosts"),
        (("http://a{1..100000}.example/",), "it gives 100,000 hosts; at most 10,000 are allowed"),
    ],
)
def test_wrong_seeds(arguments: tuple, said: str) -> None:
    """What is wrong whatever the values is found when a seed is read."""
    with pytest.raises(ValueError, match=re.escape(said)):
        seeds.read(*arguments)


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("http://a.example/{1..9}", {"http://a.example/"}),
        ("{http,https}://A.example?{1..9}", {"http://a.example/", "https://a.example/"}),
        ("http://{a,b}.example:{8080,81}{/x,/y}", {f"http://{h}.example:{p}/" for h in "ab" for p in (8080, 81)}),
        ("http://{a,b c}.example/", {"http://a.example/"}),
    ],
)
def test_origins(text: str, roots: set[str]) -> None:
    """The roots of a template's sites are found without its other values."""
    site = Site({}, ("*",), (seeds.read(text),))
    assert origins([site]) == roots


def test_many_braces() -> None:
    """A text may have more braces than Python nests calls."""
    template = read("{a,b}" + "{1..1}" * 2000)
    assert ["".join(each) for each in combinations(template.values, str)] == ["a" + "1" * 2000, "b" + "1" * 2000]


def test_absurd_numbers() -> None:
    """More seeds than Python writes digits are refused in words that can be read."""
    many = "more than 1,000,000,000,000,000"
    seed = seeds.read("http://a.example/" + "{1..999999999999999}" * 400)
    assert f"the templates give {many} URLs" in too_many([Site({}, ("a.example",), (seed,))], str)
    with pytest.raises(ValueError, match=f"it gives {many} hosts"):
        seeds.read("http://" + ".".join(["a" + "{1..999999999999999}" * 50] * 4) + "/")


def test_limit() -> None:
    """The seeds of all tables are counted together, lists included."""
    sites = [Site({}, ("*",), (seeds.read("http://a.example/{1..5000000}/{names.txt}"),))]
    said = too_many(sites, LISTS)
    assert "15,000,000 URLs (most by http://a.example/{1..5000000}/{names.txt}); at most 10,000,000" in said
    assert too_many(sites, {"names.txt": "a\nb"}.__getitem__) == ""


def test_heads_have_no_lists() -> None:
    """A list in the head of a template would be a defect: it is refused when the template is read."""
    with pytest.raises(AssertionError):
        seeds._no_lists("x")
    assert templates.MAX_NAME_CHARS < 200
