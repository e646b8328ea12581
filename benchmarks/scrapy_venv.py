"""Scrapy in a virtual environment of its own, so that the project does not depend on it.

The first run installs the latest version from the package index. Delete the directory to get a newer one. Each version
of Python has one of its own: crawlers that are compared run by the same interpreter.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

VENV = Path.home() / ".cache" / "fscrawl-bench" / f"venv-{platform.python_version()}"
PYTHON = VENV / "bin" / "python"
# uvloop: what a Scrapy user who wants speed installs beside it
_REQUIREMENTS = ("scrapy", "uvloop")
_VERSIONS = "import scrapy, twisted, uvloop; print(scrapy.__version__, twisted.__version__, uvloop.__version__)"


def python() -> Path:
    """Give the interpreter that has Scrapy, after installing it if need be."""
    if not _versions():
        print(f"installing {' and '.join(_REQUIREMENTS)} into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", *_REQUIREMENTS], check=True)
    return PYTHON


def description() -> str:
    scrapy, twisted, uvloop = _versions().split()
    return f"Scrapy {scrapy} (Twisted {twisted}, uvloop {uvloop})"


def _versions() -> str:
    if not PYTHON.exists():
        return ""
    return subprocess.run([PYTHON, "-c", _VERSIONS], check=False, capture_output=True, text=True).stdout.strip()
