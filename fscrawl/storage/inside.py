"""Whether a path that a user names leads into a tree or into a dataset, also through links."""

from __future__ import annotations

import os
from pathlib import Path

from fscrawl.storage.layout import MACHINERY, PAGE_DIRECTORIES, PAUSE, SEEDS, SETTINGS, STOP, TREE_RECORD

DATASET_STATE = ".merge"  # what shows that a directory is a dataset


def is_inside(root: Path, path: Path) -> bool:
    """Tell whether a path is the root, is below it, or is in a directory that lies elsewhere."""
    real = Path(os.path.realpath(path))
    return any(real == place or place in real.parents for place in _places(root))


def is_of_crawl(root: Path, path: Path) -> bool:
    """Tell whether a path is the root or in one of these, or settings, seeds or a sign: not what users put beside."""
    real = Path(os.path.realpath(path))
    top, *directories = _places(root)
    if real == top or any(real == directory or directory in real.parents for directory in directories):
        return True
    return real.parent == top and (real.name in (SETTINGS, SEEDS, STOP) or real.name.startswith(PAUSE))


def what_is_around(path: Path) -> str:
    """Say in which tree or dataset a path is, such as "the tree /mnt/shared"; "" if it is in none, or is one itself.

    What is made there by a mistake would be taken for a part of it, and be removed with it.
    """
    for above in Path(os.path.realpath(path)).parents:
        if os.path.exists(above / TREE_RECORD):
            return f"the tree {above}"
        if os.path.exists(above / DATASET_STATE):
            return f"the dataset {above}"
    return ""


def is_tree(path: Path) -> bool:
    """Tell whether a path is the root of a tree."""
    return os.path.exists(path / TREE_RECORD)


def tree_around() -> Path | None:
    """Give the tree that the working directory is, or is in; None if it is in none."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return None
    return next((each for each in (here, *here.parents) if is_tree(each)), None)


def _places(root: Path) -> list[Path]:
    top = Path(os.path.realpath(root))
    return [top, *(Path(os.path.realpath(top / directory)) for directory in (*PAGE_DIRECTORIES, MACHINERY))]
