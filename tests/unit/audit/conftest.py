"""The small trees that are audited."""

import pytest

from tests.support.audits import Made


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path / "root")


@pytest.fixture(params=["host", "url"])
def any_made(request, tmp_path):
    return Made(tmp_path / "root", request.param)
