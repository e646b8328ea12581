"""What `fscrawl status` says of a look at the crawl: a table for people, an object for programs. Pure.

Vocabulary:
  situation   in one word what goes on: see SITUATIONS
  remark      a line about what somebody should know, or may want to do about it

Promise: what came from the web or from the tree is printed without control characters (`progress.plain`), and without
being taken for markup; the table can be read at 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fscrawl.monitor.snapshot import WINDOWS_S, MachineStatus, Snapshot
from fscrawl.monitor.state import CrawlState, state_of
from fscrawl.storage.records import timestamp
from fscrawl.store import PAUSE, STOP
from fscrawl.util.humanize import DAY_S, count, size, span
from fscrawl.util.terminal import plain

_SHOWN_GONE = 10  # machines that are not alive
_SHOWN_HOSTS = 5
_STYLES = {
    CrawlState.RUNNING: "bold green",
    CrawlState.PAUSED: "bold yellow",
    CrawlState.STOPPING: "bold yellow",
    CrawlState.STOPPED: "bold red",
}


def as_json(view: Snapshot) -> dict[str, Any]:
    """Give the look as an object: numbers in seconds and bytes, times in RFC 3339."""
    return {
        "at": timestamp(view.now),
        "crawl": view.crawl,
        "state": state_of(view).value,
        **{state: sum(machine.state == state for machine in view.machines) for state in ("alive", "dead", "left")},
        "pages": int(view.total("pages")),
        "bytes": int(view.total("bytes")),
        "errors": {plain(name): number for name, number in view.errors().most_common()},
        "pages_per_s": {name: round(view.rate(window_s), 3) for name, window_s in WINDOWS_S.items()},
        **{name: int(view.at_work(name)) for name in ("pending", "in_flight", "hosts", "resting", "gave_up")},
        "slow": {plain(each.host): each.value for each in view.worst("slow")},
        "failing": {plain(each.host): int(each.value) for each in view.worst("failing")},
        "signs": [plain(sign) for sign in view.signs],
        "free_bytes": view.free_bytes,
        "ends_in_s": view.ends_in_s(),
        "settings": view.settings_digest,
        "settings_trouble": plain(view.settings_trouble),
        "machines": [_machine_as_json(view, machine) for machine in view.machines],
    }


def _machine_as_json(view: Snapshot, machine: MachineStatus) -> dict[str, Any]:
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
        "settings_differ": view.uses_other_settings(machine),
    }


def _rate(machine: MachineStatus) -> float:
    return machine.rate(WINDOWS_S["1 min"]) if machine.state == "alive" else 0.0


# -- for people


def as_table(view: Snapshot, root: str) -> Group:
    """Give the look as it is shown on a terminal. `root`: what the user calls the tree."""
    state = state_of(view)
    title = Text.assemble(
        (state.value, _STYLES.get(state, "bold")), f": {state.meaning}  ", (f"crawl {plain(view.crawl)}", "dim")
    )
    parts: list[Any] = [title, _facts(view)]
    if view.machines:
        parts += [Text(), _machines(view)]
    said = remarks(view, root)
    if said:
        parts += [Text(), *(Text(f"! {plain(line)}", "yellow") for line in said)]
    return Group(*parts)


def _facts(view: Snapshot) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in facts(view).items():
        table.add_row(Text(name), Text(plain(value)))
    return table


def facts(view: Snapshot) -> dict[str, str]:
    """Give what there is to say of the crawl as a whole: label → text."""
    errors = view.errors()
    said = {
        "pages": f"{view.total('pages'):,.0f} stored, {size(view.total('bytes'))}",
        "pages/s": "   ".join(f"{name}: {view.rate(window_s):,.1f}" for name, window_s in WINDOWS_S.items()),
        "errors": f"{errors.total():,}"
        + (": " if errors else "")
        + _listed(f"{n:,} {c}" for c, n in errors.most_common()),
        "disk": f"{size(view.free_bytes)} free",
    }
    if view.alive():
        ends_in_s = view.ends_in_s()
        said["pending"] = f"{view.at_work('pending'):,.0f} URLs, {view.at_work('in_flight'):,.0f} in flight" + (
            f"; ends in about {span(ends_in_s)}, if nothing new is found" if ends_in_s is not None else ""
        )
        said["hosts"] = (
            f"{view.at_work('hosts'):,.0f} met, {view.at_work('resting'):,.0f} resting,"
            f" {view.at_work('gave_up'):,.0f} given up"
        )
    if slow := view.worst("slow", _SHOWN_HOSTS):
        said["slow"] = _listed(f"{each.host} {each.value:,.4g} s" for each in slow)
    if failing := view.worst("failing", _SHOWN_HOSTS):
        said["failing"] = _listed(f"{each.host} {each.value:,.4g} in a row" for each in failing)
    if view.signs:
        said["signs"] = _listed(view.signs)
    return said


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _machines(view: Snapshot) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("machine", overflow="fold", ratio=1)
    table.add_column("state", no_wrap=True)
    for name in ("pages/s", "flight", "pending", "memory", "shards", "settings"):
        table.add_column(name, justify="right", no_wrap=True)
    gone = sorted((m for m in view.machines if m.state != "alive"), key=lambda machine: -machine.seen_at)
    for machine in [*view.alive(), *gone[:_SHOWN_GONE]]:
        cells = _cells(view, machine)
        table.add_row(*map(Text, cells), style=None if machine.state == "alive" else "dim")
    if gone[_SHOWN_GONE:]:
        table.add_row(Text(f"and {len(gone) - _SHOWN_GONE:,} more"), Text("gone"), style="dim")
    return table


def _cells(view: Snapshot, machine: MachineStatus) -> tuple[str, ...]:
    last = machine.last
    if machine.state != "alive":
        return plain(machine.name), machine.state, "", "", "", "", "", ""
    settings_at = clock(last.settings_at, view.now)
    return (
        plain(machine.name),
        plain(machine.doing) or "fetching",
        f"{_rate(machine):,.1f}",
        count(last.in_flight),
        count(last.pending),
        size(last.memory),
        count(last.shards or 0),
        settings_at + ("!" if view.uses_other_settings(machine) else ""),
    )


def remarks(view: Snapshot, root: str) -> list[str]:
    """Give a line for each thing that somebody should know."""
    said = []
    if view.settings_trouble:
        said.append(f"{view.settings_trouble}; machines keep the last good settings")
    elif behind := sum(view.uses_other_settings(machine) for machine in view.machines):
        said.append(f"crawl.toml was edited, and not taken up yet by {behind} of {len(view.alive())} (marked !)")
    dead = [machine for machine in view.machines if machine.state == "dead"]
    if dead and view.alive():
        said.append(f"{len(dead)} dead: the others take over what they held, and nothing is lost")
    if STOP in view.signs or any(sign.startswith(PAUSE) for sign in view.signs):
        said.append(f"to go on:  fscrawl resume --root {root}")
    if state_of(view) is CrawlState.STOPPED:
        said.append(f"to crawl on:  fscrawl crawl --root {root}")
    return said


def clock(moment: str, now: float) -> str:
    """Give a time of a record in this machine's time zone: the hour, or the day if it was not of the last one."""
    try:
        at = datetime.fromisoformat(moment).astimezone()
    except (ValueError, OverflowError):
        return ""
    return at.strftime("%H:%M:%S" if now - at.timestamp() < DAY_S else "%b %d")
