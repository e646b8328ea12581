"""The fixture `lab`: guests for each NFS version that a test asks for, booted once for all tests of a run.

pytest_plugins = ["tests.support.guests.fixtures"]

@pytest.mark.parametrize("lab", ["4.2", "3"], indirect=True)
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.guests.image import missing
from tests.support.guests.lab import Lab


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A server and two clients with the version that the test is parametrised with."""
    lacking = missing()
    if lacking:
        pytest.skip(f"the guests need {', '.join(lacking)}")
    with Lab(request.param) as running:
        yield running
