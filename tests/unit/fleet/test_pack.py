"""Packs: bytes to runs, and back."""

import hashlib
import json

import pytest

from fscrawl.fleet.pack import Run, pack, runs_in

RUNS = {
    "a-1-aa": Run(b'{"hello":"a-1-aa"}\n{"bye":true}\n', 32, {0: b"said\n", 3: b""}),
    "b-2-bb": Run(b'{"bye":true}\n', 90_000, None, b"{}\n"),
    "c-3-cc": Run(b'{"bye":true}\n', 13, {}),
}


def test_round_trip():
    """What is written is read, in the same order."""
    found = runs_in(pack(RUNS))
    assert found == RUNS
    assert list(found) == list(RUNS)


def test_any_damage_is_seen():
    """A pack that is cut anywhere, or has another byte, is none."""
    data = pack(RUNS)
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]):
            with pytest.raises(ValueError, match=r"."):
                runs_in(damaged)


@pytest.mark.parametrize(
    "head",
    [
        [],
        {},
        {"pack": 2, "runs": {}},
        {"pack": 1, "runs": []},
        {"pack": 1, "runs": {"../x": [0, 0, None, 0]}},
        {"pack": 1, "runs": {"m": [0, 0]}},
        {"pack": 1, "runs": {"m": ["0", 0, None, 0]}},
        {"pack": 1, "runs": {"m": [-1, 0, None, 0]}},
        {"pack": 1, "runs": {"m": [0, 0, [[0, 9]], 0]}},
        {"pack": 1, "runs": {"m": [0, 0, [["x", 0]], 0]}},
        {"pack": 1, "runs": {"m": [0, 0, 7, 0]}},
        {"pack": 1, "runs": {"m": [0, None, None, 0]}},
    ],
)
def test_what_somebody_makes_up(head):
    """A head that no machine writes is a mistake, whatever its digest says."""
    data = json.dumps(head).encode() + b"\nrest"
    with pytest.raises(ValueError, match=r"."):
        runs_in(data + hashlib.sha256(data).hexdigest().encode() + b"\n")
