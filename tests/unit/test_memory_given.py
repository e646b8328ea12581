"""Memory that was freed goes back to the kernel when it is asked for; how often cycles are looked for."""

import ctypes
import gc

import pytest

from fscrawl.util.memory import anonymous_bytes, give_back_freed_memory, look_for_cycles_rarely


def test_freed_memory_is_given_back():
    """Small pieces that were freed beneath one that is still used are no longer this process's memory."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    held = [libc.malloc(4096) for _ in range(10_000)]
    for each in held:
        ctypes.memset(each, 1, 4096)
    last = libc.malloc(4096)
    for each in held:
        libc.free(each)
    before = anonymous_bytes()
    give_back_freed_memory()
    assert anonymous_bytes() < before - 20_000_000
    libc.free(last)


def test_another_libc(monkeypatch: pytest.MonkeyPatch):
    """Where malloc cannot be asked, nothing happens."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back_freed_memory()


def test_cycles_are_looked_for_rarely():
    """What is there by then is looked at no more; cycles that come later are found, but after more objects."""
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        look_for_cycles_rarely()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold()[0] > threshold[0] > 0
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
