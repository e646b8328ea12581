"""What is at a root, and how many machines that start at the same moment make one tree there.

Vocabulary:
  creator     a machine that has found no tree, and may make one
  election    `.creation.<n>`: the creator that claims this file makes the tree, and the others wait for it

On replicated GlusterFS, a directory stays broken if several clients make it at the same instant. So one creator makes
all directories. It may be killed meanwhile: if there is no tree after a while, the next number is elected in the same
way. The creator that completes the tree removes the files of all elections.

Promise: `tree.json` is written last, so a directory that has it is a whole tree. It fits the settings beside it, also
if a creator stalls until another one is elected, and then both go on. A creator that fails removes what it has made,
unless there is a tree by then. Where pages are stored already, somebody has deleted `.fscrawl`, and machines that
worked with it may still be fetching: it is made when their permits are over.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from fscrawl.errors import FscrawlError, NotATreeError, TreeError
from fscrawl.storage.atomic import claim, make_directory, read_file, remove, sync_directory
from fscrawl.storage.inside import DATASET_STATE
from fscrawl.storage.layout import (
    DIRECTORIES,
    LINKS,
    MACHINERY,
    PAGE_DIRECTORIES,
    README,
    SEEDS,
    SETTINGS,
    TREE_RECORD,
    election_of,
    election_path,
    is_host,
    is_pack,
)
from fscrawl.storage.permissions import Access, access_of, fitting_umask, share_directory
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import Place, open_directory
from fscrawl.util.installed import command
from fscrawl.util.user_text import decode

TEXT_OF_README = """\
Internal files of a crawl by fscrawl. Deleting this directory loses no page and no link:
the next crawl rebuilds it from ../links. Do not edit these files; edit ../crawl.toml
(settings) and ../seeds.txt (one URL a line).

  tree.json      format, crawl id, number of shards, id of this directory
  machines/      the heartbeats of each machine: a JSON line each
  leases/        which machine holds which shard; the highest epoch holds
  generations/   numbered, and only the newest counts. Each has the settings by which links are chosen
                 (rules.json), what each machine has found, and which pages are done (log/), and a
                 cache of that for each shard (snap/)
  robots/        robots.txt of each host as fetched
  settings.toml  a copy of ../crawl.toml without secrets, in case that somebody deletes it
"""

_OF_FILE_SYSTEMS = "lost+found"
_OTHERS_CREATE_S = 2.0  # to make a tree
_LOOK_EVERY_S = 1.0
_WITH_OTHERS = Retrying(10.0)  # many machines that make one tree at once get EIO from GlusterFS now and then


def state_of(root: Path) -> str:
    """Give what is at `root`: "tree", "seeds" (a directory with seeds.txt), "dataset", "directory" or "nothing"."""

    def look() -> str:
        if not root.exists():
            if root.is_symlink():  # nothing can be made there, and the share that it leads to may not be mounted
                raise NotATreeError(f"{root}: it is a symbolic link that leads nowhere; is the share mounted?")
            return "nothing"
        if not root.is_dir():
            raise NotATreeError(f"{root}: it is a file; the root of a crawl must be a directory")
        names = os.listdir(root)
        if MACHINERY in names and (root / TREE_RECORD).exists():
            return "tree"
        return "seeds" if SEEDS in names else "dataset" if _is_of_dataset(names) else "directory"

    return BRIEF(root, look)


def instead_of_tree(root: Path) -> str:
    """Say what is at a root that has no `tree.json`, and what to do."""
    return remains_of_tree(root) or f"there is no crawl here (no {TREE_RECORD}); is the share mounted?"


def remains_of_tree(root: Path) -> str:
    """Say what is at a root without `tree.json` where no new crawl would begin, and what to do; "" if one would."""
    names = BRIEF.find(root, lambda: os.listdir(root), [])
    if _is_of_dataset(names):
        return "this is a dataset, which fscrawl merge has made; name the directory of a crawl"
    if _has_pages(root, names):
        return f"pages are here, but {TREE_RECORD} is missing; to make it again:  {command('crawl', root)}"
    return ""


def _is_of_dataset(names: list[str]) -> bool:
    """Tell whether a directory with these names is what a merge has made, and has nothing of a crawl."""
    return DATASET_STATE in names and {SEEDS, SETTINGS}.isdisjoint(names)


def _has_pages(root: Path, names: list[str]) -> bool:
    """Tell whether something is stored at a root that has these names."""
    return any(_is_used(root / directory) for directory in PAGE_DIRECTORIES if directory in names)


def layout_there(root: Path) -> str:
    """Give the layout of the pages at a root: "files", "packs", "both", or "" if there are none."""
    names = BRIEF.find(root / LINKS, lambda: os.listdir(root / LINKS), [])
    found = {"packs" if is_pack(name) else "files" for name in names if is_pack(name) or is_host(name)}
    return "both" if len(found) > 1 else "".join(found)


def _is_used(directory: Path) -> bool:
    with contextlib.suppress(TreeError):  # it is no directory, or may not be read
        return any(not name.startswith(".") for name in BRIEF.find(directory, lambda: os.listdir(directory), []))
    return False


def strangers(root: Path) -> list[str]:
    """Give the names in a directory that are not of a crawl, sorted: none if it is not there, and no hidden ones."""
    own = {*PAGE_DIRECTORIES, SETTINGS, SEEDS, _OF_FILE_SYSTEMS}
    names = BRIEF.find(root, lambda: os.listdir(root), [])
    return sorted(name for name in names if name not in own and not name.startswith("."))


def wait_for_permits(root: Path, longest_s: float, warn: Callable[[str], None]) -> None:
    """Where pages are stored and there is no tree, wait before one is made.

    Somebody has deleted `.fscrawl`, and machines that worked with it may fetch for `longest_s`. The wait is over when
    there is a tree: whoever has made it has waited.
    """
    if not _has_pages(root, BRIEF.find(root, lambda: os.listdir(root), [])):
        return
    until = time.monotonic() + longest_s
    warn(f"{root}/{TREE_RECORD} is missing: waiting {longest_s:.0f} s, as machines may still be fetching")
    while (left_s := until - time.monotonic()) > 0 and state_of(root) != "tree":
        time.sleep(min(left_s, _LOOK_EVERY_S))


def create(
    root: Path,
    record: TreeRecord,
    settings: str,
    seeds: str,
    machine: str = "creation",
    record_for: Callable[[str], TreeRecord] | None = None,
) -> None:
    """Make a tree, or wait until another machine has made it. Settings and seeds that are there already stay.

    `record_for`: gives the record that fits settings which another machine has written meanwhile.
    """
    made: list[Path] = []
    try:
        _make_directory(root, made)
        access = _WITH_OTHERS(root, lambda: access_of(str(root)))
        with fitting_umask(access):
            if not _is_elected(root, machine, access, made):
                return
            for directory in DIRECTORIES:
                if _make_directory(Place(str(root), directory), made):
                    _share(Place(str(root), directory), access)
            for name, text in ((README, TEXT_OF_README), (SETTINGS, settings), (SEEDS, seeds)):
                _claim(root, name, text.encode(), machine, access, made)
            if record_for is not None:
                record = _fitting(root, record, settings, record_for)
            _claim(root, TREE_RECORD, record.to_json(), machine, access, made)
        BRIEF(root, lambda: sync_directory(str(root.parent)))
    except FscrawlError:
        if _may_be_a_tree(root):  # another machine has made its tree of what is here
            raise
        _remove(made)
        raise
    with contextlib.suppress(TreeError):  # the tree is whole, and what is left of elections does no harm
        for number in _elections(root):
            remove(_election(root, number), _WITH_OTHERS)


def _claim(root: Path, name: str, data: bytes, machine: str, access: Access, made: list[Path]) -> None:
    if claim(Place(str(root), name), data, machine, fsync=True, retrying=_WITH_OTHERS, root=access):
        made.append(root / name)


def _fitting(root: Path, record: TreeRecord, settings: str, record_for: Callable[[str], TreeRecord]) -> TreeRecord:
    """Give the record that fits the settings that are there.

    If a creator stalls, another one is elected, and one of the two finds the other's settings. Nobody replaces them, so
    both make a record that fits.
    """
    place = Place(str(root), SETTINGS)
    there = _WITH_OTHERS(place, lambda: read_file(place))
    return record if there == settings.encode() else record_for(decode(there))


def _is_elected(root: Path, machine: str, access: Access, made: list[Path]) -> bool:
    """Tell whether this machine must make the tree; if not, another one has made it.

    A claim also succeeds where the file holds the same bytes, since a reply may be lost. So each claim has its own.
    """
    number = max(_elections(root), default=0)
    while number == 0 or not _wait_for_tree(root, _OTHERS_CREATE_S):
        number += 1
        if _wins(root, number, machine, access):
            made.append(Path(_election(root, number)))
            return True
    return False


def _wins(root: Path, number: int, machine: str, access: Access) -> bool:
    """Claim an election; tell whether this machine has won it.

    The winner removes the file when its tree is whole. So a file that was there when it was claimed may be gone when it
    is read back: that is an error only if there is no tree.
    """
    mine = os.urandom(8).hex().encode()
    try:
        return claim(_election(root, number), mine, machine, retrying=_WITH_OTHERS, root=access)
    except TreeError:
        if not _may_be_a_tree(root):
            raise
        return False


def _elections(root: Path) -> list[int]:
    """List the numbers of the elections so far."""
    names = BRIEF(root, lambda: os.listdir(root))
    return [number for name in names if (number := election_of(name)) is not None]


def _election(root: Path, number: int) -> Place:
    return Place(str(root), election_path(number))


def _wait_for_tree(root: Path, limit_s: float) -> bool:
    """Wait for a while until another machine has made the tree; tell whether it has."""
    until = time.monotonic() + limit_s
    while not (there := _may_be_a_tree(root)) and time.monotonic() < until:
        time.sleep(limit_s / 50)
    return there


def _may_be_a_tree(root: Path) -> bool:
    try:
        return BRIEF.find(root, lambda: os.stat(root / TREE_RECORD), None) is not None
    except TreeError:
        return True


def _make_directory(path: Path | Place, made: list[Path]) -> bool:
    is_new = _WITH_OTHERS(path, lambda: make_directory(path))
    if is_new:
        made.append(Path(path))
    return is_new


def _share(directory: Place, access: Access) -> None:
    """Give a new directory the group of the root; nothing else, if somebody has put a link in its place since."""

    def share_once() -> None:
        with open_directory(directory) as here:
            share_directory(here, access)

    _WITH_OTHERS(directory, share_once)


def _remove(made: list[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
