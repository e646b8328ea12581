"""The memory of this process, and how often the garbage collector looks for cycles in it."""

import ctypes
import gc
import subprocess
import sys
from pathlib import Path

import pytest

from fscrawl.util.processes import keep_freed_memory, limit_bytes, look_for_cycles_rarely


def test_memory_that_is_taken_is_seen():
    """What a process has written to is its own. A process with a past may write into memory that it had before."""
    script = (
        "from fscrawl.util.processes import anonymous_bytes; before = anonymous_bytes()\n"
        "held = bytearray(b'x' * 30_000_000); print(anonymous_bytes() - before)"
    )
    grown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60).stdout
    assert 20_000_000 < int(grown) < 100_000_000


@pytest.mark.parametrize(("limit", "is_less"), [("50000000\n", True), ("max\n", False), ("9" * 30, False)])
def test_memory_of_a_container(tmp_path: Path, limit: str, is_less: bool):
    """A container has at most its limit, and at most what its computer has."""
    (tmp_path / "memory.max").write_text(limit)
    computer = limit_bytes(tmp_path / "none")
    assert computer > 100_000_000
    assert limit_bytes(tmp_path) == (50_000_000 if is_less else computer)


def test_another_libc(monkeypatch: pytest.MonkeyPatch):
    """Where malloc cannot be asked, nothing happens."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    keep_freed_memory()


def test_cycles_are_looked_for_rarely():
    """What is there by then is looked at no more; cycles that come later are found, but after more objects."""
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        gc.set_threshold(700)
        look_for_cycles_rarely()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold()[0] > 700
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
