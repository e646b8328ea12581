"""Lines of logs are read back equal, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.fleet.lines import Found, Surveyed, Told, format_line, parse_lines
from fscrawl.frontier.flags import NO_FLAGS, SITEMAP, SITEMAP_PART, Flags

FAILED_AT = "2026-01-02T03:04:05.678Z"
KEY = "599370d5687c3fd078c314ad"

shards = st.integers(0, 10_000)
depths = st.integers(0, 1000)
keys = st.text("0123456789abcdef", min_size=24, max_size=24)
no_blank = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#")  # behind it a request begins
urls = st.text(no_blank).map("http://a.example/{}".format)
flags = st.sampled_from([NO_FLAGS, Flags(SITEMAP), Flags(SITEMAP_PART, retry_of=FAILED_AT), Flags(refresh=True)])
lines = (
    st.builds(Found, shards, depths, st.just("") | keys, urls, flags)
    | st.builds(Told, shards, keys, depths, st.sampled_from(["", FAILED_AT]))
    | st.builds(Surveyed, shards)
)


@given(lines)
def test_round_trip(line):
    """Lines are read back equal."""
    data = format_line(line)
    assert data.count(b"\n") == 1
    assert parse_lines(line.shard, data * 3) == [line] * 3


@given(st.binary(max_size=80))
def test_anything(data):
    """Any bytes are lines that are written so, or a ValueError."""
    try:
        lines = parse_lines(7, data)
    except ValueError:
        return
    assert parse_lines(7, b"".join(map(format_line, lines))) == lines


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"u",
        b"u 1 -",
        b"u one - http://a.example/",
        b"u 1 - ftp://a.example/",
        b"u 1 - http://a.example/ sitemap again",
        b"u 1 - http://a.example/\xff",
        b"u -1 - http://a.example/",
        b"u 1_0 - http://a.example/",
        b"u 9999999999999999 - http://a.example/",
        b"u 1 - http://a.example/\r",
        b"u 1 - http://a.example",
        b"u 1 - http://a.example:x@b.example/",
        b"u 1 - http://b.example?.a.example/",
        b"u 1 - http://b.example\\.a.example/",
        b"t %b -1" % KEY.encode(),
        b"t 599370 1",
        b"t %b 1 " % KEY.encode(),
        b"t %b 1 %b" % (KEY.encode(), FAILED_AT.encode()),
        b"t %b 1 e%b e" % (KEY.encode(), FAILED_AT.encode()),
        b"s 1",
        b"x 1",
        b"\0" * 40,
    ],
)
def test_damaged(line):
    """What is no line is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - it has the line as its text
        parse_lines(7, line + b"\n")


def test_half_a_line():
    """Lines that end without a newline are not whole."""
    with pytest.raises(ValueError, match="not whole"):
        parse_lines(7, b"s\ns")


@pytest.mark.parametrize(
    "line",
    [
        Found(7, 1, "", "http://a.example/a b"),
        Found(7, 1, "", "http://a.example/a\nb"),
        Found(7, 1, "", "http://a.example/ä"),
        Found(7, 1, "", "http://a.example/\x7f"),
        Found(7, 1, "", "javascript:a"),
        Found(7, 1, "-", "http://a.example/"),
        Found(7, 1, "a b", "http://a.example/"),
        Found(7, 1, "", "http://a.example/", Flags(retry_of="then or so")),
        Told(7, "599370", 1),
        Told(7, KEY, 1, "two words"),
    ],
)
def test_not_for_a_log(line):
    """A line that could not be read back is not written: each reader would take it for a damaged log."""
    with pytest.raises(ValueError, match="a log cannot hold"):
        format_line(line)
