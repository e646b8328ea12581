"""Versions of pages: what a crawl that is often refreshed keeps, and what `show`, `merge` and Python make of it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fscrawl as api
from fscrawl import urls
from fscrawl.store import Tree
from tests.support.crawling import crawl, fscrawl
from tests.support.trees import Grown, Made, check
from tests.support.web import Request, Response, Web

PACKS = {"store.layout": "packs", "crawl.scope": "host"}
URL = "http://a.example/"


class Changing:
    """A site whose pages are edited by a schedule, in rounds. Those with an even number know 304, the others do not.

    Page n is edited in each round that n % 7 + 2 divides. In rounds 4 and 5 a tenth of the pages is not there.
    """

    def __init__(self, pages: int, rounds: int) -> None:
        self.pages, self.rounds, self.round = pages, rounds, 0

    def __call__(self, request: Request) -> Response:
        if not request.path[1:].isdigit() or self.is_gone(number := int(request.path[1:]), self.round):
            return Response(404, {"Content-Type": "text/plain"}, b"")
        edit = self.edit_of(number, self.round)
        tag = {"ETag": f'"{edit}"'} if number % 2 == 0 else {}
        if tag and request.headers.get("if-none-match") == tag["ETag"]:
            return Response(304, tag, b"")
        return Response(200, {"Content-Type": "text/html", **tag}, self.body(number, edit))

    def edit_of(self, number: int, round_: int) -> int:
        """Give the last round until now in which a page was edited."""
        return round_ - round_ % (number % 7 + 2)

    def is_gone(self, number: int, round_: int) -> bool:
        return number % 10 == 3 and round_ in (4, 5)

    def links(self, number: int, edit: int) -> list[str]:
        return [f"/{(number + 1) % self.pages}", f"/{(number * 3 + edit) % self.pages}"]

    def body(self, number: int, edit: int) -> bytes:
        links = "".join(f"<a href={link}>x</a>" for link in self.links(number, edit))
        return f"<title>{number} of {edit}</title>{links}{'x' * edit}".encode()

    def bodies(self) -> set[tuple[int, bytes]]:
        """Give each body that a page ever had while somebody could fetch it."""
        rounds = [(number, each) for number in range(self.pages) for each in range(self.rounds + 1)]
        return {(n, self.body(n, self.edit_of(n, each))) for n, each in rounds if not self.is_gone(n, each)}

    def changes(self) -> dict[int, list[dict[str, Any]]]:
        """Give what the table of changes must say of each page, but for times and numbers of versions."""
        found = defaultdict(list)
        for number in range(self.pages):
            edit, before = 0, (200, 0)
            for round_ in range(1, self.rounds + 1):
                edit = edit if self.is_gone(number, round_) else self.edit_of(number, round_)
                now = (404 if self.is_gone(number, round_) else 200, edit)
                if now != before:
                    found[number].append(self._change(number, now, before))
                before = now
        return found

    def _change(self, number: int, now: tuple[int, int], before: tuple[int, int]) -> dict[str, Any]:
        bodies = [self.body(number, each) for each in (now[1], before[1])]
        links, links_before = (
            [link for link in dict.fromkeys(self.links(number, each)) if link != f"/{number}"]  # to itself it has none
            for each in (now[1], before[1])
        )
        added = [link for link in links if link not in links_before]
        removed = [link for link in links_before if link not in links]
        return {
            "fetch_status": now[0],
            "previous_fetch_status": before[0],
            "sha256": hashlib.sha256(bodies[0]).hexdigest(),
            "previous_sha256": hashlib.sha256(bodies[1]).hexdigest(),
            "bytes": len(bodies[0]),
            "previous_bytes": len(bodies[1]),
            "title": f"{number} of {now[1]}",
            "previous_title": f"{number} of {before[1]}",
            "links_added": len(added),
            "links_removed": len(removed),
            "added": added,
            "removed": removed,
        }


@pytest.mark.parametrize(
    ("pages", "rounds"), [(10, 5), pytest.param(100, 10, marks=[pytest.mark.gate, pytest.mark.timeout(400)])]
)
def test_the_changes_of_a_site_are_those_that_were_made(tmp_path: Path, pages: int, rounds: int) -> None:
    """Of pages that are refreshed, each edit, each disappearance and no more is a change; all bodies are kept."""
    root, site = tmp_path / "tree", Changing(pages, rounds)
    with Web(site) as web:
        home = web.url("127.0.0.1", "/")
        assert crawl(root, "--quiet", seeds=[f"{home}0"], settings=PACKS).code == 0
        for site.round in range(1, rounds + 1):
            assert crawl(root, "--quiet", "--refresh", "0s").code == 0
    words = ("merge", "--root", root, "--out", tmp_path / "out", "--versions", "all", "--changes")
    assert fscrawl(*words).code == 0
    made = Made(tmp_path / "out")
    check(made)
    found = defaultdict(list)
    for row in made.rows("changes"):
        found[int(row["url"].removeprefix(home))].append(row)
    expected = site.changes()
    assert set(found) == set(expected)
    for number, rows in found.items():
        shown = [{name: row[name] for name in expected[number][0]} for row in rows]
        for row in shown:
            row |= {name: [link.removeprefix(home[:-1]) for link in row[name]] for name in ("added", "removed")}
        assert shown == expected[number], number
        assert [row["previous_version"] for row in rows[1:]] == [row["version"] for row in rows[:-1]]
        assert all(row["previous_fetch_time"] < row["fetch_time"] for row in rows)

    rows = made.rows()
    assert {(int(row["url"].removeprefix(home)), row["html"]) for row in rows} == site.bodies()
    assert len(rows) == len(site.bodies())
    by_version = {(row["key"], row["page_version"]): row["sha256"] for row in rows}
    for row in made.rows("changes"):  # whoever joins the two tables finds the new bodies
        if row["fetch_status"] == 200 and row["sha256"] != row["previous_sha256"]:
            assert by_version[row["key"], row["version"]] == row["sha256"]


# -- a tree that is made by hand


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    """Give a tree in which a page was stored, checked, changed, removed, has failed, and was stored as it had been."""
    tree = Grown(tmp_path / "tree", layout="packs")
    (tree.root / "crawl.toml").write_text("[crawl]\n")
    first = tree.page(URL, b"<title>A</title><a href=/x>x</a>", depth=0)
    checked = msgspec.structs.replace(first, checked_at="2026-10-01T00:00:00.000Z", checked_status=304)
    tree.tree.put_record("a.example", checked)
    tree.page(URL, b"<title>B</title><a href=/y>y</a><a href=/x>x</a>", depth=0)
    tree.tree.files.remove(tree.tree.tree_path("links", "a.example", first.key))
    tree.fail(URL)
    tree.page(URL, b"<title>A</title><a href=/x>x</a>", depth=0)
    tree.page(f"{URL}b", b"<title>only one</title>")
    return tree


def test_a_tree_knows_all_versions(grown: Grown) -> None:
    """All lines of a key are given, the oldest first, with their bodies; a view shows one page as it was."""
    key = urls.key(URL)
    versions = grown.tree.versions("a.example", key)
    assert [each.number for each in versions] == [1, 2, 3, 4, 5, 6]
    assert [type(each.record).__name__ for each in versions] == [
        *["PageRecord"] * 3,
        "NoneType",
        "ErrorRecord",
        "PageRecord",
    ]
    assert grown.tree.number("a.example", key) == 6
    old = grown.tree.showing("a.example", key, 3)
    assert (old.page("a.example", key).title, b"<title>B" in old.body("a.example", key)) == ("B", True)
    assert old.number("a.example", key) == 3
    assert old.bodies("a.example", key) == [f"htmls/a.example/{key}.html"]
    assert not grown.tree.showing("a.example", key, 4).is_done("a.example", key)
    other = urls.key(f"{URL}b")
    assert old.page("a.example", other).title == "only one"
    assert grown.tree.page_before("a.example", key, 6) is None
    assert grown.tree.page_before("a.example", key, 3) == versions[1].record
    assert Tree(grown.root, "m-2-bb").versions("a.example", key) == versions


def test_show_lists_versions(grown: Grown) -> None:
    """`show --versions` has a line for each version, and `--version` shows the page of one."""
    done = fscrawl("show", "--root", grown.root, URL, "--versions")
    assert done.code == 0, done
    lines = [line.split() for line in done.out.splitlines() if line.startswith("        ")]
    assert [(line[0], line[2], line[3]) if len(line) > 4 else (line[0], line[1]) for line in lines] == [
        ("1", "stored", "200"),
        ("2", "checked", "304"),
        ("3", "stored", "200"),
        ("4", "removed"),
        ("5", "failed", "404"),
        ("6", "stored", "200"),
    ]
    facts = json.loads(fscrawl("show", "--root", grown.root, URL, "--versions", "--json").out)
    assert [look["title"] for look in facts["versions"]] == ["A", "A", "B", None, None, "A"]
    assert "title     B\n" in fscrawl("show", "--root", grown.root, URL, "--version", "3").out
    failed = fscrawl("show", "--root", grown.root, URL, "--version", "5")
    assert (failed.code, "http-4xx: it failed" in failed.out) == (1, True)
    none = fscrawl("show", "--root", grown.root, URL, "--version", "4")
    assert (none.code, none.out) == (2, "")
    assert none.err == "fscrawl: --version 4: there is none of this number; to see which:  --versions\n"


def test_python_reads_versions(grown: Grown) -> None:
    """A page has its versions that differ, each a page with its own body."""
    page = api.open(grown.root).page(URL)
    assert page is not None
    assert [(each.page_version, each.title) for each in page.versions] == [(1, "A"), (3, "B"), (6, "A")]
    assert [each.html and each.html[:16] for each in page.versions] == [
        b"<title>A</title>",
        b"<title>B</title>",
        b"<title>A</title>",
    ]
    assert page.page_version == 6


def test_all_versions_in_a_dataset(grown: Grown, tmp_path: Path) -> None:
    """Each version with a body of its own is a row; a further run adds the new ones only, and a check adds none."""
    out, url = tmp_path / "out", f"{URL}b"

    def rows(made: Made) -> list[tuple[str, int, str]]:
        check(made)
        return sorted((row["url"].removeprefix(URL), row["page_version"], row["title"]) for row in made.rows())

    made = grown.merge(out, versions="all", changes=True, formats=("parquet", "warc", "csv"))
    expected = [("", 1, "A"), ("", 3, "B"), ("", 6, "A"), ("b", 1, "only one")]
    assert rows(made) == expected
    assert made.manifest["left_out"] == {"unchanged": 1}
    assert {(row["source_version"], row["target"]) for row in made.rows("links")} == {
        (1, f"{URL}x"),
        (3, f"{URL}y"),
        (3, f"{URL}x"),
        (6, f"{URL}x"),
    }
    changes = [(row["version"], row["fetch_status"], row["title"]) for row in made.rows("changes")]
    assert changes == [(3, 200, "B"), (4, None, None), (6, 200, "A")]
    assert len(made.files("warc/*.warc.gz")) == 1

    assert grown.merge(out).said == ["nothing new since the last run"]
    grown.page(url, b"<title>only one</title>")  # fetched again, and the same
    grown.page(URL, b"<title>C</title>")
    made = grown.merge(out)
    assert rows(made) == sorted([*expected, ("", 7, "C")])
    assert made.manifest["counts"]["records"] == 5
    assert [row["version"] for row in made.rows("changes")] == [3, 4, 6, 7]
    assert rows(grown.merge(out, rebuild=True, versions="all")) == sorted([*expected, ("", 7, "C")])


def test_the_last_version_in_a_dataset(grown: Grown, tmp_path: Path) -> None:
    """Without --versions there is one row for each page, which stays; the changes are those of now."""
    made = grown.merge(tmp_path / "out", changes=True)
    assert {row["url"]: row["page_version"] for row in made.rows()} == {URL: 6, f"{URL}b": 1}
    grown.page(URL, b"<title>C</title>")
    made = grown.merge(tmp_path / "out")
    check(made)
    assert {row["url"]: row["page_version"] for row in made.rows()} == {URL: 6, f"{URL}b": 1}
    assert [row["title"] for row in made.rows("changes")] == ["B", None, "A", "C"]


def test_changes_by_host_and_time(grown: Grown, tmp_path: Path) -> None:
    """What the filters leave out of the pages has no changes either."""
    for given, found in (
        ({"hosts": ("b.example",)}, []),
        ({"include": ("/b$",)}, []),
        ({"hosts": ("a.*",)}, [3, 4, 6]),
    ):
        made = grown.merge(tmp_path / "out", changes=True, rebuild=True, **given)
        assert [row["version"] for row in made.rows("changes")] == found


@pytest.mark.parametrize("flags", [["--versions"], ["--version", "1"]])
def test_show_on_a_tree_of_files(tmp_path: Path, flags: list[str]) -> None:
    """A tree of the layout "files" says in one line that it keeps the last version only."""
    tree = Grown(tmp_path / "tree")
    tree.page(URL)
    done = fscrawl("show", "--root", tree.root, URL, *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"fscrawl: {flags[0]}: {tree.root} has the layout ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("flags", [["--versions", "all"], ["--changes"]])
def test_merge_on_a_tree_of_files(tmp_path: Path, flags: list[str]) -> None:
    """So does a merge; without these options its pages have no number."""
    tree = Grown(tmp_path / "tree")
    tree.page(URL)
    done = fscrawl("merge", "--root", tree.root, "--out", tmp_path / "out", *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"fscrawl: {' '.join(flags)}: {tree.root} has the layout ")
    assert [row["page_version"] for row in tree.merge(tmp_path / "out").rows()] == [None]
    page = api.open(tree.root).page(URL)
    assert page is not None
    assert (page.page_version, page.versions) == (None, ())
