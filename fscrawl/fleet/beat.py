"""The lines of a heartbeat log: their types, the one parser, and the one writer.

Vocabulary:
  hello      the first line: which machine and which process writes this log
  beat       a line of counters, written every few seconds
  goodbye    the last line of a machine that left by itself: its last counters, and why it left

Promise: `parse_line` takes any bytes. What is no line of a log gives None, and so does a line of which a field has the
wrong type. A field that is missing gets its default. Keys that are not known are ignored, so a newer version may add
some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec.structs import force_setattr

from fscrawl.storage.records import timestamp

HELLO_BYTES = 4096  # of a log: its first line is in there
_MOST_DEAD_AFTER_S = 600.0  # somebody's line must not let a machine count as live for ever

# No counter of a crawl is as high as the limit. A `_Sum` may have become less. What only people read is one, too: a
# wrong figure must not silence a machine.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Sum = Annotated[int, msgspec.Meta(gt=-(1 << 62), lt=1 << 62)]


class Hello(msgspec.Struct, frozen=True):
    """Who writes a log.

    boot     the id of the boot of the machine's kernel; processes with the same `boot` and `pidns` see each other
    pidns    the namespace of process ids
    pid      the process; 0 if the line does not say
    start    when the process started, in clock ticks since boot: a process id may be used again
    at       when the line was written (UNIX time, by the machine's own clock)
    format   of the tree that the machine works with
    """

    machine: str = msgspec.field(default="", name="hello")
    host: str = ""
    boot: str = ""
    pidns: str = ""
    pid: _Count = 0
    start: str = ""
    at: float = 0.0
    format: _Count = 1


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
    stored        pages that it has stored, those that it fetched again included
    errors        the same of failures, by class; below 0 for a class of which it fetched some URLs again with success
    pending, in_flight, hosts    of its frontier
    memory        bytes of the machine's processes
    state         what keeps it from fetching; "" if nothing does
    settings, settings_at        digest of the crawl.toml that it uses, and since when
    site          digest of its site file (`--site`), "" without one
    resting, gave_up             numbers of hosts
    at            when the line was written (UNIX time, by the machine's own clock)
    """

    number: _Count | None = msgspec.field(default=None, name="beat")
    idle: bool = False
    generation: _Count = 0
    log: _Count | None = None
    read: str = ""
    held: str = ""
    rules: str = ""
    shards: _Count | None = None
    ready: _Count = 0
    needed: _Count | None = None
    dead_after: float = 0.0
    pages: _Sum = 0
    stored: _Count = 0
    bytes: _Sum = 0
    errors: Mapping[str, _Sum] = msgspec.field(default_factory=dict)
    pending: _Sum = 0
    in_flight: _Sum = 0
    hosts: _Sum = 0
    memory: _Sum = 0
    counted: bool = False
    state: str = ""
    settings: str = ""
    settings_at: str = ""
    site: str = ""
    resting: _Sum = 0
    gave_up: _Sum = 0
    at: float = 0.0

    def __post_init__(self) -> None:
        force_setattr(self, "dead_after", min(self.dead_after, _MOST_DEAD_AFTER_S))

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
        facts = msgspec.json.decode(line, type=dict[str, Any])
        if "at" in facts:
            facts["at"] = datetime.fromisoformat(facts["at"]).timestamp()
        if "hello" in facts:
            return msgspec.convert(facts, Hello)
        counters = msgspec.convert(facts, Beat)
    except (ValueError, TypeError, OverflowError, OSError, RecursionError):
        return None
    if "bye" in facts:
        return Goodbye(counters, facts.get("finished") is True, is_command="pages" not in facts)
    return counters


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


# -- writing


_ONLY_IF_SET = {"read", "held", "rules", "dead_after", "counted", "site"}


def line_of(line: Line) -> bytes:
    """Write a line of a log, with its newline.

    >>> line_of(Hello("m-1-aa", pid=1))
    b'{"hello":"m-1-aa","host":"","boot":"","pidns":"","pid":1,"start":"","format":1}\\n'
    """
    if isinstance(line, Goodbye):
        facts, at = {"bye": True, **_facts(line.counters), "finished": line.finished}, line.counters.at
    else:
        facts, at = _facts(line), line.at
    if at:
        facts["at"] = timestamp(at)
    return json.dumps(facts, separators=(",", ":")).encode() + b"\n"


def command_log(hello: Hello, generation: int, log: int) -> bytes:
    """Write the whole heartbeat log of a command that has written `log` bytes into a log of a generation, and takes no
    part in the crawl.
    """
    goodbye = {"bye": True, "finished": False, "generation": generation, "log": log}
    return "".join(json.dumps(facts) + "\n" for facts in (_facts(hello), goodbye)).encode()


def _facts(line: Hello | Beat) -> dict[str, Any]:
    """Give the fields that are written, without the time."""
    facts = msgspec.to_builtins(line)
    del facts["at"]
    return {key: value for key, value in facts.items() if value or (value is not None and key not in _ONLY_IF_SET)}
