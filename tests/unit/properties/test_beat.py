"""Heartbeat logs that hold anything."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fscrawl.fleet.beat import Beat, Hello, line_of, parse_line, parse_lines

TEXT = st.text("aZ7é\ud800\udfff\0", max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
KEYS = [
    *json.loads(line_of(Beat(number=1, log=1, read="a", held="b", rules="c", shards=1, dead_after=1, at=1))),
    *json.loads(line_of(Hello("m"))),
    *("bye", "finished", "clean"),
]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_any_value_of_any_key(given_facts: dict[str, Any]) -> None:
    """Whatever a key holds, a line is none or can be counted with, printed and written."""
    line = parse_line(json.dumps(given_facts).encode())
    if line is None:
        return
    str(line).encode()
    parsed = parse_line(line_of(line))
    assert type(parsed) is type(line)
    if isinstance(line, Beat):
        assert abs(line.pages + line.failures) >= 0


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are read without an exception."""
    list(parse_lines(data))
