"""Rendering needs a Chromium of the system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from fscrawl.render.executable import BROWSERS
from tests.support.keepers import Keeper

if not any(map(shutil.which, BROWSERS)) and not os.environ.get("CI"):
    pytest.skip("no Chromium is installed", allow_module_level=True)


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    made = Keeper()
    yield made
    made.close()
