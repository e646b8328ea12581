"""The log of a command that says something of URLs, and takes no part in the crawl: `retry`, or a repair.

The heartbeat log is written last, with hello and goodbye at once, and names the end of the log. So other machines read
the log, and never take the command for a machine that is there to work.

Promise: lines that were flushed count, also if the command fails later.
"""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl import interrupts
from fscrawl.fleet import heartbeat
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.logs import Logs
from fscrawl.fleet.url_logs import UrlLogs
from fscrawl.store import Tree

_FLUSH_EVERY_BYTES = 1 << 20


def write_command_log(tree: Tree, lines: Iterable[Line]) -> int:
    """Write lines into a log of their own in the newest generation, and sign it; return their number.

    Without any, nothing is written; so it is without a generation: the first machine finds all in the records.
    `tree`: opened under a machine id that has no log yet. TreeError if it cannot be written: then what was written so
    far counts nevertheless.
    """
    newest = Generations(tree.files).newest()
    generation = 0 if newest is None else newest.number
    writer = LogWriter(UrlLogs(tree.files, generation), tree.machine)
    written = 0
    try:
        for line in lines:
            if not generation:
                continue
            written += writer.add(line, own=False)
            if writer.unflushed_bytes >= _FLUSH_EVERY_BYTES:
                writer.flush()
        writer.flush()
    finally:
        with interrupts.later():  # an empty heartbeat log would be one of a machine that has not said hello yet
            writer.close()
            if written:
                heartbeat.sign(Logs(tree).heartbeat_log(), tree.machine, generation, writer.place)
    return written
