"""How far each task is: what a machine counts, and what others read."""

from __future__ import annotations

import json
from collections import Counter

from fscrawl.errors import TreeError
from fscrawl.fleet import label_figures
from fscrawl.fleet.label_figures import (
    EVERY_S,
    OTHERS,
    LabelCounter,
    LabelFigure,
    file_in,
    read_file,
    summed,
)
from fscrawl.fleet.not_stored import Astray, NotStored


class Files:
    machine = "m"

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.writes = 0
        self.is_full = False

    def publish(self, path: str, data: bytes) -> None:
        if self.is_full:
            raise TreeError("no space")
        self.writes += 1
        self.data[path] = data

    def read_or_torn(self, path: str) -> bytes | None:
        return self.data.get(path)


def test_written_and_read() -> None:
    """What is counted is read back, with what is pending; a record may go away again."""
    files, pending = Files(), Counter({"a": 2, "ü ": 0, "new": 1})
    counter = LabelCounter(files, lambda: pending)
    counter.add("", stored=1)
    counter.add("a", stored=2)
    counter.add("a", failed=1, stored=-1)
    counter.tell_now()
    told = read_file(files, "m").labels
    assert told["a"] == LabelFigure(1, 0, 1, 2)
    assert told["a"].found == 4
    assert told["new"] == LabelFigure(pending=1)
    assert read_file(files, "other").labels == {}
    assert summed([told, told])["a"] == LabelFigure(2, 0, 2, 4)


def test_written_seldom() -> None:
    """Every ten seconds if something has changed; if it cannot be written, later."""
    files = Files()
    counter = LabelCounter(files, Counter)
    for second in range(100):
        counter.tell(second)
    assert files.writes == 0  # a crawl without labels has no file
    counter.add("a", stored=1)
    files.is_full = True
    counter.tell(100.0 + EVERY_S)
    files.is_full = False
    for tenth in range(100):
        counter.tell(100.0 + EVERY_S + tenth / 10)
    assert files.writes == 0
    counter.tell(100.0 + 2 * EVERY_S)
    counter.tell(100.0 + 3 * EVERY_S)
    assert files.writes == 1


def test_written_soon_at_first() -> None:
    """Who looks at a crawl that has just been started sees its tasks after a second, not those of the run before."""
    files = Files()
    counter = LabelCounter(files, Counter)
    written = []
    for tenth in range(400):
        counter.add("a", stored=1)
        before = files.writes
        counter.tell(1000.0 + tenth / 10)
        written += [tenth / 10] * (files.writes - before)
    assert written == [0.0, 1.0, 3.0, 7.0, 15.0, 25.0, 35.0]


def test_many_labels(monkeypatch) -> None:
    """What belongs to more labels than a file may have is counted together."""
    monkeypatch.setattr(label_figures, "_MOST_LABELS", 10)
    files = Files()
    counter = LabelCounter(files, lambda: Counter({str(number): 1 for number in range(30)}))
    for number in range(15):
        counter.add(str(number), stored=1)
    counter.tell_now()
    told = read_file(files, "m").labels
    assert len(told) == 11
    assert told[OTHERS] == LabelFigure(stored=5, pending=20)
    assert summed([told])["3"] == LabelFigure(stored=1, pending=1)


def test_what_somebody_wrote() -> None:
    """Nothing of a file is believed that a machine would not write."""
    files = Files()
    path = ".fscrawl/machines/m.labels.json"
    for text in ("", "[", "[]", "[" * 100_000, "\xff", "{}" + " " * (5 << 20)):
        files.data[path] = text.encode("latin-1")
        assert read_file(files, "m").labels == {}
    files.data[path] = json.dumps(
        {"a": {"stored": "1", "failed": True, "other": 1e99, "pending": 1 << 70}, "\x1b": {}, "b": 1, "": {}}
    ).encode()
    assert read_file(files, "m").labels == {"a": LabelFigure()}


def test_what_is_not_stored() -> None:
    """It stands in the same file, adds up over machines as sets do, and is believed only if it may be a machine's."""
    one, other = NotStored(), NotStored()
    for number in range(6000):
        (one if number % 2 else other).left_out.add("scope", number * (1 << 64) // 6000)
    one.left_out.add("deny", 1)
    other.left_out.add("deny", 1)
    one.count_type("type a/b", 2)
    other.count_type("type a/b", -1)
    one.note_seed("http://a.example/", Astray("redirects", "http://b.example/", "scope"))
    files, sum_ = Files(), NotStored()
    for each in (one, other):
        LabelCounter(files, Counter, each).tell_now()
        assert read_file(files, "m").labels == {}
        sum_.take(file_in(files.data[".fscrawl/machines/m.labels.json"]).not_stored)
    assert (sum_.types, sum_.seeds, sum_.left_out["deny"]) == (Counter({"type a/b": 1}), one.seeds, 1)
    assert 5900 < sum_.left_out["scope"] < 6100
    odd = {"types": {"x": "1", "y": 1 << 70}, "left_out": {"scope": "?", "deny": 1}, "seeds": {"s": [1]}}
    for said in (odd, {"types": 1, "left_out": [], "seeds": "", "hosts": None}):
        found = NotStored()
        found.take(said)
        assert found.to_json() == {}
