"""The heart with a clock in its hand, and what others read out of its log."""

import json
import threading
from datetime import datetime

import pytest

from fscrawl.errors import MemoryGone, TreeError
from fscrawl.fleet import beat, heartbeat
from fscrawl.fleet.beat import Beat, Hello
from fscrawl.fleet.heartbeat import Heartbeat, Permit, hello
from fscrawl.fleet.machinery import Peer
from tests.support.beats import facts_of
from tests.support.shared_tree import Shared


class Log:
    """A log in memory that fails or hangs on demand, and tells when it was written to."""

    def __init__(self):
        self.lines = []
        self.fails = self.closed = False  # `fails`: True, or what an append raises
        self.begun, self.tried = threading.Semaphore(0), threading.Semaphore(0)
        self.hangs = threading.Event()
        self.hangs.set()

    def append(self, data, retrying):
        self.begun.release()
        self.hangs.wait(10)
        try:
            if self.fails:
                raise self.fails if isinstance(self.fails, TreeError) else TreeError("the disk is full")
            self.lines.append(json.loads(data))
            assert data.endswith(b"\n")
        finally:
            self.tried.release()

    def close(self):
        self.closed = True


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(heartbeat, "uptime", clock)
    return clock


class Body:
    """A heart that beats only when told to."""

    def __init__(self, lease_s=30.0):
        self.log, self.permit, self.counters = Log(), Permit(), Beat(shards=0)
        self.confirmed = True  # or what is raised instead
        self.heart = Heartbeat(
            self.log,
            "m",
            lambda: self.counters,
            beat_s=3600,
            lease_s=lease_s,
            permit=self.permit,
            confirm=self.confirm,
        )
        self.await_beats(2)  # the hello and the first beat

    def confirm(self):
        if isinstance(self.confirmed, Exception):
            raise self.confirmed
        return self.confirmed

    def await_beats(self, count=1):
        for _ in range(count):
            assert self.log.tried.acquire(timeout=10), "no beat came"
        self.settled()

    def settled(self):
        """Wait until the heart's thread waits again: its beat is then counted."""
        for _ in range(10_000):
            if self.heart._wake._cond._waiters or self.heart._over:
                return
            threading.Event().wait(0.001)
        raise AssertionError("the heart does not come to rest")

    def hang(self):
        """Begin a beat that hangs in the log."""
        self.log.hangs.clear()
        while self.log.begun.acquire(blocking=False):
            pass
        self.heart.beat_now()
        assert self.log.begun.acquire(timeout=10)

    def beat(self):
        self.heart.beat_now()
        self.await_beats()


@pytest.fixture
def body(clock):
    body = Body()
    yield body
    body.log.hangs.set()
    body.heart.abandon()
    body.heart._thread.join(10)
    assert not body.heart._thread.is_alive()


def test_lines(body):
    """A log is a hello, beats with a number and the counters of the moment, and a goodbye with facts."""
    body.counters = Beat(shards=5)
    body.beat()
    body.heart.stop(finished=True)
    first, *beats, last = [{n: v for n, v in line.items() if n != "at"} for line in body.log.lines]
    assert all(datetime.fromisoformat(line["at"]) for line in body.log.lines)
    assert first == facts_of(hello("m"))
    assert [(line["beat"], line["shards"]) for line in beats] == [(0, 0), (1, 5)]
    assert (last["bye"], last["shards"], last["finished"]) == (True, 5, True)
    assert "beat" not in last
    assert body.log.closed
    assert not body.heart._thread.is_alive()


def test_beats_by_itself(monkeypatch):
    """Nobody need ask for a beat: the next one comes after `beat_s`."""
    log = Log()
    heart = Heartbeat(log, "m", Beat, beat_s=0.001, lease_s=30, permit=Permit())
    for _ in range(5):
        assert log.tried.acquire(timeout=10)
    heart.stop()
    assert [line.get("beat") for line in log.lines[1:4]] == [0, 1, 2]


def test_written(body):
    """The last two beats that were surely written are kept."""
    for shards in (1, 2):
        body.counters = Beat(shards=shards)
        body.beat()
    assert [beat.shards for beat in body.heart.written] == [1, 2]


def test_failing_log(body, clock):
    """While beats cannot be written their age grows and the trouble is told; the next one that is written mends it."""
    clock.now += 5
    body.log.fails = True
    body.beat()
    assert (body.heart.age_s(), str(body.heart.trouble)) == (5, "the disk is full")
    assert [(beat.number, beat.shards) for beat in body.heart.written] == [(0, 0)]
    body.log.fails = False
    body.beat()
    assert (body.heart.age_s(), body.heart.trouble) == (0, None)
    assert body.log.lines[-1]["beat"] == 1


def test_a_beat_that_does_not_count(body, clock):
    """As long as nobody can tell whether others read what is written, the permit ends, and the beating goes on."""
    body.confirmed = False
    clock.now += 31
    body.beat()
    assert not body.permit.holds()
    assert body.heart.age_s() == 31
    body.confirmed = MemoryGone("deleted")
    body.beat()
    assert body.heart.trouble is body.confirmed
    body.confirmed = True
    body.beat()
    assert (body.heart.age_s(), body.heart.trouble) == (0, None)


def test_log_that_is_gone(body):
    """Where a beat cannot be written since the file is not there, that is the trouble."""
    missing = TreeError("it is not there")
    missing.__cause__ = FileNotFoundError()
    body.log.fails = missing
    body.beat()
    assert body.heart.trouble is missing


def test_first_line_fails(clock):
    """A machine that cannot say hello does not begin."""
    log = Log()
    log.fails = True
    with pytest.raises(TreeError):
        Heartbeat(log, "m", Beat, beat_s=1, lease_s=30, permit=Permit())


def test_permit(body, clock):
    """Workers may go on for `lease_s` from the beginning of a beat that was written."""
    clock.now += 20
    body.beat()
    clock.now += 30
    assert body.permit.holds()
    clock.now += 0.5
    assert not body.permit.holds()


def test_gap(body, clock):
    """After a gap longer than that, beats alone bring no permit back: the leases have to be read first."""
    clock.now += 31
    body.beat()
    assert body.heart.suspended
    assert not body.permit.holds()
    clock.now += 1
    body.beat()
    assert not body.permit.holds()
    clock.now += 31
    body.beat()
    assert body.heart.gaps == 2, "whoever counts the beats since then begins anew"
    body.heart.readmit(1)
    assert body.heart.suspended, "what was read before the second gap is out of date"
    assert not body.permit.holds()
    body.heart.readmit(2)
    assert body.permit.holds()
    assert not body.heart.suspended


def test_slow_write(body, clock):
    """A beat counts from when it began: one that hung for long is as old as that."""
    body.hang()
    clock.now += 40
    body.log.hangs.set()
    body.await_beats()
    assert body.heart.age_s() == 40
    assert body.heart.suspended


def test_stop_of_a_hanging_heart(body, clock, monkeypatch):
    """A machine can leave though its log hangs; then there is no goodbye."""
    monkeypatch.setattr(heartbeat, "_JOIN_S", 0.01)
    body.hang()
    body.heart.stop(finished=True)
    assert not body.log.closed
    assert "bye" not in body.log.lines[-1]


def test_goodbye_fails(body):
    """A goodbye that cannot be written is left out, and told."""
    body.log.fails = True
    with pytest.raises(TreeError, match="disk is full"):
        body.heart.stop()
    assert body.log.closed
    assert "bye" not in body.log.lines[-1]


def test_abandon(body):
    """An abandoned heart ends without a word."""
    before = len(body.log.lines)
    body.heart.abandon()
    body.heart._thread.join(10)
    assert not body.heart._thread.is_alive()
    assert len(body.log.lines) == before


# -- what others read


def lines(*facts):
    return b"".join(json.dumps(fact).encode() + b"\n" for fact in facts)


def test_peer():
    """A peer is what its lines say: who it is, its last two beats, its goodbye."""
    peer = Peer("m", 1.0)
    assert (peer.last(), peer.left) == (Beat(), False)
    data = lines({"hello": "m", "pid": 1}, *({"beat": n} for n in range(4)))
    peer.take(data)
    assert peer.greeting == Hello("m", pid=1)
    assert peer.beats == [Beat(number=2), Beat(number=3)]
    assert peer.last() == Beat(number=3)
    peer.take(lines({"bye": True, "log": 3}))
    assert peer.left
    assert peer.last().log == 3


def test_peer_that_has_left(monkeypatch):
    """There are thousands of past runs: of each, hello and goodbye are read, and not the beats between."""
    shared, peer, parsed = Shared(), Peer("m", 1.0), []
    parse_line = beat.parse_line
    monkeypatch.setattr(beat, "parse_line", lambda line: parsed.append(line) or parse_line(line))
    shared.logs["m"] = lines({"hello": "m"}, *({"beat": n} for n in range(9)), {"bye": True, "pages": 7, "log": 3})
    peer.hear(peer.listen(shared), 2.0)
    assert len(parsed) == 2
    assert (peer.greeting, peer.left, peer.last().pages) == (Hello("m"), True, 7)


@pytest.mark.parametrize("end", [b'{"bye": true\n', b'{"bye": true}\n{"beat": 9}\n', b""])
def test_peer_whose_last_line_is_no_goodbye(end):
    """Then its last beats count."""
    shared, peer = Shared(), Peer("m", 1.0)
    shared.logs["m"] = lines({"hello": "m"}, {"beat": 7}, {"beat": 8}) + end
    peer.hear(peer.listen(shared), 2.0)
    assert peer.beats == [Beat(number=8), Beat(number=9)] if b"9" in end else [Beat(number=7), Beat(number=8)]


def test_peer_that_does_not_grow():
    """No new lines, no sign of life."""
    shared, peer = Shared(), Peer("m", 1.0)
    peer.hear(peer.listen(shared), 9.0)
    assert (peer.grown_at, peer.offset) == (1.0, 0)
    shared.say("m", hello="m")
    peer.hear(peer.listen(shared), 10.0)
    assert (peer.grown_at, peer.offset) == (10.0, len(shared.logs["m"]))


def test_unreadable():
    """NULs, torn lines and what is no object are skipped; unknown fields are kept out of harm's way."""
    peer = Peer("m", 1.0)
    peer.take(b'\0\0\0\n{"beat": 1, "se\n7\n\xff\xfe\n' + lines({"beat": 2, "new": [1]}))
    assert peer.beats == [Beat(number=2)]


def test_gone_peer():
    """A peer whose process is known to be over has left, though without a goodbye."""
    peer = Peer("m", 1.0, gone=True)
    assert peer.left
    assert peer.bye is None
