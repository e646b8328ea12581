"""Labels in the lines of logs and in the facts of snapshots."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.fleet.lines import Found, Told, format_line, parse_lines
from fscrawl.fleet.snapshot_file import UrlState, fact_of_found, fact_of_told, founds_of
from fscrawl.frontier.flags import NO_FLAGS, SITEMAP, Flags, labelled
from fscrawl.labels import is_label

URL = "http://a.example/"
KEY = "0123456789abcdef01234567"
LABELS = st.text(max_size=20).filter(is_label)


@given(LABELS, st.sampled_from(["", SITEMAP]), st.sampled_from(["", "2026-01-01T00:00:00.000Z"]))
def test_a_line_is_read_back(label: str, sitemap: str, retry_of: str) -> None:
    """Whatever a label consists of, a line has it, and so has the fact that is made of the line."""
    line = Found(7, 1, "", URL, Flags(sitemap, retry_of, label=label))
    assert parse_lines(7, format_line(line)) == [line]
    assert [found for found in founds_of(7, fact_of_found(line)) if found.flags.label] == [line]


def _state(*facts: bytes) -> UrlState:
    state = UrlState()
    for fact in facts:
        state.take(fact)
    return state


def test_all_tasks_are_kept_in_any_order() -> None:
    """A URL that waits for several tasks, or for none too, is a line for each, by way of snapshots, in any order."""
    lines = [Found(7, depth, "", URL, labelled(label)) for depth, label in ((2, "b"), (1, "a"), (3, ""), (2, "b"))]
    texts = set()
    for some in itertools.permutations(map(fact_of_found, lines)):
        first = _state(*some[:2]).text(KEY[:16], deep=False)
        texts.add(_state(first, *some[2:]).text(KEY[:16], deep=False))
    [text] = texts
    assert [(found.depth, found.flags.label) for found in founds_of(7, text)] == [(1, ""), (1, "a"), (1, "b")]
    assert next(founds_of(7, text)).flags is NO_FLAGS


def test_each_task_asks_for_each_other_try() -> None:
    """Each line can be admitted or not by its task, so each has to say what is asked for."""
    facts = [fact_of_found(Found(7, 1, "", URL, Flags(retry_of=moment, label="a"))) for moment in ("t1", "t2")]
    facts.append(fact_of_told(Told(7, KEY, 1, "t1")))
    text = _state(*facts).text(KEY[:16], deep=False)
    assert [found.flags for found in founds_of(7, text)] == [Flags(retry_of=each, label="a") for each in ("t1", "t2")]


def test_what_is_settled_has_no_tasks() -> None:
    """Its record has the label."""
    found = fact_of_found(Found(7, 1, "", URL, labelled("a")))
    failed = _state(found, fact_of_told(Told(7, KEY, 1, "t1")))
    assert failed.text(KEY[:16], deep=False) == f"{KEY[:16]} f 1 et1".encode()


def test_most_tasks_of_a_url() -> None:
    """There is a bound, and what is kept does not depend on the order."""
    facts = [fact_of_found(Found(7, 1, "", URL, labelled(f"{number:04}"))) for number in range(300)]
    text = _state(*facts).text(KEY[:16], deep=False)
    assert text == _state(*reversed(facts)).text(KEY[:16], deep=False)
    assert [found.flags.label for found in founds_of(7, text)] == [f"{number:04}" for number in range(100)]


@pytest.mark.parametrize("word", ["l%0a", "l" + "x" * 101])
def test_made_up(word: str) -> None:
    """A label that is none counts as none."""
    fact = f"{KEY[:16]} u 1 - {URL} {word}".encode()
    assert [found.flags for found in founds_of(7, fact)] == [NO_FLAGS]
