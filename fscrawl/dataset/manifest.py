"""`manifest.json`: what a dataset holds, and what each run added to it. Written last, it commits a run.

Promise: one reader and one writer. What `as_json` gives, `from_json` reads back as an equal manifest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from fscrawl import __version__

FORMAT = 1
_OF_RECORDS = ("records", "pages", "redirects", "others", "duplicates")
_OF_FIELDS = ("found", "missing", "bad")
# Where a part is, whatever made it: a merge reads these files, and removes some of them.
_PATH = re.compile(r"(?:[a-z][a-z.-]*/){1,2}part-\d{4,9}-\d{5,9}(?:\.[a-z]+)+", re.ASCII)

Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of the dataset; `path` is relative to the dataset's directory."""

    path: str
    rows: int
    bytes: int
    sha256: str

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Part:
        """Read what `asdict` gives; KeyError, TypeError or ValueError if it is something else."""
        path = str(values["path"])
        if not _PATH.fullmatch(path):
            raise ValueError(path)
        return cls(path, int(values["rows"]), int(values["bytes"]), str(values["sha256"]))

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] + "/"

    @property
    def has_failures(self) -> bool:
        """Whether the table of failures is in it: each run writes these parts anew, since failures heal.

        >>> Part("errors/part-0001-00000.parquet", 0, 0, "").has_failures
        True
        >>> Part("csv/pages/part-0001-00000.csv", 0, 0, "").has_failures
        False
        """
        return "errors/" in self.path


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the manifest keeps of a run. `counts`: as in the manifest; `left_out`: records left out, by reason."""

    run: int
    counts: Counts
    left_out: Counts


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run has made. `fields`: for each field of --fields the pages where it was found, missing, bad."""

    parts: tuple[Part, ...]
    counts: Counts
    left_out: Counts
    fields: dict[str, list[int]]

    @property
    def failures_digests(self) -> list[str]:
        return _failures_digests(self.parts)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a dataset holds after its last run.

    options    as `Options.values` gives them
    counts     over all runs: `records`, of these `pages`, `redirects` and `others`; `duplicates` among the pages;
               `near_duplicates`, if texts were read; `errors`, the failures, if there is a table of them
    left_out   records left out, by reason
    fields     for each field of --fields: how many pages it was found on, missing on, bad on
    """

    made_by: str
    crawl: str
    options: dict[str, Any]
    counts: Counts
    left_out: Counts
    fields: dict[str, Counts]
    runs: tuple[RunSummary, ...]
    parts: tuple[Part, ...]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Manifest:
        """Read what `as_json` gives; KeyError, TypeError, ValueError or AttributeError if it is something else."""
        return cls(
            made_by=str(values["made_by"]),
            crawl=str(values["crawl"]),
            options=dict(values["options"]),
            counts=_counts(values["counts"], _OF_RECORDS),
            left_out=_counts(values["left_out"]),
            fields={name: _counts(each, _OF_FIELDS) for name, each in values["fields"].items()},
            runs=tuple(
                RunSummary(int(each["run"]), _counts(each["counts"], _OF_RECORDS), _counts(each["left_out"]))
                for each in values["runs"]
            ),
            parts=tuple(map(Part.from_json, values["files"])),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "made_by": self.made_by,
            "crawl": self.crawl,
            "options": self.options,
            "counts": self.counts,
            "left_out": self.left_out,
            "fields": self.fields,
            "runs": [asdict(run) for run in self.runs],
            "files": [asdict(part) for part in self.parts],
        }

    @property
    def paths(self) -> set[str]:
        return {part.path for part in self.parts}

    def is_unchanged_by(self, result: RunResult) -> bool:
        """Tell whether a run found nothing new: no page, and as many broken pages and the same failures as before."""
        if result.left_out.get("broken", 0) != self.left_out.get("broken", 0):
            return False
        if result.counts["records"] or any(result.left_out.get(name) for name in ("filtered", "noindex", "dropped")):
            return False
        return _failures_digests(self.parts) == result.failures_digests


def after_run(before: Manifest | None, run: int, result: RunResult, *, crawl: str, options: dict[str, Any]) -> Manifest:
    """Return the manifest after a run: what it was before, with the run's parts in place of older failures."""
    kept = [part for part in before.parts if not part.has_failures] if before else []
    parts = [*kept, *result.parts]
    runs = (*(before.runs if before else ()), RunSummary(run, result.counts, result.left_out))
    return Manifest(
        made_by=f"fscrawl {__version__}",
        crawl=crawl,
        options=options,
        counts=_sum(each.counts for each in runs) | _failures(parts),
        left_out=_left_out(runs),
        fields=_add_up(before.fields if before else {}, result.fields),
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


def _left_out(runs: Iterable[RunSummary]) -> Counts:
    """Add up what the runs left out. Each run tries broken pages again, so of these only the last one counts."""
    runs = list(runs)
    total = _sum(each.left_out for each in runs) | {"broken": runs[-1].left_out.get("broken", 0)}
    return {reason: number for reason, number in total.items() if number}


def _counts(values: dict[str, Any], needed: Iterable[str] = ()) -> Counts:
    found = {name: int(number) for name, number in values.items()}
    if lacking := set(needed) - found.keys():
        raise KeyError(min(lacking))
    return found


def _sum(counts: Iterable[Counts]) -> Counts:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _add_up(before: dict[str, Counts], run: dict[str, list[int]]) -> dict[str, Counts]:
    new = {name: dict(zip(_OF_FIELDS, counts, strict=True)) for name, counts in run.items()}
    return {name: _sum(each[name] for each in (before, new) if name in each) for name in {**before, **new}}


def _failures(parts: Iterable[Part]) -> Counts:
    """Count the failures, if the dataset has a table of them: a WARC archive has none."""
    found = [part for part in parts if part.has_failures]
    return {"errors": rows_of(found)} if found else {}


def _failures_digests(parts: Iterable[Part]) -> list[str]:
    return sorted(part.sha256 for part in parts if part.has_failures)
