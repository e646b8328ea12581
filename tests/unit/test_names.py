"""The memory of names that were looked up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fscrawl.http import dialling
from fscrawl.http.answers import UnresolvedError
from fscrawl.http.dialling import Names


class Resolver:
    """Stands in for getaddrinfo. `answer`: addresses, or the error that is raised; `asked`: the names, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: str, port: object, **_: object) -> list[Any]:
        self.asked.append(host)
        self.begun.set()
        assert self.go_on.wait(10)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return [_entry(address, port) for address in self.answer]


def _entry(address: str, port: object) -> tuple[Any, ...]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 7))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


def addresses(found: Sequence[Any]) -> list[Any]:
    return [entry[4][0] for entry in found]


def test_one_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up once."""
    resolver = Resolver(monkeypatch, ["192.0.2.1", "2001:db8::1"])
    known = Names()
    assert addresses(known.look_up("a.example", 1)) == ["192.0.2.1", "2001:db8::1"]
    assert addresses(known.look_up("a.example", 1)) == ["192.0.2.1", "2001:db8::1"]
    assert known.look_up("b.example", 1)
    assert resolver.asked == ["a.example", "b.example"]


def test_an_answer_holds_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """When its time is over, a name is looked up anew."""
    resolver = Resolver(monkeypatch, ["192.0.2.1"])
    monkeypatch.setattr(dialling, "KEPT_S", 0.0)
    known = Names()
    known.look_up("a.example", 1)
    resolver.answer = ["192.0.2.2"]
    assert addresses(known.look_up("a.example", 1)) == ["192.0.2.2"]


def test_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is forgotten is looked up anew; one that is not known may be forgotten, too."""
    resolver = Resolver(monkeypatch, ["192.0.2.1"])
    known = Names()
    known.forget("a.example")
    known.look_up("a.example", 1)
    known.forget("a.example")
    known.look_up("a.example", 1)
    assert resolver.asked == ["a.example"] * 2


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), 1),
        (UnicodeError("label too long"), 1),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), 3),
        (OSError(24, "Too many open files"), 3),
    ],
)
def test_failures(monkeypatch: pytest.MonkeyPatch, error: Exception, times: int) -> None:
    """That there is no such name is kept; another failure says nothing about the name, and is not."""
    resolver = Resolver(monkeypatch, error)
    known = Names()
    for _ in range(3):
        with pytest.raises(UnresolvedError) as raised:
            known.look_up("nowhere.example", 1)
        assert str(error.args[-1]) in str(raised.value)
    assert len(resolver.asked) == times


def test_a_name_that_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is no such name holds for less time than an address."""
    assert dialling.KEPT_WITHOUT_S < dialling.KEPT_S / 10
    resolver = Resolver(monkeypatch, socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
    monkeypatch.setattr(dialling, "KEPT_WITHOUT_S", 0.0)
    known = Names()
    with pytest.raises(UnresolvedError):
        known.look_up("new.example", 1)
    resolver.answer = ["192.0.2.1"]
    assert addresses(known.look_up("new.example", 1)) == ["192.0.2.1"]


@pytest.mark.parametrize("answer", [["192.0.2.1"], socket.gaierror(socket.EAI_AGAIN, "Temporary failure")])
def test_threads_share_a_look_up(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Threads that need a name at the same time wait for one look-up, and get its answer or its failure."""
    resolver = Resolver(monkeypatch, answer)
    resolver.go_on.clear()
    known = Names()
    waiting = threading.Barrier(8)

    def ask() -> str:
        waiting.wait(10)
        try:
            return str(addresses(known.look_up("a.example", 10)))
        except UnresolvedError as error:
            return str(error)

    with ThreadPoolExecutor(8) as threads:
        results = [threads.submit(ask) for _ in range(8)]
        assert resolver.begun.wait(10)
        while len([each for each in results if each.running()]) < 8:
            pass
        threading.Event().wait(0.1)
        resolver.go_on.set()
        assert len({each.result(10) for each in results}) == 1
    assert resolver.asked == ["a.example"]


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread waits for the look-up of another one as long as its exchange may take; other names do not wait."""
    resolver = Resolver(monkeypatch, ["192.0.2.1"])
    known = Names()
    known.look_up("fast.example", 1)
    resolver.begun.clear()
    resolver.go_on.clear()
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(known.look_up, "slow.example", 10)
        assert resolver.begun.wait(10)
        with pytest.raises(TimeoutError, match=r"longer than fetch\.timeout"):
            known.look_up("slow.example", 0.05)
        assert known.look_up("fast.example", 0.05)
        resolver.go_on.set()
        assert addresses(slow.result(10)) == ["192.0.2.1"]


def test_what_has_answered_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a host that has answered is the first one, as long as the answer of the resolver holds."""
    Resolver(monkeypatch, ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    known = Names()
    known.prefer("a.example", "192.0.2.3")
    known.look_up("a.example", 1)
    known.prefer("a.example", "192.0.2.3")
    assert addresses(known.look_up("a.example", 1)) == ["192.0.2.3", "192.0.2.1", "192.0.2.2"]


def test_an_interrupted_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up that is interrupted keeps nobody waiting, and nothing of it is kept."""
    resolver = Resolver(monkeypatch, KeyboardInterrupt())
    known = Names()
    with pytest.raises(KeyboardInterrupt):
        known.look_up("a.example", 1)
    resolver.answer = ["192.0.2.1"]
    assert addresses(known.look_up("a.example", 1)) == ["192.0.2.1"]


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all hosts together so many addresses are kept; what was not asked for longest is looked up anew."""
    monkeypatch.setattr(dialling, "MOST_ADDRESSES", 10)
    resolver = Resolver(monkeypatch, ["192.0.2.1", "192.0.2.2"])
    known = Names()
    for host in "abcdefabcdef":
        known.look_up(host, 1)
    assert resolver.asked == list("abcdefabcdef")
    resolver.asked.clear()
    for host in "fedcb":
        known.look_up(host, 1)
    assert resolver.asked == []
    resolver.answer = [f"192.0.2.{n}" for n in range(200)]
    known.look_up("many", 1)
    known.look_up("g", 1)
    assert resolver.asked == ["many", "g"]
