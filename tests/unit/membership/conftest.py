"""The tree on which machines of one process take turns."""

import pytest

from tests.support.members import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path / "root", monkeypatch)
    yield world
    for member in world.made:
        member.close()
