"""On which shares a test is run: those that it names, with no skips, since in CI none of these tests may skip.

    @on(SSHFS, GLUSTERFS)
    def test_…(share): …

With pytest-xdist each process has file servers of its own: they start in seconds, and the tests mostly wait.
"""

from __future__ import annotations

import pytest

from tests.support.shares.share import Flavour


def on(*flavours: Flavour) -> pytest.MarkDecorator:
    """Run a test, or with `pytestmark` a whole file, on a share of each flavour in turn."""
    parameters = [pytest.param(each, id=each.name.replace(" ", "-")) for each in flavours]
    return pytest.mark.parametrize("share", parameters, indirect=True)
