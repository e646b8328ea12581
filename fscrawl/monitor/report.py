"""`fscrawl report`: the dashboard's views, frozen into one HTML file that opens from the disk.

The page, its style and its script are those of the dashboard. What the script would ask the server stands in the file,
as JSON. Curves cover the whole crawl: they are made of samples of the heartbeat logs.

Promise: the file asks nobody for anything, and a policy in it forbids that, and every script but its own. Memory does
not grow with the logs: of each, some 3 MiB are read at most, which is half a day of beats. The tree is not changed, and
machines may be at work.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fscrawl.fleet.beat import Goodbye, Hello, Line, parse_lines
from fscrawl.fleet.machinery import Machinery
from fscrawl.monitor.dashboard import pages
from fscrawl.monitor.dashboard.hosts import counted, hosts_now, row_of
from fscrawl.monitor.dashboard.summary import POINTS, summary
from fscrawl.monitor.snapshot import MachineStatus, Observer, Snapshot
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import Tree
from fscrawl.util.progress import SILENT, ProgressLine

MOST_HOSTS = 1000
_STATIC = Path(__file__).parent / "dashboard" / "static"
_SAMPLES = 3 * POINTS
_SAMPLE_BYTES = 1 << 13  # several lines, unless many hosts rest
_END_BYTES = 1 << 16


def gather(tree: Tree, line: ProgressLine = SILENT) -> dict[str, Any]:
    """Give the answers of the dashboard, by view. `line`: shows how far it is. TreeError if the tree cannot be read."""
    machinery = Machinery(tree)
    snapshot = Observer(tree).look()
    now = hosts_now(snapshot)
    names = sorted({*tree.hosts(LINKS), *tree.hosts(ERRS), *now})
    line.begin("counting the files of hosts", len(names))
    rows: list[dict[str, Any]] = []
    for name, numbers in counted(tree, names):
        rows.append(row_of(name, numbers, now.get(name), snapshot.now))
        line.advance()
    rows.sort(key=lambda row: -row["records"])
    line.begin("reading heartbeats", unit="")
    return {
        "state": {**_state(snapshot, machinery), "root": str(tree.root), "control": False},
        "hosts": {
            "now": snapshot.now,
            "hosts": len(names),
            "held": sum(row.get("held", False) for row in rows),
            "rows": rows[:MOST_HOSTS],
        },
        "errors": pages.examples(tree),
    }


def render(answers: dict[str, Any]) -> str:
    """Give the file. What is from the web stands in JSON only, without any `<`; the script shows it as text."""
    page, style, script = ((_STATIC / f).read_text() for f in ("index.html", "dashboard.css", "dashboard.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    facts = json.dumps(answers, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        '<meta charset="utf-8">': '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta name="referrer" content="no-referrer">',
        '<link rel="stylesheet" href="dashboard.css">': f"<style>{style}</style>",
        '<script type="module" src="dashboard.js"></script>': f'<script type="application/json" id="frozen">{facts}'
        f'</script>\n<script type="module">{script}</script>',
    }
    for of_server, of_file in parts.items():
        page = page.replace(of_server, of_file)
    return page


def _state(snapshot: Snapshot, machinery: Machinery) -> dict[str, Any]:
    """Give the summary of a snapshot, with the curves of the whole crawl."""
    machines = tuple(_with_samples(machine, machinery) for machine in snapshot.machines)
    last = snapshot.last()
    until = snapshot.now if last is None or snapshot.alive() else last.seen_at
    began = min((machine.greeted_at for machine in machines if machine.greeted_at), default=until)
    whole = summary(replace(snapshot, machines=machines), span=(min(began, until), until))
    colours = {row["name"]: row["colour"] for row in whole["machines"]}
    now = summary(snapshot)
    rows = [{**row, "colour": colours[row["name"]]} for row in now["machines"]]
    return {**now, "machines": rows, "curves": whole["curves"]}


def _with_samples(machine: MachineStatus, machinery: Machinery) -> MachineStatus:
    beats = [
        line.counters if isinstance(line, Goodbye) else line
        for line in _lines_of(machinery, machine.name)
        if not isinstance(line, Hello)
    ]
    if not beats:
        return machine
    step = max(1, len(beats) // _SAMPLES)
    return replace(machine, history=deque([*beats[:-1:step], machine.last]))


def _lines_of(machinery: Machinery, name: str) -> Iterator[Line]:
    """Stream a log, or samples of a long one: three between each two points, if it is as long as the crawl."""
    offset, size = 0, machinery.heartbeats_size(name)
    if size > _SAMPLES * _SAMPLE_BYTES:
        offset = size - _END_BYTES
        for place in range(0, offset, size // _SAMPLES):
            yield from parse_lines(machinery.read_heartbeats(name, place, _SAMPLE_BYTES))
    while data := machinery.read_heartbeats(name, offset):
        offset += len(data)
        yield from parse_lines(data)
