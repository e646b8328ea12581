"""Errors that mean that there are no more processes or threads."""

import pytest

from fscrawl.errors import FscrawlError, as_our_error


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), BlockingIOError(11, "try again")])
def test_it_is_said(error):
    """They become one line that says what helps."""
    with pytest.raises(FscrawlError) as caught, as_our_error():
        raise error
    assert "ulimit -u" in str(caught.value)


@pytest.mark.parametrize(
    "error", [RuntimeError("a mistake"), BlockingIOError(11, "try again", "a file"), ValueError("no")]
)
def test_others_stay(error):
    """What is about something else is not hidden."""
    with pytest.raises(type(error)) as caught, as_our_error():
        raise error
    assert caught.value is error
