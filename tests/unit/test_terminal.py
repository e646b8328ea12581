"""What is printed has gone through one filter, which leaves no control characters."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from fscrawl.cli import main
from fscrawl.engine.progress import Counts, Progress
from fscrawl.util import terminal

SOURCE = Path(__file__).parents[2] / "fscrawl"
EVIL = "a\x1b]0;owned\x07\x1b[2Jb\r\n\x9b31m\u202ec\udcff\x7f"
HARMLESS = "a?]0;owned??[2Jb???31m?c??"


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines stay lines, and all else that controls a terminal is replaced, whichever stream it is for."""
    terminal.say("one", EVIL)
    terminal.say_error(EVIL)
    assert capsys.readouterr() == (f"one\n{HARMLESS}\n", f"{HARMLESS}\n")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON is ASCII, and keeps the text."""
    terminal.say_json({"text": EVIL})
    said = capsys.readouterr().out
    assert said.isascii()
    assert said.removesuffix("\n").isprintable()


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a table the colours stay."""
    terminal.say_styled("\x1b[1;33mbold\x1b[0m \x1b[2J\x1b]0;x\x07\nnext\n")
    assert capsys.readouterr().out == "\x1b[1;33mbold\x1b[0m ?[2J?]0;x?\nnext\n"


@pytest.mark.parametrize("mode", ["line", "json", "quiet"])
def test_progress(mode: str) -> None:
    """Events, warnings and counts are made plain in each mode."""
    stream = io.StringIO()
    progress = Progress(mode, verbose=True, stream=stream)
    progress.event(EVIL, "failed", error=EVIL)
    progress.warn(EVIL)
    progress.print_line(EVIL)
    progress.close(Counts(state=EVIL))
    assert len(stream.getvalue().splitlines()) >= 3
    assert "".join(stream.getvalue().split("\n")).isprintable()


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """An error is one line, whatever stands in a name."""
    for words in (
        ["status", "--root", f"/nonexistent/{EVIL}"],
        ["status", f"--{EVIL}"],
        ["show", EVIL, "--root", EVIL],
    ):
        assert main(words) in (2, 75)
        said = capsys.readouterr().err.removesuffix("\n")
        assert said.startswith("fscrawl: ")
        assert said.isprintable()


def test_nobody_else_prints() -> None:
    """Only `terminal` prints (ruff looks after `print`), and nobody writes to the standard streams."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if "sys.std" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and node.attr in ("write", "writelines", "buffer")
        and ast.unparse(node.value) in ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
    ]
    assert found == []


def test_cursor(capfd: pytest.CaptureFixture[str]) -> None:
    """A cursor that a live table has hidden is shown again, without Python's streams, which may be in use."""
    terminal.show_cursor()
    assert capfd.readouterr().out == "\x1b[?25h\n"
