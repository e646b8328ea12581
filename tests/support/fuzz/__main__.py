"""`make fuzz` looks for findings; `python -m tests.support.fuzz TARGET FILE` runs one input again."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

from tests.support.fuzz import campaign
from tests.support.fuzz.judge import judge
from tests.support.fuzz.target import Target
from tests.support.fuzz.targets import TARGETS


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        _, name, seconds, folder, last, *guided = sys.argv[1:]
        return child(TARGETS[name], float(seconds), Path(folder), campaign.Last(Path(last)), guided=bool(guided))
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="TARGET", help="all of them by default; or TARGET FILE")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument(
        "--findings",
        type=Path,
        default=Path(tempfile.gettempdir(), "fscrawl-fuzz"),
        help="the folder for what is found",
    )
    parser.add_argument("--plain", action="store_true", help="without atheris, though it is there")
    given = parser.parse_args()
    names = given.words or list(TARGETS)
    if len(names) == 2 and names[0] in TARGETS and names[1] not in TARGETS:
        return again(names[0], Path(names[1]))
    if unknown := set(names) - TARGETS.keys():
        parser.error(f"no target {' '.join(sorted(unknown))}; there are {' '.join(TARGETS)}")
    with_atheris = not given.plain and importlib.util.find_spec("atheris") is not None
    before = _kept(given.findings)
    campaign.run(names, given.seconds, given.findings.resolve(), with_atheris=with_atheris)
    return 1 if _kept(given.findings) - before else 0


def child(target: Target, seconds: float, folder: Path, last: campaign.Last, *, guided: bool) -> int:
    """Do one process's part; `guided` needs atheris."""
    if guided:
        from tests.support.fuzz.guided import fuzz

        fuzz(target, seconds, folder, last)
    campaign.child(target, seconds, folder, last)
    return 0


def _kept(folder: Path) -> set[Path]:
    return set(folder.iterdir()) if folder.is_dir() else set()


def again(name: str, path: Path) -> int:
    """Run one input, with the traceback if it raises."""
    wrong = judge(TARGETS[name], path.read_bytes())
    print(wrong or f"{name}: nothing is wrong with {path}")
    if wrong and not wrong.startswith("slow"):
        TARGETS[name].run(path.read_bytes())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
