"""Inputs by atheris, which keeps those that reach new branches of the packages; only where it can be imported."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

from tests.support.fuzz.campaign import Last, corpus
from tests.support.fuzz.judge import Findings, judge
from tests.support.fuzz.target import Target

_SEED_BYTES = 8192
_MAX_SEEDS = 200
_MAX_WORD_BYTES = 60  # of a dictionary's entry


def fuzz(target: Target, seconds: float, folder: Path, last: Last) -> None:
    """Run until the time is over; then atheris ends the process. What is found does not stop it."""
    import atheris

    findings = Findings(folder, target)

    def one(data: bytes) -> None:
        last.put(data)
        wrong = judge(target, data, strict=0.5)  # to count branches takes time itself
        if wrong is not None:
            findings.add(data, wrong)

    for function in _functions():
        atheris.instrument_func(function)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fscrawl-fuzz-") as scratch:
        seeds = Path(scratch) / "seeds"
        seeds.mkdir()
        for number, seed in enumerate([*target.seeds, *corpus(target)[:_MAX_SEEDS]]):
            (seeds / str(number)).write_bytes((b"\0" if target.options > 1 else b"") + seed[:_SEED_BYTES])
        words = Path(scratch) / "words"
        words.write_text("".join(_entry(each) for each in target.fragments if 0 < len(each) <= _MAX_WORD_BYTES))
        flags = [
            f"-max_total_time={max(1, int(seconds))}",
            f"-dict={words}",
            f"-artifact_prefix={folder}/{target.name}-",
        ]
        flags += ["-timeout=30", "-rss_limit_mb=3000", "-max_len=65536", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *flags, str(seeds)], one)
        atheris.Fuzz()


def _entry(word: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


def _functions() -> Iterator[FunctionType]:
    """Give the functions of all modules that have been imported, those of classes, too."""
    for module in sorted(name for name in sys.modules if name.startswith("fscrawl.")):
        for value in vars(sys.modules[module]).values():
            if getattr(value, "__module__", None) == module:
                inside = vars(value).values() if isinstance(value, type) else [value]
                yield from (each for each in inside if isinstance(each, FunctionType))
