"""The examples, each against the imitation of its site: three machines, of which one after the other is killed.

FSCRAWL_KILLS in the environment says how often (4 without it), FSCRAWL_SEED chooses the
moments and the machines.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from examples.run import EXTRA, HERE, site_words
from fscrawl.request import read
from tests.imitations.books import Books
from tests.imitations.complaints import Complaints
from tests.imitations.frame import Imitation
from tests.imitations.gallery import Gallery
from tests.imitations.journals import Journals
from tests.imitations.json_list import JsonList
from tests.support.crawling import Done, Running, check_tree, errors, pages
from tests.support.web import Request, Response, Web

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("FSCRAWL_KILLS", "4"))
MACHINES = 3
SPAN_S = 1.2  # a machine is killed within this time after the one before
FLEET = "[fleet]\nbeat = 0.5\ndead_after = 3\n\n"
FSCRAWL = [sys.executable, "-m", "fscrawl"]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Example:
    """`imitation`: a small one. `rows`: reads the answer of the example from a dataset, as the imitation tells it.

    `at_once`: how many requests at a time its settings allow, or more: the site answers so slowly that they last for
    all kills.
    """

    name: str
    imitation: Callable[[], Imitation]
    rows: Callable[[Path], Rows]
    at_once: int = 6

    @property
    def folder(self) -> Path:
        return HERE / self.name


def table(dataset: Path, query: str) -> Rows:
    """Ask DuckDB; `{}` in the query stands for the dataset."""
    found = duckdb.sql(query.format(dataset))
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def journals(dataset: Path) -> Rows:
    found = table(
        dataset,
        """SELECT CAST(split_part(url, '/article/', 2) AS INTEGER) AS number, heading, authors, source,
        strftime(published, '%Y-%m-%d') AS published, doi, labels
        FROM '{}/pages/*.parquet' WHERE heading IS NOT NULL ORDER BY number""",
    )
    assert all(json.loads(row["labels"]) for row in found)
    return found


def complaints(dataset: Path) -> Rows:
    """Read the CSV files as a spreadsheet would."""
    rows = []
    for path in sorted(dataset.glob("csv/items/*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows += list(csv.DictReader(file))
    return sorted(({name: row[name] for name in _COMPLAINT} for row in rows), key=lambda row: int(row["record"]))


_COMPLAINT = ("record", "received", "department", "subject", "state")


def json_list(dataset: Path) -> Rows:
    entries = importlib.import_module("examples.json-list.dataframe").entries
    found = entries(dataset)[["id", "name", "score", "tags"]].to_dict("records")
    return [
        {**row, "score": None if math.isnan(row["score"]) else row["score"], "tags": list(row["tags"])} for row in found
    ]


def gallery(dataset: Path) -> Rows:
    """Tell what is in the directories of albums."""
    into = dataset.parent / "albums"
    importlib.import_module("examples.gallery.albums").write_albums(dataset, into)
    files = sorted(path for path in into.rglob("*") if path.is_file())
    return [
        {"file": str(path.relative_to(into)), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in files
    ]


def books(dataset: Path) -> Rows:
    return table(
        dataset,
        """SELECT CAST(split_part(url, '/book/', 2) AS INTEGER) AS number, heading, price
        FROM '{}/pages/*.parquet' WHERE price IS NOT NULL ORDER BY number""",
    )


EXAMPLES = [
    Example(
        "journals",
        lambda: Journals(results=(13, 0, 4, 91, 5, 6), a_page=5, most_pages=17),
        journals,
    ),
    Example("books", Books, books),
    Example("complaints", Complaints, complaints, at_once=18),
    Example("gallery", Gallery, gallery),
    Example("json-list", JsonList, json_list, at_once=16),
]


@pytest.mark.timeout(120 + 8 * KILLS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example(example: Example, tmp_path: Path) -> None:
    """However often machines are killed, the dataset is what the site has, and nothing else is stored as a page."""
    rng = random.Random(int(os.environ.get("FSCRAWL_SEED", "1")))
    imitation = example.imitation()
    with Web(_paced(imitation, example.at_once, rng), [imitation.host], deadline_s=100 + 8 * KILLS) as web:
        folder = _copy(example, imitation, web.port, tmp_path)
        root = folder / "tree"
        words = ["--root", str(root), *site_words(folder)]
        later = _hold_back(root / "seeds.txt")
        _crawl_and_kill(words, web, rng, later)
        if imitation.is_ill:
            assert {each.class_ for each in errors(root).values()} == {"http-5xx", "unexpected"}
            imitation.is_ill = False
            fscrawl("retry", "--root", str(root))
            fscrawl("crawl", *words)
        assert errors(root) == {}
        assert {_asked(spelling) for spelling in pages(root)} == imitation.stored()
        check_tree(root)
    fscrawl("merge", *words, "--out", str(tmp_path / "dataset"), *EXTRA.get(example.name, []))
    assert example.rows(tmp_path / "dataset") == imitation.rows()


def test_books_day_by_day(tmp_path: Path) -> None:
    """Each day only what has changed is fetched whole, and the differences are those of the shop."""
    shop, example = Books(), next(each for each in EXAMPLES if each.name == "books")
    differences = importlib.import_module("examples.books.differences").differences
    with Web(shop, [shop.host], deadline_s=100) as web:
        root = _copy(example, shop, web.port, tmp_path) / "tree"
        for shop.day in (1, 2, 3):
            before = len(web.exchanges)
            fscrawl("crawl", "--root", str(root), "--refresh", "0s")
            fscrawl("merge", "--root", str(root), "--out", str(tmp_path / f"day-{shop.day}"))
            if shop.day == 1:
                continue
            found = differences(tmp_path / f"day-{shop.day - 1}", tmp_path / f"day-{shop.day}", ["heading", "price"])
            rows = [
                (kind, int(url.rpartition("/")[2]), *values)
                for kind, url, *values in found.fetchall()
                if "/book/" in url
            ]
            assert len(rows) == len(set(rows))
            assert set(rows) == shop.differences(shop.day)
            statuses = Counter(each.status for each in web.exchanges[before:] if each.path.startswith("/book/"))
            assert statuses[200] == len({number for kind, number, *_ in rows if kind != "removed"})
            assert statuses[304] > 2 * statuses[200]


def fscrawl(*words: str) -> Done:
    """Run a command to its end; it must succeed."""
    with Running([*FSCRAWL, *words]) as running:
        done = running.wait(60)
    assert done.code == 0, done
    return done


def _asked(spelling: str) -> tuple[str, str]:
    """Give the path of a request, and its body, or else the name of its session."""
    request = read(spelling)
    return "/" + request.url.split("/", 3)[3], request.body.decode() or request.session


def _paced(imitation: Imitation, at_once: int, rng: random.Random) -> Callable[[Request], Response]:
    """Answer slowly enough that all kills come while there is work."""
    mean_s = at_once * KILLS * SPAN_S / len(imitation.stored())
    most_s = at_once / 12

    def serve(request: Request) -> Response:
        found = imitation(request)
        wait_s = 0.0 if request.path == "/robots.txt" else min(mean_s * rng.uniform(0.5, 1.5), most_s)
        return Response(found.status, found.headers, found.body, wait_s)

    return serve


def _copy(example: Example, imitation: Imitation, port: int, into: Path) -> Path:
    """Copy the example's folder, for an imitation on another port and machines that are missed soon."""
    folder = into / example.name
    shutil.copytree(example.folder, folder)
    for path in folder.rglob("*"):
        if path.suffix in (".toml", ".txt", ".py"):
            path.write_text(path.read_text().replace(f"{imitation.host}:{imitation.port}", f"{imitation.host}:{port}"))
    settings = folder / "tree" / "crawl.toml"
    settings.write_text(settings.read_text().replace("[politeness]", FLEET + "[politeness]", 1))
    return folder


def _hold_back(seeds: Path) -> Callable[[], None]:
    """Take the second half of the seeds out of the file. Returns what adds them again."""
    if not seeds.exists():
        return lambda: None
    lines = seeds.read_text().splitlines(keepends=True)
    half = (len(lines) + 1) // 2
    seeds.write_text("".join(lines[:half]))

    def add() -> None:
        with seeds.open("a") as file:
            file.write("".join(lines[half:]))

    return add


def _crawl_and_kill(words: list[str], web: Web, rng: random.Random, later: Callable[[], None]) -> None:
    """Let three machines crawl, kill one after the other, start each again, and wait for the end.

    `later`: what somebody does meanwhile.
    """
    with ExitStack() as stack:

        def start() -> Running:
            return stack.enter_context(Running([*FSCRAWL, "crawl", *words, "--workers", "1", "--quiet"]))

        machines = [start() for _ in range(MACHINES)]
        machines[0].until(lambda: web.count() > 5, "some pages")
        for killed in range(KILLS):
            time.sleep(rng.uniform(0.1, SPAN_S))
            number = rng.randrange(MACHINES)
            assert machines[number].process.poll() is None, machines[number].wait()  # there is still work
            machines[number].signal(signal.SIGKILL, group=True)
            machines[number] = start()
            if killed == KILLS // 2:
                later()
        for machine in machines:
            done = machine.wait(90)
            assert done.code == 0, done
