"""Packs: what many past runs have left, in one file. Pure: bytes to runs, and back.

    head      a JSON line: each run's machine, how long its heartbeats are, the segments of its log, and its status file
    content   the runs in this order: the lines of the heartbeats, the segments, the status file
    digest    SHA-256 of all before, as a line of 64 hex digits

Vocabulary:
  run       what one machine has left that is over: its heartbeat log, its log of URLs, its status file

Promise: what `runs_in` reads is what `pack` has written, or it is a ValueError.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from fscrawl.storage.layout import is_machine

MOST_BYTES = 64 * 1024 * 1024  # of a pack: a larger one was not written by fscrawl
_DIGEST_BYTES = 65  # and its newline


class Run(NamedTuple):
    """What a run has left.

    beats         the lines of its heartbeat log, thinned if they were many
    beats_bytes   how long that log was
    log           segment → its bytes; None: its log is not in the pack
    status        the file that `status_file` wrote last; b"" if it has none
    """

    beats: bytes
    beats_bytes: int
    log: Mapping[int, bytes] | None
    status: bytes = b""

    @property
    def bytes(self) -> int:
        return len(self.beats) + sum(map(len, (self.log or {}).values())) + len(self.status)


def pack(runs: Mapping[str, Run]) -> bytes:
    """Write runs, by machine."""
    head = {
        machine: [
            len(run.beats),
            run.beats_bytes,
            None if run.log is None else [[segment, len(data)] for segment, data in run.log.items()],
            len(run.status),
        ]
        for machine, run in runs.items()
    }
    content = [json.dumps({"pack": 1, "runs": head}, separators=(",", ":")).encode() + b"\n"]
    for run in runs.values():
        content += [run.beats, *(run.log or {}).values(), run.status]
    data = b"".join(content)
    return data + hashlib.sha256(data).hexdigest().encode() + b"\n"


def runs_in(data: bytes) -> dict[str, Run]:
    """Read a pack. ValueError if it is none, or not as it was written."""
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if digest != hashlib.sha256(content).hexdigest().encode() + b"\n":
        raise ValueError("its digest is another one")
    line, _, rest = content.partition(b"\n")
    try:
        facts = json.loads(line)
        if facts["pack"] != 1:
            raise ValueError("a pack of another format")
        found, at = {}, 0
        for machine, (beats_bytes, size, segments, status_bytes) in facts["runs"].items():
            if not is_machine(machine):
                raise ValueError("a run has no machine's name")
            beats, at = rest[at : at + beats_bytes], at + beats_bytes
            log: dict[int, bytes] = {}
            for segment, length in segments or ():
                log[int(segment)], at = rest[at : at + length], at + length
            status, at = rest[at : at + status_bytes], at + status_bytes
            found[machine] = Run(beats, int(size), None if segments is None else log, status)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no head of a pack: {error}") from error
    if at != len(rest):
        raise ValueError("it is shorter or longer than its head says")
    return found
