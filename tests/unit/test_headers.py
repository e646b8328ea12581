"""What headers mean, whatever stands in them. `tests/web` has what servers send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.parse.headers import is_final, lines, locations, media_type, pairs


@given(st.text(st.sampled_from('a/; =,"\\\n*charset')) | st.text())
def test_any_text(text: str) -> None:
    """Any text has a type, which may be none, and its lines are where it has line breaks."""
    headers = {"content-type": text, "location": text}
    assert media_type(headers).count("/") == bool(media_type(headers))
    assert media_type(headers) == media_type({"content-type": f"none, {text}"})
    assert "\n" not in "".join(locations(headers))
    assert [line for _, line in pairs({"a": text}) if line] == lines({"a": text}, "a")


@pytest.mark.parametrize(
    ("status", "location", "is_page"),
    [
        *((200, "", True), (299, "/a", True), (300, "/a", True), (301, "/a", False), (301, "\n", True)),
        *((304, "", False), (305, "/a", True), (307, "/a\n/b", False), (399, "", True), (404, "", False)),
    ],
)
def test_final(status: int, location: str, is_page: bool) -> None:
    """A good answer is a page, and so is a redirect that leads nowhere."""
    assert is_final(status, {"location": location}) is is_page
