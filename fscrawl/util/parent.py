"""What a child process does when its parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent(exit_code: int) -> None:
    """End this process as soon as the process that made it by `multiprocessing` is gone, however that one ended.

    A killed parent cannot end its children, and a child of a ProcessPoolExecutor does not see the death by itself: it
    waits for work at a pipe of which it holds both ends.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()  # it waits on a pipe, which the parent's death closes; so a reused pid does not matter
        os._exit(exit_code)

    threading.Thread(target=watch, name="parent", daemon=True).start()
