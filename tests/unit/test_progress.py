"""What a crawl shows while it runs, by a clock of the test."""

import io
import json

import pytest

from fscrawl.engine import progress as module
from fscrawl.engine.progress import Counts, Progress
from fscrawl.util.terminal import plain


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def make(clock):
    def make(mode="line", *, verbose=False, stream=None):
        return Progress(mode, verbose=verbose, stream=stream or io.StringIO())

    return make


def said(progress):
    return progress._stream.getvalue()


def spoken(progress):
    return [json.loads(line) for line in said(progress).splitlines()]


def test_line_every_thirty_seconds(make, clock):
    """Without a terminal a line is printed every 30 s, with the rate since the last one."""
    progress = make()
    progress.show(Counts(pages=5))
    clock.now += 29.9
    progress.show(Counts(pages=50))
    assert said(progress) == ""
    clock.now += 0.1
    progress.show(Counts(pages=60, tree_pages=80, pending=7, hosts=3, in_flight=2))
    clock.now += 1
    progress.show(Counts(pages=70))
    assert said(progress) == "60 pages, 2.0/s, 80 in the tree, 7 pending, 3 hosts, 0 failures\n"
    clock.now += 29
    counts = Counts(pages=90, tree_pages=90, reseeding=4, reseeded=120, unchanged=8)
    counts.errors.update({"dns": 2, "timeout": 1})
    progress.show(counts)
    assert said(progress).splitlines()[1:] == [
        "90 pages, 1.0/s, re-seeding: 120 records read, 4 hosts left, 8 unchanged, 0 pending, 0 hosts, 3 failures"
    ]


def test_how_long_re_seeding_takes(make, clock):
    """While records are read again, the line says of how many hosts, and about how long it takes for the others."""
    progress = make()
    for seconds, left in ((0, 100), (30, 80), (30, 60)):
        clock.now += seconds
        progress.show(Counts(reseeding=left, reseeding_of=100, reseeded=7))
    first, second = said(progress).splitlines()
    assert "re-seeding: 7 records read, 80 of 100 hosts left, about 2 min 0 s, " in first
    assert "60 of 100 hosts left, about 1 min 30 s, " in second
    clock.now += 30
    progress.show(Counts(reseeding_of=100))
    assert "re-seeding" not in said(progress).splitlines()[2]


def test_json(make, clock):
    """In mode "json" each line is an object: progress, warnings, what came of a URL, and the end."""
    progress = make("json", verbose=True)
    counts = Counts(pages=3)
    counts.errors["dns"] = 2
    clock.now += 30
    progress.show(counts)
    progress.warn("odd\x1b")
    progress.event("http://a.example/\n", "stored", status=200)
    progress.close(counts)
    first, warning, event, last = spoken(progress)
    assert (first["event"], first["pages"], first["pages_per_s"], first["errors"]) == ("progress", 3, 0.1, {"dns": 2})
    assert warning == {"event": "warning", "message": "odd?"}
    assert event == {"event": "stored", "url": "http://a.example/?", "status": 200}
    assert (last["event"], last["elapsed_s"], last["pages"]) == ("end", 30.0, 3)


def test_quiet(make, clock):
    """In mode "quiet" only warnings are printed, and no notes."""
    progress = make("quiet")
    clock.now += 100
    progress.show(Counts())
    progress.event("http://a.example/", "stored")
    progress.close(Counts())
    assert said(progress) == ""
    progress.note("good to know")
    assert said(progress) == ""
    progress.warn("a\tb")
    assert said(progress) == "a?b\n"
    (other := make()).note("good to know")
    assert said(other) == "good to know\n"


def test_verbose(make):
    """With verbose, a line says what came of each URL, and nothing from the web is raw."""
    progress = make(verbose=True)
    progress.event("http://a.example/\x1b[31m", "stored", status=200, message="\x07x")
    assert said(progress) == "stored   http://a.example/?[31m status=200 message=?x\n"


def test_not_verbose(make):
    """Without verbose there is no such line."""
    progress = make()
    progress.event("http://a.example/", "stored", status=200)
    progress.close(Counts())
    assert said(progress) == ""


def test_terminal(make):
    """On a terminal one line is drawn again and again; other lines are printed above it, whole."""
    progress = make(stream=Terminal())
    progress.show(Counts(pages=3, pending=9))
    progress.print_line("a line")
    progress.warn("another\x1b")
    progress.close(Counts(pages=12, pending=1))
    text = said(progress)
    assert "a line\n" in text
    assert "another?\n" in text
    assert "12 pages" in text
    assert "1 pending" in text


def test_the_line_fits(make):
    """The line of a large crawl fits into 80 columns, and says that the machine waits for seeds."""
    shown = []
    large = Counts(pages=1_234_567, tree_pages=2_345_678, pending=12_345_678, hosts=1234)
    for counts in (large, Counts(pages=82, tree_pages=82, hosts=1, state="waiting for seeds")):
        progress = make(stream=Terminal())
        progress.close(counts)
        shown.append(said(progress).strip("\r\n"))
    assert "1,234,567 pages [00:00, 0.0/s, 2.35M in the tree, 12.3M pending, 1,234 hosts,".startswith(shown[0][:75])
    assert shown[1] == "82 pages [00:00, 0.0/s, WAITING FOR SEEDS, 0 pending, 1 host, 0 failures]"


def test_plain_stream_by_default(monkeypatch):
    """The default stream is standard error."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    Progress("line", verbose=False).print_line("x")
    assert stream.getvalue() == "x\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a b", "a b"), ("é✓", "é✓"), ("\x1b]0;x\x07", "?]0;x?"), ("\u202e\u2028\x85\x00", "????"), ("a\r\nb", "a??b")],
)
def test_plain(text, shown):
    """Control characters, escapes and characters that change the direction of text become question marks."""
    assert plain(text) == shown
