"""Two merges write one dataset where no lock reaches from one machine to the other, as on sshfs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fscrawl import merge
from fscrawl.dataset import dataset_dir, plan, write, writer
from fscrawl.errors import EXIT_TREE, TreeError, UsageError
from tests.support.trees import Grown, Made, check

STEPS = ["_tidy", "_plan", "_extract", "_write", "write_failures", "_commit"]
STYLES = ("parquet", "jsonl")


class Killed(BaseException):
    """Stands for a kill."""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each merge a lock that the other one does not see, and cut the work small."""
    monkeypatch.setattr(dataset_dir.fcntl, "flock", lambda *_: None)
    monkeypatch.setattr(plan, "BATCH_PAGES", 3)
    monkeypatch.setattr(write, "_GROUP_ROWS", 6)


def _meanwhile(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, other: Callable[[], None]) -> None:
    """Have another machine do something before a step, once."""
    step = getattr(owner, name)
    left = [other]

    def stepped(*args: Any, **kwargs: Any) -> Any:
        if left:
            left.pop()()
        return step(*args, **kwargs)

    monkeypatch.setattr(owner, name, stepped)


def _grow(tree: Grown, host: str) -> None:
    """Add pages that come first in the plan, so that all batches of another plan are others."""
    for number in range(4):
        tree.page(f"http://{host}.example/{number}", b"<p>%s %d" % (host.encode(), number))


@pytest.mark.gate
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("first", [True, False])
def test_the_later_one_goes_on(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, step: str, first: bool) -> None:
    """Whenever a second merge begins, it goes on with what is there; the first one ends, and has spoilt nothing."""
    _grow(tree, "m")
    if not first:
        tree.merge(out, formats=STYLES)
        _grow(tree, "k")
        tree.heal("http://a.example/gone")

    def second() -> None:
        _grow(tree, "0")
        check(tree.merge(out, formats=STYLES))

    _meanwhile(monkeypatch, merge, step, second)
    with pytest.raises(UsageError, match="another merge"):
        tree.merge(out, formats=STYLES)
    _complete(tree, out)


def test_one_without_news_removes_nothing(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that found nothing new undoes its run at its end; by then, a later merge may have made that run."""
    tree.merge(out, formats=STYLES)

    def others() -> None:
        tree.merge(out, formats=STYLES)  # it has the plan of the first one, and undoes that run
        _grow(tree, "0")
        check(tree.merge(out, formats=STYLES))

    _meanwhile(monkeypatch, merge, "_commit", others)
    with pytest.raises(UsageError, match="another merge"):
        tree.merge(out, formats=STYLES)
    check(Made(out))


@pytest.mark.gate
@pytest.mark.parametrize("step", STEPS[1:])
def test_plans_are_not_mixed(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Two that begin at one moment have different plans. However far the later one comes, none of its pages is lost."""
    _grow(tree, "m")
    listed = plan._listed

    def killed() -> None:
        raise Killed

    def second(*args: Any, **how: Any) -> Any:
        before = list(listed(*args, **how))
        monkeypatch.setattr(plan, "_listed", listed)
        _grow(tree, "0")
        with monkeypatch.context() as patch:
            _meanwhile(patch, merge, step, killed)
            with pytest.raises(Killed):
                tree.merge(out, formats=STYLES)
        return iter(before)

    monkeypatch.setattr(plan, "_listed", second)
    with pytest.raises(UsageError, match="another merge"):
        tree.merge(out, formats=STYLES)
    _complete(tree, out)


@pytest.mark.gate
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", [errno.ENOENT, errno.ENOTCONN])
def test_the_share_goes_away(tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int) -> None:
    """A dataset that is not there any more was not taken over by another merge: it is trouble with the share."""
    _grow(tree, "m")

    def unmounted() -> None:
        out.rename(out.with_name("aside"))
        if code != errno.ENOENT:
            monkeypatch.setattr(writer, "_open", disconnected)

    def disconnected(path: Path) -> None:
        raise OSError(code, os.strerror(code), str(path))

    _meanwhile(monkeypatch, merge, step, unmounted)
    with pytest.raises(TreeError) as error:
        tree.merge(out)
    assert error.value.exit_code == EXIT_TREE
    assert "another merge" not in str(error.value)


def _complete(tree: Grown, out: Path) -> None:
    """Merge once more: then each page is there once, and each failure."""
    made = tree.merge(out)
    assert made.keys() == tree.keys()
    assert {row["key"] for row in made.rows("errors")} == {record.key for record in tree.failures.values()}
    check(made)
