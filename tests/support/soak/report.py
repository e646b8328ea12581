"""What a soak prints at its end, and what it adds to the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.support.ledger import Entry, note
from tests.support.soak.machines import Fault
from tests.support.soak.verdict import Verdict

TOGETHER = "local disk, FUSE and sshfs together"


@dataclass
class Row:
    """What came of one kind of fault on one file system."""

    faults: int = 0
    hits: int = 0
    kills: int = 0
    repeats: int = 0
    recovered: int = 0
    recovery_s: float | None = None


def rows(verdict: Verdict, faults: Sequence[Fault]) -> dict[tuple[str, str], Row]:
    """Sum up by file system and kind."""
    found: dict[tuple[str, str], Row] = defaultdict(Row)
    for place, fault in enumerate(faults):
        row = found[fault.file_system, fault.kind]
        row.faults += 1
        row.hits += fault.count
        row.kills += fault.kill
        row.repeats += verdict.excused[place]
        if place in verdict.recovery_s:
            row.recovered += 1
            row.recovery_s = max(verdict.recovery_s[place], row.recovery_s or 0.0)
    return dict(sorted(found.items()))


def to_ledger(verdict: Verdict, faults: Sequence[Fault]) -> None:
    """Add a line for the run, and one for each file system and kind of fault, which belongs to that run."""
    note(
        Entry(
            file_system=TOGETHER,
            fault="all at random (soak)",
            runs=1,
            pages=verdict.pages,
            lost=len(verdict.lost),
            torn=len(verdict.torn),
            duplicates=len(verdict.unexplained),
            violations=verdict.violations,
        )
    )
    for (file_system, kind), row in rows(verdict, faults).items():
        entry = Entry(
            file_system=TOGETHER if file_system == "all" else file_system,
            fault=kind,
            runs=0,
            faults=row.faults,
            kills=row.kills,
            duplicates=row.repeats,
            recovery_s=None if row.recovery_s is None else round(row.recovery_s, 2),
        )
        note(entry)


def table(verdict: Verdict, faults: Sequence[Fault]) -> Iterator[str]:
    yield f"{'file system':<19} {'fault':<40} {'times':>6} {'calls hit':>9} {'repeats':>8} {'recovery, longest':>18}"
    for (file_system, kind), row in rows(verdict, faults).items():
        recovery = "" if row.recovery_s is None else f"{row.recovery_s:.1f} s"
        yield f"{file_system:<19} {kind:<40} {row.faults:>6} {row.hits:>9} {row.repeats:>8} {recovery:>18}"
    kills = sum(fault.kill for fault in faults)
    yield f"{'total':<60} {len(faults):>6}, of them SIGKILLs: {kills}"


def told(verdict: Verdict) -> Iterator[str]:
    """Give what was found, a line each; of what must not be, ten examples."""
    yield f"pages {verdict.pages}, lost {len(verdict.lost)}, torn {len(verdict.torn)}"
    yield f"repeats {verdict.repeats}, of them with no fault to explain them {len(verdict.unexplained)}"
    yield (
        f"politeness violations {verdict.violations} (too soon {len(verdict.rushed)}, while cut off"
        f" {len(verdict.unfenced)}); excused, since under way at a fault: {verdict.rushed_excused}"
    )
    found = {
        "lost": verdict.lost,
        "torn": verdict.torn,
        "wrong": verdict.wrong,
        "unexplained repeat": verdict.unexplained,
        "too soon": verdict.rushed,
        "while cut off": verdict.unfenced,
    }
    for name, examples in found.items():
        for example in examples[:10]:
            yield f"  {name}: {example}"
        if len(examples) > 10:
            yield f"  {name}: {len(examples) - 10} more"
