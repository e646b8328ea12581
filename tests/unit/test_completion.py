"""What `fscrawl completion` prints is understood by the shells, and knows all commands."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fscrawl import __version__, cli
from fscrawl.commands import ALIASES, COMMANDS, completion


@pytest.fixture
def script(tmp_path, capsys):
    """Give what writes a shell's script into a file."""

    def write(shell):
        assert cli.main(["completion", shell]) == 0
        path = tmp_path / f"completion.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_is_told_every_command(script, shell):
    """The script of each shell names every command, and is accepted by that shell where it is installed."""
    path = script(shell)
    text = path.read_text()
    assert [name for name in (*COMMANDS, *ALIASES) if name not in text] == []
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
