"""What tests of packages share: they are built once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what `make dist` builds: the wheel, the source, and the one file. Give their directory."""
    directory = tmp_path_factory.mktemp("dist")
    words = [sys.executable, str(CHECKOUT / "tools/build_pyz.py"), str(directory)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory
