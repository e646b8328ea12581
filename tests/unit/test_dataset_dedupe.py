"""What is asked of all rows of a run, and of those before it."""

import pyarrow as pa

from fscrawl.dataset import dedupe


class Number(int):
    """A number that counts how often it was compared."""

    compared = 0

    def __lt__(self, other):
        Number.compared += 1
        return int(self) < other

    def __ge__(self, other):
        Number.compared += 1
        return int(self) >= other

    __hash__ = int.__hash__


def test_originals_cost_the_same_each(monkeypatch):
    """To look up URLs of originals takes a few steps for each, however many there are and in how many pieces."""
    rows, pieces = 10, 200

    class Known(dedupe._KnownRows):
        def __init__(self):
            self._job = None

        def _seen(self, columns):
            for piece in range(pieces):
                numbers = range(piece * rows, (piece + 1) * rows)
                yield pa.record_batch([[f"http://a.example/{n}" for n in numbers], list(numbers)], columns)

    monkeypatch.setattr(dedupe, "_urls", lambda job: iter(()))
    wanted = [Number(n) for n in range(pieces * rows) if n % 2]
    found = Known().describe([*wanted, *wanted])
    assert found == {n: (f"http://a.example/{n}", n) for n in wanted}
    assert Number.compared < 10 * len(wanted)
