"""Sums up the results of fault tests, and writes the table in docs/reliability.md from the sums.

    python -m tools.reliability [LEDGER…]    rewrite docs/reliability.json (the sums) and the table in the page

A ledger is a file that tests write (tests/support/ledger.py): a JSON line for each file system and kind of fault.
Without one, the sums that are there are used again. Exit code 1 if the sums do not show what is promised. The table
depends on docs/reliability.json alone, so a test can tell whether somebody edited it by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, SUMS = DOCS / "reliability.md", DOCS / "reliability.json"
BEGIN = "<!-- the table: written by tools/reliability.py, not by hand -->"
END = "<!-- end of the table -->"
WANTED = 1000  # SIGKILLs, and as many other faults

_HEAD = (
    *("file system", "kinds of faults", "runs", "faults", "of them SIGKILLs", "pages", "pages lost", "torn files"),
    *("duplicate fetches", "politeness violations", "longest recovery"),
)


@dataclass
class Row:
    """What was done to crawls on a file system, and the result: a line of a ledger, or a sum of lines.

    runs        crawls from start to end; each may have many machines and restarts
    faults      injected faults of all kinds; `kills`: how many of them were SIGKILLs
    pages       stored at the end
    lost        pages or links of the site that are not in the tree at the end
    torn        files that have their final name but are incomplete
    duplicates  fetches of a page beyond its first
    violations  requests sooner than a host's delay allows, or from a machine that did not hold the host
    recovery_s  longest time from the end of a fault to the next stored page; None if nothing stood still
    """

    file_system: str
    fault: str
    runs: int = 0
    faults: int = 0
    kills: int = 0
    pages: int = 0
    lost: int = 0
    torn: int = 0
    duplicates: int = 0
    violations: int = 0
    recovery_s: float | None = None

    def add(self, other: Row) -> None:
        """Add another line or row.

        >>> row = Row("sshfs", "hang", runs=1, recovery_s=2.0)
        >>> row.add(Row("sshfs", "hang", runs=2, faults=7))
        >>> row.runs, row.faults, row.recovery_s
        (3, 7, 2.0)
        """
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.recovery_s = max((each for each in (self.recovery_s, other.recovery_s) if each is not None), default=None)


_NUMBERS = tuple(field.name for field in fields(Row) if field.type == "int")


def load(path: Path) -> list[Row]:
    """Read sums that were written before."""
    return [Row(**value) for value in json.loads(path.read_text(encoding="utf-8"))]


def summed(rows: Iterable[Row]) -> list[Row]:
    """Sum up by file system and fault, in the order of their names."""
    sums: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.file_system, row.fault
        sums.setdefault(key, Row(*key)).add(row)
    return [sums[key] for key in sorted(sums)]


def total(rows: Iterable[Row]) -> Row:
    """Return one row for all."""
    sums = Row("all", "")
    for row in rows:
        sums.add(row)
    return sums


def render(rows: Sequence[Row]) -> str:
    """Return the table: one line for each file system, and one for the total."""
    names = sorted({row.file_system for row in rows})
    lines = [_HEAD, ["---", *["--:"] * (len(_HEAD) - 1)]]
    lines += [_cells(name, [row for row in rows if row.file_system == name]) for name in names]
    lines.append([f"**{cell}**" for cell in _cells("all", rows)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cells(name: str, rows: Sequence[Row]) -> list[str]:
    sums, kinds = total(rows), {row.fault for row in rows}
    recovery = "none" if sums.recovery_s is None else f"{sums.recovery_s:.1f} s"
    return [name, str(len(kinds)), *(f"{getattr(sums, each):,}" for each in _NUMBERS), recovery]


def replaced(page: str, table: str) -> str:
    """Return the page with this table between its markers."""
    return f"{page.partition(BEGIN)[0]}{BEGIN}\n\n{table}\n\n{END}{page.partition(END)[2]}"


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """Return what is missing in the sums for the promises to be shown."""
    everything = total(rows)
    others = everything.faults - everything.kills
    bad = [f"{row.file_system}, {row.fault}: {row}" for row in rows if row.lost or row.torn or row.violations]
    return [
        *bad,
        *([f"{everything.kills} SIGKILLs of {WANTED}"] if everything.kills < WANTED else []),
        *([f"{others} other faults of {WANTED}"] if others < WANTED else []),
    ]


def main(ledgers: Sequence[str]) -> int:
    lines = [line for each in ledgers for line in Path(each).read_text(encoding="utf-8").splitlines()]
    rows = summed(Row(**json.loads(line)) for line in lines) if ledgers else load(SUMS)
    page = replaced(PAGE.read_text(encoding="utf-8"), render(rows))
    SUMS.write_text("[\n" + ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows) + "\n]\n")
    PAGE.write_text(page, encoding="utf-8")
    print("\n".join(shortcomings(rows)))
    return 1 if shortcomings(rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
