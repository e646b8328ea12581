"""JSON that a server has sent → values that can be written again. Pure: no disk, no socket.

JSON may hold half of a surrogate pair, as in "\\ud83d": a server that cuts texts may cut an emoji in the middle.
Neither a URL nor a dataset can hold one.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any


def read_json(text: str) -> Any:
    r"""Read JSON; half of a surrogate pair becomes a question mark. ValueError or RecursionError if it is none.

    >>> read_json('["a", 1, "\\ud83d", "\\ud83d\\ude00"]')
    ['a', 1, '?', '😀']
    """
    value = json.loads(text)
    if "\\ud" in text or "\\uD" in text:
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def read_documents(text: str) -> tuple[Any, ...]:
    r"""Read JSON, which is one value, or lines of JSON (NDJSON), which are several. It raises what `read_json` does.

    >>> read_documents('{"a": 1}'), read_documents('{"a": 1}\n{"a": 2}\n')
    (({'a': 1},), ({'a': 1}, {'a': 2}))
    """
    try:
        return (read_json(text),)
    except ValueError:
        # Lines end with a line feed only: texts in JSON may have the other characters that `splitlines` splits at.
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        with contextlib.suppress(ValueError):
            if len(lines) > 1:
                return tuple(map(read_json, lines))
        raise
