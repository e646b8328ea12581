"""One machine's view of all of them, on a tree in memory, with a clock in its hand."""

import pytest

from fscrawl.fleet.ownership import Fleet
from tests.support.shared_tree import SHARDS, Shared


@pytest.fixture
def shared():
    return Shared()


@pytest.fixture
def make(shared):
    def make(machine="me", gone=lambda hello: False, **options):
        if machine not in shared.logs:
            shared.say(machine, hello=machine)
        return Fleet(shared, machine, 60.0, SHARDS, gone, **options)

    return make


@pytest.fixture
def me(make):
    return make()
