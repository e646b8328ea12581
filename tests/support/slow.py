"""Calls that take a while, as on a slow share: how many of them are made at the same time?"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

_SECONDS = 0.004


class Slow:
    """Lets a method of a class take a while, for the rest of a test.

    most_at_once    so many calls waited at the same time
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.most_at_once = 0
        self._at_once = 0
        self._counting = threading.Lock()
        call = getattr(owner, name)

        def slow(*args: Any, **more: Any) -> Any:
            self._wait()
            return call(*args, **more)

        monkeypatch.setattr(owner, name, slow)

    def _wait(self) -> None:
        with self._counting:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(_SECONDS)
        with self._counting:
            self._at_once -= 1
