"""`manifest.json`: what a dataset holds, and what each run added to it. Written last, it commits a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, TypeVar

import msgspec

from fscrawl import __version__
from fscrawl.dataset.options import Options

# Where a part is, whatever made it: a merge reads these files, and removes some of them.
_PATH = r"^(?:[a-z][a-z.-]*/){1,2}part-[0-9]{4,9}-[0-9]{5,9}(?:\.[a-z]+)+\Z"

REWRITTEN = ("errors/", "changes/")  # folders

LeftOut = dict[str, int]  # pages left out, by reason


class Part(msgspec.Struct, frozen=True):
    """One file of the dataset; `path` is relative to the dataset's directory."""

    path: Annotated[str, msgspec.Meta(pattern=_PATH)]
    rows: int
    bytes: int
    sha256: str

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] + "/"

    @property
    def is_rewritten(self) -> bool:
        """Whether each run writes it anew: failures heal, and changes are those that the tree has.

        >>> Part("errors/part-0001-00000.parquet", 0, 0, "").is_rewritten
        True
        >>> Part("csv/pages/part-0001-00000.csv", 0, 0, "").is_rewritten
        False
        """
        return self.folder.endswith(REWRITTEN)


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is in a dataset, or came with a run.

    records            of these are `pages`, `redirects` and `others`
    duplicates         among the pages
    near_duplicates    None if texts were not read
    errors             the failures; None for a run, or if there is no table of them
    """

    records: int
    pages: int
    redirects: int
    others: int
    duplicates: int
    near_duplicates: int | None = None
    errors: int | None = None


class FieldCounts(msgspec.Struct, frozen=True):
    """On how many pages a field was found, was missing, or had a value of another type."""

    found: int = 0
    missing: int = 0
    bad: int = 0


class RunSummary(msgspec.Struct, frozen=True):
    """What the manifest keeps of a run."""

    run: int
    counts: Counts
    left_out: LeftOut


class RunResult(msgspec.Struct, frozen=True):
    """What a run has made. `fields`: for each of the user's fields."""

    parts: tuple[Part, ...]
    counts: Counts
    left_out: LeftOut
    fields: dict[str, FieldCounts]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a dataset holds after its last run; counts are over all runs."""

    format: Literal[1] = 1
    made_by: str
    crawl: str
    options: Options
    counts: Counts
    left_out: LeftOut
    fields: dict[str, FieldCounts]
    runs: tuple[RunSummary, ...]
    parts: tuple[Part, ...] = msgspec.field(name="files")

    @property
    def paths(self) -> set[str]:
        return {part.path for part in self.parts}

    def is_unchanged_by(self, result: RunResult) -> bool:
        """Tell whether a run found nothing new: no page, as many broken pages, the same failures and changes."""
        if result.counts.records or any(number for reason, number in result.left_out.items() if reason != "broken"):
            return False
        as_broken = result.left_out.get("broken", 0) == self.left_out.get("broken", 0)
        return as_broken and _rewritten(self.parts) == _rewritten(result.parts)


def after_run(before: Manifest | None, run: int, result: RunResult, *, crawl: str, options: Options) -> Manifest:
    """Return the manifest after a run: what it was, with the run's parts in place of those that are rewritten."""
    kept = [part for part in before.parts if not part.is_rewritten] if before else []
    parts = [*kept, *result.parts]
    runs = (*(before.runs if before else ()), RunSummary(run, result.counts, result.left_out))
    fields = dict(before.fields) if before else {}
    for name, found in result.fields.items():
        fields[name] = _sum(FieldCounts, [fields.get(name, FieldCounts()), found])
    failures = [part for part in parts if part.folder.endswith("errors/")]  # a WARC archive has no table of them
    counts = _sum(Counts, [each.counts for each in runs])
    return Manifest(
        made_by=f"fscrawl {__version__}",
        crawl=crawl,
        options=options,
        counts=msgspec.structs.replace(counts, errors=rows_of(failures) if failures else None),
        left_out=_left_out(runs),
        fields=fields,
        runs=runs,
        parts=tuple(sorted(parts, key=lambda part: part.path)),
    )


def rows_of(parts: Iterable[Part]) -> int:
    """Count the rows of parts, of which several formats may hold the same rows.

    >>> rows_of([Part("pages/part-1.parquet", 7, 0, ""), Part("csv/pages/part-1.csv", 7, 0, "")])
    7
    """
    totals: Counter[str] = Counter()
    for part in parts:
        totals[part.path.rpartition("/")[2].partition(".")[2]] += part.rows
    return max(totals.values(), default=0)


def _left_out(runs: Iterable[RunSummary]) -> LeftOut:
    """Add up what the runs left out. Each run tries broken pages again, so of these only the last one counts."""
    total: Counter[str] = Counter()
    for each in runs:
        total.update(each.left_out)
        total["broken"] = each.left_out.get("broken", 0)
    return {reason: number for reason, number in total.items() if number}


T = TypeVar("T", Counts, FieldCounts)


def _sum(kind: type[T], counts: Iterable[T]) -> T:
    """Add up counts, field by field. One that no summand has stays None."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update({name: number for name, number in msgspec.structs.asdict(each).items() if number is not None})
    return kind(**total)


def _rewritten(parts: Iterable[Part]) -> list[tuple[str, str]]:
    return sorted((part.folder, part.sha256) for part in parts if part.is_rewritten)
