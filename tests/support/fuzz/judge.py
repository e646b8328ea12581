"""One input, judged: what came of it, and how long it took; findings are kept as files."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import re
import time
import traceback
from collections import Counter
from pathlib import Path

from fscrawl import urls
from fscrawl.dataset import surt
from tests.support.fuzz.target import Target

MAX_ALIKE = 3  # findings that are kept of one kind
GROWTH_BYTES = 64 << 20  # what an allocator may hold on to


def judge(target: Target, data: bytes, strict: float = 1.0) -> str | None:
    """Run an input; give what is wrong with it, in one line, or None. `strict`: below 1, more time is allowed."""
    took_s, wrong = _timed(target, data)
    if wrong is None and took_s * strict > target.limit_s(len(data)):
        took_s = min(took_s, _timed(target, data)[0])  # once more: the machine may have been busy
    if wrong is None and took_s * strict > target.limit_s(len(data)):
        return f"slow: {took_s:.1f} s for {len(data):,} bytes"
    return wrong


def _timed(target: Target, data: bytes) -> tuple[float, str | None]:
    began = time.process_time()
    wrong = None
    try:
        target.run(data)
    except target.allowed:
        pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
        wrong = _described(error)
    return time.process_time() - began, wrong


def _described(error: BaseException) -> str:
    frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"{text} at {' '.join(frames[-1:1:-1][:4])}"


class Findings:
    """Keeps what was found in a folder, a few of each kind."""

    def __init__(self, folder: Path, target: Target) -> None:
        self._folder = folder
        self._target = target
        self._kinds: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._kinds.total()

    def add(self, data: bytes, wrong: str) -> None:
        kind = "slow" if wrong.startswith("slow") else re.sub(r".* at ", "", wrong)
        self._kinds[kind] += 1
        if self._kinds[kind] > MAX_ALIKE * (3 if kind == "slow" else 1):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{self._target.name}-{hashlib.sha224(data).hexdigest()[:12]}"
        path.write_bytes(data)
        print(f"{self._target.name}: {wrong}\n    {path}\n    begins {data[:100]!r}", flush=True)

    def note(self, wrong: str) -> None:
        """Keep what no single input shows."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{self._target.name}-note-{time.time():.0f}").write_text(f"{wrong}\n")
        print(f"{self._target.name}: {wrong}", flush=True)

    def summary(self) -> str:
        return ", ".join(f"{count} × {kind}" for kind, count in self._kinds.most_common()) or "nothing"


def held_bytes() -> int:
    """Give the memory this process holds, without what the packages remember within bounds."""
    for memory in (urls._cached_host_of_origin, urls._cached_site, surt._site):
        memory.cache_clear()
    re.purge()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
