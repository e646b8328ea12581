"""Two machines merge into one dataset at the same time, each with a mount of its own."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.crawling import Running
from tests.support.shares.marks import on
from tests.support.shares.share import GLUSTERFS, SSHFS, Share
from tests.support.trees import Grown, Made, check

pytestmark = [pytest.mark.timeout(120), on(SSHFS, GLUSTERFS)]

ROUNDS = 3


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    grown = Grown(tmp_path_factory.mktemp("grown") / "tree")
    grown.many(6, 200)
    return grown


def test_one_of_two_merges_writes(share: Share, tree: Grown, tmp_path: Path) -> None:
    """One of two completes the dataset; the other says why it does not. GlusterFS has a lock, and sshfs has none."""
    for number in range(ROUNDS):
        name = f"{tmp_path.name}-{number}"
        with ExitStack() as stack:
            mounts = [stack.enter_context(share.mount()) for _ in range(2)]
            first, second = (stack.enter_context(Running(tree.command(mount / name))) for mount in mounts)
            done = sorted((first.wait(), second.wait()), key=lambda each: each.code)
            assert [each.code for each in done] == [0, 2], done
            assert "another merge" in done[1].err
        made = Made(share.view / name)
        check(made)
        assert made.keys() == tree.keys()
