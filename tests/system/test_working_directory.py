"""Nothing in the working directory, or in the tree's directory, is run: others may write there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, SETTINGS
from tests.support.web import Web, linked_site

HOST = "127.0.7.31"
NAMES = ("selectors", "json", "fscrawl", "threading", "signal", "pickle", "array", "requests", "sitecustomize")
SCRIPT = Path(sys.executable).parent / "fscrawl"
# As a library does: the servers of multiprocessing are new interpreters, and not copies of this one.
SERVERS = f"""\
import multiprocessing, sys, time
sys.path.insert(0, {str(CHECKOUT)!r})
from fscrawl.util import processes, safe_path
if __name__ == "__main__":
    safe_path.protect_children()
    processes.start_server(["requests"])
    child = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Give a directory with files that have the names of modules. One that is run leaves a mark."""
    directory = tmp_path / "tree"
    directory.mkdir()
    for name in NAMES:
        text = f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r} + ' ')\nraise ImportError({name!r})\n"
        (directory / f"{name}.py").write_text(text)
    return directory


def run(words: list[str], directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    return subprocess.run(
        words, cwd=directory, env=environment | more, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.mark.parametrize(
    ("flags", "program"),
    [([], [str(SCRIPT), "crawl"]), ([], [str(CHECKOUT / "crawl.py")]), (["-E"], [str(SCRIPT), "crawl"])],
    ids=["fscrawl", "crawl.py", "as pipx starts it"],
)
def test_a_planted_module_is_not_run(planted: Path, tmp_path: Path, flags: list[str], program: list[str]) -> None:
    """A crawl and a merge that are started in the tree's directory run none of its files.

    With -E, children ignore the environment, which has this for them otherwise.
    """
    python = [sys.executable, *flags]
    with Web(linked_site(3, 2), [HOST]) as web:
        words = [*python, *program, "--root", str(planted), "--workers", "2", "--seed", web.url(HOST)]
        crawled = run(
            [*words, *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}"))], planted
        )
    assert crawled.returncode == 0, crawled.stderr
    words = [*python, str(SCRIPT), "merge", "--root", ".", "--out", str(tmp_path / "out"), "--processes", "1"]
    merged = run(words, planted)
    assert merged.returncode == 0, merged.stderr
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def test_the_module_is_as_safe_as_python_lets_it_be(planted: Path, tmp_path: Path) -> None:
    """`python -P -m fscrawl` runs no planted file. Without -P, Python itself looks there before fscrawl begins."""
    (planted / "fscrawl.py").unlink()
    assert run([sys.executable, "-P", "-m", "fscrawl", "--version"], planted).returncode == 0
    assert not (tmp_path / "mark").exists()
    for name in NAMES:
        if name not in ("selectors", "requests", "fscrawl"):
            (planted / f"{name}.py").unlink()
    assert run([sys.executable, "-m", "fscrawl", "doctor", "--root", "."], planted).returncode in (0, 1)
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def test_other_programs_beside_the_command_are_no_modules(tmp_path: Path) -> None:
    """Beside `fscrawl`, pip puts programs of other packages, such as jsonpath.py. Rules load a module of that name."""
    programs, mark = tmp_path / "bin", tmp_path / "mark"
    programs.mkdir()
    command = programs / "fscrawl"
    command.write_bytes(SCRIPT.read_bytes())
    (programs / "jsonpath.py").write_text(f"open({str(mark)!r}, 'w').close()")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/crawl.toml").write_text(
        '[[site]]\nhosts = ["127.0.0.1"]\nfollow = ["json:$.url"]\n# end of settings\n'
    )
    words = [sys.executable, str(command), "try", "--root", "tree", "http://127.0.0.1/"]
    done = run(words, tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.returncode == 1, done.stderr
    assert "blocked-address" in done.stdout
    assert not mark.exists()


@pytest.mark.parametrize("flags", [[], ["-E"], ["-I"]], ids=" ".join)
def test_new_interpreters_run_none_either(planted: Path, tmp_path: Path, flags: list[str]) -> None:
    """The servers of multiprocessing get it as flags where they ignore the environment."""
    script = tmp_path / "servers.py"
    script.write_text(SERVERS)
    done = run([sys.executable, *flags, str(script)], planted)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def test_python_that_ignores_the_environment(planted: Path) -> None:
    """A program that is started again with more flags does what it was asked to do."""
    assert run([sys.executable, "-E", "-P", str(SCRIPT), "--version"], planted).returncode == 0
    assert run([sys.executable, "-I", str(SCRIPT), "--version"], planted).returncode == 0
