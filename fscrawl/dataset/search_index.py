"""Keeps the index of searches of a dataset in step with its pages: `merge --index`, and each later merge.

It is made of the parts of the dataset alone, after the manifest has been written. A merge that is killed before or
meanwhile leaves an index of fewer pages, which says so, and the next merge adds the rest. Shards that are whole are
kept, so what a merge does grows with what is new; only when there are many of one size, they become one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from fscrawl.dataset.crew import Crew
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.dataset.door import make_folder
from fscrawl.dataset.manifest import Manifest, Part
from fscrawl.dataset.options import Options
from fscrawl.dataset.search_shards import FOLDER, LIST, Shard, digests_of, list_of, parts_of, read_list
from fscrawl.errors import UsageError

_FEW = 8  # shards of one size; each page is indexed again when it moves to the next size, eight times as large
_LARGE_ROWS = 20_000  # such a shard is not joined with others any more: that would take longer than it saves


def is_wanted(directory: DatasetDir, options: Options, *, asked: bool) -> bool:
    """Tell whether a merge must keep an index: if it was asked for, or is there. UsageError if it cannot be made."""
    is_there = FOLDER in directory.names("")  # in whatever state
    if not asked and not (is_there and "parquet" in options.formats):
        return False
    if "parquet" not in options.formats:
        raise UsageError(
            f"--index: {directory.root} has no Parquet files, of which an index is made; add --format parquet"
        )
    if lacks := _missing():
        raise UsageError(f"--index: {lacks}")
    return True


def keep(directory: DatasetDir) -> None:
    """Let every merge from now on keep an index, also one that is killed before it has begun with it."""
    make_folder(directory.root, FOLDER)


def _missing() -> str:
    """Say what this Python lacks for an index; "" if it has all. It may have been built without SQLite."""
    try:
        from fscrawl.dataset.search_shard import missing  # noqa: PLC0415 - most merges need no SQLite
    except ModuleNotFoundError as error:
        return f"an index needs {error.name}, which this Python has not; use another Python"
    return missing()


def update(directory: DatasetDir, manifest: Manifest, crew: Crew) -> int:
    """Bring the index up to date with a dataset; return its number of pages."""
    from fscrawl.dataset.search_shard import build  # noqa: PLC0415

    parts = parts_of(manifest)
    there_are = {part.path for part in parts if directory.is_whole(part)}
    digests = digests_of(parts)
    listed = read_list(directory.root)
    kept = [shard for shard in listed or () if shard.fits(digests) and shard.is_whole(directory.root)]
    _remove(directory, {shard.file for shard in listed or ()} - {shard.file for shard in kept})
    there = {shard.parts: shard for shard in kept}
    # a part that somebody has removed or cut cannot be read again: its pages are found while its shard stays
    final = [shard for shard in kept if not there_are.issuperset(path for path, _ in shard.parts)]
    groups = join(
        [
            *_groups_of([shard for shard in kept if shard not in final], parts),
            *(group for group in _new(kept, parts) if there_are.issuperset(part.path for part in group)),
        ]
    )
    new = [group for group in groups if tuple(digests_of(group).items()) not in there]
    made = crew.run("indexing", (partial(build, directory, group) for group in new), [_rows(group) for group in new])
    there |= {shard.parts: shard for shard in made}
    shards = [*final, *(there[tuple(digests_of(group).items())] for group in groups)]
    if listed != shards:
        directory.write_json(LIST, list_of(shards))
    _remove(directory, _files(directory) - {shard.file for shard in shards})
    return sum(shard.rows for shard in shards)


def join(groups: Iterable[Sequence[Part]]) -> list[list[Part]]:
    """Join groups of parts until there are few of each size.

    >>> [_rows(group) for group in join([[Part("", 9, 0, "")]] * 9 + [[Part("", 600_000, 0, "")]])]
    [9, 72, 600000]
    """
    joined = sorted((list(group) for group in groups), key=_rows)
    while True:
        sizes: dict[int, list[list[Part]]] = {}
        for group in joined:
            if _rows(group) < _LARGE_ROWS:
                sizes.setdefault(int(math.log(max(1, _rows(group)), _FEW)), []).append(group)
        many = next((same[:_FEW] for _, same in sorted(sizes.items()) if len(same) >= _FEW), None)
        if many is None:
            return joined
        for group in many:
            joined.remove(group)
        joined = sorted(
            [*joined, sorted((part for group in many for part in group), key=lambda part: part.path)], key=_rows
        )


def _groups_of(shards: Sequence[Shard], parts: Sequence[Part]) -> list[list[Part]]:
    by_path = {part.path: part for part in parts}
    return [[by_path[path] for path, _ in shard.parts] for shard in shards]


def _new(shards: Sequence[Shard], parts: Sequence[Part]) -> list[list[Part]]:
    """Return the parts that no shard has, each a group."""
    known = {path for shard in shards for path, _ in shard.parts}
    return [[part] for part in parts if part.path not in known]


def _rows(group: Sequence[Part]) -> int:
    return sum(part.rows for part in group)


def _files(directory: DatasetDir) -> set[str]:
    return {name for name in directory.files(FOLDER) if name.endswith(".sqlite")}


def _remove(directory: DatasetDir, names: Iterable[str]) -> None:
    for name in names:
        directory.discard(name)
