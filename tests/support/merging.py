"""What the tests of `fscrawl merge` share: URLs, pages, archived bodies, and answers that refuse."""

from __future__ import annotations

from warcio.archiveiterator import ArchiveIterator

from tests.support.crawling import lines_of
from tests.support.trees import ALL, Grown, Made

A, B, C = "http://a.example/", "http://a.example/b", "http://b.example/c"
EVERY = [word for style in ALL for word in ("--format", style)]


def refused(answer: tuple[int, str, str], code: int, *words: str) -> None:
    """Assert the exit code, and one line on standard error with these words in it."""
    assert (answer[0], answer[1]) == (code, ""), answer
    (line,) = lines_of(answer[2])
    assert line.startswith("fscrawl: "), line
    for word in words:
        assert word in line, line


def archived(made: Made) -> dict[str, bytes]:
    """Read the bodies in a dataset's archives."""
    found = {}
    for path in made.files("warc/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                if record.rec_type == "response" and record.rec_headers.get_header("WARC-Truncated") is None:
                    found[record.rec_headers.get_header("WARC-Target-URI")] = record.raw_stream.read()
    return found


def bodiless(tree: Grown) -> None:
    tree.file("htmls", B).unlink()
