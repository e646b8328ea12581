"""What is read of the feeds of format 1."""

import os

import pytest

from fscrawl.fleet import format1
from fscrawl.fleet.format1 import feed_lines, parse_feed_line, retries
from fscrawl.fleet.lines import Found
from fscrawl.frontier.flags import Flags
from fscrawl.store import TreeFiles
from tests.support.format1 import OldTree

KEY = "7a6c7479c7501fe8a6019e32"
MOMENT = "2026-11-22T09:35:49.454Z"


@pytest.fixture
def old(tmp_path):
    return OldTree(tmp_path / "root")


@pytest.fixture
def files(old):
    return TreeFiles(old.root, "reader")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"7 1 {KEY} http://a.example/x", Found(7, 1, KEY, "http://a.example/x")),
        ("7 0  https://a.example/", Found(7, 0, "", "https://a.example/")),
        ("7 0  http://a.example/s.xml sitemap", Found(7, 0, "", "http://a.example/s.xml", Flags("sitemap"))),
        (f"7 3 {KEY} http://a.example/ again={MOMENT}", Found(7, 3, KEY, "http://a.example/", Flags(retry_of=MOMENT))),
    ],
)
def test_line(line, found):
    """A line has a shard, a depth, a referrer, a URL, and perhaps flags."""
    assert parse_feed_line(line.encode()) == found


@pytest.mark.parametrize(
    "line", [b"", b"\0\0\0", b"7 1 k", b"x 1 k http://a/", b"7 1 k http://a7 1 k http://b/ x y", b"\xff"]
)
def test_damaged_line(line):
    """What is no line is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        parse_feed_line(line)


def test_feeds(old, files):
    """All segments of all feeds are read; damaged lines and other files are passed by."""
    old.feed("m-1-aa", f"1 {KEY} http://a.example/1", "0  http://b.example/")
    old.feed("m-1-aa", f"1 {KEY} http://a.example/2", segment=1)
    old.feed("m-2-bb", f"1 {KEY} http://a.example/3")
    feed = old.root / ".fscrawl/feed"
    with (feed / "m-2-bb.log").open("ab") as file:
        file.write(b"\n\0\0\0\n7 1 torn\n7 1 half")
    (feed / "notes.txt").write_text("7 1 k http://a.example/no\n")
    assert [(machine, found.url) for machine, found in feed_lines(files)] == [
        ("m-1-aa", "http://a.example/1"),
        ("m-1-aa", "http://b.example/"),
        ("m-1-aa", "http://a.example/2"),
        ("m-2-bb", "http://a.example/3"),
    ]


def test_retries(old, files):
    """Of all lines only those count by which a person has asked for another try."""
    old.feed("m-1-aa", f"1 {KEY} http://a.example/1?x=again=1", f"1 {KEY} http://a.example/2 again={MOMENT}")
    old.feed("m-2-bb", f"1 {KEY} http://a.example/3 again={MOMENT},sitemap", f"1 {KEY} http://a.example/4 sitemap")
    assert [(found.url, found.flags.retry_of) for found in retries(files)] == [
        ("http://a.example/2", MOMENT),
        ("http://a.example/3", MOMENT),
    ]


def test_no_feeds(old, files):
    """A tree without feeds has no lines."""
    (old.root / ".fscrawl/feed").rmdir()
    assert list(feed_lines(files)) == []


def test_nulls_in_a_feed(old, files, monkeypatch):
    """Megabytes of NULs hide nothing that stands behind them, and 50 GB of them are not read."""
    old.feed("m-1-aa", "0  http://a.example/")
    feed = old.root / ".fscrawl/feed/m-1-aa.log"
    with feed.open("ab") as file:
        file.write(bytes(9_000_000) + b"\n7 0  http://b.example/\n")
    assert [found.url for _, found in feed_lines(files)] == ["http://a.example/", "http://b.example/"]
    monkeypatch.setattr(format1, "_MOST_JUNK", 4, raising=False)
    os.truncate(feed, 50 * 10**9)
    assert [found.url for _, found in feed_lines(files)] == ["http://a.example/", "http://b.example/"]
