"""Records and bodies that are broken: each is left out and named, and the rest is exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import urls
from fscrawl.util.installed import command
from tests.support.crawling import lines_of
from tests.support.merging import EVERY, B, bodiless
from tests.support.trees import Grown, Made, check, contents, stamps


def torn(tree: Grown) -> None:
    path = tree.file("links", B)
    path.write_bytes(path.read_bytes()[:-9])


def empty(tree: Grown) -> None:
    tree.file("links", B).write_bytes(b"")


def other_body(tree: Grown) -> None:
    tree.file("htmls", B).write_bytes(tree.bodies[B].replace(b"six", b"6ix"))


def short_body(tree: Grown) -> None:
    tree.file("htmls", B).write_bytes(tree.bodies[B][:-1])


def other_key(tree: Grown) -> None:
    tree.rewrite(B, urls.key(B).encode(), b"0" * 24)


def other_url(tree: Grown) -> None:
    tree.rewrite(B, f'"url":"{B}"'.encode(), b'"url":"http://a.example/else"')


def no_url(tree: Grown) -> None:
    tree.rewrite(B, f'"url":"{B}"'.encode(), b'"url":"javascript:alert(1)"')


def surrogate_url(tree: Grown) -> None:
    tree.rewrite(B, f'"url":"{B}"'.encode(), rb'"url":"http://a.example/\ud800"')


def said(field: str, value: str) -> Callable[[Grown], None]:
    """Have the record say something else of a number or a time."""

    def change(tree: Grown) -> None:
        path = tree.file("links", B)
        values = json.loads(path.read_bytes())
        path.write_bytes(
            path.read_bytes().replace(
                json.dumps({field: values[field]})[1:-1].replace(": ", ":").encode(), f'"{field}":{value}'.encode()
            )
        )
        assert json.loads(path.read_bytes()) != values

    change.__name__ = f"{field}-{value[:12]}"
    return change


def checked(moment: str, status: int) -> Callable[[Grown], None]:
    """Have the record say that a refresh has kept the page."""

    def change(tree: Grown) -> None:
        path = tree.file("links", B)
        values = json.loads(path.read_bytes())
        path.write_text(json.dumps({**values, "checked_at": moment, "checked_status": status}))

    change.__name__ = f"checked-{moment}-{status}"
    return change


def is_directory(tree: Grown) -> None:
    path = tree.file("links", B)
    path.unlink()
    path.mkdir()


BROKEN = [
    *(torn, empty, bodiless, other_body, short_body, other_key, other_url, no_url, surrogate_url, is_directory),
    *(said("depth", value) for value in ("-1", "2147483648", "9" * 30)),
    *(said("status", value) for value in ("-1", "9" * 30)),
    *(said("bytes", value) for value in ("-1", "9" * 30)),
    *(said("elapsed", value) for value in ("9" * 400, "1e999", "9007199254740993")),
    *(said("fetched_at", f'"{value}"') for value in ("yesterday", "", "0001-01-01T00:00:00+14:00")),
    said("fetched_at", '"9999-12-31T23:59:59-14:00"'),
    *(checked(moment, 304) for moment in ("yesterday", "", "2026-11-")),
    *(checked("2026-11-21T10:00:00.000Z", status) for status in (-1, 2**31, 10**30)),
]


@pytest.mark.gate
@pytest.mark.parametrize("break_", BROKEN, ids=lambda change: change.__name__)
def test_broken_page(
    tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], break_: Callable[[Grown], None]
) -> None:
    """A page that cannot be read is named, counted and left out; the next run that finds it mended has it."""
    break_(tree)
    code, printed, err = fscrawl(*EVERY)
    assert code == 0
    (line,) = lines_of(err)
    assert line.startswith(f"links/a.example/{urls.key(B)}.json: "), line
    assert line.endswith("; left out")
    assert "left out: 1 page that cannot be read; the next merge tries again" in printed
    made = Made(out)
    check(made)
    assert made.keys() == tree.keys(B)
    assert made.manifest["left_out"] == {"broken": 1}
    path = tree.file("links", B)
    if path.is_dir():
        path.rmdir()
    path.write_bytes(tree.records[B].to_json())
    tree.file("htmls", B).write_bytes(tree.bodies[B])
    code, printed, err = fscrawl()
    assert (code, err) == (0, "")
    assert made.by_url()[B]["html"] == tree.bodies[B]
    assert made.keys() == tree.keys()
    assert "cannot be read" not in printed
    check(made)


def test_long_body(tree: Grown, out: Path) -> None:
    """A body that has become longer differs from its record, however long such a file may be."""
    tree.file("htmls", B).write_bytes(tree.bodies[B] + b" ")
    assert tree.merge(out).said == [f"links/a.example/{urls.key(B)}.json: its body differs from its record; left out"]


def test_misplaced_copy(tree: Grown, out: Path) -> None:
    """A copy of a record in another host's directory is broken: no page comes twice."""
    for directory in ("links", "htmls"):
        path = Path(tree.tree.path_of(directory, "b.example", urls.key(B)))
        path.write_bytes(tree.file(directory, B).read_bytes())
    made = tree.merge(out)
    assert made.keys() == tree.keys()
    flaw = f"its URL is {B}, which has another file"
    assert made.said == [f"links/b.example/{urls.key(B)}.json: its record is wrong: {flaw}; left out"]


def test_many_broken(tmp_path: Path, out: Path) -> None:
    """Of many broken pages five are named, and the rest are counted."""
    tree = Grown(tmp_path / "tree")
    for number in range(9):
        tree.page(f"http://a.example/{number}", b"<p>x")
        tree.file("htmls", f"http://a.example/{number}").unlink()
    made = tree.merge(out)
    assert len(made.said) == 6
    assert made.said[-1] == f"4 more could not be read; to see what is wrong:  {command()} audit --root {tree.root}"


def test_still_broken(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A page that stays broken is counted once, however many runs try it; with nothing else new, no file changes."""
    bodiless(tree)
    fscrawl()
    tree.page("http://a.example/0")
    assert "left out: 1 page that cannot be read" in fscrawl()[1]
    before = contents(out), stamps(out)
    code, printed, err = fscrawl()
    assert code == 0
    assert lines_of(err)[-1] == "nothing new since the last run"
    assert "left out: 1 page that cannot be read" in printed
    assert (contents(out), stamps(out)) == before


def test_newly_broken(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A page that came broken since the last run is counted, though nothing else is new."""
    fscrawl()
    tree.page("http://a.example/0")
    tree.file("htmls", "http://a.example/0").unlink()
    assert "left out: 1 page that cannot be read" in fscrawl()[1]
    assert Made(out).manifest["left_out"] == {"broken": 1}
    check(Made(out))


def test_broken_failure(tree: Grown, out: Path) -> None:
    """A failure that cannot be read, or says what no failure can, is left out; the others are there."""
    for number, (old, new) in enumerate(
        [
            (b'"attempts":3', b'"attempts":' + b"9" * 30),
            (b'"depth":2', b'"depth":-1'),
            (b'"status":404', b'"status":4294967296'),
            (b'"failed_at":"2', b'"failed_at":"x'),
            (b'"failed_at":"2026-09-21T14:13:20.000Z"', b'"failed_at":"0001-01-01T00:00:00+14:00"'),
            (b'"url":"http:', b'"url":"mailto:'),
            (b"}", b""),
        ]
    ):
        url = f"http://a.example/gone{number}"
        tree.fail(url)
        tree.rewrite(url, old, new, "errs")
    assert [row["url"] for row in tree.merge(out).rows("errors")] == ["http://a.example/gone"]


@pytest.mark.parametrize("directory", ["links", "errs"])
def test_stray_file(tree: Grown, out: Path, directory: str) -> None:
    """A file that somebody put beside the hosts' directories stops no merge."""
    (tree.root / directory / "Thumbs.db").write_text("x")
    assert tree.merge(out).keys() == tree.keys()
