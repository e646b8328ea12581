"""What `fscrawl completion` prints is understood by the shells, and knows all commands."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fscrawl import __version__, cli
from fscrawl.commands import completion

COMPLETE = """\
source "$1"
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_fscrawl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(tmp_path, capsys):
    """Give what writes a shell's script into a file."""

    def write(shell):
        assert cli.main(["completion", shell]) == 0
        path = tmp_path / f"completion.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


def completed(script, words):
    """Give what bash would offer for the last of some words."""
    lines = ["bash", "--norc", "-c", COMPLETE.format(words=words), "bash", str(script("bash"))]
    done = subprocess.run(lines, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fscrawl cra", ["crawl"]),
        ("fscrawl show --in", ["--inlinks"]),
        ("fscrawl crawl --workers 4 --fol", ["--follow"]),
        ("fscrawl pa", ["pause"]),
    ],
)
def test_bash_completes(script, words, offered):
    """Bash offers commands and options by their beginning."""
    assert completed(script, words) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_directories(script, tmp_path):
    """Bash offers directories, and no files, for an option that takes a directory."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "trees.txt").touch()
    assert completed(script, f"fscrawl crawl --root {tmp_path}/tre") == [f"{tmp_path}/tree"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_is_told_every_command(script, shell):
    """The script of each shell names every command, and is accepted by that shell where it is installed."""
    path = script(shell)
    text = path.read_text()
    [commands] = [action.choices for action in cli.parser()._actions if isinstance(action.choices, dict)]
    assert [name for name in commands if name not in text] == []
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(path)], check=True, timeout=30)


def test_the_checkout_s_script_says_its_version():
    """`python crawl.py --version` prints what `fscrawl --version` does, although it is `fscrawl crawl` otherwise."""
    script = Path(__file__).parents[2] / "crawl.py"
    done = subprocess.run(
        [sys.executable, script, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"fscrawl {__version__}\n")


def test_another_shell_is_refused(capsys):
    """A shell that is not supported is an error in one line, with exit code 2."""
    assert cli.main(["completion", "csh"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
