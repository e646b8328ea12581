"""The compact set answers as a set of Python does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.frontier import seen as module
from fscrawl.frontier.seen import SeenSet
from tests.support.effort import tries

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 20) | st.integers(2**48 - 10, 2**48 + 10)


@given(st.lists(numbers, max_size=60), st.lists(numbers, max_size=20))
@settings(deadline=None, max_examples=tries(200))
def test_like_a_set(added, asked):
    """Whatever is added in whatever order, additions, membership and size are those of a set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CROWDED", 1)  # many cuts with few numbers
        seen, model = SeenSet(), set()
    for number in added:
        assert seen.add(number) == (number not in model)
        model.add(number)
        assert len(seen) == len(model)
    assert [number in seen for number in added + asked] == [number in model for number in added + asked]
