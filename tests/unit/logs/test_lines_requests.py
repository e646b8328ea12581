"""Requests in the lines of logs and in the facts of snapshots; what spells no request is a damaged line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.fleet.lines import Found, format_line, is_url, parse_lines
from fscrawl.fleet.snapshot_file import UrlState, fact_of_found, founds_of
from fscrawl.frontier.flags import Flags
from fscrawl.request import MAX_BODY_BYTES, Request, spelling

URL = "http://a.example/s?q"
BODIES = st.binary(max_size=40)
BAD = ["#", "#top", "#method=BREW", "#method=POST&body=%0", "#session=1&method=GET", "#method=GET", "#a#method=POST"]


@given(st.lists(BODIES, max_size=5), st.sampled_from(["", "2026-01-01T00:00:00.000Z"]))
def test_requests_are_read_back(bodies: list[bytes], retry_of: str) -> None:
    """Lines of requests are read back equal, among plain ones; so are the facts that are made of them."""
    asked = [URL, *(spelling(Request(URL, "POST", "", body)) for body in bodies)]
    lines = [Found(7, 1, "", url, Flags(retry_of=retry_of)) if retry_of else Found(7, 1, "", url) for url in asked]
    assert parse_lines(7, b"".join(map(format_line, lines))) == lines
    for line in lines:
        state = UrlState()
        state.take(fact_of_found(line))
        assert state.way == (1, "-", line.url)
        if not retry_of:
            assert list(founds_of(7, fact_of_found(line))) == [line]


def test_the_longest_body() -> None:
    """A line holds a body of 8 KiB of which each byte is encoded."""
    line = Found(7, 1, "", spelling(Request(URL, "POST", "", bytes(MAX_BODY_BYTES))))
    data = format_line(line)
    assert len(data) > 3 * MAX_BODY_BYTES
    assert parse_lines(7, data) == [line]


@pytest.mark.parametrize("fragment", BAD)
def test_damaged_spellings(fragment: str) -> None:
    """What looks like a request and is none is damage in a line and in a fact, and cannot be written."""
    bad = URL + fragment
    good = format_line(Found(7, 1, "", URL))
    line = f"u 1 - {bad}\n".encode()
    assert not is_url(bad)
    with pytest.raises(ValueError, match="a log cannot hold"):
        format_line(Found(7, 1, "", bad))
    with pytest.raises(ValueError, match=r"a\.example"):
        parse_lines(7, good + line + good)
    fact = f"{urls.key(bad)[:16]} u 1 - {bad}".encode()
    with pytest.raises(ValueError, match=r"a\.example"):
        UrlState().take(fact)
