"""The number of the merge that writes a dataset: the last one that began."""

import errno
import os
import threading
from pathlib import Path

import pytest

from fscrawl.dataset import writer


@pytest.fixture(autouse=True)
def lock(tmp_path):
    """A merge has made it before it begins."""
    (tmp_path / "lock").touch()


def names(state):
    return [path.name for path in state.iterdir() if path.name != "lock"]


def lists(monkeypatch, *found):
    """Have the directory seem to hold these names."""
    monkeypatch.setattr(Path, "iterdir", lambda self: (self / name for name in found))


def test_the_last_one_writes(tmp_path):
    """Each merge that begins has the next number, and the ones before it are over."""
    numbers = [writer.begin(tmp_path) for _ in range(3)]
    assert numbers == [1, 2, 3]
    assert [writer.is_over(tmp_path, number) for number in numbers] == [True, True, False]
    assert names(tmp_path) == ["writer-3"]


def test_many_at_once(tmp_path):
    """Of merges that begin at one moment, each has a number of its own, and one writes."""
    numbers = []
    threads = [threading.Thread(target=lambda: numbers.append(writer.begin(tmp_path))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == 16
    assert [number for number in numbers if not writer.is_over(tmp_path, number)] == [max(numbers)]


def test_a_listing_is_old(tmp_path, monkeypatch):
    """Merges that a listing does not know yet are found by name."""
    for name in ("writer-1", "writer-2"):
        (tmp_path / name).touch()
    lists(monkeypatch)
    assert writer.begin(tmp_path) == 3


def test_what_may_not_be_made(tmp_path, monkeypatch):
    """Where no file can be made, that is the error."""

    def refuse(path, *_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError):
        writer.begin(tmp_path)


def test_nobody_has_begun_where_nothing_is(tmp_path):
    """If all is gone, the share was unmounted; that is an error, and no other merge."""
    number = writer.begin(tmp_path)
    (tmp_path / f"writer-{number}").unlink()
    (tmp_path / "lock").unlink()
    with pytest.raises(FileNotFoundError):
        writer.is_over(tmp_path, number)


def test_of_two_the_higher_counts(tmp_path):
    """Two files cannot be there, and if somebody has made another one, it does not last."""
    (tmp_path / "writer-3").touch()
    (tmp_path / "writer-7").touch()
    assert writer.begin(tmp_path) == 8
    assert names(tmp_path) == ["writer-8"]
