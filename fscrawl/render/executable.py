"""Where is the browser of this machine? A look that loads nothing else: each crawl with [render] begins with it."""

from __future__ import annotations

import os
import shutil

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
VARIABLE = "FSCRAWL_BROWSER"


def find() -> str | None:
    """Give the path of the browser that `VARIABLE` names, else of the first of `BROWSERS`; None if it is not there."""
    named = os.environ.get(VARIABLE)
    return next((path for name in ([named] if named else BROWSERS) if (path := shutil.which(name))), None)


def not_found() -> str:
    """Say that `find` has found none, and what would be right."""
    named = os.environ.get(VARIABLE)
    where = f"{VARIABLE}={named}: there is no such program" if named else "there is no Chromium on this machine"
    return f"render: {where}; install chromium-headless-shell or chromium (Debian), or name one in {VARIABLE}"
