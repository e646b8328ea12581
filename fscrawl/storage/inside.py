"""Whether a path that a user names for another file leads into a tree, also through links."""

from __future__ import annotations

import os
from pathlib import Path

from fscrawl.storage.layout import MACHINERY, PAGE_ROOMS, PAUSE, SEEDS, SETTINGS, STOP


def is_inside(root: Path, path: Path) -> bool:
    """Tell whether a path is the root, is below it, or is in a room that lies elsewhere."""
    real = Path(os.path.realpath(path))
    return any(real == place or place in real.parents for place in _places(root))


def is_of_crawl(root: Path, path: Path) -> bool:
    """Tell whether a path is the root or in a room, or names settings, seeds or a sign: not what users put beside."""
    real = Path(os.path.realpath(path))
    top, *rooms = _places(root)
    if real == top or any(real == room or room in real.parents for room in rooms):
        return True
    return real.parent == top and (real.name in (SETTINGS, SEEDS, STOP) or real.name.startswith(PAUSE))


def _places(root: Path) -> list[Path]:
    top = Path(os.path.realpath(root))
    return [top, *(Path(os.path.realpath(top / room)) for room in (*PAGE_ROOMS, MACHINERY))]
