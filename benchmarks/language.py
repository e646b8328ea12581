"""How well the language of a text is detected, and how well other detectors do it.

    python -m benchmarks.language [--others] [--guide DIR]

The texts are paragraphs of the Universal Declaration of Human Rights in fifty languages (`data/declaration.toml`).
Where Debian's installation-guide-amd64 is installed, its pages are real ones, in nineteen languages. Parts that nobody
has translated are in English there, so not every other answer is wrong. `--others` measures detectors that fscrawl
could use instead, in a virtual environment of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.detectors import DETECTORS, LENGTHS, TEXTS, same, texts
from fscrawl.parse.language import language
from fscrawl.parse.text import visible

VENV = Path.home() / ".cache" / "fscrawl-bench" / "detectors"
_GUIDE = Path("/usr/share/doc/installation-guide-amd64")
_PAGE_CHARS = 300
_PYTHON = VENV / "bin" / "python"


@dataclass(frozen=True)
class Judged:
    """The answers to `asked` texts: `right`, and those that were wrong, as (language, answer)."""

    asked: int
    right: int
    wrong: list[tuple[str, str]]

    @property
    def answered(self) -> float:
        return (self.right + len(self.wrong)) / self.asked

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))


def judged(length: int) -> Judged:
    """Ask `fscrawl.parse.language` for the language of each text, cut to a length."""
    return _judged(texts(length))


def _judged(asked: list[tuple[str, str]]) -> Judged:
    right, wrong = 0, []
    for name, text in asked:
        found = language(text)
        if found is not None and same(found.code, name):
            right += 1
        elif found is not None:
            wrong.append((name, found.code))
    return Judged(len(asked), right, wrong)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language", description="Detection of languages.")
    parser.add_argument("--guide", type=Path, default=_GUIDE, help=f"Debian's installation guide (default {_GUIDE})")
    parser.add_argument("--others", action="store_true", help="also other detectors, which are installed if need be")
    arguments = parser.parse_args()
    print(f"{len(TEXTS)} languages: {' '.join(TEXTS)}\n\n{'characters':>10} {'texts':>6} {'answered':>9} {'right':>7}")
    for length in LENGTHS:
        found = judged(length)
        row = f"{length or 'all four':>10} {found.asked:6} {found.answered:9.1%} {found.precision:7.1%}"
        print(f"{row}  {_named(found)}".rstrip())
    if arguments.guide.is_dir():
        found = _guide(arguments.guide)
        print(f"{'guide':>10} {found.asked:6} {found.answered:9.1%} {found.precision:7.1%}  {_named(found)}")
    print("right: of those that were answered")
    if arguments.others:
        _others()


def _named(found: Judged) -> str:
    mistaken = Counter(f"{name} taken for {answer}" for name, answer in found.wrong)
    return ", ".join(f"{what} {count}" for what, count in mistaken.most_common(8))


def _guide(folder: Path) -> Judged:
    """Judge the visible text of all pages that have more than a heading."""
    asked = [
        (path.parent.name.partition("_")[0], text)
        for path in sorted(folder.glob("*/*.html"))
        if len(text := visible(path.read_bytes())) >= _PAGE_CHARS
    ]
    return _judged(asked)


def _others() -> None:
    if not _PYTHON.exists():
        print(f"\ninstalling {', '.join(DETECTORS)} into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([_PYTHON, "-m", "pip", "install", "-q", *DETECTORS], check=True)
    script = Path(__file__).with_name("detectors.py")
    lengths = " ".join(f"{each or 'all':>6}" for each in LENGTHS)
    print(f"\n{'right, whatever the score':26} {lengths} {'ms':>7} {'MB':>6}")
    for name in DETECTORS:
        done = subprocess.run([_PYTHON, script, name], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        cells = " ".join(f"{part:6.1%}" for part in found["right"].values())
        print(f"{name:26} {cells} {found['ms']:7.2f} {found['mb']:6.0f}", flush=True)
    print("ms: CPU for 2,000 characters; MB: what the model adds to the process")


if __name__ == "__main__":
    main()
