"""Real sites, crawled by fscrawl and by wget2, which shares no code with it: they must store the same."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from benchmarks.corpus import Site
from tests.system.corpus.conftest import Crawl, environment

PYTHON_DOC_PAGES = 526  # linked, directly or not, from index.html; 4 more lie in the folder and nothing links to them

pytestmark = pytest.mark.timeout(180)


def _wget2(directory: Path, site: Site, seed: str) -> dict[str, bytes]:
    """Give the HTML pages that wget2 stores, by URL: it names a file as the URL's path.

    Exit code 8 is a 404 among the links. It also follows <link> and images; what is not HTML is left out here, and
    so would be a page whose name had a query, of which these sites have none.
    """
    command = ["wget2", "-q", "-r", "-l", "inf", "--no-parent", "--max-threads=8", "-P", directory, seed]
    done = subprocess.run(command, check=False, env=environment(), timeout=120)
    assert done.returncode in (0, 8)
    top = directory / site.address
    return {f"{site.origin}/{quote(str(path.relative_to(top)))}": path.read_bytes() for path in top.rglob("*.html")}


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
        assert body == crawl.served_file(url), url
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
