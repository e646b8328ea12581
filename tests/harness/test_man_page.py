"""The manual page says what the parsers say, and the programs that show manual pages have nothing to complain of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fscrawl import __version__, cli
from tools import man_page

PAGE = man_page.PAGE


def test_the_page_is_what_the_commands_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page in the repository is the one that `make docs-write` writes, on any terminal."""
    monkeypatch.setenv("COLUMNS", "40")
    assert PAGE.read_text(encoding="utf-8") == man_page.page(), "run: make man"


def test_an_old_page_is_found_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --check a page that is missing or old is one line and exit code 1; without it the page is written."""
    monkeypatch.setattr(man_page, "CHECKOUT", tmp_path)
    monkeypatch.setattr(man_page, "PAGE", tmp_path / "man/fscrawl.1")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## [Unreleased]\n\n## [2.0.0] - 2030-01-02\n")
    assert man_page.main(["--check"]) == 1
    assert capsys.readouterr().err == "man/fscrawl.1 is not what the commands say; run: make man\n"
    assert man_page.main([]) == 0
    assert man_page.main(["--check"]) == 0
    assert f'.TH FSCRAWL 1 2030-01-02 "fscrawl {__version__}"' in (tmp_path / "man/fscrawl.1").read_text()


@pytest.mark.shells
def test_mandoc_has_nothing_to_say() -> None:
    """Mandoc finds no error, warning or matter of style."""
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc")
    done = subprocess.run(["mandoc", "-Tlint", "-Wall", PAGE], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.shells
def test_man_shows_it(tmp_path: Path) -> None:
    """The program man shows it without a warning, with every command, every option and the path of an example."""
    if shutil.which("man") is None:
        pytest.skip("there is no man")
    environment = {**os.environ, "MANWIDTH": "100", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c"}
    words = ["man", "--warnings", "-l", str(PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r".\x08", "", done.stdout)
    [commands] = [action.choices for action in cli.parser()._actions if isinstance(action.choices, dict)]
    for name, parser in commands.items():
        assert f"\n   fscrawl {name}\n" in shown
        for option in parser._option_string_actions:
            assert option in {"-h", "--help"} or re.search(rf"^ +(-\w, )?{option}\b", shown, re.MULTILINE), option
    assert "fscrawl completion bash > ~/.local/share/bash-completion/completions/fscrawl" in shown
