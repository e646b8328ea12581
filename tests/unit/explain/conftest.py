"""The tree of which URLs are explained."""

import pytest

from tests.support.explained import SEED
from tests.support.trees import Grown


@pytest.fixture
def tree(tmp_path):
    grown = Grown(tmp_path / "tree")
    grown.page(SEED, b"<title>A</title><a href=b>b</a><a href=missing>m</a>", depth=0)
    return grown
