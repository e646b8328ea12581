"""Compare the report of `coverage json` with the thresholds. Exit code 1 and one line each for what is below.

The pure modules and the store carry the promises of the tree: tests run each of their lines and branches. Of the rest
they run at least 90 %.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch
from pathlib import Path

# Folders, files and patterns below fscrawl/
FULL = (
    *("errors.py", "hostnames.py", "request.py", "urls.py", "store.py"),
    *("config", "parse", "sites", "storage", "util"),
    *("frontier", "politeness", "http/cookies.py"),
    *("monitor/snapshot.py", "monitor/status.py"),
)
# Inside these folders, and counted with the rest: some of their lines run only when the share or a host changes between
# two calls
EXCEPT = ("config/watcher.py", "frontier/host_scheduler.py")
REST_PERCENT = 90.0


def is_full(path: str) -> bool:
    """Tell whether all of a file must be covered: FULL names it, its folder or a pattern for it, and EXCEPT does not.

    >>> is_full("fscrawl/parse/links.py"), is_full("fscrawl/engine/machine.py")
    (True, False)
    """
    return any(_is_of(path, each) for each in FULL) and not any(_is_of(path, each) for each in EXCEPT)


def _is_of(path: str, entry: str) -> bool:
    inside = path.removeprefix("fscrawl/")
    return inside.startswith(f"{entry}/") or fnmatch(inside, entry)


def percent(summary: dict[str, int]) -> float:
    """Give the share of statements and branches that ran.

    >>> percent({"covered_lines": 3, "num_statements": 4, "covered_branches": 0, "num_branches": 0})
    75.0
    """
    ran = summary["covered_lines"] + summary["covered_branches"]
    there = summary["num_statements"] + summary["num_branches"]
    return 100.0 * ran / there if there else 100.0


def failures(report: dict) -> list[str]:
    """Give one line for each threshold that is missed, and for each entry of which nothing was measured."""
    if not report["meta"]["branch_coverage"]:
        return ["branches were not measured"]
    files = {path: data for path, data in report["files"].items() if path.startswith("fscrawl/")}
    missed = [
        f"{entry}: nothing was measured" for entry in FULL + EXCEPT if not any(_is_of(path, entry) for path in files)
    ]
    rest = dict.fromkeys(("covered_lines", "num_statements", "covered_branches", "num_branches"), 0)
    for path, data in sorted(files.items()):
        if not is_full(path):
            rest = {name: count + data["summary"][name] for name, count in rest.items()}
        elif percent(data["summary"]) < 100:
            lines = ", ".join(map(str, data["missing_lines"]))
            branches = ", ".join(f"{start}->{end}" for start, end in data["missing_branches"])
            missed.append(f"{path}: {percent(data['summary']):.1f} %, wanted 100; lines {lines}; branches {branches}")
    if percent(rest) < REST_PERCENT:
        missed.append(f"the rest: {percent(rest):.1f} %, wanted {REST_PERCENT:.0f}")
    return missed


def main() -> int:
    missed = failures(json.loads(Path(sys.argv[1]).read_text()))
    sys.stdout.write("\n".join(missed or ["coverage: every threshold is met"]) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
