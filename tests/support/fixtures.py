"""Fixtures for all folders of tests: a place for a tree, names that lead to loopback, and file systems of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.fleet import Place

_RESOLVER = """\
import socket
_names = {names!r}
_asked = socket.getaddrinfo
socket.getaddrinfo = lambda host, *args, **more: _asked(_names.get(host, host), *args, **more)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a crawl may make its tree."""
    return tmp_path / "tree"


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tree that is made is flushed to the disk, which takes 20 times as long as to make it."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def layout(request: pytest.FixtureRequest) -> dict[str, object]:
    """How pages are stored, as settings of a crawl: each in its files, or in packs where a test asks for both."""
    return {"store.layout": request.param} if hasattr(request, "param") else {}


in_both_but_later = pytest.mark.parametrize(
    "layout", ["files", pytest.param("packs", marks=pytest.mark.proof)], indirect=True
)
in_both = pytest.mark.parametrize("layout", ["files", "packs"], indirect=True)


@pytest.fixture
def place(root: Path, layout: Mapping[str, object]) -> Place:
    """Where the machines of a fleet may make their tree."""
    return Place(root, layout)


@pytest.fixture
def names(tmp_path: Path) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """Give an environment in which host names lead to the given addresses, in every process of a crawl."""

    def environment(addresses: Mapping[str, str]) -> dict[str, str]:
        directory = tmp_path / "names"
        directory.mkdir()
        (directory / "sitecustomize.py").write_text(_RESOLVER.format(names=dict(addresses)))
        path = os.pathsep.join(filter(None, [str(directory), os.environ.get("PYTHONPATH")]))
        return {**os.environ, "PYTHONPATH": path}

    return environment


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a tmpfs with the given options (again, to change them); skip where that is not allowed."""
    point = tmp_path / "mount"

    def tmpfs(options: str) -> Path:
        if not os.path.ismount(point):
            point.mkdir()
            words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(point)]
        else:
            words = ["mount", "-o", f"remount,{options}", str(point)]
        try:
            done = subprocess.run(words, capture_output=True, timeout=20, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command")
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
        return point

    yield tmpfs
    if os.path.ismount(point):
        subprocess.run(["umount", "-l", str(point)], capture_output=True, timeout=20, check=True)
