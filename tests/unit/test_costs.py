"""For how long a host rests after it has taken the processor in vain."""

import pytest

from fscrawl.handlers import costs
from fscrawl.http.answers import CLASSES


@pytest.mark.parametrize(("took_s", "rests_s"), [(0.0, 0.0), (0.004, 0.0), (0.012, 12.0), (30.0, 60.0)])
def test_rests(took_s, rests_s):
    """It rests for a thousand times as long, a minute at most; a short time costs nothing, and no time counts twice."""
    costs.in_vain(took_s)
    assert costs.costly_s() == pytest.approx(rests_s)
    assert costs.costly_s() == 0.0


def test_classes():
    assert CLASSES.keys() >= costs.IN_VAIN
