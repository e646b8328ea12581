"""The number of the merge that writes a dataset: the last one that began."""

import errno
import os
import threading
from pathlib import Path

import pytest

from fscrawl.dataset import writer


def names(state):
    return [path.name for path in state.iterdir()]


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
    assert sorted(numbers) == list(range(1, 17))
    assert [number for number in numbers if not writer.is_over(tmp_path, number)] == [16]


def test_a_listing_is_old(tmp_path, monkeypatch):
    """Merges that a listing does not know yet are found by name."""
    assert writer.begin(tmp_path) == 1
    lists(monkeypatch)
    assert writer.begin(tmp_path) == 2
    lists(monkeypatch, "writer-1")
    assert [writer.begin(tmp_path) for _ in range(3)] == [3, 4, 5]


def test_made_by_another_machine(tmp_path, monkeypatch):
    """Sshfs says EPERM of a name that another machine has made; what may not be made at all is an error."""
    made = Path.open

    def refuse(path, *_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(PermissionError):
            writer.begin(tmp_path)
        lists(monkeypatch)
        made(tmp_path / "writer-1", "xb").close()
        assert writer.begin(tmp_path) == 2


def test_of_two_the_higher_counts(tmp_path):
    """Two files cannot be there, and if somebody has made another one, it does not last."""
    (tmp_path / "writer-3").touch()
    (tmp_path / "writer-7").touch()
    assert writer.begin(tmp_path) == 8
    assert names(tmp_path) == ["writer-8"]


def test_no_end_of_others(tmp_path, monkeypatch):
    """A file that is listed and never there is an error, and no endless search."""
    lists(monkeypatch, "writer-1")
    with pytest.raises(OSError, match="begin here all the time"):
        writer.begin(tmp_path)
