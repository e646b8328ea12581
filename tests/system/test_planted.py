"""Whatever somebody puts into a tree is named by the audit and stepped over by every command, and costs no page."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.server import Request, Response
from fscrawl import urls
from tests.support.crawling import crawl, errors, pages
from tests.support.planting import LISTED, Planted, check, draws, every_command, outside_of, plant, planted_of
from tests.support.web import Web

HOSTS = ["127.0.33.1", "127.0.33.2", "127.0.33.3"]
PAGES = 8
SEED = int(os.environ.get("FSCRAWL_PLANTED_SEED", "20261122"))
TREES, DRAWS = 5, 10
SETTINGS = {"fleet.beat": "0.2", "fleet.dead_after": "3", "crawl.scope": "host"}


def site(request: Request) -> Response:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES - 1))
    html = f"<title>{request.path}</title><p>Page {request.path} {links}<a href=/missing>x</a>"
    status = 404 if request.path in ("/missing", "/robots.txt") else 200
    return Response(status, {"Content-Type": "text/html"}, html.encode())


@dataclass(frozen=True)
class Grown:
    """A crawl that is over, of the first two hosts; the web is still there."""

    root: Path
    web: Web
    keys: frozenset[str]
    url: str

    def copy(self, place: Path) -> Path:
        place.mkdir(exist_ok=True)
        shutil.copytree(self.root, place / "tree")
        return place / "tree"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grown]:
    root = tmp_path_factory.mktemp("planted") / "tree"
    with Web(site, HOSTS, deadline_s=900.0) as web:
        seeds = [web.url(host) for host in HOSTS[:2]]
        done = crawl(root, seeds=seeds, settings=SETTINGS)
        assert done.code == 0, done
        found = pages(root)
        assert len(found) == 2 * PAGES
        yield Grown(root, web, frozenset(map(urls.key, found)), seeds[0])


def check_all(grown: Grown, place: Path, planted: list[Planted] | tuple[Planted, ...]) -> int:
    """Plant, run all commands, and check what they say and leave; give how many things the audit counts as planted."""
    root = grown.copy(place)
    for each in planted:
        plant(root, each)
    before = outside_of(root)
    fresh = grown.web.url(HOSTS[2])
    with (root / "seeds.txt").open("a") as seeds:
        seeds.write(f"{fresh}\n")
    count = 0
    for name, done in every_command(root, place / "out", grown.url):
        check(name, done)
        print(f"{name}: {done.elapsed_s:.1f} s, exit {done.code}")
        if name == "audit":
            count, _ = planted_of(done)
    assert outside_of(root) == before
    stored = {path.stem for host in HOSTS for path in (root / "links").glob(f"{host}*/*.json") if path.is_file()}
    assert stored >= grown.keys
    new = {urls.key(fresh + path) for path in ("", *map(str, range(PAGES - 1)))}
    assert stored >= new, "the new seed's pages are stored, too"
    assert exported(place / "out" / "dataset") >= grown.keys | new
    return count


def exported(dataset: Path) -> set[str]:
    """Give the keys of a dataset's pages."""
    parts = (gzip.decompress(path.read_bytes()) for path in dataset.glob("jsonl/pages/*.jsonl.gz"))
    return {urls.key(json.loads(line)["url"]) for part in parts for line in part.splitlines()}


def test_listed(grown: Grown, tmp_path: Path) -> None:
    """All that a review has planted, at once: heartbeats, pipes, devices, loops, sparse files, links, numbers."""
    count = check_all(grown, tmp_path, LISTED)
    lasting = [each for each in LISTED if each.type not in ("file", "sparse")]
    assert count >= len(lasting)


@pytest.mark.parametrize("number", range(TREES))
def test_drawn(grown: Grown, tmp_path: Path, number: int) -> None:
    """Ten things drawn over directories, names, types and contents. FSCRAWL_PLANTED_SEED has another seed."""
    seed = f"{SEED}.{number}"
    planted = draws(random.Random(seed), grown.root, DRAWS)
    print(f"seed {seed}:", *planted, sep="\n  ")
    check_all(grown, tmp_path, planted)


def test_place_of_a_host(grown: Grown, tmp_path: Path) -> None:
    """If links stand in place of a new host's directories, its pages fail, one by one, and the crawl goes on."""
    root = grown.copy(tmp_path)
    fresh = grown.web.url(HOSTS[2])
    host = urls.host(fresh)
    plant(root, Planted(f"links/{host}", "link-to-directory"))
    before = outside_of(root)
    done = crawl(root, "--seed", fresh)
    assert done.code == 0, done
    assert [(e.class_, e.url) for e in errors(root).values() if urls.host(e.url) == host] == [("planted", fresh)]
    assert outside_of(root) == before
