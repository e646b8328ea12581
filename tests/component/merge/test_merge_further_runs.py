"""What further runs of `fscrawl merge` do with a dataset."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fscrawl import urls
from fscrawl.dataset import reading
from fscrawl.store import Tree
from tests.support.merging import EVERY, A, B, archived, refused
from tests.support.trees import ALL, Grown, Made, check, contents, stamps


def test_nothing_new(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A run that finds nothing new says so, and changes no file."""
    fscrawl(*EVERY)
    before = contents(out), stamps(out)
    code, _, err = fscrawl()
    assert (code, err) == (0, "nothing new since the last run\n")
    assert (contents(out), stamps(out)) == before


def test_new_pages(tree: Grown, out: Path) -> None:
    """New pages are new parts; earlier ones, but for failures, stay as they are."""
    made = tree.merge(out, formats=ALL)
    before = {name: facts for name, facts in contents(out).items() if "/part-" in name and "errors/" not in name}
    stamped = stamps(out)
    tree.page("http://a.example/0")
    tree.page("http://z.example/0")
    tree.merge(out)
    check(made)
    assert {name: contents(out)[name] for name in before} == before
    assert {name: stamps(out)[name] for name in before} == {name: stamped[name] for name in before}
    assert made.keys() == tree.keys()
    assert {row["key"] for row in made.json_lines()} == tree.keys()
    assert archived(made) == tree.bodies
    assert made.manifest["counts"]["records"] == 7
    assert [each["run"] for each in made.manifest["runs"]] == [1, 2]


def test_a_page_is_refreshed_between_runs(tree: Grown, out: Path) -> None:
    """Its row stays as it was, until a rebuild: docs/how-to/export.md says so."""
    made = tree.merge(out)
    old = tree.bodies[B]
    tree.page(B, b"<title>New</title><p>it has changed")
    tree.merge(out)
    assert made.by_url()[B]["html"] == old
    tree.merge(out, rebuild=True)
    assert made.by_url()[B]["html"] == tree.bodies[B]


def test_failures_heal(tree: Grown, out: Path) -> None:
    """Failures are what they are at the last run: a healed one vanishes, and only the newest part is there."""
    tree.fail("http://a.example/gone2")
    made = tree.merge(out, formats=ALL)
    tree.heal("http://a.example/gone2")
    tree.fail("http://b.example/new")
    tree.merge(out)
    check(made)
    assert {row["url"] for row in made.rows("errors")} == {"http://a.example/gone", "http://b.example/new"}
    assert {row["url"] for row in made.json_lines("errors")} == {"http://a.example/gone", "http://b.example/new"}
    assert len(made.files("**/errors/*")) == 3
    assert made.manifest["counts"]["errors"] == 2


def test_failures_alone(tree: Grown, out: Path) -> None:
    """A run that finds no new page but other failures replaces these, and nothing else."""
    made = tree.merge(out)
    tree.fail("http://a.example/gone", class_="timeout", status=None)
    tree.merge(out)
    check(made)
    assert [row["class"] for row in made.rows("errors")] == ["timeout"]
    assert len(made.files("pages/*")) == 1


def test_options_are_kept(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A further run takes the options of the first; the same ones may be given again, others are refused."""
    fscrawl("--format", "jsonl", "--text", "none", "--no-html")
    tree.page("http://a.example/0")
    assert fscrawl()[0] == 0
    made = Made(out)
    assert {row["key"] for row in made.json_lines()} == tree.keys()
    assert not any("html" in row or "text" in row for row in made.json_lines())
    assert fscrawl("--format", "jsonl", "--text", "none", "--no-html")[0] == 0
    before = contents(out)
    refused(fscrawl("--text", "visible"), 2, str(out), 'text = "none", not "visible"', "--rebuild")
    refused(fscrawl("--format", "csv"), 2, 'formats = ["jsonl"], not ["csv"]')
    refused(fscrawl("--dedupe"), 2, "dedupe = false, not true")
    assert contents(out) == before


@pytest.mark.gate
def test_rebuild(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """--rebuild makes the dataset anew with other options, and leaves what is not the dataset's own."""
    fscrawl(*EVERY)
    (out / "NOTES").write_text("mine")
    tree.page("http://a.example/0")
    assert fscrawl("--rebuild", "--text", "none")[0] == 0
    assert (out / "NOTES").read_text() == "mine"
    (out / "NOTES").unlink()
    check(Made(out))
    assert Made(out).keys() == tree.keys()
    assert {path.name for path in out.iterdir()} == {
        *("manifest.json", "README.md", "pages", "links", "errors", ".merge")
    }


@pytest.mark.gate
def test_other_crawl(tree: Grown, out: Path, tmp_path: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """The dataset of another crawl is refused, and left alone."""
    fscrawl()
    other = Grown(tmp_path / "other", crawl="c2")
    before = contents(out)
    refused(fscrawl(root=other.root), 2, "of crawl c1, not c2")
    assert contents(out) == before


@pytest.mark.gate
def test_pages_come_while_it_reads(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that a machine stores during a merge are whole in it or not in it; the next run has the rest."""
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 10)
    tree.many(2, 30)
    started, enough = threading.Event(), threading.Event()

    def crawl() -> None:
        for number in range(400):
            tree.page(f"http://{number % 7}.example/{number}", f"<title>{number}</title>{number}".encode() * 9)
            if number == 20:
                started.set()
            if enough.is_set():
                return

    machine = threading.Thread(target=crawl)
    machine.start()
    assert started.wait(20)
    try:
        made = tree.merge(out, formats=ALL)
    finally:
        enough.set()
        machine.join(20)
    assert made.said == []
    assert made.keys() <= tree.keys()
    tree.merge(out)
    check(made)
    assert made.keys() == tree.keys()
    assert {row["url"]: row["html"] for row in made.rows() if row["html"] is not None} == tree.bodies
    assert archived(made) == tree.bodies


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Have the files of a page change between its record and its body."""
    real, changed = reading.read_whole, []

    def read(of: Tree, path: str, *rest: Any) -> bytes:
        if urls.key(B) in path and not changed:
            changed.append(path)
            change()
        return real(of, path, *rest)

    monkeypatch.setattr(reading, "read_whole", read)


def test_a_page_is_refreshed_while_it_is_read(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is stored again between its record and its body is the new one, and does not count as broken."""
    meanwhile(monkeypatch, lambda: tree.page(B, b"<title>New</title><p>it is as long as that"))
    made = tree.merge(out)
    assert made.said == []
    row = made.by_url()[B]
    assert (row["html"], row["title"]) == (tree.bodies[B], "New")


def test_a_record_comes_a_moment_after_the_body(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the two, a refreshed page looks damaged for a moment."""
    old = tree.file("links", B).read_bytes()

    def refresh() -> None:
        tree.page(B, b"<title>New</title>")
        new = tree.file("links", B).read_bytes()
        tree.file("links", B).write_bytes(old)
        threading.Timer(0.01, tree.file("links", B).write_bytes, [new]).start()

    monkeypatch.setattr(reading, "_PAUSES_S", (0.0, 0.5))
    meanwhile(monkeypatch, refresh)
    made = tree.merge(out)
    assert made.said == []
    assert made.by_url()[B]["title"] == "New"


def test_a_page_becomes_another_while_it_is_read(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that has become a redirect has no body; one that is removed is broken."""

    def redirect() -> None:
        tree.redirect(B, A)
        tree.file("htmls", B).unlink()

    meanwhile(monkeypatch, redirect)
    made = tree.merge(out)
    assert made.said == []
    row = made.by_url()[B]
    assert (row["html"], row["fetch_redirect"]) == (None, A)

    def remove() -> None:
        for directory in ("htmls", "links"):
            tree.file(directory, B).unlink()

    tree.page(B, b"<p>again")
    meanwhile(monkeypatch, remove)
    made = tree.merge(out, rebuild=True)
    assert made.said == [f"links/a.example/{urls.key(B)}.json: its record is gone; left out"]


def test_same_age_again(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """The same command goes on, also one with an age: `--since 7d` said again is no other option."""
    tree.page("http://a.example/late", fetched_at="2999-01-01T00:00:00.000Z")
    assert fscrawl("--since", "7d")[0] == 0
    assert fscrawl("--since", "7d")[2] == "nothing new since the last run\n"
