"""A Python that was started with -E: what the interpreters of its multiprocessing are told all the same."""

import subprocess
import sys
import textwrap
from multiprocessing import util
from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl.errors import UsageError
from fscrawl.util import ignored_environment, safe_path

_ASK = """
    from multiprocessing import resource_tracker, util
    from fscrawl.util.children import _silence_tracker
    from fscrawl.util.safe_path import protect_children
    for _ in range(2):
        protect_children()
        _silence_tracker()
    print(util._args_from_interpreter_flags())
"""


@pytest.mark.gate
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], []),
        (["-P"], ["-P"]),
        (["-E"], ["-E", "-P", "-Wignore:resource_tracker"]),
        (["-I"], ["-I", "-Wignore:resource_tracker"]),
    ],
)
def test_what_interpreters_are_started_with(flags: list[str], words: list[str]) -> None:
    """Where the environment is ignored, and only there, the command line says it; once."""
    program = f"import sys; sys.path[:] = {sys.path!r}\n{textwrap.dedent(_ASK)}"
    command = [sys.executable, *flags, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env={}, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{words}\n", "")


def test_a_python_that_can_give_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is started: children would run what lies in the working directory."""
    flags = SimpleNamespace(ignore_environment=1, safe_path=False)
    monkeypatch.setattr(ignored_environment.sys, "flags", flags)
    monkeypatch.delattr(util, "_args_from_interpreter_flags")
    with pytest.raises(UsageError, match="add -P"):
        safe_path.protect_children()
    monkeypatch.setattr(flags, "safe_path", True)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    safe_path.protect_children()


def test_a_word_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library may ask for each crawl that it begins."""
    monkeypatch.setattr(ignored_environment.sys, "flags", SimpleNamespace(ignore_environment=1))
    monkeypatch.setattr(util, "_args_from_interpreter_flags", lambda: ["-E"])
    assert ignored_environment.pass_on("-P")
    assert ignored_environment.pass_on("-P")
    assert util._args_from_interpreter_flags() == ["-E", "-P"]


def test_programs_are_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the path of modules only the directory of the program itself is taken off, and only if Python put it there."""
    program = tmp_path / "fscrawl"
    monkeypatch.setattr(sys, "flags", SimpleNamespace(safe_path=False))
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/elsewhere"])
    safe_path.forget_programs(str(tmp_path / "other" / "fscrawl"))
    assert sys.path == [str(tmp_path), "/elsewhere"]
    safe_path.forget_programs(str(program))
    assert sys.path == ["/elsewhere"]
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "flags", SimpleNamespace(safe_path=True))
    safe_path.forget_programs(str(program))
    assert sys.path == [str(tmp_path)]
