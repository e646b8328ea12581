"""What `fscrawl status` prints of a snapshot: a table for people, an object for programs. Pure.

Vocabulary:
  remark      a line about what the user should know, or what to do

Promise: text from the web or from the tree is printed without control characters (`terminal.plain`), and is never read
as markup. The table fits into 80 columns; if the terminal has fewer than 64, it says less of each machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import asdict
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fscrawl import urls
from fscrawl.engine.idleness import all_taken
from fscrawl.fleet.status_file import LabelFigure
from fscrawl.monitor.advice import not_stored_as_json, not_stored_lines, to_go_on
from fscrawl.monitor.snapshot import WINDOWS_S, CrawlState, MachineStatus, Snapshot, state_of
from fscrawl.storage.records import timestamp
from fscrawl.util.humanize import DAY_S, count, number_of, size, span
from fscrawl.util.installed import command
from fscrawl.util.terminal import plain

_SHOWN_GONE = 10  # machines that are not alive
_SHOWN_HOSTS = 5
_SHOWN_LABELS = 20
_ALL = ("pages/s", "flight", "pending", "memory", "shards", "settings")
_FEW = _ALL[:1]  # on a terminal of fewer columns than _WIDE
_WIDE = 64
_NAME = 7  # columns at least, of the name of a machine or a label
_STYLES = {
    CrawlState.RUNNING: "bold green",
    CrawlState.PAUSING: "bold yellow",
    CrawlState.PAUSED: "bold yellow",
    CrawlState.STOPPING: "bold yellow",
    CrawlState.STOPPED: "bold red",
}


def as_json(snapshot: Snapshot) -> dict[str, Any]:
    """Give the snapshot as an object: numbers in seconds and bytes, times in RFC 3339."""
    return {
        "at": timestamp(snapshot.now),
        "crawl": snapshot.crawl,
        "state": state_of(snapshot).value,
        **{state: sum(machine.state == state for machine in snapshot.machines) for state in ("alive", "dead", "left")},
        "exact": snapshot.is_exact,
        "pages": int(snapshot.total("pages")),
        "bytes": int(snapshot.total("bytes")),
        "errors": {plain(name): number for name, number in snapshot.errors().most_common()},
        "pages_per_s": {name: round(snapshot.rate(window_s), 3) for name, window_s in WINDOWS_S.items()},
        "pending": snapshot.pending() if snapshot.is_pending_known else None,
        "pending_exact": snapshot.is_pending_known and not snapshot.roughly,
        **{name: int(snapshot.at_work(name)) for name in ("in_flight", "hosts", "resting", "gave_up")},
        "slow": {plain(host): seconds for host, seconds in snapshot.slow().items()},
        "failing": {plain(host): times for host, times in snapshot.failing().items()},
        "signs": [plain(sign) for sign in snapshot.signs],
        "free_bytes": snapshot.free_bytes,
        "ends_in_s": snapshot.ends_in_s(),
        "settings": snapshot.settings_digest,
        "settings_trouble": plain(snapshot.settings_trouble),
        "labels": {
            plain(label): _label_as_json(snapshot, label, figure) for label, figure in snapshot.labels().items()
        },
        **not_stored_as_json(snapshot.not_stored),
        "machines": [machine_as_json(snapshot, machine) for machine in snapshot.machines],
    }


def _label_as_json(snapshot: Snapshot, label: str, figure: LabelFigure) -> dict[str, Any]:
    unknown = {} if snapshot.knows_labels else {"found": None, "pending": None}
    return {"found": figure.found, **asdict(figure), **unknown, "stopped": label in snapshot.stopped_labels}


def machine_as_json(snapshot: Snapshot, machine: MachineStatus) -> dict[str, Any]:
    last = machine.last
    return {
        "name": plain(machine.name),
        "state": machine.state,
        "doing": plain(machine.doing),
        "finished": machine.finished,
        "last_beat": timestamp(machine.seen_at),
        "pages_per_s": round(_rate(machine), 3),
        **{
            name: int(getattr(last, name) or 0)
            for name in ("pages", "bytes", "pending", "in_flight", "hosts", "shards", "memory")
        },
        "errors": last.failures,
        "settings": plain(last.settings),
        "settings_at": plain(last.settings_at),
        "settings_differ": snapshot.uses_other_settings(machine),
    }


def _rate(machine: MachineStatus) -> float:
    return machine.rate(WINDOWS_S["1 min"]) if machine.state == "alive" else 0.0


# -- for people


def as_table(snapshot: Snapshot, root: str, width: int) -> Group:
    """Give the snapshot as it is shown on a terminal of some columns. `root`: the tree as the user named it."""
    state = state_of(snapshot)
    title = Text.assemble(
        (state.value, _STYLES.get(state, "bold")), f": {state.meaning}  ", (f"crawl {plain(snapshot.crawl)}", "dim")
    )
    parts: list[Any] = [title, _facts(snapshot)]
    if snapshot.machines:
        parts += [Text(), _machines(snapshot, _ALL if width >= _WIDE else _FEW)]
    if labels := snapshot.labels():
        parts += [Text(), _labels(labels, snapshot.stopped_labels, knows=snapshot.knows_labels)]
    lines = remarks(snapshot, root)
    if lines:
        parts += [Text(), *(Text(f"! {plain(line)}", "yellow") for line in lines)]
    return Group(*parts)


def _facts(snapshot: Snapshot) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in facts(snapshot).items():
        table.add_row(Text(name), Text("\n".join(map(plain, value.split("\n")))))
    return table


def facts(snapshot: Snapshot) -> dict[str, str]:
    """Give the facts about the whole crawl: label → text."""
    errors = snapshot.errors()
    found = {
        "pages": f"{snapshot.at_least}{snapshot.total('pages'):,} stored, {size(snapshot.total('bytes'))}",
        "pages/s": "   ".join(f"{name}: {snapshot.rate(window_s):,.1f}" for name, window_s in WINDOWS_S.items()),
        "failures": f"{errors.total():,}"
        + (": " if errors else "")
        + ", ".join(f"{n:,} {c}" for c, n in errors.most_common()),
        "pending": pending_of(snapshot),
        "disk": f"{size(snapshot.free_bytes)} free",
    }
    if snapshot.alive():
        ends_in_s = snapshot.ends_in_s()
        found["pending"] += f", {snapshot.at_work('in_flight'):,.0f} in flight" + (
            f"; done in about {span(ends_in_s)}, if nothing new is found" if ends_in_s is not None else ""
        )
        at_least = "" if snapshot.is_pending_known else "at least "
        found["hosts"] = (
            f"{at_least}{snapshot.at_work('hosts'):,.0f} known, {snapshot.at_work('resting'):,.0f} resting,"
            f" {snapshot.at_work('gave_up'):,.0f} given up"
        )
    if slow := snapshot.slow(_SHOWN_HOSTS):
        found["slow"] = ", ".join(f"{urls.shown_host(host)} {seconds:,.4g} s" for host, seconds in slow.items())
    if failing := snapshot.failing(_SHOWN_HOSTS):
        found["failing"] = ", ".join(
            f"{urls.shown_host(host)} {times:,.4g} in a row" for host, times in failing.items()
        )
    for label, text in not_stored_lines(snapshot.not_stored):
        found[label] = f"{found[label]}\n{text}" if label in found else text
    if snapshot.signs:
        found["signs"] = ", ".join(snapshot.signs)
    return found


def pending_of(snapshot: Snapshot) -> str:
    """Say how many URLs are pending, as far as that is known."""
    if snapshot.is_pending_known:
        return f"{snapshot.roughly}{number_of(snapshot.pending(), 'URL')}"
    return f"? (at least {snapshot.pending():,}: hosts are being taken over)"


def _machines(snapshot: Snapshot, figures: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("machine", overflow="fold", ratio=1, min_width=_NAME)
    table.add_column("state", overflow="fold", no_wrap=figures is _ALL)
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    gone = sorted((m for m in snapshot.machines if m.state != "alive"), key=lambda machine: -machine.seen_at)
    for machine in [*snapshot.alive(), *gone[:_SHOWN_GONE]]:
        cells = _cells(snapshot, machine)[: 2 + len(figures)]
        table.add_row(*map(Text, cells), style=None if machine.state == "alive" else "dim")
    if gone[_SHOWN_GONE:]:
        table.add_row(Text(f"and {len(gone) - _SHOWN_GONE:,} more"), Text("gone"), style="dim")
    return table


def _labels(labels: Mapping[str, LabelFigure], stopped: Collection[str], *, knows: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("label", overflow="fold", ratio=1, min_width=_NAME)
    for name in ("found", "stored", "failed", "pending", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for label, figure in list(labels.items())[:_SHOWN_LABELS]:
        found, pending = (count(each) if knows else "?" for each in (figure.found, figure.pending))
        state = "stopped" if label in stopped else "done" if knows and not figure.pending else ""
        cells = (plain(label), found, count(figure.stored), count(figure.failed), pending, state)
        table.add_row(*map(Text, cells))
    if (more := len(labels) - _SHOWN_LABELS) > 0:
        table.add_row(Text(f"and {more:,} more; --json names all"))
    return table


def _cells(snapshot: Snapshot, machine: MachineStatus) -> tuple[str, ...]:
    last = machine.last
    if machine.state != "alive":
        return plain(machine.name), machine.state, "", "", "", "", "", ""
    settings_at = clock(last.settings_at, snapshot.now)
    return (
        plain(machine.name),
        plain(machine.doing) or "fetching",
        f"{_rate(machine):,.1f}",
        count(last.in_flight),
        count(last.pending),
        size(last.memory),
        count(last.shards or 0),
        settings_at + ("!" if snapshot.uses_other_settings(machine) else ""),
    )


def remarks(snapshot: Snapshot, root: str) -> list[str]:
    """Give the remarks on a snapshot."""
    lines = []
    if snapshot.settings_trouble:
        lines.append(f"{snapshot.settings_trouble}; machines keep the last valid settings")
    elif behind := sum(snapshot.uses_other_settings(machine) for machine in snapshot.machines):
        lines.append(f"crawl.toml was edited; not in use yet on {behind} of {len(snapshot.alive())} (marked !)")
    dead = [machine for machine in snapshot.machines if machine.state == "dead"]
    if dead and snapshot.alive():
        lines.append(f"{len(dead)} dead: the other machines take over their work, and nothing is lost")
    lines += to_go_on(root, snapshot.signs)
    idle = sum(machine.doing == "idle" for machine in snapshot.alive())
    if idle and snapshot.pending() and snapshot.is_pending_known:
        lines.append(f"{idle} {all_taken(by_url=snapshot.by_url)}")
    if state_of(snapshot) is CrawlState.STOPPED:
        if snapshot.max_pages is not None and snapshot.total("pages") >= snapshot.max_pages:
            lines.append(f"crawl.max_pages = {snapshot.max_pages} is reached; to get more, raise it in crawl.toml")
        lines.append(f"to continue:  {command('crawl', root)}")
    return lines


def clock(moment: str, now: float) -> str:
    """Give a time in this machine's time zone: the time of day, or the date if it is more than a day ago."""
    try:
        at = datetime.fromisoformat(moment).astimezone()
    except (ValueError, OverflowError):
        return ""
    return at.strftime("%H:%M:%S" if now - at.timestamp() < DAY_S else "%b %d")
