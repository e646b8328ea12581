"""The Pythons of this machine: of pyenv, or on PATH, as Debian installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def found(version: str) -> str | None:
    """Give a Python of this minor version; None if there is none."""
    places = Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python{version}")
    return next((str(place) for place in places), None) or shutil.which(f"python{version}")


def python_of(version: str) -> str:
    """Give a Python of this minor version; without one, the test is skipped."""
    return found(version) or pytest.skip(f"there is no Python {version}")


def another() -> str:
    """Give a Python of another minor version than this one, with its module venv; without one, the test is skipped.

    In CI a Python that is there is taken as it is: if it cannot be used, the test fails.
    """
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [python for version in PYTHONS if version != own and (python := found(version)) is not None]
    if not others:
        pytest.skip(f"there is no other Python than {own}")
    usable = [python for python in others if os.environ.get("CI") == "true" or _has_venv(python)]
    return usable[0] if usable else pytest.skip(f"no other Python has the modules venv and ensurepip: {others}")


def _has_venv(python: str) -> bool:
    return subprocess.run([python, "-c", "import ensurepip, venv"], check=False, capture_output=True).returncode == 0
