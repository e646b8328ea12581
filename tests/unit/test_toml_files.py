"""What is said of a file that is no TOML, and where its keys and values stand."""

from __future__ import annotations

import pytest

from fscrawl.errors import SettingsError
from fscrawl.util import toml_advice
from fscrawl.util.toml_file import TomlFile
from fscrawl.util.toml_places import entries

NO_BLANK = "this looks like a blank, or like nothing, and is another character"
QUOTES = "a string stands between two quotes on one line, and the second one is missing"
ENDS = "the line must end after "
BACKSLASH = "a backslash has a meaning of its own between double quotes; write a regular expression in single quotes"
LIST = "a list ends with ], and commas"
NAME = "write name = value"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('a = 1\nb = "abc\nc = 1', "2:9", QUOTES),
        ("a = 1\nb = 'abc\nc = 'x'", "2:9", QUOTES),
        ("a = 1\n\nb = 'abc", "3:1", QUOTES),
        ("a = '''abc", "1:1", QUOTES),
        ('deny = ["x", "\\d+"]', "1:15", BACKSLASH),
        ('deny = ["C:\\Users"]', "1:12", BACKSLASH),
        ("a = True", "1:5", "true and false in small letters"),
        ("a = Yes", "1:5", "true or false"),
        ("a = None", "1:5", "no word for no value"),
        ("a =   # none\n", "1:7", "a value is missing"),
        ("a = any", "1:5", "needs quotes"),
        ("a = .5", "1:5", "a digit before its point"),
        ("a = “x”", "1:5", "typographic"),
        ("a = ~", "1:5", "no value"),
        ("a\u00a0= 5", "1:2", NO_BLANK),
        ("a = 5\u200b", "1:6", NO_BLANK),
        ("\u3000[a]", "1:1", NO_BLANK),
        ("a = 5.", "1:6", f"{ENDS}the value"),
        ("a = 10 MB", "1:8", "without a unit"),
        ("a = 0,5", "1:6", "without a comma"),
        ("a = 'it's'", "1:9", "with a quote in it"),
        ("[a]]", "1:4", "a section"),
        ("[a", "1:1", "a section"),
        ("a: 5", "1:2", "no colon"),
        ("a 5", "1:3", NAME),
        ("// x", "1:1", "a comment begins with #"),
        ("a = [1 2]", "1:8", LIST),
        ("a = {b = 1", "1:1", "a table ends with }"),
        ('a = "\0"', "1:6", "NUL"),
        ("# \x1b", "1:3", "control character"),
        ("[a]\nx=1\n[b]\n[a]\n", "4:1", "this section stands there twice, first on line 1"),
        ("[a]\n'x' = 1\nx = 2\n", "3:1", "this name stands there twice, first on line 2"),
        ('a = {"b\\"" = 1, \'b"\' = 2}', "1:17", "this name stands there twice, first on line 1"),
        ("a.b = 1\na = 2", "2:6", "as a value and as a section"),
        ("a = " + "[" * 5000, "", "nested too deeply"),
        ("a." * 101 + "a = 1", "", "nested too deeply"),
        ("a = " + "1" * 5000, "", "too many digits"),
        ("a = 1\n# \udcff", "2:3", "byte 0xff"),
    ],
)
def test_no_toml(text: str, place: str, said: str) -> None:
    """A mistake is told with its place, and what is probably wrong is named."""
    with pytest.raises(SettingsError) as caught:
        TomlFile(text, "f.toml").tables("; hint")
    assert str(caught.value).startswith(f"f.toml:{place}: not valid TOML: " if place else "f.toml: not valid TOML: ")
    assert said in str(caught.value)


def test_a_reason_that_is_not_known() -> None:
    """What another version of Python may say is passed on."""
    assert toml_advice.explain("a\nb", "What is this (at line 2, column 1)") == (2, "What is this")


TEXT = """\
# [x]
top.dotted = '''a
b = 1'''
["quoted head"."with.dot"]  # comment
key = [1, # ]
  {deep = "}"}, ]
'single' = 1979-05-27 07:32:00 # a day
[x]
"esc\\"aped" = \"\"\"a\\"\\" b = 2"\"\"\"
t = {a = 1, b.c = "x"}
[[list]]
[[list]]
n = 2.5
"""


def test_places() -> None:
    """Keys and values are found in every form that TOML has."""
    file = TomlFile("\ufeff" + TEXT.replace("\n", "\r\n"), "f")
    file.tables()
    assert [".".join(each.path) for each in entries(TEXT)] == [
        *("top.dotted", "quoted head.with.dot", "quoted head.with.dot.key", "quoted head.with.dot.key.[0]"),
        *("quoted head.with.dot.key.[1]", "quoted head.with.dot.key.[1].deep", "quoted head.with.dot.single", "x"),
        *('x.esc"aped', "x.t", "x.t.a", "x.t.b.c", "list.[0]", "list.[1]", "list.[1].n"),
    ]
    assert file.key("list", "[1]", "n") == "f:13:1"

    assert file.key("quoted head", "with.dot") == "f:4:1"
    assert (file.value("top", "dotted"), file.typed("top", "dotted")) == ("f:2:14", "'''a b = 1'''")
    assert file.typed("quoted head", "with.dot", "single") == "1979-05-27 07:32:00"
    assert (file.key("x", "t", "b", "c"), file.value("x", "t", "b", "c")) == ("f:10:13", "f:10:19")
    assert (file.key("x", "t", "missing"), file.value("x", "missing")) == ("f:10:1", "f:8:1")
    assert (file.key("missing"), file.value("missing"), file.typed("x", "missing")) == ("f", "f", "…")


@pytest.mark.parametrize(
    "text",
    ["a = 1\nb", "a = 1\nb = [1", "a = 1\nb = [1,", "a = 1\nb = ['x' 1]", "a = 1\n[b", '"\\q" = 1', "a = 1\n= 2"],
)
def test_places_before_a_mistake(text: str) -> None:
    """What stands before a mistake is found."""
    assert len([each for each in entries(text) if len(each.path) == 1]) == 1


def test_sections_of_a_list() -> None:
    """Below [[a]], the heads [a.b] and [[a.c]] belong to the a that came last."""
    text = "[[a]]\n[a.b]\nx = 1\n[[a]]\n[a.b]\nx = 2\n[[a.c]]\n[[a.c]]\ny = 3\n"
    assert [".".join(each.path) for each in entries(text)] == [
        *("a.[0]", "a.[0].b", "a.[0].b.x", "a.[1]", "a.[1].b", "a.[1].b.x"),
        *("a.[1].c.[0]", "a.[1].c.[1]", "a.[1].c.[1].y"),
    ]
