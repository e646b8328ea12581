"""What the tests of `fscrawl merge` share: a tree with one of each kind, and the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli
from tests.support.merging import A, B, C
from tests.support.trees import Grown, inline


@pytest.fixture
def tree(root: Path) -> Grown:
    """Make a tree with one of each kind."""
    grown = Grown(root)
    grown.page(A, b"<html lang=en><title>A</title><p>one two three four five<a href=b>b</a>", depth=0)
    grown.page(
        B, b"<p>six seven eight nine ten<a rel=nofollow href=//c.example/>c</a><a href=/>a</a>", referrer="f" * 24
    )
    grown.page(C, b"<p>eleven twelve thirteen fourteen")
    grown.redirect("http://a.example/old", B)
    grown.skipped("http://a.example/pdf")
    grown.fail("http://a.example/gone")
    return grown


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def fscrawl(tree: Grown, out: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process; give its exit code and what it printed."""

    def run(*flags: str, to: Path = out, root: Path | None = None) -> tuple[int, str, str]:
        with inline():
            code = cli.main(["merge", "--root", str(root or tree.root), "--out", str(to), *flags])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
