"""The commands. A module declares its options in `add`, and does it in `run`, which returns the exit code.

Only the module of the command that is asked for is loaded, and what only one command needs is imported when it runs. So
each of them starts without delay.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

# command → module, in the order of --help
MODULES = {
    "crawl": "crawl",
    "status": "status",
    "pause": "steer",
    "resume": "steer",
    "stop": "steer",
    "retry": "retry",
    "merge": "merge",
    "search": "search",
    "report": "report",
    "dashboard": "dashboard",
    "audit": "audit",
    "show": "show",
    "try": "try_url",
    "doctor": "doctor",
    "completion": "completion",
}


def modules(words: Sequence[str] = ()) -> list[Any]:
    """Load the module of the command that `words` begin with; of all commands if they begin with none."""
    named = MODULES.get(words[0]) if words else None
    names = [named] if named is not None else list(dict.fromkeys(MODULES.values()))
    return [importlib.import_module(f"fscrawl.commands.{name}") for name in names]
