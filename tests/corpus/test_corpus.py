"""Real sites, crawled by fscrawl and by wget2, which shares no code with it: they must store the same."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

from benchmarks.corpus import Served, Site

PROJECT = Path(__file__).resolve().parents[2]
PYTHON_DOC_PAGES = 526  # linked, directly or not, from index.html; 4 more lie in the folder and nothing links to them

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(180)]


@dataclass(frozen=True, slots=True)
class Crawl:
    """What fscrawl left behind. `records`: every links/ file, by URL; `bodies`: every htmls/ file, by key."""

    site: Site
    records: dict[str, dict]
    bodies: dict[str, bytes]

    def stored(self) -> dict[str, dict]:
        return {url: record for url, record in self.records.items() if record["key"] in self.bodies}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def _fscrawl(root: Path, site: Site, seed: str, *more: str) -> Crawl:
    settings = [
        "politeness.delay=0",
        "politeness.per_host=16",
        "fetch.allow_private_addresses=true",
        "crawl.scope=host",
        *more,
    ]
    command = [sys.executable, PROJECT / "crawl.py", "--root", root, "--quiet", "--workers", "2", "--threads", "8"]
    command += ["--seed", seed, *(word for setting in settings for word in ("--set", setting))]
    subprocess.run(command, check=True, cwd=PROJECT, env=_environment(), timeout=120)
    assert [path.name for path in (root / "htmls").iterdir()] == [site.host], "one host, one directory"
    records = [json.loads(path.read_bytes()) for path in (root / "links" / site.host).iterdir()]
    bodies = {path.stem: path.read_bytes() for path in (root / "htmls" / site.host).iterdir()}
    assert len({record["url"] for record in records}) == len(records), "one URL, one record"
    return Crawl(site, {record["url"]: record for record in records}, bodies)


def _wget2(directory: Path, site: Site, seed: str) -> dict[str, bytes]:
    """Give the HTML pages that wget2 stores, by URL: it names a file as the URL's path.

    Exit code 8 is a 404 among the links. It also follows <link> and images; what is not HTML is left out here, and
    so would be a page whose name had a query, of which these sites have none.
    """
    command = ["wget2", "-q", "-r", "-l", "inf", "--no-parent", "--max-threads=8", "-P", directory, seed]
    done = subprocess.run(command, check=False, env=_environment(), timeout=120)
    assert done.returncode in (0, 8)
    top = directory / site.address
    return {f"{site.origin}/{quote(str(path.relative_to(top)))}": path.read_bytes() for path in top.rglob("*.html")}


def _served_file(site: Site, url: str) -> bytes:
    path = unquote(urlsplit(url).path).lstrip("/")
    return (site.root / path / "index.html" if not path or path.endswith("/") else site.root / path).read_bytes()


@pytest.fixture(scope="module")
def python_doc(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    return _fscrawl(tmp_path_factory.mktemp("python") / "tree", served.python, served.python.url)


@pytest.fixture(scope="module")
def rust_std(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    prefix = re.escape(f"{served.rust.origin}/std/")
    seed = f"{served.rust.origin}/std/index.html"
    root = tmp_path_factory.mktemp("rust") / "tree"
    return _fscrawl(root, served.rust, seed, f"crawl.allow={json.dumps(['^' + prefix])}")


def test_python_doc_is_stored_whole(python_doc: Crawl) -> None:
    """Every page of python3-doc that can be reached is stored."""
    assert len(python_doc.stored()) == PYTHON_DOC_PAGES


def test_python_doc_equals_wget2(python_doc: Crawl, tmp_path: Path) -> None:
    """On python3-doc fscrawl and wget2 store the same URLs with the same bytes."""
    _assert_same(python_doc, _wget2(tmp_path, python_doc.site, python_doc.site.url))


def test_rust_std_equals_wget2(rust_std: Crawl, tmp_path: Path) -> None:
    """On rust-doc's std/, with crawl.allow, fscrawl stores what wget2 stores with --no-parent."""
    theirs = _wget2(tmp_path, rust_std.site, f"{rust_std.site.origin}/std/index.html")
    assert len(theirs) > 1000
    _assert_same(rust_std, theirs)


@pytest.mark.parametrize("name", ["python_doc", "rust_std"])
def test_bodies_are_the_files_served(name: str, request: pytest.FixtureRequest) -> None:
    """Each stored body is the file that nginx served, and its record says so: bytes, SHA-256, status."""
    crawl: Crawl = request.getfixturevalue(name)
    for url, record in crawl.stored().items():
        body = crawl.bodies[record["key"]]
        assert body == _served_file(crawl.site, url), url
        assert (record["status"], record["bytes"], record["sha256"]) == (
            200,
            len(body),
            hashlib.sha256(body).hexdigest(),
        )


@pytest.mark.parametrize("name", ["python_doc", "rust_std"])
def test_each_body_has_a_record_and_each_record_a_reason(name: str, request: pytest.FixtureRequest) -> None:
    """No body lacks its record, and a record that has no body says why."""
    crawl: Crawl = request.getfixturevalue(name)
    assert crawl.bodies.keys() == {record["key"] for record in crawl.stored().values()}
    bare = [record for record in crawl.records.values() if record["key"] not in crawl.bodies]
    assert [record["url"] for record in bare if not record.get("skipped") and not record.get("redirect")] == []


@pytest.mark.parametrize("name", ["python_doc", "rust_std"])
def test_links_name_every_page(name: str, request: pytest.FixtureRequest) -> None:
    """The records' links lead to every stored page but the seed."""
    crawl: Crawl = request.getfixturevalue(name)
    linked = {link for record in crawl.records.values() for link in record["links"]}
    seeds = {url for url, record in crawl.records.items() if record["depth"] == 0}
    assert len(seeds) == 1
    assert crawl.stored().keys() - linked - seeds == set()


def _assert_same(crawl: Crawl, theirs: dict[str, bytes]) -> None:
    ours = {url: crawl.bodies[record["key"]] for url, record in crawl.stored().items()}
    assert sorted(ours.keys() - theirs.keys()) == [], "only fscrawl has these"
    assert sorted(theirs.keys() - ours.keys()) == [], "only wget2 has these"
    assert [url for url in ours if ours[url] != theirs[url]] == []
