"""Completion in the shells themselves: what bash, zsh and fish make of a line when the Tab key is pressed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from tests.support.crawling import CHECKOUT

pytestmark = [pytest.mark.proof, pytest.mark.shells]

DEADLINE_S = 30.0
# What a user sees before the Tab key, and what every shell makes of it. Bash alone shows no descriptions.
LINES: tuple[tuple[str, list[str]], ...] = (
    ("fscrawl cra", ["crawl"]),
    ("fscrawl crawl --workers 4 --wai", ["--wait"]),
    ("fscrawl show https://example.org/ --in", ["--inlinks"]),
    ("fscrawl crawl --root one", ["one-tree"]),
    ("fscrawl crawl --seeds two", ["two-seeds.txt"]),
    ("fscrawl merge --root one-tree --format par", ["parquet"]),
    ("fscrawl merge --root one-tree --format wa", ["warc"]),
    ("fscrawl completion z", ["zsh"]),
)
BASH = """\
source _fscrawl
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMP_LINE=$1 COMP_POINT=${#1}
complete -p fscrawl | grep -q -- '-F _shtab_fscrawl fscrawl' || exit 3
_shtab_fscrawl fscrawl "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# A line editor of a terminal: Tab completes, and Ctrl-X tells the line as it is then.
ZSH = """\
PS1='ready> ' fpath=($PWD $fpath)
autoload -Uz compinit && compinit -u -D
tell() { print -r -- "$BUFFER" > told.new; mv told.new told; zle kill-whole-line }
zle -N tell
bindkey '^X' tell '^I' complete-word
setopt no_beep no_list_ambiguous
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Give what makes a directory with the script of a shell as `_fscrawl`, and the command on PATH."""

    def make(shell: str) -> Path:
        if shutil.which(shell) is None:
            pytest.skip(f"there is no {shell}")
        (tmp_path / "bin").mkdir()
        command = tmp_path / "bin/fscrawl"
        command.write_text(f"#!/bin/sh\nPYTHONPATH='{CHECKOUT}' exec '{sys.executable}' -m fscrawl \"$@\"\n")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(tmp_path))
        with (tmp_path / "_fscrawl").open("wb") as script:
            subprocess.run([command, "completion", shell], stdout=script, check=True, timeout=DEADLINE_S)
        (tmp_path / "one-tree").mkdir()
        (tmp_path / "one-file.txt").touch()
        (tmp_path / "two-seeds.txt").touch()
        return tmp_path

    return make


def asked(place: Path, *words: str) -> list[str]:
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def test_bash(place: Callable[[str], Path]) -> None:
    """Bash offers commands, options, values, directories for DIR and files for FILE."""
    here = place("bash")
    for line, offered in LINES:
        assert asked(here, "bash", "--norc", "-c", BASH, "bash", line) == offered, line


def test_fish(place: Callable[[str], Path]) -> None:
    """Fish offers the same, and describes a command by its line in `fscrawl --help`."""
    here = place("fish")
    for line, offered in LINES:
        script = f"source _fscrawl; complete -C '{line}'"
        found = [each.partition("\t")[0].rstrip("/") for each in asked(here, "fish", "--no-config", "-c", script)]
        assert found == offered, line
    [told] = asked(here, "fish", "--no-config", "-c", "source _fscrawl; complete -C 'fscrawl res'")
    assert told == "resume\tundo pause and stop"


def test_zsh(place: Callable[[str], Path]) -> None:
    """Zsh completes on a terminal what there is one of, and of several as much as they have in common."""
    here = place("zsh")
    (here / ".zshrc").write_text(ZSH)
    with Terminal(["zsh", "-i"], here) as terminal:
        terminal.until("ready> ")
        for line, offered in LINES:
            before, _, beginning = line.rpartition(" ")
            wanted = offered[0] if len(offered) == 1 else beginning
            assert terminal.completed(line).rstrip(" /") == f"{before} {wanted}", line


def test_zsh_evaluates_it(place: Callable[[str], Path]) -> None:
    """Zsh evaluates the script, too."""
    here = place("zsh")
    reads = 'eval "$(fscrawl completion zsh)"'
    script = f"autoload -Uz compinit && compinit -u -D; {reads}; print -r -- $_comps[fscrawl]"
    assert asked(here, "zsh", "-f", "-c", script) == ["_shtab_fscrawl"]


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, words: list[str], place: Path) -> None:
        self._place = place
        self._typed, shells = pty.openpty()
        environment = {**os.environ, "TERM": "vt100", "ZDOTDIR": str(place), "LC_ALL": "C.UTF-8"}
        self._shell = subprocess.Popen(
            words, cwd=place, stdin=shells, stdout=shells, stderr=shells, start_new_session=True, env=environment
        )
        os.close(shells)
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._typed)

    def until(self, text: str) -> None:
        self._wait(lambda: text in self._shown, f"the terminal shows {text!r}")

    def completed(self, line: str) -> str:
        """Type a line and press Tab; give the line as it is then."""
        told = self._place / "told"
        told.unlink(missing_ok=True)
        os.write(self._typed, f"{line}\t\x18".encode())
        self._wait(told.exists, f"the line after {line!r}")
        return told.read_text().removesuffix("\n")

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        until, typed = time.monotonic() + DEADLINE_S, select.poll()
        typed.register(self._typed, select.POLLIN)
        while not holds():
            assert time.monotonic() < until, f"not within {DEADLINE_S} s: {what}\n{self._shown}"
            if typed.poll(20):
                self._shown += os.read(self._typed, 65536).decode("utf-8", "replace")
