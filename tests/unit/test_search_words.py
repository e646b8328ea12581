"""Words as an index of searches has them, and what a user may write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from fscrawl.dataset.search_snippet import Snippets
from fscrawl.dataset.search_words import TOKENIZER, parse, separated
from fscrawl.errors import UsageError

TEXTS = {
    "zh": "Rust语言编程很好，搜索引擎",
    "ja": "日本語のテスト",
    "ko": "서울에서 만나요",
    "th": "ภาษาไทยสวัสดี",
    "hi": "हिन्दी भाषा",
    "accents": "naïve Café Straße",
    "apart": "cafe\u0301 noir",
    "ru": "Привет МИР",
    "el": "Καλημέρα ΚΌΣΜΕ",
    "ar": "العربية مرحبا",
    "code": "C++ foo_bar well-known v1.2.3",
    "picture": "hello🙂zola",
    "marks": "left\x1fright \x02two\x03 nul\0byte",
}


@pytest.fixture(scope="module")
def words() -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(":memory:") as database:
        database.execute(f'CREATE VIRTUAL TABLE words USING fts5(name UNINDEXED, text, tokenize="{TOKENIZER}")')
        database.executemany("INSERT INTO words VALUES (?, ?)", ((name, separated(t)) for name, t in TEXTS.items()))
        yield database
    database.close()


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        *(("语言", ["zh"]), ("搜索", ["zh"]), ("语", ["zh"]), ("rust语言", ["zh"]), ("语编", []), ("言编*", ["zh"])),
        *(("テスト", ["ja"]), ("日本", ["ja"]), ("서울", ["ko"]), ("สวัส", ["th"])),
        *(("हिन्दी", ["hi"]), ("हिन*", ["hi"]), ("cafe", ["accents", "apart"]), ("CAFÉ", ["accents", "apart"])),
        *(("мир", ["ru"]), ("κόσμε", ["el"]), ("مرحبا", ["ar"])),
        *(
            ("c++", ["code"]),
            ("foo", ["code"]),
            ("well-known", ["code"]),
            ("known-well", []),
            ("hello zola", ["picture"]),
        ),
        *(("left right two nul byte", ["marks"]), ("naïve -straße", []), ("caf* -naive", ["apart"])),
        *(('"foo bar well"', ["code"]), ('"bar foo"', []), ("bar foo", ["code"]), ("“foo bar”", ["code"])),
        *(('cafe -"cafe noir"', ["accents"]), ("cafe -noir -straße", []), ("cafe\0noir", ["apart"])),
    ],
)
def test_finds(words: sqlite3.Connection, asked: str, names: list[str]) -> None:
    """Words are found in each script, without case and accents, where a reader would say that they stand."""
    found = words.execute("SELECT name FROM words WHERE words MATCH ? ORDER BY name", (parse(asked).match,))
    assert [name for (name,) in found] == sorted(names)


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
        ("word " * 51, "more than 50 words"),
        ("x" * 1001, "1,001 characters; it may have 1,000"),
    ],
)
def test_says_what_is_wrong(asked: str, says: str) -> None:
    """A query that cannot be meant is refused in one line that names the part."""
    with pytest.raises(UsageError) as error:
        parse(asked)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "asked", ["NOT", "AND OR", "near(a b)", "title:x", "^a", "{a b}:c", "a'b", "(a", "a)", "a+b", ";drop"]
)
def test_nothing_is_an_operator(words: sqlite3.Connection, asked: str) -> None:
    """What the language of SQLite takes for an operator is a word like others."""
    words.execute("SELECT name FROM words WHERE words MATCH ?", (parse(asked).match,)).fetchall()


def shown(asked: str, text: str) -> str:
    with Snippets(parse(asked)) as snippets:
        return "".join(f"[{piece.text}]" if piece.hit else piece.text for piece in snippets.of(text))


def test_snippets_mark_what_was_found() -> None:
    """A snippet is one line from around the hits; scripts without spaces look as before."""
    assert shown("hash map", "a\nHash  map\tof words") == "a [Hash map] of words"
    assert shown('"hash map"', "a hash-map") == "a [hash-map]"
    assert shown("编程", "Rust语言编程很好") == "Rust语言[编程]很好"
    assert "…" in shown("needle", "hay " * 100 + "needle" + " hay" * 100)
    assert "[needle]" in shown("needle", "hay " * 100_000 + "needle" + " hay" * 100)


def test_snippets_of_a_word_in_the_title_alone() -> None:
    """Where the text has no hit, its beginning is shown, on one line and without marks."""
    assert shown("title", "some\x1f\x02 text\n here") == "some text here"
    assert shown("title", "") == ""
    assert shown("title", "word " * 1000).endswith("word…")


def test_snippets_are_bounded() -> None:
    """An endless word does not become an endless snippet."""
    assert len(shown("needle", "x" * 90_000 + " needle")) < 450
