"""What is printed: a table for each fleet, and which targets were met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.scale.joins import LargeJoin, extrapolated
from benchmarks.scale.small import SmallFigures
from benchmarks.scale.steady import FULL_RATE, Figures
from benchmarks.scale.tally import HEADS, PAGES

_CALLS = 1.3  # at 100 machines, of those at 1
_CALLS_BESIDE = 3.0  # those of the page's own files
_READ = 1.5  # at 1,000 machines, of what is read at 10
_JOIN = 1.2  # of the share of the links
_OTHERS = 0.95  # of their rate, while one joins
_FULLEST = 1.5  # of the mean
_SMALL = 8.0  # 6 machines, of 2
_HUGE = 100_000_000

HEAD = (
    "Fleet, frontier, logs and storage are the real code; directory and clock are not. Costs that come with each\n"
    f"second are divided by {FULL_RATE:g} pages, what a real machine stores; blocks of logs are made at this rate.\n"
)


class Target(NamedTuple):
    """`value` should be at most `most`."""

    what: str
    value: float
    most: float
    met: bool


def fleet_text(fleet: Figures) -> str:
    observed = "" if fleet.real == fleet.machines else f", {fleet.real} of them whole; the others only write"
    lines = [
        f"{fleet.machines} machines{observed}: {fleet.shards} shards, {fleet.rate:.3g} pages/s each,"
        f" {fleet.pages} pages in {fleet.window_s:.0f} s, CPU {fleet.cpu_ms:.2f} ms a page",
        f"  calls a page {sum(fleet.calls.values()):.2f}: {_listed(fleet.calls, '.2f')}",
        f"  bytes read a page {_sum(fleet.read, HEADS):.0f} and heads {fleet.read[HEADS]:.0f}: {_listed(fleet.read)}",
        f"  bytes written a page {sum(fleet.written.values()):.0f}: {_listed(fleet.written)}",
        f"  fullest machine: shards {fleet.shares['shards']:.2f} of the mean, pages {fleet.shares['pages']:.2f}",
    ]
    if fleet.join:
        lines += _join_lines(fleet)
    if fleet.kill:
        lines += _kill_lines(fleet)
    lines += [f"  warning: {warning}" for warning in fleet.warnings]
    return "\n".join(lines) + "\n"


def _join_lines(fleet: Figures) -> list[str]:
    join = fleet.join
    return [
        f"  a join: {join['seconds']:.0f} s, {join['shards']} shards ({join['missing_shards']} missing),"
        f" {sum(join['calls'].values())} calls, CPU {join['cpu_s']:.2f} s; read: {_listed(join['read'])}",
        f"    the others go on at {join['others_rate']:.2f} of their rate;"
        f" {join['others_most_calls_in_a_turn']} calls in one turn at most",
    ]


def _kill_lines(fleet: Figures) -> list[str]:
    kill = fleet.kill
    how = "all its shards are held" if kill["recovered"] else "NOT all its shards are held"
    return [
        f"  one is killed: after {kill['seconds']:.0f} s {how} ({kill['shards']}),"
        f" {kill['checks_calls']} calls and {kill['checks_read']} bytes to see what is stored,"
        f" {kill['told_again']} pages told again, {kill['fetched_twice']} fetched twice"
    ]


def small_text(small: Iterable[SmallFigures]) -> str:
    lines = ["A small web, 60 hosts of 40 pages, crawled to its end:"]
    lines += [
        f"  {each.machines} machines: {each.pages} pages in {each.seconds:.0f} s; all together read"
        f" {each.own_bytes:.0f} bytes of the fleet's files a page, heartbeats aside; {each.calls:.1f} calls a page;"
        f" {each.twice} pages fetched twice"
        for each in small
    ]
    return "\n".join(lines) + "\n"


def joins_text(joins: list[LargeJoin]) -> str:
    if not joins:
        return ""
    return "".join(map(_join_text, (*joins, extrapolated(joins[0], joins[-1], _HUGE))))


def _join_text(join: LargeJoin) -> str:
    return (
        f"A join to {join.pages:.0e} pages on {join.machines} machines{'' if join.measured else ' (extrapolated)'}:"
        f" {join.shards} shards, {join.known} URLs; CPU {join.cpu_s:.1f} s, {sum(join.calls.values()):.0f} calls\n"
        f"  read {_mb(sum(join.read.values()))}, {join.beside:.2f} of its share of all lines"
        f" ({_mb(join.share_bytes)}); the least is {_mb(join.needed_bytes)}\n  {_listed(join.read)}\n"
    )


def targets(
    fleets: list[Figures], compared: Figures | None, small: list[SmallFigures], joins: list[LargeJoin]
) -> list[Target]:
    by_size = {fleet.machines: fleet for fleet in fleets}
    found: list[Target] = []

    def add(what: str, value: float, most: float) -> None:
        found.append(Target(what, value, most, value <= most))

    one, hundred, thousand = by_size.get(1), by_size.get(100), by_size.get(1000)
    if hundred:
        calls = sum(hundred.calls.values())
        if one:
            add("calls a page at 100 machines, of those at 1", calls / sum(one.calls.values()), _CALLS)
        add("calls a page at 100 machines, beside its own files", calls - hundred.calls[PAGES], _CALLS_BESIDE)
        add("shards of the fullest of 100 machines, of the mean", hundred.shares["shards"], _FULLEST)
    if thousand and compared:
        value = _sum(thousand.read, HEADS) / _sum(compared.read, HEADS)
        add("bytes read a page at 1,000 machines, of those at 10; heads aside", value, _READ)
    for fleet in fleets:
        if fleet.join:
            lost = 1 - fleet.join["others_rate"]
            add(f"part of the others' rate that a join costs, {fleet.machines} machines", lost, 1 - _OTHERS)
    for join in joins:
        if join.pages == 10_000_000:
            add("bytes a join reads at 10^7 pages, of its share of the links", join.beside, _JOIN)
    add("bytes read of a small web by 6 machines, of those by 2", small[1].own_bytes / small[0].own_bytes, _SMALL)
    return found


def targets_text(found: Iterable[Target]) -> str:
    return "\n".join(
        f"{'yes' if each.met else 'NO ':3}  {each.what}: {each.value:.2f} (wanted: at most {each.most:.2f})"
        for each in found
    )


def _sum(counts: dict[str, float], without: str) -> float:
    return sum(count for kind, count in counts.items() if kind != without)


def _listed(counts: dict[str, float], form: str = ".0f") -> str:
    return ", ".join(f"{kind} {count:{form}}" for kind, count in sorted(counts.items()) if count >= 0.005)


def _mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"
