"""The memory of names that were looked up."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest

from fscrawl.config.settings import FetchSettings
from fscrawl.http import dialling
from fscrawl.http.answers import UnresolvedError
from fscrawl.http.dialling import Dialler


class Resolver:
    """Stands in for getaddrinfo. `answer`: addresses, or the error that is raised; `asked`: the names, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: str, port: object, **_: object) -> list[Any]:
        self.asked.append(host)
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
    known = Dialler(FetchSettings())
    assert addresses(known.look_up("a.example")) == ["192.0.2.1", "2001:db8::1"]
    assert addresses(known.look_up("a.example")) == ["192.0.2.1", "2001:db8::1"]
    assert known.look_up("b.example")
    assert resolver.asked == ["a.example", "b.example"]


def test_an_answer_holds_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """When its time is over, a name is looked up anew."""
    resolver = Resolver(monkeypatch, ["192.0.2.1"])
    monkeypatch.setattr(dialling, "KEPT_S", 0.0)
    known = Dialler(FetchSettings())
    known.look_up("a.example")
    resolver.answer = ["192.0.2.2"]
    assert addresses(known.look_up("a.example")) == ["192.0.2.2"]


def test_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is forgotten is looked up anew; one that is not known may be forgotten, too."""
    resolver = Resolver(monkeypatch, ["192.0.2.1"])
    known = Dialler(FetchSettings())
    known.forget("a.example")
    known.look_up("a.example")
    known.forget("a.example")
    known.look_up("a.example")
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
    known = Dialler(FetchSettings())
    for _ in range(3):
        with pytest.raises(UnresolvedError) as raised:
            known.look_up("nowhere.example")
        assert str(error.args[-1]) in str(raised.value)
    assert len(resolver.asked) == times


def test_a_name_that_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is no such name holds for less time than an address."""
    assert dialling.KEPT_WITHOUT_S < dialling.KEPT_S / 10
    resolver = Resolver(monkeypatch, socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
    monkeypatch.setattr(dialling, "KEPT_WITHOUT_S", 0.0)
    known = Dialler(FetchSettings())
    with pytest.raises(UnresolvedError):
        known.look_up("new.example")
    resolver.answer = ["192.0.2.1"]
    assert addresses(known.look_up("new.example")) == ["192.0.2.1"]


def test_what_has_answered_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a host that has answered is the first one, as long as the answer of the resolver holds."""
    Resolver(monkeypatch, ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    known = Dialler(FetchSettings())
    known._prefer("a.example", "192.0.2.3")
    known.look_up("a.example")
    known._prefer("a.example", "192.0.2.3")
    assert addresses(known.look_up("a.example")) == ["192.0.2.3", "192.0.2.1", "192.0.2.2"]


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all hosts together so many addresses are kept; what was not asked for longest is looked up anew."""
    monkeypatch.setattr(dialling, "MOST_ADDRESSES", 10)
    resolver = Resolver(monkeypatch, ["192.0.2.1", "192.0.2.2"])
    known = Dialler(FetchSettings())
    for host in "abcdefabcdef":
        known.look_up(host)
    assert resolver.asked == list("abcdefabcdef")
    resolver.asked.clear()
    for host in "fedcb":
        known.look_up(host)
    assert resolver.asked == []
    resolver.answer = [f"192.0.2.{n}" for n in range(200)]
    known.look_up("many")
    known.look_up("g")
    assert resolver.asked == ["many", "g"]
