"""On which shares a test is run: those that it names, with no skips, since in CI none of these tests may skip.

    @on(SSHFS, GLUSTERFS)
    def test_…(share): …

With pytest-xdist each process has file servers of its own: they start in seconds, and the tests mostly wait.
"""

from __future__ import annotations

import pytest

from tests.support.shares.share import Flavour


def on(*flavours: Flavour, in_gate: Flavour | None = None) -> pytest.MarkDecorator:
    """Run a test, or with `pytestmark` a whole file, on a share of each flavour in turn.

    `in_gate`: on this one it is run by `make gate`, too.
    """
    marks = {in_gate: [pytest.mark.gate]}
    parameters = [pytest.param(each, id=each.name.replace(" ", "-"), marks=marks.get(each, [])) for each in flavours]
    return pytest.mark.parametrize("share", parameters, indirect=True)
