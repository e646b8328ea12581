"""The lines of a heartbeat log: their types, the one parser, and the one writer.

Vocabulary:
  hello      the first line: which machine and which process writes this log
  beat       a line of counters, written every few seconds
  goodbye    the last line of a machine that left by itself: its last counters, and why it left

Promise: `parse_line` takes any bytes. What is no line of a log gives None. A field that is missing or has the wrong
type gets its default. Keys that are not known are ignored, so a newer version may add some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from fscrawl.storage.records import timestamp

HELLO_BYTES = 4096  # of a log: its first line is in there
_MOST = 1 << 62  # no counter of a crawl is as high; a higher number was not written by a machine
_MOST_DEAD_AFTER_S = 600.0  # somebody's line must not let a machine count as live for ever


class Hello(msgspec.Struct, frozen=True):
    """Who writes a log.

    boot     the id of the boot of the machine's kernel; processes with the same `boot` and `pidns` see each other
    pidns    the namespace of process ids
    pid      the process; 0 if the line does not say
    start    when the process started, in clock ticks since boot: a process id may be used again
    at       when the line was written (UNIX time, by the machine's own clock)
    format   of the tree that the machine works with
    """

    machine: str
    host: str = ""
    boot: str = ""
    pidns: str = ""
    pid: int = 0
    start: str = ""
    at: float = 0.0
    format: int = 1


class Beat(msgspec.Struct, frozen=True):
    """The counters of one machine at one moment.

    number        of this beat; None in a goodbye
    idle          the machine has nothing to do and waits for nothing
    generation    in which it works; 0: in none yet
    log           how many bytes of its log in this generation are flushed; None if the line does not say
    read          a hash of the places up to which it has read all logs, its own among them
    held          a hash of the leases that it holds, with their epochs
    rules         a digest of those by which it judges URLs. These four decide when the crawl is over
    shards        how many it holds
    ready         of how many of these it has all URLs that are known, so that `pending` counts them
    needed        how many shards of the whole tree have URLs, as far as it knows; None if it has not looked yet
    dead_after    after so many seconds of silence it counts as dead, by its own settings; 0 if the line does not say.
                  A line that says more than ten minutes is read as ten minutes
    pages, bytes  how many more the tree has by this machine: a page that it fetched again is no new one. A machine that
                  has counted adds what those before it had not said
    counted       when it came, it has counted the pages of the tree: what machines before it did not say is in `pages`
    stored        pages that it has stored, those that it fetched again included; older machines do not say it
    errors        the same of failures, by class; below 0 for a class of which it fetched some URLs again with success
    pending, in_flight, hosts    of its frontier
    memory        bytes of the machine's processes
    state         what keeps it from fetching; "" if nothing does
    settings, settings_at        digest of the crawl.toml that it uses, and since when
    site          digest of its site file (`--site`), "" without one
    resting, gave_up             numbers of hosts
    at            when the line was written (UNIX time, by the machine's own clock)
    """

    number: int | None = None
    idle: bool = False
    generation: int = 0
    log: int | None = None
    read: str = ""
    held: str = ""
    rules: str = ""
    shards: int | None = None
    ready: int = 0
    needed: int | None = None
    dead_after: float = 0.0
    pages: int = 0
    stored: int = 0
    bytes: int = 0
    errors: Mapping[str, int] = msgspec.field(default_factory=dict)
    pending: int = 0
    in_flight: int = 0
    hosts: int = 0
    memory: int = 0
    counted: bool = False
    state: str = ""
    settings: str = ""
    settings_at: str = ""
    site: str = ""
    resting: int = 0
    gave_up: int = 0
    at: float = 0.0

    @property
    def failures(self) -> int:
        """The sum of `errors`."""
        return sum(self.errors.values())


class Goodbye(msgspec.Struct, frozen=True):
    """The end of a log.

    counters    the last ones
    finished    the machine left because the crawl was over
    is_command  the log is not a machine's: a command, such as `retry`, has written URLs into a log of its own
    """

    counters: Beat
    finished: bool = False
    is_command: bool = False


Line = Hello | Beat | Goodbye


# -- reading


def parse_lines(data: bytes) -> Iterator[Line]:
    """Read some lines of a log. What is none (a torn line, NULs of a crashed server) is skipped.

    >>> [line.at for line in parse_lines(b'orn"}\\n{"beat":1,"at":"1970-01-01T00:00:02.500Z"}\\n')]
    [2.5]
    """
    for line in data.split(b"\n"):
        parsed = parse_line(line)
        if parsed is not None:
            yield parsed


def parse_line(line: bytes) -> Line | None:
    """Read one line of a log, None if it is none.

    >>> parse_line(b'{"bye":true,"pages":7,"finished":true}').counters.pages
    7
    """
    try:
        facts = json.loads(line.decode("utf-8"))
        if not isinstance(facts, dict):
            return None
        at = datetime.fromisoformat(facts["at"]).timestamp() if "at" in facts else 0.0
    except (ValueError, TypeError, OverflowError, OSError, RecursionError):
        return None
    if "hello" in facts:
        return _hello(facts, at)
    if "bye" in facts:
        finished = facts.get("finished") is True
        return Goodbye(_beat(facts, at), finished, is_command="pages" not in facts)
    return _beat(facts, at)


def goodbye_of(lines: bytes) -> Goodbye | None:
    """Read the goodbye with which a log ends; None if it does not end with one.

    It has the last counters. Of thousands of past runs nobody needs more, except their hellos.

    >>> goodbye_of(b'{"beat":1,"pages":6}\\n{"bye":true,"pages":7}\\n').counters.pages
    7
    """
    last = lines[lines.rfind(b"\n", 0, -1) + 1 :]
    line = parse_line(last) if last.startswith(b'{"bye"') else None
    return line if isinstance(line, Goodbye) else None


def hello_in(lines: bytes) -> Hello | None:
    """Read the hello among some lines of a log, without reading the others; None if there is none.

    >>> hello_in(b'{"hello":"m"}\\n{"beat":1}\\n').machine
    'm'
    """
    greetings = (parse_line(line) for line in lines.split(b"\n") if b'"hello"' in line)
    return next((each for each in greetings if isinstance(each, Hello)), None)


def _hello(facts: dict[str, Any], at: float) -> Hello:
    machine, host, boot, pidns, start = (_text(facts.get(name)) for name in ("hello", "host", "boot", "pidns", "start"))
    return Hello(machine, host, boot, pidns, _whole(facts.get("pid")), start, at, _whole(facts.get("format")) or 1)


def _beat(facts: dict[str, Any], at: float) -> Beat:
    get = facts.get
    return Beat(
        number=_whole_or_none(get("beat")),
        idle=get("idle") is True,
        generation=_whole(get("generation")),
        log=_whole_or_none(get("log")),
        read=_text(get("read")),
        held=_text(get("held")),
        rules=_text(get("rules")),
        shards=_whole_or_none(get("shards")),
        ready=_whole(get("ready")),
        needed=_whole_or_none(get("needed")),
        dead_after=min(_seconds(get("dead_after")), _MOST_DEAD_AFTER_S),
        pages=_signed(get("pages")),
        stored=_whole(get("stored", get("pages"))),
        bytes=_signed(get("bytes")),
        errors=_signed_table(get("errors")),
        pending=_whole(get("pending")),
        in_flight=_whole(get("in_flight")),
        hosts=_whole(get("hosts")),
        memory=_whole(get("memory")),
        counted=get("counted") is True,
        state=_text(get("state")),
        settings=_text(get("settings")),
        settings_at=_text(get("settings_at")),
        site=_text(get("site")),
        resting=_whole(get("resting")),
        gave_up=_whole(get("gave_up")),
        at=at,
    )


def _is_number(value: Any) -> bool:
    """Tell whether it is a number that can be counted with: NaN and infinity compare as false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST


def _whole_or_none(value: Any) -> int | None:
    return int(value) if _is_number(value) else None


def _whole(value: Any) -> int:
    if type(value) is int and 0 <= value <= _MOST:  # nearly all are; a log of an hour has many
        return value
    return int(value) if _is_number(value) else 0


def _signed(value: Any) -> int:
    """Read a sum that may have become less."""
    return -_whole(-value) if type(value) is int and value < 0 else _whole(value)


def _signed_table(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    found = {name: _signed(number) for name, number in value.items() if _is_unicode(name)}
    return {name: number for name, number in found.items() if number}


def _seconds(value: Any) -> float:
    return float(value) if _is_number(value) else 0.0


def _text(value: Any) -> str:
    return value if isinstance(value, str) and _is_unicode(value) else ""


def _is_unicode(text: str) -> bool:
    r"""Tell whether a text can be written: JSON may hold half of a surrogate pair, as in "\ud800"."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


# -- writing


def line_of(line: Line) -> bytes:
    """Write a line of a log, with its newline.

    >>> line_of(Hello("m-1-aa", pid=1))
    b'{"hello":"m-1-aa","host":"","boot":"","pidns":"","pid":1,"start":"","format":1}\\n'
    """
    if isinstance(line, Goodbye):
        facts = {"bye": True, **_counters(line.counters), "finished": line.finished}
        at = line.counters.at
    else:
        facts, at = _identity(line) if isinstance(line, Hello) else _counters(line), line.at
    if at:
        facts["at"] = timestamp(at)
    return json.dumps(facts, separators=(",", ":")).encode() + b"\n"


def command_log(hello: Hello, generation: int, log: int) -> bytes:
    """Write the whole heartbeat log of a command that has written `log` bytes into a log of a generation, and takes no
    part in the crawl.
    """
    goodbye = {"bye": True, "finished": False, "generation": generation, "log": log}
    return "".join(json.dumps(facts) + "\n" for facts in (_identity(hello), goodbye)).encode()


def _identity(hello: Hello) -> dict[str, Any]:
    there = {"host": hello.host, "boot": hello.boot, "pidns": hello.pidns, "pid": hello.pid, "start": hello.start}
    return {"hello": hello.machine, **there, "format": hello.format}


def _counters(beat: Beat) -> dict[str, Any]:
    facts = {
        "beat": beat.number,
        "idle": beat.idle,
        "generation": beat.generation,
        "log": beat.log,
        "read": beat.read or None,
        "held": beat.held or None,
        "rules": beat.rules or None,
        "shards": beat.shards,
        "ready": beat.ready,
        "needed": beat.needed,
        "dead_after": beat.dead_after or None,
        "pages": beat.pages,
        "stored": beat.stored,
        "bytes": beat.bytes,
        "errors": dict(beat.errors),
        "pending": beat.pending,
        "in_flight": beat.in_flight,
        "hosts": beat.hosts,
        "memory": beat.memory,
        "counted": beat.counted or None,
        "state": beat.state,
        "settings": beat.settings,
        "settings_at": beat.settings_at,
        "site": beat.site or None,
        "resting": beat.resting,
        "gave_up": beat.gave_up,
    }
    return {name: value for name, value in facts.items() if value is not None}
