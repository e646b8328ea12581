"""The index of searches that `fscrawl merge --index` makes: always in step with the dataset, or it says so."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.dataset import dataset_dir
from fscrawl.dataset import search as module
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.dataset.search import Found, search, to_make
from fscrawl.errors import TreeError, UsageError
from fscrawl.hostnames import option
from tests.support.trees import Grown, check, stamps

Run = Callable[..., tuple[int, str, str]]

TEXTS = {
    "zh": "Rust语言编程很好，搜索引擎",
    "ja": "日本語のテスト、サーバー",
    "ko": "서울에서 만나요",
    "th": "ภาษาไทยสวัสดี",
    "hi": "हिन्दी भाषा",
    "accents": "naïve Café Straße",
    "apart": "cafe\u0301 noir",
    "ru": "Привет МИР",
    "el": "Καλημέρα ΚΌΣΜΕ",
    "ar": "العربية مرحبا",
    "code": "C++ foo_bar well-known v1.2.3 std::vec",
    "picture": "hello🙂zola",
}


def find(out: Path, words: str, *hosts: str, **how: int) -> Found:
    return search(out, words, [option(host, globs=True) for host in hosts], **how)


def urls_of(out: Path, words: str, *hosts: str) -> set[str]:
    return {result.url for result in find(out, words, *hosts, most=1000).results}


def files(out: Path) -> set[str]:
    return {path.name for path in (out / "search").iterdir()}


def test_index(tree: Grown, out: Path, fscrawl: Run) -> None:
    """Pages are found by title and text; redirects and files without text are not in it."""
    code, said, _ = fscrawl("--index")
    assert code == 0
    assert "\nsearch/      " in said
    assert urls_of(out, "three") == {"http://a.example/"}
    assert find(out, "a").results[0].title == "A"
    [result] = find(out, '"eight nine"').results
    assert (result.url, result.key, result.host) == ("http://a.example/b", tree.records[result.url].key, "a.example")
    assert find(out, "nothing").results == ()
    assert find(out, "three").missing == 0


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("scripts")
    tree = Grown(place / "tree")
    for name, text in TEXTS.items():
        tree.page(f"http://{name}.example/", f"<meta charset=utf-8><p>{text}".encode())
    tree.merge(place / "out", index=True)
    return place / "out"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        *(("语言", ["zh"]), ("搜索", ["zh"]), ("语", ["zh"]), ("rust语言", ["zh"]), ("语编", []), ("言编*", ["zh"])),
        *(("テスト", ["ja"]), ("日本", ["ja"]), ("サーバー", ["ja"]), ("서울", ["ko"]), ("สวัส", ["th"])),
        *(("हिन्दी", ["hi"]), ("हिन*", ["hi"]), ("cafe", ["accents", "apart"]), ("CAFÉ", ["accents", "apart"])),
        *(("мир", ["ru"]), ("κόσμε", ["el"]), ("مرحبا", ["ar"]), ("cafe\u0301", ["accents", "apart"])),
        *(("c++", ["code"]), ("foo", ["code"]), ("well-known", ["code"]), ("known-well", []), ("std::vec", ["code"])),
        *(("hello zola", ["picture"]), ("naïve -straße", []), ("caf* -naive", ["apart"]), ("foo_b*", ["code"])),
        *(('"foo bar well"', ["code"]), ('"bar foo"', []), ("bar foo", ["code"]), ("“foo bar”", ["code"])),
        *(('cafe -"cafe noir"', ["accents"]), ("cafe -noir -straße", []), ("cafe\0noir", ["apart"])),
        *(("NOT foo", []), ("title:foo", []), ("(foo", ["code"]), ("foo^2", []), ("/foo/", ["code"])),
    ],
)
def test_finds(scripts: Path, asked: str, names: list[str]) -> None:
    """Words are found in each script, without case and accents; no sign between them is an operator."""
    assert urls_of(scripts, asked) == {f"http://{name}.example/" for name in names}


def test_titles_count_more(tmp_path: Path) -> None:
    """A word in the title of a page counts more than in a text, however many pages have it."""
    tree = Grown(tmp_path / "tree")
    for number in range(20):
        tree.page(f"http://a.example/{number}", b"<title>page</title><p>rare words rare")
    tree.page("http://b.example/", b"<title>rare</title><p>" + b"other text " * 20)
    tree.merge(tmp_path / "out", index=True)
    assert find(tmp_path / "out", "rare").results[0].url == "http://b.example/"


def test_without_the_option_nothing_is_made(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A dataset has no index unless one was asked for; a search then names the command that makes it."""
    fscrawl()
    assert not (out / "search").exists()
    with pytest.raises(UsageError, match=r"no index; to make it:  .*merge --root DIR --out .*/out --index"):
        find(out, "three")


def test_later_merges_keep_it(tree: Grown, out: Path, fscrawl: Run) -> None:
    """What is new is added by every later merge, also without the option; where nothing is new, no file is touched."""
    fscrawl("--index")
    before = stamps(out / "search")
    tree.page("http://z.example/0", b"<p>novelty three")
    fscrawl()
    assert urls_of(out, "three") == {"http://a.example/", "http://z.example/0"}
    now = stamps(out / "search")
    assert {name: now.get(name) for name in before if name != "meta.json"} == {
        name: stamp for name, stamp in before.items() if name != "meta.json"
    }
    fscrawl()
    assert stamps(out / "search") == now


def test_it_can_be_made_later(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A dataset without index gets one though nothing is new, or its limit has been reached."""
    fscrawl("--limit", "2")
    fscrawl("--limit", "2", "--index")
    assert find(out, "three").missing == 0


def test_rebuild(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A rebuild makes it anew, of what the tree has now; without Parquet files there is none any more."""
    fscrawl("--index")
    tree.page("http://a.example/", b"<p>replaced")
    fscrawl("--rebuild")
    assert (urls_of(out, "three"), urls_of(out, "replaced")) == (set(), {"http://a.example/"})
    fscrawl("--rebuild", "--format", "csv")
    assert not (out / "search").exists()
    code, _, said = fscrawl("--format", "csv", "--index")
    assert code == 2
    assert "no Parquet files" in said


@pytest.mark.gate
def test_dedupe(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A duplicate that the dataset leaves out is not found."""
    tree.page("http://z.example/copy", tree.bodies["http://a.example/"])
    fscrawl("--index", "--dedupe")
    assert urls_of(out, "three") == {"http://a.example/"}


@pytest.mark.gate
def test_hosts(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A search in some hosts takes them in every form; ports count where they are named."""
    for host in ("p.example", "p.example:8080", "q.example"):
        tree.page(f"http://{host}/", b"<p>portly")
    fscrawl("--index")
    assert urls_of(out, "portly", "p.example:8080") == {"http://p.example:8080/"}
    assert urls_of(out, "portly", "P.example") == {"http://p.example/", "http://p.example:8080/"}
    assert urls_of(out, "portly", "*.example", "q.example") == urls_of(out, "portly")
    assert find(out, "portly", "other.example").total == 0


@pytest.mark.gate
def test_many_merges(tree: Grown, out: Path) -> None:
    """Files do not grow in number with the merges; each page is found once, the best ones first."""
    tree.merge(out, index=True)
    for number in range(20):
        tree.page(f"http://m.example/{number}", b"<p>common%s" % (b" filler" * number))
        tree.page(f"http://m.example/{number}-without", b"<p>other pages")
        check(tree.merge(out))
    assert len(files(out)) < 80
    found = find(out, "common", most=100)
    assert {result.url for result in found.results} == {f"http://m.example/{n}" for n in range(20)}
    assert found.total == 20
    assert [each.score for each in found.results] == sorted((each.score for each in found.results), reverse=True)


@pytest.mark.parametrize("step", ["manifest.json", "search/meta.json"])
def test_killed(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Killed before the index is committed, it says what it lacks, and the next merge completes it and tidies up."""

    class Killed(BaseException):
        """Stands for a kill."""

    tree.merge(out, index=True)
    tree.page("http://y.example/", b"<p>three more")
    write = dataset_dir.DatasetDir.write

    def kill(self: dataset_dir.DatasetDir, name: str, text: str, **how: bool) -> None:
        if name == "search/meta.json":
            raise Killed
        write(self, name, text, **how)
        if name == step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(dataset_dir.DatasetDir, "write", kill)
        with pytest.raises(Killed):
            tree.merge(out)
    assert (find(out, "three").total, find(out, "three").missing) == (1, 1)
    left = files(out)
    tree.merge(out)
    assert (find(out, "three").total, find(out, "three").missing) == (2, 0)
    assert len(files(out)) == len(left) + (step == "manifest.json") * (len(left) - 1)


def test_in_batches(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of many parts is committed again and again while it is made."""
    tree.merge(out)
    tree.page("http://y.example/", b"<p>three more")
    tree.merge(out)
    committed = []
    write = dataset_dir.DatasetDir.write

    def count(self: dataset_dir.DatasetDir, name: str, text: str, **how: bool) -> None:
        write(self, name, text, **how)
        committed.append(name)

    monkeypatch.setattr(dataset_dir.DatasetDir, "write", count)
    monkeypatch.setattr(module, "_BATCH_ROWS", 1)
    tree.merge(out, index=True)
    assert committed.count("search/meta.json") == 2
    assert (find(out, "three").total, find(out, "three").missing) == (2, 0)


def test_left_files_go(tree: Grown, out: Path, fscrawl: Run) -> None:
    """What a killed merge left in the folder is removed; what is another's stays."""
    fscrawl("--index")
    ours = files(out)
    for name in (".0f.term.1-ab.tmp", f"{'0f' * 16}.term", "notes.txt"):
        (out / "search" / name).write_bytes(b"x")
    fscrawl()
    assert files(out) == {"notes.txt", *ours}


@pytest.mark.parametrize("damage", ["cut", "gone", "empty", "list", "fields", "list leads out", "no list"])
def test_damage(tree: Grown, out: Path, fscrawl: Run, damage: str) -> None:
    """A damaged index is one line with the command that makes it again, and that does it."""
    fscrawl("--index")
    listed, [file] = out / "search/meta.json", list((out / "search").glob("*.term"))
    text = listed.read_text()
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-7])
    elif damage == "gone":
        file.unlink()
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "list":
        listed.write_text(text[:-20])
    elif damage == "fields":
        listed.write_text(text.replace('"time"', '"date"'))
    elif damage == "list leads out":
        listed.write_text(text.replace(json.loads(text)["segments"][0]["segment_id"], "../../manifest"))
    else:
        listed.unlink()
    with pytest.raises(UsageError) as error:
        find(out, "three")
    assert str(error.value).endswith(to_make(out))
    assert "\n" not in str(error.value)
    fscrawl()
    assert urls_of(out, "three") == {"http://a.example/"}
    assert find(out, "three").missing == 0


def test_damage_within_a_file(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A file of the right length with wrong bytes gives one line, whatever tantivy does about it."""
    fscrawl("--index")
    for path in (out / "search").glob("*.*"):
        data = path.read_bytes()
        for begin in range(0, len(data), 500):
            path.write_bytes(
                data[:begin] + bytes(255 - byte for byte in data[begin : begin + 500]) + data[begin + 500 :]
            )
            try:
                find(out, "three fi*")
            except UsageError as error:
                assert "the index is damaged" in str(error)  # noqa: PT017 - some damage touches nothing that is asked for
        path.write_bytes(data)


def test_other_dataset(tree: Grown, out: Path, fscrawl: Run) -> None:
    """An index of parts that are not in the dataset is not asked, and the next merge makes it anew."""
    fscrawl("--index")
    shutil.copytree(out / "search", out.parent / "search")
    tree.page("http://z.example/", b"<p>three")
    tree.merge(out, rebuild=True)
    shutil.rmtree(out / "search")
    (out.parent / "search").rename(out / "search")
    with pytest.raises(UsageError, match="of other pages than the dataset"):
        find(out, "three")
    fscrawl()
    assert (find(out, "three").total, find(out, "three").missing) == (2, 0)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"files": 1}', "null"])
def test_no_manifest(tree: Grown, out: Path, fscrawl: Run, text: str) -> None:
    """Without a sound manifest there is no dataset to search in."""
    fscrawl("--index")
    (out / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match=r"manifest\.json: (not what a merge writes|cannot be read)"):
        find(out, "three")
    (out / "manifest.json").unlink()
    with pytest.raises(UsageError, match="no dataset that a merge has completed"):
        find(out, "three")


def test_a_file_goes_while_it_is_opened(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that replaces files between reading the list and opening them is waited out."""
    fscrawl("--index")
    listed = (out / "search/meta.json").read_bytes()
    [segment] = json.loads(listed)["segments"]
    old = listed.replace(segment["segment_id"].encode(), b"0" * 32)
    answers = iter([old, old, old])
    read = DatasetDir.read
    monkeypatch.setattr(
        DatasetDir, "read", lambda self, name: next(answers, listed) if "meta" in name else read(self, name)
    )
    assert find(out, "three").total == 1


def test_nowhere_to_work(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this computer has no room for the files that tantivy makes, one line says so, and the dataset is whole."""
    monkeypatch.setattr(tempfile, "tempdir", str(out.parent / "none"))
    code, _, said = fscrawl("--index")
    assert (code, said.count("\n")) == (TreeError.exit_code, 1)
    assert said.startswith(f"fscrawl: {out.parent}/none")
    monkeypatch.undo()
    fscrawl()
    assert find(out, "three").missing == 0


def test_disk_full(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the index that cannot be written is one line, and leaves none."""

    def full(_source: Path, to: Path) -> None:
        to.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(to))

    monkeypatch.setattr(shutil, "copyfile", full)
    code, _, said = fscrawl("--index")
    assert (code, said.count("\n")) == (TreeError.exit_code, 1)
    assert "the disk is full" in said
    assert list((out / "search").iterdir()) == []


@pytest.mark.gate
def test_no_text(tree: Grown, out: Path, fscrawl: Run) -> None:
    """Of a dataset without texts, titles are searched."""
    fscrawl("--index", "--text", "none")
    assert (urls_of(out, "a"), urls_of(out, "three")) == ({"http://a.example/"}, set())


@pytest.mark.gate
def test_large_page(tree: Grown, out: Path) -> None:
    """A page of ten megabytes is found by its last word, and its snippet is short."""
    tree.page("http://l.example/", b"<p>" + b"some words of filler " * 480_000 + b"lastword")
    tree.merge(out, index=True)
    [result] = find(out, "lastword").results
    assert sum(len(piece.text) for piece in result.pieces) < 450
    assert any(piece.hit for piece in result.pieces)


def shown(out: Path, asked: str) -> str:
    [result] = find(out, asked).results
    return "".join(f"[{piece.text}]" if piece.hit else piece.text for piece in result.pieces)


def test_snippets(tmp_path: Path) -> None:
    """A snippet is one short line from around the hits; where the title alone has one, the beginning of the text."""
    tree, out = Grown(tmp_path / "tree"), tmp_path / "out"
    for number, body in enumerate(
        (
            "<title>Alpha</title><pre>some text\n  here",
            "<p>a <pre>Hash\n map</pre> of Iterators",
            "<p>Rust语言编程很好",
            "<p>" + "hay " * 100_000 + "needle" + " hay" * 100,
            "<p>" + "x" * 90_000 + " nail",
            "<title>Beta</title><p>" + "word " * 1000,
            "<title>Gamma</title>",
        )
    ):
        tree.page(f"http://a.example/{number}", f"<meta charset=utf-8>{body}".encode())
    tree.merge(out, index=True)
    assert shown(out, "alpha") == "some text here"
    assert shown(out, "hash map") == "a [Hash map] of Iterators"
    assert shown(out, "iter*") == "a Hash map of [Iterators]"
    assert shown(out, "编程") == "Rust语言[编程]很好"
    assert shown(out, "编程*") == "Rust语言[编程]很好"
    assert "[needle] hay" in shown(out, "needle")
    assert shown(out, "needle").startswith("… ")
    assert shown(out, "needle").endswith(" …")
    assert len(shown(out, "nail")) < 450
    assert shown(out, "beta").endswith("word…")
    assert shown(out, "gamma") == ""
