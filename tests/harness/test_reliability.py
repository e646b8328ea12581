"""The table in docs/reliability.md is what the runs have found."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support import ledger
from tests.support.ledger import Entry
from tools import reliability
from tools.reliability import LedgerError, Row, dump, load, read, render, replaced, shortcomings, summed, total

EMPTY_PAGE = f"# Title\n\n{reliability.BEGIN}\n\nold\n\n{reliability.END}\n\nAfter.\n"
ENOUGH = Row("sshfs", "hang", runs=3, faults=2000, kills=1000, pages=9)


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a page and sums for the tool to write."""
    monkeypatch.setattr(reliability, "PAGE", tmp_path / "reliability.md")
    monkeypatch.setattr(reliability, "SUMS", tmp_path / "reliability.json")
    (tmp_path / "reliability.md").write_text(EMPTY_PAGE)
    return tmp_path


def written(path: Path, *entries: Entry) -> Path:
    path.write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in entries))
    return path


def test_the_table_is_what_the_sums_say() -> None:
    """The page's table is rendered from the committed sums, so nobody has typed in it."""
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert replaced(page, render(load(reliability.SUMS))) == page


def test_the_committed_sums_are_as_they_are_written() -> None:
    """The committed sums are what the tool writes: each file system and fault once, in order."""
    rows = load(reliability.SUMS)
    assert dump(rows) == reliability.SUMS.read_text(encoding="utf-8")
    assert summed(rows) == rows


def test_nothing_that_was_found_is_wrong() -> None:
    """No committed row has a page lost, a torn file or a delay that was not kept."""
    assert [row for row in load(reliability.SUMS) if row.lost or row.torn or row.violations] == []


def test_the_page_is_short() -> None:
    """What is promised, how it is tried, and what is not proven fit on a page; the table comes on top."""
    page = reliability.PAGE.read_text(encoding="utf-8")
    words = page.partition(reliability.BEGIN)[0] + page.partition(reliability.END)[2]
    assert len(words.splitlines()) <= 120


def test_lines_of_the_ledger_are_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `note` writes is read, summed by file system and fault, and the longest recovery is kept."""
    path = tmp_path / "ledger"
    monkeypatch.setenv("FSCRAWL_LEDGER", str(path))
    ledger.note(Entry("sshfs", "hang", runs=1, faults=2, kills=1, pages=10, duplicates=3, recovery_s=1.5))
    ledger.note(Entry("NFS v3", "hang", faults=1))
    ledger.note(Entry("sshfs", "hang", runs=2, faults=5, lost=1, torn=2, violations=4, recovery_s=0.5))
    assert summed(read(path)) == [
        Row("NFS v3", "hang", runs=1, faults=1),
        Row("sshfs", "hang", 3, 7, 1, 10, 1, 2, 3, 4, 1.5),
    ]
    assert total(read(path)) == Row("all", "", 4, 8, 1, 10, 1, 2, 3, 4, 1.5)


def test_a_table_has_a_line_for_each_row_and_one_for_all() -> None:
    """Numbers are grouped by thousands, a bar in a name does not end its cell, and the last line sums up."""
    table = render([Row("a|b", "hang", runs=1, faults=1234, recovery_s=1.25), Row("c", "kill", kills=2)])
    head, rule, first, second, last = table.splitlines()
    assert head.count("|") == rule.count("|") == last.count("|") == 12
    assert first == r"| a\|b | hang | 1 | 1,234 | 0 | 0 | 0 | 0 | 0 | 0 | 1.2 s |"
    assert second == "| c | kill | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0 |  |"
    assert last.startswith("| **all** |  | **1** | **1,234** | **2** |")


def test_the_tool_writes_sums_and_table(docs: Path) -> None:
    """Given ledgers, it writes the sums and the table; given none, the table from the sums that are there."""
    one = written(docs / "one", Entry("sshfs", "hang", pages=5))
    other = written(docs / "other", Entry("sshfs", "hang", pages=6))
    assert reliability.main([str(one), str(other)]) == 0
    page = (docs / "reliability.md").read_text()
    assert "| sshfs | hang | 2 |" in page
    assert page.startswith("# Title\n")
    assert page.endswith("\nAfter.\n")
    assert "old" not in page
    assert load(docs / "reliability.json") == [Row("sshfs", "hang", runs=2, pages=11)]
    (docs / "reliability.md").write_text(EMPTY_PAGE)
    assert reliability.main([]) == 0
    assert (docs / "reliability.md").read_text() == page


@pytest.mark.parametrize("field", ["lost", "torn", "violations"])
def test_a_loss_is_a_shortcoming(docs: Path, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check a single lost page, torn file or violation is exit code 1, and named."""
    values = asdict(ENOUGH) | {field: 1}
    assert reliability.main(["--check", str(written(docs / "ledger", Entry(**values)))]) == 1
    assert capsys.readouterr().out.startswith("sshfs, hang: 1 ")


def test_too_few_faults_are_a_shortcoming() -> None:
    """A thousand kills and as many other faults are wanted; one less of either is named."""
    assert shortcomings([ENOUGH]) == []
    assert shortcomings([Row("a", "b", faults=1999, kills=1000)]) == ["999 other faults of 1000"]
    assert shortcomings([Row("a", "b", faults=1999, kills=999)]) == ["999 SIGKILLs of 1000"]


def test_enough_and_nothing_wrong_is_exit_code_0(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check, sums that show what is promised are exit code 0, and nothing is said."""
    assert reliability.main(["--check", str(written(docs / "ledger", Entry(**asdict(ENOUGH))))]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "{}", '"text"'),
        json.dumps(asdict(Entry("a", "b")) | {"more": 1}),
        json.dumps(asdict(Entry("a", "b")) | {"lost": -1}),
        json.dumps(asdict(Entry("a", "b")) | {"lost": True}),
        json.dumps(asdict(Entry("a", "b")) | {"recovery_s": "1"}),
        json.dumps(asdict(Entry("a", ""))),
    ],
)
def test_what_is_no_ledger_is_refused(docs: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that is not of a ledger is named, and nothing is written."""
    good = json.dumps(asdict(Entry("a", "b")))
    (docs / "ledger").write_text(f"{good}\n{line}\n")
    assert reliability.main([str(docs / "ledger")]) == 2
    assert "ledger:2: " in capsys.readouterr().err
    assert (docs / "reliability.md").read_text() == EMPTY_PAGE
    assert not (docs / "reliability.json").exists()


@pytest.mark.parametrize("page", ["", reliability.BEGIN, EMPTY_PAGE * 2, f"{reliability.END}{reliability.BEGIN}"])
def test_a_page_without_markers_is_refused(page: str) -> None:
    """The table goes between two markers, or nowhere."""
    with pytest.raises(LedgerError, match="markers"):
        replaced(page, "table")
