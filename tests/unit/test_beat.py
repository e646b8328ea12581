"""Lines of a heartbeat log: what they are read as, whatever is in them, and how they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fscrawl.fleet.beat import Beat, Goodbye, Hello, command_log, line_of, parse_line, parse_lines

WHOLE = Beat(
    number=7,
    idle=True,
    generation=3,
    log=10,
    read="0123456789abcdef",
    held="23456789abcdef01",
    rules="456789abcdef0123",
    shards=2,
    ready=2,
    needed=9,
    dead_after=60.0,
    pages=3,
    stored=4,
    bytes=4000,
    errors={"timeout": 2, "dns": 1},
    pending=5,
    in_flight=1,
    hosts=6,
    memory=1 << 20,
    state="paused",
    settings="01234567",
    settings_at="2026-01-01T00:00:00.000Z",
    resting=1,
    gave_up=2,
    at=1_790_000_000.5,
)
HELLO = Hello("m-1-aa", "m", "boot", "pid:[1]", 1, "99", 1_790_000_000.5, format=3)


def facts(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize("line", [HELLO, WHOLE, Beat(), Goodbye(WHOLE, finished=True), Goodbye(Beat())])
def test_what_is_written_is_read(line: Hello | Beat | Goodbye) -> None:
    """A line that is written is read as what it was."""
    assert parse_line(line_of(line).rstrip(b"\n")) == line


def test_the_bytes_of_a_beat() -> None:
    """A beat is one line of JSON without spaces; the keys and their order are part of the tree's format."""
    assert line_of(WHOLE) == (
        b'{"beat":7,"idle":true,"generation":3,"log":10,"read":"0123456789abcdef","held":"23456789abcdef01",'
        b'"rules":"456789abcdef0123","shards":2,"ready":2,"needed":9,"dead_after":60.0,"pages":3,"stored":4,"bytes":4000,'
        b'"errors":{"timeout":2,"dns":1},"pending":5,"in_flight":1,"hosts":6,"memory":1048576,"state":"paused",'
        b'"settings":"01234567","settings_at":"2026-01-01T00:00:00.000Z","resting":1,"gave_up":2,'
        b'"at":"2026-09-21T14:13:20.500Z"}\n'
    )


def test_the_bytes_of_other_lines() -> None:
    """A hello names the process; a goodbye ends with how it was; what is not known yet is left out."""
    assert line_of(HELLO) == (
        b'{"hello":"m-1-aa","host":"m","boot":"boot","pidns":"pid:[1]","pid":1,"start":"99","format":3,'
        b'"at":"2026-09-21T14:13:20.500Z"}\n'
    )
    last = facts(line_of(Goodbye(WHOLE, finished=True)))
    assert list(last)[:2] + list(last)[-3:] == ["bye", "beat", "gave_up", "finished", "at"]
    assert not {"beat", "log", "read", "shards"} & facts(line_of(Beat())).keys()


def test_the_log_of_a_command() -> None:
    """A command's log is a hello and a goodbye, and is read as a command's."""
    log = command_log(HELLO, 2, 5)
    assert log == (
        b'{"hello": "m-1-aa", "host": "m", "boot": "boot", "pidns": "pid:[1]", "pid": 1, "start": "99", "format": 3}\n'
        b'{"bye": true, "finished": false, "generation": 2, "log": 5}\n'
    )
    greeting, goodbye = parse_lines(log)
    assert isinstance(greeting, Hello)
    assert goodbye == Goodbye(Beat(generation=2, log=5), is_command=True)


def test_unknown_keys_are_ignored() -> None:
    """A key of a newer version changes nothing."""
    assert parse_line(b'{"beat":1,"pages":2,"weather":["fine"]}') == Beat(number=1, pages=2)


@pytest.mark.parametrize(
    "line",
    [
        *[b"", b"\0\0\0\0", b"\xff\xfe", b"{", b"[1]", b"7", b'"x"', b"null", b"\xef\xbb\xbf{}", b"[" * 100_000],
        *[b'{"a":' * 100_000, b'{"pages":' + b"9" * 5000 + b"}", "{}".encode("utf-16")],
        *[b'{"at":7}', b'{"at":"noon"}', b'{"at":null}', b'{"at":[]}', b'{"at":"0001-01-01T00:00:00"}{}'],
    ],
)
def test_what_is_no_line(line: bytes) -> None:
    """NULs, torn lines, deep nesting and what is no object with a time are no line, and no exception."""
    assert parse_line(line) is None


@pytest.mark.parametrize(
    "facts",
    [
        *[rb'"state":"\ud800"', rb'"errors":{"\udfff":1}', b'"errors":{"a":"1"}', b'"idle":1', b'"ready":-1'],
        *[b'"log":' + log for log in (b"[1]", b"[0,5]", b"-1", b'"1"', b"{}", b"true", b"NaN", b"1e99")],
    ],
)
def test_a_line_with_a_wrong_field(facts: bytes) -> None:
    """What no machine has written is no line: a text that could not be printed, a number that is none."""
    assert parse_line(b'{"beat":1,' + facts + b"}") is None
    assert parse_line(b'{"bye":true,' + facts + b"}") is None


def test_a_hello_of_format_1() -> None:
    """A machine that does not say of which format it is knows only the first one."""
    greeting = parse_line(b'{"hello":"m","pid":1}')
    assert isinstance(greeting, Hello)
    assert greeting.format == 1


def test_a_machine_that_nobody_could_take_for_dead() -> None:
    """A line cannot make others wait for ever for a machine that it names: more than ten minutes is ten."""
    for told, taken in ((0, 0.0), (60, 60.0), (600, 600.0), (1e15, 600.0)):
        assert parse_line(json.dumps({"beat": 1, "dead_after": told}).encode()) == Beat(number=1, dead_after=taken)
