"""What is printed has gone through one filter, which leaves no control characters."""

from __future__ import annotations

import ast
import errno
import io
import sys
from pathlib import Path

import pytest

from fscrawl.cli import main
from fscrawl.engine.progress import Counts, Progress
from fscrawl.errors import OutputError
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


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gb2312"])
def test_letters_that_an_encoding_lacks(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """Letters of pages that the encoding of a terminal or a file lacks are question marks, and the rest is there."""
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding, newline="\n")
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.say("title  \U0001f600b\u0e01")
    terminal.say_styled("\x1b[1m\U0001f600\x1b[0m\n")
    terminal.flush_output()
    assert data.getvalue() == b"title  ?b?\n\x1b[1m?\x1b[0m\n"


class Full(io.StringIO):
    """A stream whose disk is full."""

    error: OSError = OSError(errno.ENOSPC, "No space left on device")
    descriptor = -1

    def write(self, _text: str) -> int:
        raise self.error

    def fileno(self) -> int:
        return self.descriptor


@pytest.mark.parametrize("mode", ["line", "json", "quiet"])
def test_messages_that_cannot_be_written(mode: str) -> None:
    """A message is lost without a word if its stream cannot be written."""
    progress = Progress(mode, verbose=True, stream=Full())
    progress.event("http://a.example/", "failed")
    progress.warn("text")
    progress.close(Counts())


def test_a_result_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A result that cannot be printed is an error of one line, also if only the flush at the end finds it out."""
    full = Full()
    file = (tmp_path / "out").open("w")
    full.descriptor = file.fileno()
    monkeypatch.setattr(sys, "stdout", full)
    for say in (terminal.say, terminal.say_json, terminal.say_styled):
        with pytest.raises(OutputError, match=r"^standard output: no space left on device$"):
            say("text")
    monkeypatch.setattr(full, "flush", lambda: full.write(""))
    with file, pytest.raises(OutputError):
        terminal.flush_output()


def test_closed_pipes_are_another_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nobody reads any more is passed on, for results and messages."""
    full = Full()
    full.error = BrokenPipeError()
    monkeypatch.setattr(full, "flush", lambda: full.write(""))
    with pytest.raises(BrokenPipeError):
        terminal.say("text", stream=full)
    monkeypatch.setattr(sys, "stdout", full)
    for act in (terminal.flush_output, lambda: terminal.say("text")):
        with pytest.raises(BrokenPipeError):
            act()


def test_nothing_is_printed_without_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may be started without standard output and standard error."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    terminal.say("text")
    terminal.say_error("text")
    terminal.flush_output()
    terminal.discard_output()


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
