"""What a terminal shows while a command works long on one piece: the line changes at least each second.

One file of the tree takes three seconds to open. The terminal is a pseudo terminal, read as the text comes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import re
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running
from tests.support.neighbours import customised
from tests.support.trees import Grown

PAGES = 40
SLOW_S = 6.0
LONGEST_S = 5.0  # between two texts: a second, and what a busy machine needs; SLOW_S if nothing moves
# Put into sitecustomize.py of all processes: one file takes long.
_SLOWLY = f"""
import os, time
_open = os.open
def _slowly(path, *more, **named):
    if str(path).endswith({{name!r}}):
        time.sleep({SLOW_S})
    return _open(path, *more, **named)
os.open = _slowly
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    grown = Grown(tmp_path_factory.mktemp("slow") / "tree")
    grown.many(1, PAGES)
    return grown


def texts(words: list[str], env: dict[str, str]) -> list[tuple[float, str]]:
    """Run a command; give what stood in the line of its terminal, and when it was first seen."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    seen: list[tuple[float, str]] = []
    with (
        os.fdopen(ours, "rb", buffering=0) as terminal,
        Running(words, stderr=theirs, stdout=subprocess.DEVNULL, env=env) as running,
    ):
        os.close(theirs)
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            while drawn := terminal.read(65536):
                text = drawn.decode().rpartition("\r")[2].rstrip()
                if text and (not seen or seen[-1][1] != text):
                    seen.append((time.monotonic(), text))
        assert running.wait().code == 0
    return seen


@pytest.mark.parametrize(
    ("command", "directory", "step", "counts"),
    [
        (["merge", "--processes", "2"], "htmls", "reading pages", True),
        (["audit"], "htmls", "checking records and bodies", True),
        (["show", "--inlinks", "http://h0.example/1"], "links", "reading records", False),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_line_moves(
    tree: Grown, tmp_path: Path, command: list[str], directory: str, step: str, counts: bool
) -> None:
    """The line says what is done, and changes each second while one file takes six; merge and audit count pages."""
    slow = max((tree.root / directory).rglob("*.*"))  # the last one, so that others are done before
    out = {"merge": ["--out", str(tmp_path / "out")]}
    words = [sys.executable, "-m", "fscrawl", *command, "--root", str(tree.root), *out.get(command[0], [])]
    seen = texts(words, customised(tmp_path, _SLOWLY.format(name=f"{slow.stem}{slow.suffix}")))
    during = [(at, text) for at, text in seen if text.startswith(step)]
    assert during[-1][0] - during[0][0] > SLOW_S / 3, seen
    gaps = [later - at for (at, _), (later, _) in itertools.pairwise(during)]
    assert max(gaps) < LONGEST_S, seen
    done = {int(found[1]) for _, text in during if (found := re.search(rf"(\d+)/{PAGES}\b", text))}
    assert not counts or done & {*range(1, PAGES)}, seen
