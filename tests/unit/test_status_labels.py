"""What is said of labels in `stopped_labels` that nothing has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fscrawl.monitor import status
from tests.support.beats import Logs


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def remarks(logs: Logs, *stopped: str) -> list[str]:
    (logs.root / "crawl.toml").write_text(f"[crawl]\nstopped_labels = {json.dumps(stopped)}\n")
    return [line for line in status.remarks(logs.observer().look(logs.at(11)), "/shared") if "label" in line]


def test_a_label_that_nothing_has(logs: Logs) -> None:
    """It may be misspelt, and it may be stopped before it begins; what is known is not mentioned."""
    logs.write("a", [logs.beat(10)])
    logs.say("a", labels={"2024-01-02 Q1": {"pending": 3}, "b": {"stored": 1}})
    assert remarks(logs, "2024-01-02 Q1", "b") == []
    assert remarks(logs, "2024-01-2 Q1", "b", "late") == [
        "crawl.stopped_labels: nothing with the label 2024-01-2 Q1 was found so far; did you mean 2024-01-02 Q1?",
        "crawl.stopped_labels: nothing with the label late was found so far",
    ]
    seeds = logs.root / "seeds.txt"
    seeds.write_text("https://a.example/  # late\nhttps://b.example/\n")
    assert remarks(logs, "late") == [], "it stands behind a seed"
    seeds.unlink()
    assert len(remarks(logs, *(f"{number} Q1" for number in range(99)))) == 10, "a look at the crawl must not take long"
    logs.say("a", labels={"(others)": {"stored": 1}})  # whose names nobody knows
    assert remarks(logs, "late") == []
