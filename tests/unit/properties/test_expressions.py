"""RE2 finds the expressions that it gets in the same texts as `re`."""

import re
import string
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fscrawl.util.expressions import Expressions
from fscrawl.util.re2_syntax import translated
from tests.support.effort import tries

re2 = pytest.importorskip("re2")

NEEDS_RE2 = "(?:z*)*Q"  # found in no text below: no sign of it is in one. It makes all others go to RE2, too
SIGNS = "abAB01_-./? "
TEXTS = st.text(st.sampled_from(SIGNS) | st.sampled_from(string.printable[:95]), min_size=1, max_size=7).filter(
    lambda text: "Q" not in text
)
# All that stands for one sign, or for a place, and much that looks as if it did.
ATOMS = st.sampled_from([
    *"abAB0_-/ ", ".", r"\.", "[ab]", "[^ab]", "[^/]", "[a-z0-9]", "[A-b]", "[^A-Z]", "[[:alpha:]]", "[]a]", "[^]a]",
    r"[\]a-]", "[a--b]", "[a&&b]", "[a||b]", "[a~~b]", r"[\w-]", r"[^\W\d]", r"[\s\S]", r"[^\s\S]", r"[\b]",
    r"[\x00-\x40]",
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", "^", "$", r"\A", r"\Z", r"\n", r"\x61", r"\x5f", r"\141",
    r"[\60-\71]", r"\0", r"\u0061", r"\U00000061", r"\N{LATIN SMALL LETTER A}", r"\-", r"\/", r"\_", r"\ ", "é", "ſ",
    "[é-ü]", "[^é]", "[^ſk]", "\u212a", "a{,2}", "a{}", "a{,}", "{", "}", "]", "(?#note)", "(?=a)", "(?!a)", "(?<=a)",
    "(?<!a)", "(?>a|ab)", "()", "(?:)", "(a)", "(?P<n>a)", r"(a)\1", "(?P<m>b)(?P=m)", "(a)?(?(1)b|c)",
    "#", "# a\n", "a b", "[ ]",
])  # fmt: skip
REPEATS = st.sampled_from(
    ["*", "+", "?", "*?", "+?", "??", "*+", "?+", "{2}", "{1,2}", "{0,1}", "{0,}", "{1,}", "{,1}", "{,}", "{2}?", "{0}"]
)
GROUPS = st.sampled_from(["(?:", "(", "(?i:", "(?s:", "(?m:", "(?x:", "(?-i:", "(?a:", "(?u:", "(?i-s:", "(?>"])
FLAGS = st.sampled_from(["", "", "(?i)", "(?m)", "(?s)", "(?x)", "(?a)", "(?u)", "(?im)", "(?isx)", "(?ia)"])
BODIES = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds("{}{}".format, inner, inner)
        | st.builds("{}|{}".format, inner, inner)
        | st.builds("{}{})".format, GROUPS, inner)
        | st.builds("(?:{}){}".format, inner, REPEATS)
        | st.builds("{}{}".format, inner, REPEATS)
    ),
    max_leaves=6,
)
PATTERNS = st.builds("{}{}{}".format, FLAGS, BODIES, st.sampled_from(["", "", "$", r"\Z", "b$", "/"]))


def compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern)
        except (re.error, OverflowError, ValueError):
            assume(False)
            raise


@pytest.mark.gate
@settings(max_examples=tries(2000), deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
def test_same_as_re(pattern, texts):
    """Whatever somebody writes: what RE2 gets of it is found where `re` finds it."""
    there = compiled(pattern)
    written = translated(pattern)
    assume(written is not None)
    options = re2.Options()
    options.log_errors = False
    linear = re2.compile(written, options)
    for text in texts:
        assert (linear.search(text) is not None) == (there.search(text) is not None), (pattern, written, text)


@pytest.mark.gate
@settings(max_examples=tries(1000), deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(TEXTS | st.text(max_size=5), min_size=1, max_size=5))
def test_lists_are_the_same_as_re(patterns, texts):
    """Of many expressions, and in any text, `Expressions` finds what `re` finds one by one."""
    compiled_ = [compiled(each) for each in patterns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Expressions([*patterns, NEEDS_RE2])
    for text in texts:
        assume("Q" not in text)
        first = next((each.pattern for each in compiled_ if each.search(text)), None)
        assert found.matches(text) == (first is not None), (patterns, text)
        assert found.first(text) == first, (patterns, text)
