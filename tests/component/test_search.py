"""`fscrawl search` as a command: what it prints, for people, programs and terminals."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.dataset.dataset_dir import DatasetDir
from tests.support.crawling import Running
from tests.support.trees import Grown

EVIL = b"<meta charset=utf-8><title>\x1b[31mEvil</title><p>before \x1b[2J &lt;script&gt; words \xe2\x80\xae after"
Search = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("search")
    tree = Grown(place / "tree")
    for number in range(12):
        tree.page(
            f"http://a.example/{number}", b"<title>Page %d</title><p>Some words of a hash map. %d" % (number, number)
        )
    tree.page("http://b.example:8080/", EVIL)
    tree.page("http://c.example/", "<meta charset=utf-8><title>编程语言</title><p>Rust语言编程很好".encode())
    tree.merge(place / "data set?", index=True)
    return place / "data set?"


@pytest.fixture
def search(dataset: Path, capsys: pytest.CaptureFixture[str]) -> Search:
    def run(*words: str, of: Path = dataset) -> tuple[int, str, str]:
        code = cli.main(["search", *words, "--dataset", str(of)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def command(dataset: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "fscrawl", "search", *words, "--dataset", str(dataset)]


def test_for_people(search: Search) -> None:
    """Each page has its title, address, host, time, and a snippet; the last line counts."""
    code, said, _ = search("hash map", "-11", "--limit", "2")
    assert code == 0
    pages = said.split("\n\n")
    assert len(pages) == 3
    assert re.fullmatch(
        r"1\. Page \d+\n   http://a\.example/\d+\n   a\.example, \d{4}-\d\d-\d\d \d\d:\d\d UTC\n"
        r"   Some words of a hash map\. \d+",
        pages[0],
    )
    assert re.fullmatch(r"2 of 11 pages, \d+\.\d\d s\n", pages[2])


def test_for_programs(search: Search) -> None:
    """With --json each line is a page, with the places of hits in the snippet."""
    code, said, _ = search("编程", "--json")
    assert code == 0
    [found] = map(json.loads, said.splitlines())
    assert (found["url"], found["title"], found["host"]) == ("http://c.example/", "编程语言", "c.example")
    assert [found["snippet"][begin:end] for begin, end in found["hits"]] == ["编程"]
    assert set(found) == {"url", "title", "host", "key", "time", "snippet", "hits", "score"}


def test_too_many_words(search: Search, tmp_path: Path) -> None:
    """A beginning behind other words, with which more words begin than can be looked for, is a mistake of its own."""
    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/", b"<p>" + b" ".join(b"x-1%05d" % number for number in range(20_000)))
    tree.merge(tmp_path / "out", index=True)
    said = "fscrawl: x 1*: more than 10,000 words begin with 1; give more of the last word\n"
    assert search("x-1*", of=tmp_path / "out") == (2, "", said)
    assert search("x -x-1*", of=tmp_path / "out") == (2, "", said)
    assert [search(each, of=tmp_path / "out")[0] for each in ("x-115*", "1*")] == [0, 0]


def test_hosts(search: Search) -> None:
    """--host leaves out other hosts."""
    assert "1 page, " in search("words", "--host", "b.example")[1]
    assert search("words", "--host", "c.example")[:2] == (1, "no page matches on these hosts\n")
    assert search("words", "--host", "///")[0] == 2


def test_nothing_is_found(search: Search) -> None:
    """Nothing found is exit code 1, as a search in files has it."""
    assert search("absent")[:2] == (1, "no page matches\n")
    assert search("absent", "--json")[:2] == (1, "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (['"open'], 'a phrase has a " at its beginning only'),
        ([" -only"], "nothing to search for"),
        (["a\udcff", "b"], "must be UTF-8"),
        (["x", "--limit", "1001"], "--limit 1001: at most 1000"),
    ],
)
def test_mistakes(search: Search, words: list[str], says: str) -> None:
    """A mistake is one line."""
    code, _, said = search(*words)
    assert code == 2
    assert says in said
    assert said.count("\n") == 1


def test_no_index(search: Search, tmp_path: Path) -> None:
    """Without dataset or index, one line says what to do. Without its directory, a share may not be mounted."""
    assert search("x", of=tmp_path) == (2, "", f"fscrawl: {tmp_path}: no dataset that a merge has completed\n")
    code, _, said = search("x", of=tmp_path / "none")
    assert (code, said.count("\n")) == (75, 1)
    assert said.startswith(f"fscrawl: {tmp_path / 'none'}: it is not there; is the share mounted")
    Grown(tmp_path / "tree").page("http://a.example/")
    Grown(tmp_path / "tree").merge(tmp_path / "out")
    code, _, said = search("x", of=tmp_path / "out")
    assert code == 2
    assert re.search(r"no index; to make it:  \S.* merge --root DIR --out \S+/out --index\n$", said)


@pytest.mark.parametrize("below", ["", "/dataset"])
def test_a_file_is_no_dataset(search: Search, tmp_path: Path, below: str) -> None:
    """A file in place of the directory is one line, which says what must be there."""
    (tmp_path / "file").touch()
    path = Path(f"{tmp_path}/file{below}")
    right = "must be the directory of a dataset, made with fscrawl merge"
    assert search("x", of=path) == (2, "", f"fscrawl: --dataset {path}: not a directory; {right}\n")


def test_what_may_not_be_read(search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset that cannot be read is exit code 75, and one whose manifest is none is not a dataset."""
    Grown(tmp_path / "tree").merge(tmp_path / "out")
    (tmp_path / "out/manifest.json").unlink()
    (tmp_path / "out/manifest.json").mkdir()
    code, _, said = search("x", of=tmp_path / "out")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"fscrawl: {tmp_path}/out/manifest.json: cannot be read (")

    def failing(self: DatasetDir, name: str) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), f"{self.root}/{name}")

    monkeypatch.setattr(DatasetDir, "read", failing)
    code, _, said = search("x", of=tmp_path / "out")
    assert (code, said.count("\n")) == (75, 1)
    assert "the file system reports an input/output error" in said


def test_what_is_missing_is_said(search: Search, tmp_path: Path) -> None:
    """Pages of the dataset that are not in the index are counted on standard error, and results come all the same."""
    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/", b"<p>words")
    tree.merge(tmp_path / "out", index=True)
    (tmp_path / "kept").write_bytes((tmp_path / "out/search/meta.json").read_bytes())
    tree.page("http://a.example/2", b"<p>words")
    tree.merge(tmp_path / "out")
    (tmp_path / "kept").rename(tmp_path / "out/search/meta.json")
    code, out, err = search("words", of=tmp_path / "out")
    assert code == 0
    assert "1 page, " in out
    assert err.startswith("not in the index yet: 1 record of the dataset; to add what is missing:  ")


def test_hostile_text_is_plain(search: Search) -> None:
    """What a page has cannot control the terminal."""
    _, said, _ = search("before")
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "[31mEvil" in said


def in_terminal(words: list[str], columns: int, **environ: str) -> str:
    """Run a command in a terminal; return what stands there, with its escapes."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    said = bytearray()

    def read() -> None:
        try:
            while data := os.read(leader, 65536):
                said.extend(data)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    left_out = {"NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR"}
    env = {name: value for name, value in os.environ.items() if name not in left_out} | {"TERM": "xterm"} | environ
    try:
        subprocess.run(words, stdin=follower, stdout=follower, stderr=follower, env=env, timeout=60, check=True)
    finally:
        os.close(follower)
        reader.join(10)
        os.close(leader)
    return said.decode()


def test_locale_c(dataset: Path) -> None:
    """In the locale C words and results are Unicode all the same."""
    assert "Rust语言编程很好" in in_terminal(command(dataset, "编程"), 80, LC_ALL="C", NO_COLOR="1", TERM="dumb")


@pytest.mark.gate
def test_two_at_once_while_a_merge_runs(tmp_path: Path) -> None:
    """Searches that run while merges add to the index find what was there, in each moment, and never fail."""
    tree = Grown(tmp_path / "tree")
    tree.page("http://a.example/", b"<p>words")
    out = tmp_path / "out"
    tree.merge(out, index=True)
    over = threading.Event()
    found: list[tuple[int, int]] = []

    def ask() -> None:
        from fscrawl.dataset.search import search

        while not over.is_set():
            result = search(out, "words")
            found.append((result.total, result.missing))

    searchers = [threading.Thread(target=ask) for _ in range(2)]
    for each in searchers:
        each.start()
    try:
        for number in range(9):  # which also joins segments
            tree.page(f"http://b.example/{number}", b"<p>words")
            tree.merge(out)
    finally:
        over.set()
        for each in searchers:
            each.join(30)
    assert not any(each.is_alive() for each in searchers)
    with Running(command(out, "words", "--json", "--limit", "50")) as last:
        assert len(last.wait(30).out.splitlines()) == 10
    assert all(total + missing <= 10 and total >= 1 for total, missing in found)
    assert len(found) > 9
