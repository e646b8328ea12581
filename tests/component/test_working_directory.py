"""Nothing in the working directory, or in the tree's directory, is run: others may write there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, SETTINGS
from tests.support.web import Web, linked_site

HOST = "127.0.7.31"
NAMES = ("selectors", "json", "fscrawl", "threading", "signal", "pickle", "array", "requests", "sitecustomize")
SCRIPT = Path(sys.executable).parent / "fscrawl"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Give a directory with files that have the names of modules. One that is run leaves a mark."""
    directory = tmp_path / "tree"
    directory.mkdir()
    for name in NAMES:
        text = f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r} + ' ')\nraise ImportError({name!r})\n"
        (directory / f"{name}.py").write_text(text)
    return directory


def run(words: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    return subprocess.run(
        words, cwd=directory, env=environment, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.mark.parametrize("start", [[str(SCRIPT), "crawl"], [sys.executable, str(CHECKOUT / "crawl.py")]])
def test_a_planted_module_is_not_run(planted: Path, tmp_path: Path, start: list[str]) -> None:
    """A crawl and a merge that are started in the tree's directory run none of its files."""
    with Web(linked_site(3, 2), [HOST]) as web:
        words = [*start, "--root", str(planted), "--workers", "2", "--seed", web.url(HOST)]
        crawled = run(
            [*words, *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}"))], planted
        )
    assert crawled.returncode == 0, crawled.stderr
    merged = run([str(SCRIPT), "merge", "--root", ".", "--out", str(tmp_path / "out"), "--processes", "1"], planted)
    assert merged.returncode == 0, merged.stderr
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def test_the_module_is_as_safe_as_python_lets_it_be(planted: Path, tmp_path: Path) -> None:
    """`python -P -m fscrawl` runs no planted file. Without -P, Python itself looks there before fscrawl begins."""
    (planted / "fscrawl.py").unlink()
    assert run([sys.executable, "-P", "-m", "fscrawl", "--version"], planted).returncode == 0
    assert not (tmp_path / "mark").exists()
    for name in NAMES:
        if name not in ("selectors", "requests", "fscrawl"):
            (planted / f"{name}.py").unlink()
    assert run([sys.executable, "-m", "fscrawl", "doctor", "--root", "."], planted).returncode in (0, 1)
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def test_python_that_ignores_the_environment(planted: Path) -> None:
    """With -E, children would not hear of it: -P must be given, too."""
    refused = run([sys.executable, "-E", str(CHECKOUT / "crawl.py"), "--root", "tree"], planted)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("fscrawl: Python was started with -E")
    assert run([sys.executable, "-E", "-P", str(SCRIPT), "--version"], planted).returncode == 0
    assert run([sys.executable, "-I", str(SCRIPT), "--version"], planted).returncode == 0
