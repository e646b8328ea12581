"""Rendering needs a Chromium of the system."""

from __future__ import annotations

import os
import shutil

import pytest

from fscrawl.config.render_settings import BROWSERS

if not any(map(shutil.which, BROWSERS)) and not os.environ.get("CI"):
    pytest.skip("no Chromium is installed", allow_module_level=True)
