"""The small trees that are audited."""

import pytest

from tests.support.audits import Made


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path / "root")


@pytest.fixture(params=[(0, "host"), (1, "host"), (0, "url")], ids=["flat", "fanout", "by url"])
def any_made(request, tmp_path):
    return Made(tmp_path / "root", *request.param)
