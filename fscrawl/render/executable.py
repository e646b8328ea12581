"""Where is the browser of this machine? A look that loads nothing else: each crawl with [render] begins with it."""

from __future__ import annotations

import shutil

from fscrawl.config.render_settings import BROWSERS


def find(executable: str | None) -> str | None:
    """Give the path of a browser: `executable` (a path, or a name in PATH), else the first of `BROWSERS` there is."""
    return next((path for name in ([executable] if executable else BROWSERS) if (path := shutil.which(name))), None)
