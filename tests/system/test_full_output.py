"""A command whose standard output or standard error is on a full disk: /dev/full is as such a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.commands.program import open_tree
from fscrawl.monitor.snapshot import Observer
from tests.support.crawling import CHECKOUT, DEADLINE_S, Running, command, pages
from tests.support.trees import Grown, one_page
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

TIMEOUT_S = 60
URL = "http://a.example/"
HOST = "127.0.1.1"
SAID = "fscrawl: standard output: no space left on device\n"


@pytest.fixture
def grown(root: Path) -> Grown:
    return one_page(root, URL)


def run(words: str, grown: Grown, *, unbuffered: bool = False, both: bool = False) -> subprocess.CompletedProcess:
    """Run a command whose standard output, or whose two streams are on a full disk."""
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            [sys.executable, "-m", "fscrawl", *words.replace("TREE", str(grown.root)).split()],
            stdout=full,
            stderr=full if both else subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "1" if unbuffered else ""},
            cwd=CHECKOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "audit --root TREE",
        "completion bash",
        "doctor --root TREE --json",
        "pause --root TREE",
        f"show --root TREE {URL}",
        "status --root TREE",
    ],
)
def test_a_result_that_cannot_be_printed_is_an_error(words: str, grown: Grown, *, unbuffered: bool) -> None:
    """It is one line and exit code 75, whether the first print fails or the flush at the end."""
    done = run(words, grown, unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (75, SAID)


@pytest.mark.parametrize("words", ["audit --root TREE", "audit --root NOWHERE"])
def test_an_error_that_cannot_be_printed_has_its_exit_code(words: str, grown: Grown) -> None:
    """If nothing can be printed at all, the exit code says it alone."""
    assert run(words, grown, both=True).returncode == 75


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(linked_site(8, 2), hosts=[HOST]) as web:
        yield web


def test_a_crawl_ends_as_it_went(web: Web, root: Path) -> None:
    """A crawl whose summary cannot be printed has done its work, and its exit code says so."""
    with Path("/dev/full").open("w") as full, Running(command(root, seeds=[web.url(HOST)]), stdout=full) as running:
        done = running.wait()
    assert (done.code, done.err.endswith(SAID), "Traceback" in done.err) == (0, True, False), done
    assert len(pages(root)) == 9


@pytest.mark.parametrize("how", ["--verbose", "--log-json"])
def test_a_crawl_goes_on_if_its_messages_cannot_be_written(how: str, web: Web, root: Path) -> None:
    """Lines for each URL and the summary are lost without a word; the crawl ends, and the machine says goodbye."""
    words = command(root, how, seeds=[web.url(HOST)])
    with Path("/dev/full").open("w") as full, Running(words, stdout=full, stderr=full) as running:
        assert running.process.wait(DEADLINE_S) == 0
    assert len(pages(root)) == 9
    assert not Observer(open_tree(root)).look().alive()
