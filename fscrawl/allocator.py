"""How this process gets its memory from the kernel."""

from __future__ import annotations

import contextlib
import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_KEPT_BYTES = 32 * 1024 * 1024


def keep_freed_memory() -> None:
    """Let malloc keep what a parsed page gives back: the next page wants it again, and to ask the kernel for it a
    page at a time costs a third of the parsing. One arena, because one thread at a time runs anyway.
    """
    with contextlib.suppress(OSError, AttributeError):  # another libc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_ARENA_MAX, 1)
