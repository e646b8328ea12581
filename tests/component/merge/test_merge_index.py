"""The index of searches that `fscrawl merge --index` makes: always in step with the dataset, or it says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.dataset import dataset_dir, search_index, search_shard
from fscrawl.dataset.search import Found, search, to_make
from fscrawl.dataset.search_shards import Shard, file_name
from fscrawl.dataset.search_words import parse
from fscrawl.errors import TreeError, UsageError
from fscrawl.hostnames import option
from tests.support.trees import Grown, stamps

Run = Callable[..., tuple[int, str, str]]


def find(out: Path, words: str, *hosts: str, **how: int) -> Found:
    return search(out, parse(words), [option(host, globs=True) for host in hosts], **how)


def urls_of(out: Path, words: str, *hosts: str) -> set[str]:
    return {result.url for result in find(out, words, *hosts, most=1000).results}


def shards(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "search").glob("*.sqlite"))


def test_index(tree: Grown, out: Path, fscrawl: Run) -> None:
    """Pages are found by title and text; redirects and files without text are not in it."""
    code, said, _ = fscrawl("--index")
    assert code == 0
    assert "search/      1 file, " in said
    assert urls_of(out, "three") == {"http://a.example/"}
    assert find(out, "a").results[0].title == "A"
    [result] = find(out, '"eight nine"').results
    assert (result.url, result.key, result.host) == ("http://a.example/b", tree.records[result.url].key, "a.example")
    assert find(out, "nothing").results == ()
    assert find(out, "three").missing == 0


def test_without_the_option_nothing_is_made(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A dataset has no index unless one was asked for; a search then names the command that makes it."""
    fscrawl()
    assert not (out / "search").exists()
    with pytest.raises(UsageError, match=r"no index; to make it:  .*merge --root DIR --out .*/out --index"):
        find(out, "three")


def test_later_merges_keep_it(tree: Grown, out: Path, fscrawl: Run) -> None:
    """What is new is added by every later merge, also without the option, and what is there stays as it is."""
    fscrawl("--index")
    first, before = shards(out), stamps(out / "search")
    tree.page("http://z.example/0", b"<p>novelty three")
    fscrawl()
    assert urls_of(out, "three") == {"http://a.example/", "http://z.example/0"}
    assert set(first) < set(shards(out))
    assert stamps(out / "search")[first[0]] == before[first[0]]
    stamped = stamps(out / "search")
    fscrawl()
    assert stamps(out / "search") == stamped


def test_it_can_be_made_later(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A dataset without index gets one though nothing is new, or its limit has been reached."""
    fscrawl("--limit", "2")
    fscrawl("--limit", "2", "--index")
    listed = json.loads((out / "search/index.json").read_text())["shards"]
    assert [shard["of_rows"] for shard in listed] == [2]
    assert find(out, "three seven nothing").missing == 0


def test_rebuild(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A rebuild makes it anew, of what the tree has now; without Parquet files there is none any more."""
    fscrawl("--index")
    tree.page("http://a.example/", b"<p>replaced")
    fscrawl("--rebuild")
    assert (urls_of(out, "three"), urls_of(out, "replaced")) == (set(), {"http://a.example/"})
    assert len(shards(out)) == 1
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
def test_many_merges_join_shards(tree: Grown, out: Path) -> None:
    """Shards do not grow in number with the merges; each page is in one, and results come in pages of one order."""
    tree.merge(out, index=True)
    for number in range(10):
        tree.page(f"http://m.example/{number}", b"<p>common%s" % (b" filler" * number))
        tree.page(f"http://m.example/{number}-without", b"<p>other pages")
        tree.merge(out)
    assert len(shards(out)) < 9
    found = find(out, "common", most=100)
    assert {result.url for result in found.results} == {f"http://m.example/{n}" for n in range(10)}
    assert found.total == 10
    assert [each.score for each in found.results] == sorted((each.score for each in found.results), reverse=True)
    assert find(out, "common", most=5, skip=5).results == found.results[5:10]


def test_frequent_in_a_small_shard(tree: Grown, out: Path) -> None:
    """A word that is rare in all, and frequent in the newest shard, counts there as in the others."""
    for number in range(40):
        tree.page(f"http://m.example/{number}", b"<p>" + b"rare " * (number == 0) + b"filler words here and there")
    tree.merge(out, index=True)
    for number in range(3):
        tree.page(f"http://n.example/{number}", b"<p>rare rare")
    tree.merge(out)
    scores = {result.url: result.score for result in find(out, "rare").results}
    assert len(scores) == 4
    assert min(scores, key=lambda url: scores[url]) == "http://m.example/0"
    assert min(scores.values()) > 0.5


def test_killed_at_each_step(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before the list, or between two shards, the index says what it lacks, and the next merge completes it."""

    class Killed(BaseException):
        """Stands for a kill."""

    tree.merge(out, index=True)
    tree.page("http://y.example/", b"<p>three more")
    write = dataset_dir.DatasetDir.write_json
    for step in (dataset_dir.MANIFEST, "search/index.json"):

        def kill(self: dataset_dir.DatasetDir, name: str, value: object, step: str = step, **how: bool) -> None:
            if name == "search/index.json" and step == name:
                raise Killed
            write(self, name, value, **how)
            if name == step:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(dataset_dir.DatasetDir, "write_json", kill)
            with pytest.raises(Killed):
                tree.merge(out)
        assert (find(out, "three").total, find(out, "three").missing) == (1, 1)
    kept = stamps(out / "search")
    tree.merge(out)
    assert (find(out, "three").total, find(out, "three").missing) == (2, 0)
    now = stamps(out / "search")
    assert {name: now[name] for name in kept if name != "index.json"} == {n: kept[n] for n in kept if n != "index.json"}


def test_left_files_go(tree: Grown, out: Path, fscrawl: Run) -> None:
    """What a killed merge left in the folder is removed; what is another's stays."""
    fscrawl("--index")
    for name in (".index-00.sqlite.1-ab.tmp", "index-0123456789abcdef.sqlite", "notes.txt"):
        (out / "search" / name).write_bytes(b"x")
    fscrawl()
    assert {path.name for path in (out / "search").iterdir()} == {"index.json", "notes.txt", *shards(out)}
    assert len(shards(out)) == 1


@pytest.mark.parametrize("damage", ["cut", "gone", "list", "no list", "list of a later version", "list leads out"])
def test_damage(tree: Grown, out: Path, fscrawl: Run, damage: str) -> None:
    """A damaged index is one line with the command that makes it again, and that does it."""
    fscrawl("--index")
    listed, [shard] = out / "search/index.json", list((out / "search").glob("*.sqlite"))
    if damage == "cut":
        shard.write_bytes(shard.read_bytes()[:-4096])
    elif damage == "gone":
        shard.unlink()
    elif damage == "list":
        listed.write_bytes(listed.read_bytes()[:-20])
    elif damage == "no list":
        listed.unlink()
    elif damage == "list of a later version":
        listed.write_text(json.dumps({**json.loads(listed.read_text()), "format": 2}))
    else:
        listed.write_text(listed.read_text().replace(shard.name, "../../x"))
    with pytest.raises(UsageError) as error:
        find(out, "three")
    assert str(error.value).endswith(to_make(out))
    fscrawl()
    assert urls_of(out, "three") == {"http://a.example/"}
    assert find(out, "three").missing == 0


def test_damage_within_a_file(tree: Grown, out: Path, fscrawl: Run) -> None:
    """A shard of the right length with wrong bytes gives one line, whatever SQLite says of it."""
    fscrawl("--index")
    [shard] = (out / "search").glob("*.sqlite")
    data = shard.read_bytes()
    for begin in range(0, len(data), 4096):
        shard.write_bytes(data[:begin] + b"\xa5" * 4096 + data[begin + 4096 :])
        try:
            find(out, "three")
        except UsageError as error:
            assert "the index is damaged" in str(error)  # noqa: PT017 - some damage touches nothing that is asked for


def test_other_dataset(tree: Grown, out: Path, fscrawl: Run) -> None:
    """What the index has of parts that are not in the dataset is not shown, and what it lacks is counted."""
    fscrawl("--index")
    manifest = json.loads((out / "manifest.json").read_text())
    for part in manifest["files"]:
        part["sha256"] = "0" * 64
    (out / "manifest.json").write_text(json.dumps(manifest))
    found = find(out, "three")
    assert (found.total, found.missing) == (0, 5)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"files": 1}', "null"])
def test_no_manifest(tree: Grown, out: Path, fscrawl: Run, text: str) -> None:
    """Without a sound manifest there is no dataset to search in."""
    fscrawl("--index")
    (out / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match=r"not the manifest|no dataset"):
        find(out, "three")
    (out / "manifest.json").unlink()
    with pytest.raises(UsageError, match="no dataset that a merge has completed"):
        find(out, "three")


def test_a_file_goes_while_it_is_searched(
    tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge that joins shards between reading the list and opening them is waited out by reading the list again."""
    fscrawl("--index")
    from fscrawl.dataset import search as module

    read = module.read_list
    old = read(out)
    answers = iter([[Shard(file_name([]), 1, 1, 0, ())], old])
    monkeypatch.setattr(module, "read_list", lambda root: next(answers))
    assert find(out, "three").total == 1


def test_disk_full(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that cannot be written is one line, and leaves no file."""
    monkeypatch.setattr(search_shard, "_SCHEMA", search_shard._SCHEMA + "PRAGMA max_page_count = 8;")
    code, _, said = fscrawl("--index")
    assert code == TreeError.exit_code
    assert said.startswith("fscrawl: ")
    assert "cannot be written: database or disk is full" in said
    assert list((out / "search").iterdir()) == []


@pytest.mark.gate
def test_no_fts5(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python whose SQLite cannot index is told before anything is read."""
    monkeypatch.setattr(search_shard, "TOKENIZER", "none-such")
    code, _, said = fscrawl("--index")
    assert code == 2
    assert "cannot index texts" in said
    assert not list(out.glob("pages/*"))


@pytest.mark.gate
def test_no_text(tree: Grown, out: Path, fscrawl: Run) -> None:
    """Of a dataset without texts, titles are searched."""
    fscrawl("--index", "--text", "none")
    assert (urls_of(out, "a"), urls_of(out, "three")) == ({"http://a.example/"}, set())


def test_a_search_that_takes_too_long(tree: Grown, out: Path, fscrawl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search is given up after its time, with one line."""
    fscrawl("--index")
    from fscrawl.dataset import search as module

    monkeypatch.setattr(module, "_STEPS", 1)
    with pytest.raises(UsageError, match="takes too long"):
        search(out, parse("three"), limit_s=-1.0)


@pytest.mark.gate
def test_large_page(tree: Grown, out: Path) -> None:
    """A page of ten megabytes is found by its last word, and its snippet is short."""
    tree.page("http://l.example/", b"<p>" + b"some words of filler " * 480_000 + b"lastword")
    tree.merge(out, index=True)
    [result] = find(out, "lastword").results
    assert sum(len(piece.text) for piece in result.pieces) < 450
    assert any(piece.hit for piece in result.pieces)


@pytest.mark.gate
def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of equal size are joined eight by eight; large ones stay alone."""
    from fscrawl.dataset.manifest import Part

    def rows(sizes: list[int]) -> list[int]:
        groups = search_index.join([[Part(f"{n}", size, 0, "")] for n, size in enumerate(sizes)])
        return [sum(part.rows for part in group) for group in groups]

    assert rows([]) == []
    assert rows([0, 5]) == [0, 5]
    assert rows([20_000] * 20) == [20_000] * 20
    assert sum(rows([100] * 1000)) == 100_000
    assert len(rows([100] * 1000)) < 25
