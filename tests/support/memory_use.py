"""How much memory the processes of a session hold together, looked at again and again."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Self


class Memory:
    """What all processes of a session hold together while the `with` lasts: proportional set size, in bytes."""

    def __init__(self, session: int) -> None:
        self.peak = 0
        self.at_the_peak: list[int] = []
        self._session = session
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            sizes = [self._size(each) for each in Path("/proc").iterdir() if each.name.isdigit()]
            if sum(sizes) > self.peak:
                self.peak, self.at_the_peak = sum(sizes), [size for size in sizes if size]

    def _size(self, process: Path) -> int:
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[3]) != self._session:
                return 0
            rollup = (process / "smaps_rollup").read_text()
        except OSError:  # it is over
            return 0
        found = re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
