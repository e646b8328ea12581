"""The compact table answers as a dictionary does."""

from array import array

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fscrawl.frontier import url_table as module
from fscrawl.frontier.url_table import UrlState, UrlTable
from tests.support.effort import tries

numbers = st.integers(0, 20) | st.integers(2**60 - 5, 2**60 + 5) | st.integers(0, 2**64 - 1)
depths = st.integers(0, 4)


class TableModel(RuleBasedStateMachine):
    """The table beside a dictionary: fingerprint → [known, told, there]."""

    @initialize(deep=st.booleans())
    def begin(self, deep):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_CROWDED", 1)  # many cuts with few numbers
            self.table = UrlTable(deep=deep)
        self.deep, self.model = deep, {}

    def _lower(self, number, place, depth):
        entry = self.model.setdefault(number, [None, None, False])
        depth = depth if self.deep else 0
        news = entry[place] is None or depth < entry[place]
        if news:
            entry[place] = depth
        return news

    @rule(number=numbers, depth=depths)
    def known(self, number, depth):
        assert self.table.known(number, depth) == self._lower(number, 0, depth)

    @rule(number=numbers, depth=depths)
    def told(self, number, depth):
        self.table.told(number, depth)
        self._lower(number, 1, depth)

    @rule(number=numbers)
    def mark_there(self, number):
        self.table.mark_there(number)
        self.model.setdefault(number, [None, None, False])[2] = True

    @rule(loaded=st.dictionaries(numbers, st.tuples(depths, depths), max_size=30))
    def load(self, loaded):
        ordered = sorted(loaded)
        known, told = (array("H", [loaded[number][i] for number in ordered]) for i in (0, 1))
        self.table.load(array("Q", ordered), known, told)
        for number, (known_at, told_at) in loaded.items():
            self._lower(number, 0, known_at)
            self._lower(number, 1, told_at)

    @rule(number=numbers, depth=depths)
    def settled(self, number, depth):
        known, told, _ = self.model.get(number, [None, None, False])
        settled = told is not None and (known is None or told <= known)
        assert self.table.settled(number) == settled
        assert self.table.settled(number, depth) == (settled and (not self.deep or told <= depth))

    @invariant()
    def same(self):
        if hasattr(self, "table"):
            assert len(self.table) == len(self.model)
            assert all(self.table.state(number) == UrlState(*entry) for number, entry in self.model.items())
            assert all(self.table.settled(number) == self.table.state(number).is_settled for number in self.model)


TestTableModel = TableModel.TestCase
TestTableModel.settings = settings(deadline=None, max_examples=tries(20), stateful_step_count=15)
