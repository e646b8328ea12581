"""Regular expressions of users: which engine looks for them, and what becomes of what RE2 cannot do."""

import pickle
import re
import subprocess
import sys
import time

import pytest

from fscrawl.util import expressions, re2_syntax
from fscrawl.util.expressions import Expressions
from fscrawl.util.re2_syntax import is_plain, translated

ENDLESS = "(a+)+$"  # `re` takes minutes for it in HOSTILE
HOSTILE = "http://a.example/" + "a" * 40 + "!"


def test_an_endless_expression_ends():
    """What `re` takes for ever for is looked for in linear time, alone and among others."""
    pytest.importorskip("re2")
    began = time.process_time()
    for patterns in ([ENDLESS], ["/tag/", ENDLESS, "(a|a)*b", "(?i)(x+x+)+y", "(.*a){20}!!"]):
        found = Expressions(patterns)
        assert not found.matches(HOSTILE)
        assert found.first(HOSTILE) is None
        assert found.matches("http://a.example/aaa")
        assert found.first("http://a.example/aaa") == ENDLESS
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "pattern",
    [
        *("a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"(a)\1", "(?P<n>a)(?P=n)", "(a)?(?(1)b|c)", "(?>a+)b", "a++b"),
        *("(?!)", "(?i)\u017f", "(?i)[^\u00e9]", "(?i)[a-\u00ff]"),
    ],
)
def test_what_stays_with_re(pattern):
    """RE2 has nothing that looks around or back, and folds the case of other alphabets in its own way."""
    assert translated(pattern) is None
    found = Expressions([pattern, ENDLESS])
    for text in ("ab", "aab", "b", "c", "s", "\u00c9"):
        assert (found.first(text) == pattern) == (re.search(pattern, text) is not None)


def test_other_texts_stay_with_re():
    """A text that is no URL, such as one of two lines or of another alphabet, is looked at by `re`."""
    found = Expressions([r"a+$|^\w+é", r"x*\B"])
    for text in ("", "a\n", "b\na\nb", "éé", "é", "\x7fa", "a"):
        assert found.matches(text) == bool(re.search(r"a+$|^\w+é", text) or re.search(r"x*\B", text)), text


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"a.\Z", r"[a][ -~]\z"),
        ("(?im)^a[^b]$", r"\A[Aa][ -AC-ac-~]\z".replace(" -A", r"\ -A").replace("c-~", r"c-\~")),
        (r"[\s\S]*?é", r"[ -~]{0,}[^\x00-\x{10ffff}]"),
        (r"(?x) \d | (?:a-)+  # or", r"(?:[0-9]|(?:[a][\-]){1,})"),
    ],
)
def test_what_re2_gets(pattern, written):
    """An expression is written anew, as `re` has understood it."""
    assert translated(pattern) == written


def test_too_large_together():
    """What fits in the memory one by one, and not all together, is looked for one by one."""
    pytest.importorskip("re2")
    patterns = [f"/{each}.{{{n}}}y+z" for n, each in enumerate("abcdefghijklmnopq")]
    with pytest.MonkeyPatch.context() as little:
        little.setattr(expressions, "_MOST_BYTES", 20_000)
        found = Expressions(patterns)
    assert found._together is None
    assert len(found._linear) == len(patterns)
    assert found.matches("http://a.example/c12yyz")
    assert not found.matches("http://a.example/c1yz")


def test_no_expressions():
    """Without expressions nothing matches."""
    assert not Expressions([]).matches("a")
    assert Expressions([]).first("a") is None


def test_wrong_expressions():
    """What `re` calls wrong is wrong."""
    with pytest.raises(re.error, match="unterminated"):
        Expressions(["("])


@pytest.mark.parametrize("pattern", ["a{1001}b*c", "(?:a{900}){900}b*c", "(?:[a-f]{500}x{0,500}){40}b*c"])
def test_too_large_for_re2(pattern, capfd):
    """Repetitions beyond RE2's limits, and what would fill its memory, stay with `re`; nothing is printed."""
    found = Expressions([pattern, ENDLESS, "q"])
    assert found.matches("http://a.example/q")
    assert not found.matches(HOSTILE.replace("!", "1") + "/")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("most_bytes", [100_000, 300_000, 1_000_000])
def test_little_memory(most_bytes, monkeypatch, capfd):
    """RE2 that has not memory enough, for all together or for one of them, gives the same answers, without a word."""
    monkeypatch.setattr(expressions, "_MOST_BYTES", most_bytes)
    patterns = [f"{each}.*[a-m].{{{n},60}}x.*{n}$" for n, each in enumerate("abcdefgh", 30)]
    texts = ["".join(chr(97 + (n * k * k + k) % 26) for k in range(200)) + str(n) for n in range(25, 45)]
    found = Expressions(patterns)
    for text in texts:
        first = next((each for each in patterns if re.search(each, text)), None)
        assert found.first(text) == first
        assert found.matches(text) == (first is not None)
    assert capfd.readouterr() == ("", "")


def test_set_without_memory_for_a_text(monkeypatch):
    """If all together cannot be looked for in a text, each is by itself: a set does not tell that from no match."""

    class Set:
        def Match(self, text):  # noqa: N802 - as RE2 calls it
            return None

    pytest.importorskip("re2")
    found = Expressions(["(?:b+)+$", "/tag/"])
    monkeypatch.setattr(found, "_together", Set())
    assert [found.matches(f"http://a.example/{each}") for each in ("b", "tag/", "c")] == [True, True, False]


def test_other_package_of_that_name(monkeypatch):
    """Without google-re2, or with another package whose module has that name, `re` does all."""
    for module in (None, type(sys)("re2")):
        monkeypatch.setitem(sys.modules, "re2", module)
        found = Expressions(["(?:b+)+$", "/tag/"])
        assert [found.matches(f"http://a.example/{each}") for each in ("b", "tag/", "c")] == [True, True, False]
        assert found.first("http://a.example/b") == "(?:b+)+$"


def test_other_parser(monkeypatch):
    """If a later Python parses in another way, nothing goes to RE2."""
    monkeypatch.setattr(re2_syntax, "_parse", lambda pattern: [("NEW", pattern)])
    assert translated("a") is None


def test_pickled():
    """They can be sent to another process."""
    found = pickle.loads(pickle.dumps(Expressions(["y", "(?:b+)+$"])))
    assert found.first("http://a.example/b") == "(?:b+)+$"


@pytest.mark.gate
@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("/tag/", True),
        (r"\.pdf$", True),
        (r"^https?://a\.example/docs/", True),
        (r"[.](?:jpe?g|png|gif|css|js)(?:\?|$)", True),
        (r"/\d{4}/\d{2}/", True),
        ("/item/[0-9]+", True),
        ("/(?:item|page)/([0-9]+)", True),
        ("/item/[0-9]+/", False),
        (".*x", False),
        ("/(a+)+", False),
        ("(?:/a)*", False),
        ("a{0,300}b", False),
        ("a?" * 20, False),
        ("(?:aa|b)" * 20, False),
        ("(?:aa|b){20}", False),
        ("(?:a*b){2,3}", False),
    ],
)
def test_plain(pattern, plain):
    """What `re` goes through in a few ways stays with it, and does not load RE2: it is quicker there."""
    assert is_plain(pattern) == plain
    code = (
        "import sys; from fscrawl.util.expressions import Expressions;"
        "Expressions(sys.argv[1:]); print('re2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, pattern], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(not plain)


def test_no_warning_beyond_that_of_re():
    """An expression about which `re` warns is not warned about again."""
    with pytest.warns(FutureWarning) as warned:
        Expressions(["[[a]"])
    assert len(warned) == 1
