"""Snapshots come to the same as all lines together, however these are cut into parts, ordered and repeated."""

import tracemalloc
from array import array
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.fleet import snapshot_file, snapshots
from fscrawl.fleet.lines import Found, Surveyed, Told
from fscrawl.fleet.snapshot_file import SnapshotHead, open_snapshot
from fscrawl.frontier.flags import Flags
from tests.support.effort import tries
from tests.support.snapshot_files import SHARD, FilesInMemory, content, fold, surveyed, url

TIMES = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]
flags = st.builds(Flags, st.sampled_from(["", "", "sitemap", "sitemap-part"]), st.sampled_from(["", "", *TIMES]))
found = st.builds(
    Found,
    st.just(SHARD),
    st.integers(0, 4),
    st.sampled_from(["", "a" * 24, "b" * 24]),
    st.integers(0, 5).map(url),
    flags,
)
told = st.builds(
    Told,
    st.just(SHARD),
    st.integers(0, 5).map(url).map(urls.key),
    st.integers(0, 4),
    st.sampled_from(["", "", *TIMES]),
)
lines = st.lists(found | found | told | told | st.just(Surveyed(SHARD)), max_size=30)


@pytest.fixture(autouse=True, scope="module")
def _small():
    """Many groups and many chunks with few URLs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_file, "GROUP", 2)
        patch.setattr(snapshots, "GROUP", 2)
        patch.setattr(snapshot_file, "CHUNK_BYTES", 64)
        yield


def write(files, previous, new, number=1, *, deep=False):
    head = snapshots.write(files, previous, new, SnapshotHead(1, SHARD, 1, number, deep, at={"m": number}))
    snapshot = open_snapshot(files, 1, SHARD, 1, number)
    snapshot.check()
    assert snapshot.head == head
    return snapshot


def of_all(expected, found, *, deep):
    """Tell whether a snapshot has what the fold has, except what is lost with a text that is not kept."""
    if expected.failed_once and expected.stored and expected.kind != "told":
        return found.kind == "waiting"  # who failed keeps no text; its page has a record
    wanted = [expected.kind]
    there = [found.kind]
    if expected.kind != "told" or deep:
        wanted.append(expected.known)
        there.append(found.known)
    if expected.kind == "told" and deep:
        wanted.append(expected.told)
        there.append(found.told)
    if expected.kind == "waiting" and not expected.stored:
        wanted += [expected.again, expected.sitemap]
        there += [found.again, found.sitemap]
    if expected.kind == "waiting" and not expected.failed_once:
        wanted.append(expected.referrer)
        there.append(found.referrer)
    return wanted == there


@given(lines, st.lists(st.integers(0, 30), max_size=3), st.lists(st.integers(0, 29), max_size=8), st.booleans())
@settings(deadline=None, max_examples=tries(300))
def test_like_all_lines_together(all_lines, cuts, repeated, deep):
    """Snapshots made one of the other, with lines repeated across the cuts, have what the fold of all lines has."""
    files, snapshot, so_far = FilesInMemory(), None, []
    places = [0, *sorted(min(cut, len(all_lines)) for cut in cuts), len(all_lines)]
    for number, (start, end) in enumerate(pairwise(places), 1):
        again = [so_far[index] for index in repeated if index < len(so_far)]
        so_far += all_lines[start:end]
        snapshot = write(files, snapshot, [*again, *all_lines[start:end]], number, deep=deep)
        expected, there = fold(so_far, deep=deep), content(snapshot)
        assert expected.keys() == there.keys()
        for fingerprint, state in expected.items():
            assert of_all(state, there[fingerprint], deep=deep), (state, there[fingerprint])
        assert snapshot.head.surveyed == surveyed(so_far)


@given(st.permutations(range(12)), st.booleans(), st.data())
@settings(deadline=None, max_examples=tries(50))
def test_order_is_nothing(order, deep, data):
    """The same lines in any order make the same file."""
    twelve = data.draw(st.lists(found | told, min_size=12, max_size=12))
    one, other = FilesInMemory(), FilesInMemory()
    write(one, None, twelve, deep=deep)
    write(other, None, [twelve[index] for index in order] + twelve[:3], deep=deep)
    assert one.there == other.there


def test_a_failure_and_other_tries():
    """A failure settles a URL until another try is asked for because of it, and so does the next failure."""
    files = FilesInMemory()
    page, key = url(0), urls.key(url(0))
    steps = [
        (Told(SHARD, key, 1, TIMES[0]), "failed"),
        (Found(SHARD, 1, "", page), "failed"),
        (Found(SHARD, 1, "", page, Flags("sitemap", retry_of=TIMES[0])), "waiting"),
        (Told(SHARD, key, 1, TIMES[1]), "failed"),
        (Told(SHARD, key, 1, TIMES[0]), "failed"),
        (Found(SHARD, 1, "", page, Flags(retry_of=TIMES[0])), "failed"),
        (Found(SHARD, 1, "", page, Flags(retry_of=TIMES[1])), "waiting"),
        (Told(SHARD, key, 1), "told"),
        (Told(SHARD, key, 1, "2026-01-03T00:00:00.000Z"), "told"),
        (Found(SHARD, 1, "", page, Flags(retry_of="2026-01-03T00:00:00.000Z")), "told"),
    ]
    snapshot = None
    for number, (line, kind) in enumerate(steps, 1):
        snapshot = write(files, snapshot, [line], number)
        assert [state.kind for state in content(snapshot).values()] == [kind], line


def test_other_tries_are_all_given():
    """Which failure was the latest is seen in the tree, so each one that a try was asked for comes as a line."""
    files = FilesInMemory()
    asked = [Found(SHARD, 1, "", url(0), Flags("sitemap", retry_of=time)) for time in TIMES]
    snapshot = write(files, None, [*asked, Told(SHARD, urls.key(url(0)), 1, TIMES[0])])
    assert list(snapshot.pending()) == asked


def test_great_depths():
    """A depth that does not fit counts as the greatest one."""
    lines = [Found(SHARD, 10**6, "", url(0)), Told(SHARD, urls.key(url(0)), 10**5)]
    [state] = content(write(FilesInMemory(), None, lines, deep=True)).values()
    assert (state.kind, state.known, state.told) == ("told", 65_534, 65_534)


def named(text, **counts):
    head = SnapshotHead(1, SHARD, 1, 1, False, False, {}, len(text), **counts)
    files = FilesInMemory()
    data = head.to_json() + text
    files.there[head.path] = data + sha256(data).hexdigest().encode() + b"\n"
    return files


FIRST = b"%016x" % urls.fingerprint(urls.key(url(0)))


@pytest.mark.parametrize(
    "text",
    [b"\n\n", b"x" * 40 + b"\n", FIRST + b" u x\n", FIRST + b" q 1\n", FIRST + b" u 1 - ftp://x\n", FIRST + b" f -1\n"],
)
def test_a_damaged_snapshot_before(text):
    """What cannot be read in the one before is a RecordError, and nothing is published."""
    files = named(text, waiting=1)
    before = open_snapshot(files, 1, SHARD, 1, 1)
    damaged = 0
    for use in (
        lambda: list(before.pending()),
        lambda: list(before.failed()),
        lambda: write(files, before, [Found(SHARD, 1, "", url(0))], 2),
    ):
        try:
            use()
        except RecordError as error:
            damaged += 1
            assert "snap/7.1." in str(error)  # noqa: PT017 - it may be found by any of them
    assert damaged


def test_a_snapshot_before_that_changes(monkeypatch):
    """If not all that the head promises comes out, the file is not published."""
    files = named(FIRST + b" u 1 - http://a.example/0\n", waiting=1)
    before = open_snapshot(files, 1, SHARD, 1, 1)
    real = files.publish_chunks

    def publish(path, make):
        monkeypatch.setattr(before, "text", lambda: iter(()))
        return real(path, make)

    monkeypatch.setattr(files, "publish_chunks", publish)
    with pytest.raises(RecordError, match="the snapshot before it is damaged"):
        write(files, before, [], 2)
    assert len(files.there) == 1


def large(files, count):
    """Write the snapshot of many told URLs, in groups of the usual size."""
    head = SnapshotHead(1, SHARD, 1, 1, False, False, {}, told=count)
    step = 2**64 // count
    data = head.to_json() + array("Q", range(0, step * count, step)).tobytes()
    files.there[head.path] = data + sha256(data).hexdigest().encode() + b"\n"
    return open_snapshot(files, 1, SHARD, 1, 1)


def test_memory(monkeypatch):
    """Memory does not grow with the snapshot before: it is copied in chunks."""
    monkeypatch.setattr(snapshot_file, "GROUP", 2**12)
    monkeypatch.setattr(snapshots, "GROUP", 2**12)
    files = FilesInMemory()
    before = large(files, 400_000)
    sizes = []
    files.publish_chunks = lambda path, make: sizes.append(sum(len(chunk) for chunk in make()))
    tracemalloc.start()
    try:
        new = [Found(SHARD, 1, "", url(number)) for number in range(100)]
        snapshots.write(files, before, new, SnapshotHead(1, SHARD, 1, 2, deep=False))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sizes[0] > 3_200_000
    assert peak < 1_000_000


def test_a_million_urls_are_loaded_at_once(monkeypatch):
    """A taker has the fingerprints of a million URLs in an instant; this test has half an instant for all of it."""
    monkeypatch.setattr(snapshot_file, "GROUP", 2**16)
    monkeypatch.setattr(snapshot_file, "CHUNK_BYTES", 2**20)
    snapshot = large(FilesInMemory(), 1_000_000)
    snapshot.check()
    groups = [fingerprints for (fingerprints,) in snapshot.told()]
    assert sum(map(len, groups)) == 1_000_000
    assert all(group[0] < group[-1] for group in groups)
