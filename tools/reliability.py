"""Sums up the results of fault tests, and writes the table in docs/reliability.md from the sums.

    python -m tools.reliability LEDGER…            rewrite docs/reliability.json (the sums) and the table in the page
    python -m tools.reliability --check [LEDGER…]  the same; exit with 1 if the sums do not show what is promised

Vocabulary:
  ledger  a file that tests write (tests/support/ledger.py): JSON lines, each for one file system and kind of fault
  row     the sums over all lines of one file system and one kind of fault

Promise: the table depends only on docs/reliability.json, so a test can tell whether somebody edited it by hand.
Without a ledger, the existing sums are used again. A row without runs belongs to a run of another row.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, SUMS = DOCS / "reliability.md", DOCS / "reliability.json"
BEGIN = "<!-- the table: written by tools/reliability.py, not by hand -->"
END = "<!-- end of the table -->"
KILLS_WANTED = FAULTS_WANTED = 1000

_HEAD = (
    *("file system", "fault", "runs", "faults", "of them SIGKILLs", "pages", "pages lost", "torn files"),
    *("duplicate fetches", "politeness violations", "longest recovery"),
)


class LedgerError(Exception):
    """A line does not belong to a ledger; the text names file and line."""


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
        known = [each for each in (self.recovery_s, other.recovery_s) if each is not None]
        self.recovery_s = max(known, default=None)


_NUMBERS = tuple(field.name for field in fields(Row) if field.type == "int")


def row_of(value: Any, where: str) -> Row:
    """Read one line's object; LedgerError if it is not one."""
    if not isinstance(value, dict) or value.keys() != {field.name for field in fields(Row)}:
        raise LedgerError(f"{where}: not a line of a ledger")
    numbers = [value[name] for name in _NUMBERS]
    recovery = value["recovery_s"]
    if not all(type(number) is int and number >= 0 for number in numbers) or not (
        recovery is None or (isinstance(recovery, int | float) and recovery >= 0)
    ):
        raise LedgerError(f"{where}: a value is not a number, or below 0")
    if not all(isinstance(value[name], str) and value[name] for name in ("file_system", "fault")):
        raise LedgerError(f"{where}: the file system or the fault has no name")
    return Row(**value)


def read(ledger: Path) -> Iterator[Row]:
    """Read a ledger's lines."""
    for number, line in enumerate(ledger.read_text(encoding="utf-8").splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise LedgerError(f"{ledger}:{number}: not JSON") from error
        yield row_of(value, f"{ledger}:{number}")


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


# -- the page


def render(rows: Sequence[Row]) -> str:
    """Return the table: one line for each row, and one for the total."""
    lines = [_line(_HEAD), _line(["---", "---", *["--:"] * (len(_HEAD) - 2)])]
    lines += [_line(_cells(row)) for row in rows]
    lines.append(_line([f"**{cell}**" if cell else "" for cell in _cells(total(rows))]))
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    recovery = "" if row.recovery_s is None else f"{row.recovery_s:.1f} s"
    numbers = [f"{getattr(row, name):,}" for name in _NUMBERS]
    return [row.file_system, row.fault, *numbers, recovery]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def replaced(page: str, table: str) -> str:
    """Return the page with this table between its markers; LedgerError unless each marker is there once."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise LedgerError(f"{PAGE.name}: the markers of the table must be there, each once")
    return f"{page.partition(BEGIN)[0]}{BEGIN}\n\n{table}\n\n{END}{page.partition(END)[2]}"


def load(path: Path) -> list[Row]:
    """Read sums that were written before."""
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, list):
        raise LedgerError(f"{path}: not a list of rows")
    return [row_of(each, f"{path}: row {number}") for number, each in enumerate(value, 1)]


def dump(rows: Iterable[Row]) -> str:
    """Return the sums as JSON, one row per line."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """Return what is missing in the sums for the promises to be shown."""
    found = []
    for row in rows:
        for name, text in (("lost", "pages lost"), ("torn", "torn files"), ("violations", "politeness violations")):
            if getattr(row, name):
                found.append(f"{row.file_system}, {row.fault}: {getattr(row, name)} {text}")
    everything = total(rows)
    if everything.kills < KILLS_WANTED:
        found.append(f"{everything.kills} SIGKILLs of {KILLS_WANTED}")
    if everything.faults - everything.kills < FAULTS_WANTED:
        found.append(f"{everything.faults - everything.kills} other faults of {FAULTS_WANTED}")
    return found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.reliability", description=__doc__.partition("\n")[0])
    parser.add_argument("ledgers", nargs="*", type=Path, metavar="LEDGER")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the sums do not show what is promised")
    given = parser.parse_args(words)
    try:
        rows = summed(row for ledger in given.ledgers for row in read(ledger)) if given.ledgers else load(SUMS)
        page = replaced(PAGE.read_text(encoding="utf-8"), render(rows))
    except (LedgerError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    SUMS.write_text(dump(rows), encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")
    found = shortcomings(rows) if given.check else []
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
