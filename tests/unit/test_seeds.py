"""What a line of seeds may be, and what is said of one that is no URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.config.seeds import read_given, read_seed, read_seeds, reading
from fscrawl.config.settings import Settings, render
from fscrawl.config.watcher import EditWatcher, settings_of
from fscrawl.errors import SettingsError
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create
from fscrawl.util.user_text import decode

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
A, B = "http://a.example/", "http://b.example/"
NO_URL = "not an http or https URL"


@pytest.mark.parametrize(
    "data",
    [
        f"{A}\n{B}".encode(),
        f"\ufeff{A}\n{B}\n".encode(),
        f"{A}\r\n\r\n{B}\r\n".encode(),
        f"{A}\r{B}\r".encode(),
        f"{A}\n{B}\n".encode("utf-16"),
        f"\ufeff{A}\n{B}\n".encode("utf-16-be"),
        f"\t {A}\t \n   # none\n{B}   # inline\n".encode(),
        f"#http://c.example/\n{A}\t# é\n{B} #top\n".encode("latin-1"),
        f'<{A}>\n"{B}"\n'.encode(),
        f"'{A}'\n“{B}”  # quoted\n".encode(),
        f"{A}#top\n{B}#frag".encode(),
    ],
)
def test_lines(data: bytes) -> None:
    """Encodings, ends of lines, white space, comments, quotes: the URLs are the same, and nothing is warned of."""
    said: list[str] = []
    assert list(read_seeds(decode(data), "seeds.txt", said.append)) == [A, B]
    assert said == []


def test_a_hash_in_a_url() -> None:
    """A # without white space before it begins a fragment."""
    assert list(read_seeds("http://a.example/x#/y\n", "", print)) == ["http://a.example/x"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"mailto:x", f"2:1: {NO_URL}, skipped: mailto:x"),
        (b"  example.org", f"2:3: {NO_URL}; write https://example.org/, skipped: example.org"),
        (b"example.org:8080/x # y", f"2:1: {NO_URL}; write https://example.org:8080/x, skipped: example.org:8080/x"),
        (b"hello", f"2:1: {NO_URL}, skipped: hello"),
        (b"http://a.example/ http://b.example/", "2:1: there must be one URL on a line, skipped: http://a"),
        (b"http://a.example/ a note", "2:1: a URL has no white space; write %20 for a blank, and # before a comment"),
        (b"http://a.example/\xfcber", "2:18: byte 0xfc is not UTF-8; save the file as UTF-8, skipped"),
        (b" http://a\0", "2:10: a NUL byte is no text; save the file as UTF-8, skipped"),
        (b"\0" * 100, "2:1: a NUL byte is no text"),
        (b"http://a.example/" + b"x" * 1_000_000, f"2:1: {NO_URL}, since it is longer than 2083 characters, skipped: "),
        (b"http://a.example:25/", "2:1: port 25 is of another protocol than HTTP, and never asked, skipped: http:"),
    ],
)
def test_a_bad_line(line: bytes, said: str) -> None:
    """A bad line is told with its place and what would be right, and left out; the rest is taken."""
    warned: list[str] = []
    assert list(read_seeds(decode(A.encode() + b"\n" + line + b"\n" + B.encode()), "seeds.txt", warned.append)) == [
        A,
        B,
    ]
    assert len(warned) == 1
    assert warned[0].startswith(f"seeds.txt:{said}")
    assert len(warned[0]) < 250


def test_a_file_of_something_else() -> None:
    """Of very many bad lines the first twenty are told, and the number of the others."""
    warned: list[str] = []
    assert list(read_seeds("".join(f"a b{n}\n" for n in range(1000)), "x", warned.append)) == []
    assert len(warned) == 21
    assert warned[-1] == "x: 980 more lines like these, skipped"


def test_lines_told_before() -> None:
    """A line that was told is not told again, wherever it stands now."""
    warned: list[str] = []
    told: set[str] = set()
    found: dict[str, str] = {}
    for text in ("bad\n", f"{A}\nbad\nworse\n"):
        assert not any(reading(found, text, "x", warned.append, told, 0))
    assert list(found) == [A]
    assert [line.partition(": ")[0] for line in warned] == ["x:1:1", "x:3:1"]


def test_advice_has_no_password() -> None:
    """A URL without scheme is not repeated with its login."""
    with pytest.raises(ValueError, match=f"{NO_URL}; write https://a.example/$"):
        read_seed("//me:hunter2@a.example/")
    with pytest.raises(ValueError, match=f"{NO_URL}$"):
        read_seed("www.http://me:hunter2@a.example/")


def test_a_bad_line_while_machines_run(tmp_path: Path) -> None:
    """A bad line that is added while a machine runs is told once, and stops nothing."""
    create(tmp_path / "root", RECORD, render(Settings()), f"{A}\nold and bad\n")
    warned: list[str] = []
    watch = EditWatcher(Tree(tmp_path / "root", "m"), Settings(), frozenset([A]), warned.append)
    assert watch.new_seeds() == []
    assert warned == []
    path = tmp_path / "root" / "seeds.txt"
    path.write_bytes(f"{A}\nold and bad\n".encode() + b"http://\xff/\n" + f"{B}\n".encode())
    assert watch.new_seeds() == [B]
    path.write_bytes(path.read_bytes() + b"http://c.example/\n")
    assert watch.new_seeds() == ["http://c.example/"]
    assert warned == [f"{path}:3:8: byte 0xff is not UTF-8; save the file as UTF-8, skipped"]


@pytest.mark.parametrize("text", ["", " \n\r\n"])
def test_empty_settings(tmp_path: Path, text: str) -> None:
    """Settings that were lost are not taken for a wish for the defaults."""
    create(tmp_path / "root", RECORD, render(Settings()), "")
    tree = Tree(tmp_path / "root", "m")
    (tree.root / "crawl.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"crawl[.]toml: the file is empty; write your settings again"):
        settings_of(tree)
    (tree.root / "crawl.toml").write_text("[crawl]\n")
    assert settings_of(tree) == Settings()


def test_settings_in_another_encoding(tmp_path: Path) -> None:
    """Settings in UTF-16 are read; in Latin-1 the line is named."""
    create(tmp_path / "root", RECORD, render(Settings()), "")
    tree = Tree(tmp_path / "root", "m")
    (tree.root / "crawl.toml").write_text("[politeness]\ndelay = 7\n", encoding="utf-16")
    assert settings_of(tree).politeness.delay == 7
    (tree.root / "crawl.toml").write_bytes("[politeness]\n# für\ndelay = 7\n".encode("latin-1"))
    with pytest.raises(SettingsError, match=r"crawl[.]toml:2:4: not valid TOML: byte 0xfc is not UTF-8"):
        settings_of(tree)


@pytest.mark.parametrize(
    ("text", "seed", "label"),
    [
        ("http://a.example/?q=1 # day 1", "http://a.example/?q=1", "day 1"),
        (
            "POST http://a.example/ q=1   # two",
            f"{A}#method=POST&type=application/x-www-form-urlencoded&body=q=1",
            "two",
        ),
        ("http://a.example/#top", A, ""),
        ("GET http://a.example/#/item", f"{A}#method=GET&fragment=/item", ""),
        ("http://a.example/b c", "http://a.example/b%20c", ""),
        ('POST http://a.example/ {\n"a": 1}', f"{A}#method=POST&type=application/json&body=%7B%0A%22a%22:%201%7D", ""),
    ],
)
def test_a_seed_of_a_command_line(text: str, seed: str, label: str) -> None:
    """A comment behind it is one, as on a line of a file, and no part of the URL or the form."""
    assert read_given(text) == (seed, label)


@pytest.mark.parametrize(
    "text", [f"{A}\n{B}", f"{A} {B}", f"{A}1\n{A}2\n", f"{A} # a\n{B} # b\n", "", "# only a label"]
)
def test_what_is_not_one_seed(text: str) -> None:
    """Two URLs in one argument, such as a whole file, would be one URL that nobody meant."""
    with pytest.raises(ValueError, match=r"there must be one URL|not an http or https URL"):
        read_given(text)
