"""Workers of a machine have the same cookies: what one of them learns goes to the others ahead of their next tasks."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.engine.pool import Slot
from fscrawl.engine.shared_cookies import SharedCookies
from fscrawl.frontier.task import RobotsTask
from fscrawl.handlers.sessions import Opened
from fscrawl.http.cookies import MAX_PER_SITE, MAX_SITE_BYTES, Cookies

WWW, SHOP = "http://www.a.example/", "http://shop.a.example/"
SAFE = WWW.replace("http:", "https:")
ME = "me"
ALL = "Path=/; Domain=a.example"


class Worker:
    """A process with its jar, its slot, and what waits in its two pipes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.slot, self.opened = Slot(), Opened()
        self.jar = self.opened.jar_of(ME)
        self.to_machine: list[Cookies] = []
        self.from_machine: list[Cookies] = []

    def gets(self, url: str, *lines: str) -> None:
        """Get an answer that sets cookies, and send its outcome, which the machine takes in."""
        self.jar.learn(url, lines, time.time())
        self.sends()
        self._machine.reads(self)

    def sends(self) -> None:
        if learnt := self.opened.pop_learnt():
            self.to_machine.append(learnt)

    def reads(self) -> None:
        while self.from_machine:
            self.opened.replace(self.from_machine.pop(0))

    def asks(self, url: str) -> str | None:
        """Give the cookies that a task for this URL is asked with."""
        self._machine.submits(self, url)
        self.reads()
        return self.jar.header(url, time.time())


class Machine:
    """The other end. `sent`: what went to workers."""

    def __init__(self) -> None:
        self.cookies = SharedCookies(ME)
        self.sent: list[Cookies] = []

    def reads(self, worker: Worker) -> None:
        while worker.to_machine:
            self.cookies.take(worker.slot, worker.to_machine.pop(0))

    def submits(self, worker: Worker, url: str) -> None:
        if news := self.cookies.news(worker.slot, [RobotsTask(url, urls.host(url), 1)]):
            self.sent.append(news)
            worker.from_machine.append(news)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def workers(machine: Machine) -> tuple[Worker, Worker]:
    return Worker(machine), Worker(machine)


@pytest.mark.parametrize(
    ("url", "line", "asked", "sent"),
    [
        (WWW, f"a=1; {ALL}", SHOP, "a=1"),
        (WWW, f"a=1; {ALL}", SHOP.replace("/shop", "/new.shop"), "a=1"),
        (WWW, f"a=1; {ALL}", "http://www.b.example/", None),
        (WWW, "a=1", SHOP, None),  # for its own host
        (WWW, "a=1", WWW + "x", "a=1"),  # which another worker has by now
        (SAFE, f"a=1; Secure; {ALL}", SHOP, None),
        (SAFE, f"a=1; Secure; {ALL}", SHOP.replace("http:", "https:"), "a=1"),
        (SAFE, "__Host-a=1; Secure; Path=/", SAFE, "__Host-a=1"),
        (SAFE, "__Host-a=1; Secure; Path=/", SHOP.replace("http:", "https:"), None),
        (WWW, f"a=1; {ALL}; Max-Age=100", SHOP, "a=1"),
        (WWW, "a=1; Path=/x; Domain=a.example", SHOP, None),
        ("http://127.0.0.1:80/", "a=1", "http://127.0.0.1:81/", "a=1"),  # cookies do not go by ports (RFC 6265 8.5)
    ],
)
def test_another_worker(workers: tuple[Worker, Worker], url: str, line: str, asked: str, sent: str | None) -> None:
    """A cookie goes to whom it would go from the worker that has got it, and no further."""
    one, other = workers
    one.gets(url, line)
    assert (other.asks(asked), one.asks(asked)) == (sent, sent)


def test_deleting(workers: tuple[Worker, Worker]) -> None:
    """What one worker's answer deletes is gone for all, the last cookie of a site, too."""
    one, other = workers
    one.gets(WWW, f"a=1; {ALL}", f"b=2; {ALL}")
    assert other.asks(SHOP) == "a=1; b=2"
    other.gets(SHOP, f"a=; {ALL}; Max-Age=0")
    assert one.asks(WWW) == "b=2"
    one.gets(WWW, f"b=; {ALL}; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
    assert (one.asks(WWW), other.asks(SHOP)) == (None, None)


def test_who_is_told(machine: Machine, workers: tuple[Worker, Worker]) -> None:
    """One worker of a site is told nothing, a site without news is not told again, and a new process is told all."""
    one, other = workers
    one.gets(WWW, "a=1")
    one.gets(WWW, "a=2")
    assert one.asks(WWW) == "a=2"
    assert machine.sent == []
    other.asks("http://www.b.example/")
    assert machine.sent == []
    for _ in range(3):
        assert other.asks(WWW) == "a=2"
        other.gets(WWW, "a=2")  # as it was
        assert one.asks(WWW) == "a=2"
    assert len(machine.sent) == 1
    machine.cookies.forget(one.slot)
    one.opened = Opened()
    one.jar = one.opened.jar_of(ME)
    assert one.asks(WWW) == "a=2"
    other.gets(WWW, "b=3")
    assert one.asks(WWW) == "a=2; b=3"


def test_secure_cookies_of_another_worker(workers: tuple[Worker, Worker]) -> None:
    """Plain http lays nothing over a Secure cookie that another worker has got, told of it or not."""
    one, other = workers
    one.gets(SAFE, "s=good; Secure; Path=/; Domain=a.example")
    other.gets(SHOP, "s=evil; Path=/x")
    assert other.asks(SHOP.replace("http:", "https:") + "x") == "s=good"
    assert one.asks(SHOP + "x") is None


def test_another_identity(workers: tuple[Worker, Worker]) -> None:
    """After an edit of who asks, all begin without cookies, and what comes late for the one before is not taken."""
    one, other = workers
    one.gets(WWW, f"a=1; {ALL}")
    one.jar.learn(WWW, [f"late=1; {ALL}"], time.time())
    one.sends()
    machine = Machine()
    machine.cookies = SharedCookies("another")
    machine.reads(one)
    assert machine.cookies.news(other.slot, [RobotsTask(WWW, "www.a.example", 1)]) is None
    for worker in workers:
        assert worker.opened.jar_of("another").header(WWW, time.time()) is None
    other.opened.replace(Cookies(ME, {"a.example": ()}))
    assert one.opened.pop_learnt() is None


def test_bounds(machine: Machine, workers: tuple[Worker, Worker]) -> None:
    """However many cookies a site sets, what travels is no more than a site may have, both ways."""
    one, other = workers
    for number in range(31):
        lines = [f"c{number}-{each}={'x' * 140}; {ALL}" for each in range(2 * MAX_PER_SITE)]
        one.jar.learn(WWW, [*lines, *(f"{line}; Max-Age=0" for line in lines[:10])], time.time())
        if number % 3 == 0:
            one.sends()
            assert len(pickle.dumps(one.to_machine[-1])) < 2 * MAX_SITE_BYTES
            machine.reads(one)
            assert other.asks(SHOP) is not None
            assert len(pickle.dumps(machine.sent[-1])) < 2 * MAX_SITE_BYTES
    assert one.asks(SHOP) == other.asks(SHOP)


def test_a_deletion_among_many(workers: tuple[Worker, Worker]) -> None:
    """A cookie that an answer deletes is gone for all, also if the same answer sets as many as a site may have."""
    one, other = workers
    one.gets(WWW, f"c0=0; {ALL}", f"session=1; {ALL}")
    assert other.asks(SHOP) == "c0=0; session=1"
    new = [f"c{number}=1; {ALL}" for number in range(MAX_PER_SITE)]
    one.gets(WWW, f"session=; {ALL}; Max-Age=0", *new)
    assert one.asks(SHOP) == other.asks(SHOP) == "; ".join(line.partition(";")[0] for line in new)


STEPS = st.one_of(
    st.tuples(st.just("learns"), st.integers(0, 1), st.sampled_from("ab"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["sends", "is read", "submits", "reads"]), st.integers(0, 1)),
)


@given(st.lists(STEPS, max_size=40))
def test_any_order(steps: list[tuple[str, int, str, int]]) -> None:
    """Whatever is under way at the same time, in the end all have the same cookies."""
    machine = Machine()
    workers = [Worker(machine), Worker(machine)]
    for what, number, *cookie in steps:
        worker = workers[number]
        match what:
            case "learns":
                age = "" if cookie[1] else "; Max-Age=0"
                worker.jar.learn(WWW, [f"{cookie[0]}={cookie[1]}; {ALL}{age}"], time.time())
            case "sends":
                worker.sends()
            case "is read":
                machine.reads(worker)
            case "submits":
                machine.submits(worker, WWW)
            case _:
                worker.reads()
    for worker in workers:
        worker.sends()
        worker.reads()
        machine.reads(worker)
    headers = [sorted((worker.asks(WWW) or "").split("; ")) for worker in workers]
    assert headers[0] == headers[1]
