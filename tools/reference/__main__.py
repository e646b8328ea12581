"""`make docs-write`: write the parts of docs/ that are made from the code."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.reference.made import makers
from tools.reference.parts import PartError, updated

CHECKOUT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Write the documents that are not as they should be; return 1 if that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description="Write the reference in docs/.")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose docs to write")
    options = parser.parse_args(arguments)
    try:
        changed = updated(options.checkout, makers())
    except PartError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.relative_to(options.checkout)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
