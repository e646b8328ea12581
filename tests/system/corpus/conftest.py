"""The served corpus, and its crawls. Without its packages the tests are skipped with a reason; in CI they fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from benchmarks import corpus
from benchmarks.corpus import Served, Site

PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True, repr=False)
class Crawl:
    """What fscrawl left behind in `root`. `records`: every links/ file, by URL; `bodies`: every htmls/ file, by key."""

    site: Site
    root: Path
    records: dict[str, dict]
    bodies: dict[str, bytes]

    def stored(self) -> dict[str, dict]:
        return {url: record for url, record in self.records.items() if record["key"] in self.bodies}

    def failures(self) -> list[dict]:
        return [json.loads(path.read_bytes()) for path in sorted((self.root / "errs").glob("*/*.json"))]

    def served_file(self, url: str) -> bytes:
        path = unquote(urlsplit(url).path).lstrip("/")
        top = self.site.root
        return (top / path / "index.html" if not path or path.endswith("/") else top / path).read_bytes()


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def _fscrawl(root: Path, site: Site, seed: str, *more: str) -> Crawl:
    settings = [
        "politeness.delay=0",
        "politeness.per_host=16",
        "fetch.allow_addresses=['127.0.0.0/8']",
        "crawl.scope=host",
        *more,
    ]
    command = [sys.executable, PROJECT / "crawl.py", "--root", root, "--quiet", "--workers", "2", "--threads", "8"]
    command += ["--seed", seed, *(word for setting in settings for word in ("--set", setting))]
    subprocess.run(command, check=True, cwd=PROJECT, env=environment(), timeout=120)
    assert [path.name for path in (root / "htmls").iterdir()] == [site.host], "one host, one directory"
    records = [json.loads(path.read_bytes()) for path in (root / "links" / site.host).iterdir()]
    bodies = {path.stem: path.read_bytes() for path in (root / "htmls" / site.host).iterdir()}
    assert len({record["url"] for record in records}) == len(records), "one URL, one record"
    return Crawl(site, root, {record["url"]: record for record in records}, bodies)


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    if missing := corpus.missing():
        reason = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with corpus.serve() as served:
        yield served


@pytest.fixture(scope="session")
def python_doc(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    return _fscrawl(tmp_path_factory.mktemp("python") / "tree", served.python, served.python.url)


@pytest.fixture(scope="session")
def rust_std(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    prefix = re.escape(f"{served.rust.origin}/std/")
    seed = f"{served.rust.origin}/std/index.html"
    root = tmp_path_factory.mktemp("rust") / "tree"
    return _fscrawl(root, served.rust, seed, f"crawl.allow={json.dumps(['^' + prefix])}")
