"""A ProcessPoolExecutor for a system that may give no more threads: there the usual one waits for ever.

It has two threads. One looks after its processes, and begins the other, which sends them their tasks. If that one
cannot begin, the first one dies with it, and no task comes to an end. If the first one cannot begin, the processes stay
when the program ends, which waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

from fscrawl import interrupts
from fscrawl.util.at_limit import is_at_limit

T = TypeVar("T")


class ProcessPool(ProcessPoolExecutor):
    """Its processes are started without a signal between: one that was half started could not be ended.

    If a thread cannot begin, the call that needs it raises RuntimeError (see `at_limit`), and the pool cannot be used.
    """

    def __init__(self, width: int, context: Any, start: Callable[..., None], given: tuple[Any, ...]) -> None:
        super().__init__(width, context, start, given)
        self._call_queue._start_thread()  # type: ignore[attr-defined]  # noqa: SLF001 - now, where an error is heard

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with interrupts.later():
            try:
                return super().submit(fn, *args, **kwargs)
            except RuntimeError as error:
                if is_at_limit(error):
                    self._executor_manager_thread = None  # type: ignore[assignment]  # `shutdown` would join it
                    for process in (self._processes or {}).values():
                        process.kill()
                raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        queue: Any = self._call_queue  # type: ignore[attr-defined]  # None after the first call
        thread: Any = self._executor_manager_thread
        if thread is None and queue is not None:  # else that thread does it
            queue.close()
        super().shutdown(wait, cancel_futures=cancel_futures)
