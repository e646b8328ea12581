"""What is still read of format 1, in which each machine had a feed of the URLs that it had found.

    feed/<machine>.log, feed/<machine>.1.log, …     lines b"<shard> <depth> <referrer> <url>[ <flags>]"

A tree of format 1 is brought to format 2 by `upgrade`. Its records say again what the feeds said, all but one thing:
which failures a person has asked to try again.

Promise: nothing is written here. Any bytes may stand in a feed; what is no line is passed by.
"""

from __future__ import annotations

from collections.abc import Iterator

from fscrawl.fleet.lines import Found, is_url, number_of
from fscrawl.frontier.flags import NO_FLAGS, parse_flags
from fscrawl.storage.layout import FEED, feed_of, feed_path
from fscrawl.store import TreeFiles

_RETRY = b" again="
_PIECE_BYTES = 4 << 20
_MOST_JUNK = 64  # pieces without a newline that are gone over in a feed: NULs of a crashed server, and not a whole disk


def parse_feed_line(line: bytes) -> Found:
    """Read a line without its newline; ValueError if it is damaged.

    >>> parse_feed_line(b"7 1 599370d5687c3fd078c314ad http://a.example/ sitemap").depth
    1
    """
    shard, depth, referrer, url, *word = line.decode("ascii").split(" ")
    if len(word) > 1 or not is_url(url):  # two lines in one, after a cut
        raise ValueError(line)
    return Found(number_of(shard), number_of(depth), referrer, url, parse_flags(word[0]) if word else NO_FLAGS)


def feed_lines(files: TreeFiles) -> Iterator[tuple[str, Found]]:
    """Read all feeds; give each line with the machine that wrote it. Damaged lines are passed by."""
    return _parsed(files, b"")


def retries(files: TreeFiles) -> Iterator[Found]:
    """Read all feeds for the failures that a person has asked to try again."""
    return (found for _, found in _parsed(files, _RETRY) if found.flags.retry_of)


def _parsed(files: TreeFiles, word: bytes) -> Iterator[tuple[str, Found]]:
    """Read the lines that have `word` in them."""
    for machine, data in _pieces(files):
        for line in data.split(b"\n") if word in data else ():
            if line and word in line:
                try:
                    yield machine, parse_feed_line(line)
                except ValueError:  # NULs after a crash of the server, or a line that a killed writer did not finish
                    continue


def _pieces(files: TreeFiles) -> Iterator[tuple[str, bytes]]:
    """Read all feeds in pieces of whole lines, each with its machine."""
    names = (feed for name in files.names(FEED) if (feed := feed_of(name)) is not None)
    for machine, segment in sorted(names):
        path, offset, junk_left = feed_path(machine, segment), 0, _MOST_JUNK
        while junk_left:
            data = files.tail(path, offset, _PIECE_BYTES)
            if data:
                yield machine, data
            elif files.size(path) < offset + _PIECE_BYTES:
                break  # at most a line is there, which is not whole
            else:
                junk_left -= 1
            offset += len(data) or _PIECE_BYTES
