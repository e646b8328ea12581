"""What messages tell the user to type: as fscrawl was called here."""

import importlib.metadata
import sys

import pytest

from fscrawl.util.installed import command, to_install


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env/bin/python3"))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/usr/local/bin/fscrawl", "fscrawl"),
        (".venv/bin/fscrawl", ".venv/bin/fscrawl"),
        ("my env/bin/fscrawl", "'my env/bin/fscrawl'"),
        ("/opt/fscrawl.pyz", "env/bin/python3 /opt/fscrawl.pyz"),
        ("crawl.py", "env/bin/python3 -m fscrawl"),
        ("/opt/checkout/fscrawl/__main__.py", "env/bin/python3 -m fscrawl"),
        ("", "env/bin/python3 -m fscrawl"),
    ],
)
def test_the_command(typed, words, monkeypatch):
    """A message names the command as the user has typed it, with the tree as one word."""
    monkeypatch.setattr(sys, "argv", [typed])
    assert command() == words
    assert command("resume", "/mnt/my crawl") == f"{words} resume --root '/mnt/my crawl'"


def test_the_script_beside_the_interpreter(tmp_path, monkeypatch):
    """Who runs a module of a checkout is told of the script that was installed with it."""
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/fscrawl").touch()
    monkeypatch.setattr(sys, "argv", ["/opt/checkout/demo/run.py"])
    assert command() == "env/bin/fscrawl"


def test_an_extra(monkeypatch):
    """Pip adds an extra to a copy that it knows; make adds one to a checkout; the one-file build cannot have any."""
    monkeypatch.setattr(sys, "argv", ["fscrawl"])
    assert to_install("merge", "language") == "env/bin/python3 -m pip install 'fscrawl[merge,language]'"

    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", unknown)
    assert to_install("merge") == "make setup EXTRAS=merge"
    monkeypatch.setattr(sys, "argv", ["/opt/fscrawl.pyz"])
    assert to_install("merge").startswith("use a checkout, or the wheel")
