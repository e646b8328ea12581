"""The wheel works on each Python, with the oldest and with the newest dependencies that it allows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.crawling import Done, Running, check_tree, pages
from tests.support.installing.pythons import PYTHONS, python_of
from tests.support.web import Web, linked_site

pytestmark = [pytest.mark.proof, pytest.mark.timeout(400)]

FORMATS = ("parquet", "warc", "jsonl", "jsonl.zst", "csv")
SETTINGS = ("politeness.delay=0", "fetch.allow_addresses=['127.0.0.0/8']", "politeness.user_agent=test/1 (a@b.example)")


@pytest.mark.parametrize("which", ["lowest-direct", "highest"])
@pytest.mark.parametrize("version", PYTHONS)
def test_it_works_with_the_dependencies_it_allows(built: Path, tmp_path: Path, version: str, which: str) -> None:
    """It crawls, tells, tries, checks and exports to every format, with all extras. Compiled packages are not built."""
    place, root = tmp_path / "env", tmp_path / "tree"
    uv = [sys.executable, "-m", "uv"]
    told(uv, "venv", "--quiet", "--python", python_of(version), str(place))
    install = ["pip", "install", "--quiet", "--python", str(place), "--resolution", which, "--only-binary", ":all:"]
    told(uv, *install, f"fscrawl[all] @ {next(built.glob('*.whl')).as_uri()}")
    fscrawl = [str(place / "bin/fscrawl")]
    sets = [word for each in SETTINGS for word in ("--set", each)]
    with Web(linked_site(12, 4)) as web:
        url = web.url("127.0.0.1", "/")
        told(fscrawl, "crawl", "--root", str(root), "--workers", "2", "--seed", url, *sets)
        told(fscrawl, "try", url, "--root", str(root))
    assert len(pages(root)) == 13
    check_tree(root)
    told(fscrawl, "show", url, "--root", str(root))
    told(fscrawl, "audit", "--root", str(root))
    assert "language, socks, dask, dashboard" in told(fscrawl, "doctor", "--root", str(root), "--workers", "1").out
    for name in FORMATS:
        told(fscrawl, "merge", "--root", str(root), "--out", str(tmp_path / name), "--format", name, "--dedupe")
    assert list((tmp_path / "parquet/pages").iterdir())


def told(program: list[str], *words: str) -> Done:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # of the wheel alone
    with Running([*program, *words], env=environment) as running:
        done = running.wait(200)
    assert done.code == 0, (words, done)
    return done
