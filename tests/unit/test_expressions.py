"""Regular expressions of users: RE2 looks for them, in linear time."""

import pickle
import time

import pytest

from fscrawl.util import expressions
from fscrawl.util.expressions import Expressions, WrongExpressionError

ENDLESS = "(a+)+$"  # `re` takes minutes for it in HOSTILE
HOSTILE = "http://a.example/" + "a" * 40 + "!"


def test_an_endless_expression_ends():
    """What `re` takes for ever for is looked for in linear time, alone and among others."""
    began = time.process_time()
    for patterns in ([ENDLESS], ["/tag/", ENDLESS, "(a|a)*b", "(?i)(x+x+)+y", "(.*a){20}!!"]):
        found = Expressions(patterns)
        assert not found.matches(HOSTILE)
        assert found.first(HOSTILE) is None
        assert found.matches("http://a.example/aaa")
        assert found.first("http://a.example/aaa") == ENDLESS
    assert time.process_time() - began < 10


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "a++", "a{1001}", "\b", "\udcff"])
def test_wrong_expressions(pattern):
    """What RE2 does not have is wrong, and so is what a text can never have in it."""
    with pytest.raises(WrongExpressionError):
        Expressions(["x", pattern])


def test_no_expressions():
    """Without expressions nothing matches."""
    assert not Expressions([]).matches("a")
    assert Expressions([]).first("a") is None


@pytest.mark.parametrize("most_bytes", [20_000, 300_000, 1_000_000])
def test_little_memory(most_bytes, monkeypatch, capfd):
    """RE2 without memory enough for all together says so, or gives the same answers; it prints nothing."""
    patterns = [f"{each}.*[a-m].{{{n},60}}x.*{n}$" for n, each in enumerate("abcdefgh", 30)]
    texts = ["".join(chr(97 + (n * k * k + k) % 26) for k in range(200)) + str(n) for n in range(25, 45)]
    right = [Expressions(patterns).first(text) for text in texts]
    monkeypatch.setattr(expressions, "_MOST_BYTES", most_bytes)
    try:
        found = Expressions(patterns)
    except WrongExpressionError:
        assert most_bytes < 100_000
    else:
        assert [found.first(text) for text in texts] == right
        assert [found.matches(text) for text in texts] == [each is not None for each in right]
    assert capfd.readouterr() == ("", "")


def test_many_expressions():
    """Expressions that are right one by one are looked for, also where all together are too large for RE2."""
    found = Expressions([f"/{n}/.{{1,200}}x$" for n in range(300)])
    assert found.matches("http://a.example/299/abcx")
    assert found.first("http://a.example/299/abcx") == "/299/.{1,200}x$"
    assert not found.matches("http://a.example/300/abcx")


def test_pickled():
    """They can be sent to another process."""
    found = pickle.loads(pickle.dumps(Expressions(["y", "(?:b+)+$"])))
    assert found.first("http://a.example/b") == "(?:b+)+$"
