"""What `fscrawl merge` says in one line where an optional package is missing, or does not work."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.merging import refused
from tests.support.trees import Grown


def test_missing_extra(
    tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, fscrawl: Callable[..., tuple[int, str, str]]
) -> None:
    """Without the packages that merge needs, it says at once which to install."""
    monkeypatch.setitem(__import__("sys").modules, "fscrawl.merge", None)
    refused(fscrawl(), 2, "merge needs fscrawl.merge: ", "[merge]")


def test_missing_extra_for_main_text(
    tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, fscrawl: Callable[..., tuple[int, str, str]]
) -> None:
    """Without trafilatura, --text main is refused in one line, before anything is made; also in a later run."""
    monkeypatch.setattr("fscrawl.parse.text._extractor", lambda: importlib.import_module("not_there"))
    refused(fscrawl("--text", "main"), 2, "--text main needs not_there: ", "[main-text]")
    assert not out.exists()
    monkeypatch.undo()
    assert fscrawl("--text", "main")[0] == 0
    monkeypatch.setattr("fscrawl.parse.text._extractor", lambda: importlib.import_module("not_there"))
    refused(fscrawl(), 2, "--text main needs not_there: ")


def test_missing_extra_for_language(
    tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, fscrawl: Callable[..., tuple[int, str, str]]
) -> None:
    """The same for --language; and a merge that needs no extra asks for none."""
    monkeypatch.setattr("fscrawl.parse.language._detector", lambda: importlib.import_module("not_there"))
    refused(fscrawl("--language"), 2, "--language needs not_there: ", "[language]")
    assert not out.exists()
    assert fscrawl(to=out.with_name("plain"))[0] == 0
    monkeypatch.undo()
    assert fscrawl("--language")[0] == 0
    monkeypatch.setattr("fscrawl.parse.language._detector", lambda: importlib.import_module("not_there"))
    refused(fscrawl(), 2, "--language needs not_there: ")


def test_a_detector_that_does_not_work(
    tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, fscrawl: Callable[..., tuple[int, str, str]]
) -> None:
    """If another package is in the way of the detector, what it says is one line."""

    def fails(text: str) -> None:
        raise RuntimeError("another fasttext\nis installed")

    monkeypatch.setattr("fscrawl.parse.language._detector", lambda: fails)
    refused(fscrawl("--language"), 2, "--language cannot be used: another fasttext is installed")
    assert not out.exists()
