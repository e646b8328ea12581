"""What came of a soak: the tree against the site, the web's log against the faults.

Vocabulary:
  repeat     a fetch of a URL beyond its first
  rushed     a request that came sooner after another one to its host than the delay allows
  excused    a repeat or a rushed request of which one of the two fetches was under way at a fault of its machine
  unfenced   a request by a machine whose tree had not answered for longer than `dead_after / 2`

Promise: nothing is excused by a fault of another machine, or by one that was long over, and no fault excuses more
repeats than its machine has lanes.
"""

from __future__ import annotations

import bisect
import itertools
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from fscrawl.errors import RecordError
from fscrawl.storage.records import ErrorRecord, PageRecord
from tests.support.crawling import CHECKOUT, files, temporaries, view
from tests.support.soak.machines import LANES, End, Fault, Slots
from tests.support.soak.site import Closure, Hit

STORING_S = 4.0  # a page answered longer than this before a fault has been stored, on a busy computer too
SLACK_S = 0.5  # between what one process did and another one saw
SENT_S = 2.0  # what was on its way when its machine was stopped is sent so long after it goes on
TORN = ("torn_records", "misplaced_records", "missing_bodies", "damaged_bodies", "damaged_errors", "torn_robots")
OUR_ENDS = (0, 130, 143)
PERMITTED_S = 15.0  # after its share's trouble a machine may stop because of it, on a busy computer
STARTING_S = 10.0
Record = TypeVar("Record", PageRecord, ErrorRecord)


@dataclass
class Verdict:
    """What was found; `wrong` is what must not be."""

    pages: int = 0
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    repeats: int = 0
    excused: Counter[int] = field(default_factory=Counter)  # repeats by place of the fault
    unexplained: list[str] = field(default_factory=list)
    rushed: list[str] = field(default_factory=list)
    rushed_excused: int = 0
    unfenced: list[str] = field(default_factory=list)
    recovery_s: dict[int, float] = field(default_factory=dict)  # by place of the fault

    @property
    def violations(self) -> int:
        return len(self.rushed) + len(self.unfenced)

    @property
    def ok(self) -> bool:
        return not (self.lost or self.torn or self.wrong or self.unexplained or self.violations)


# -- the tree


def judge_tree(verdict: Verdict, tree: Path, site: Closure) -> None:
    """Compare the tree with what the site has, and have it audited."""
    stored = _records(verdict, tree, "links", PageRecord.from_json)
    failed = _records(verdict, tree, "errs", ErrorRecord.from_json)
    redirects = {url for url, record in stored.items() if record.redirect}
    verdict.pages = len(stored)
    verdict.lost += sorted((site.pages | site.redirects) - set(stored))
    verdict.lost += sorted(site.failures - set(failed))
    verdict.lost += [f"{url}: {failed[url].class_}" for url in set(failed) & (site.pages | site.redirects)]
    for what, urls in (("stored", set(stored) - site.pages - site.redirects), ("failed", set(failed) - site.failures)):
        verdict.wrong += [f"{what}, and not of the site: {url}" for url in sorted(urls)]
    verdict.wrong += [f"stored as the wrong kind: {url}" for url in sorted(redirects ^ (site.redirects & set(stored)))]
    words = [sys.executable, "-m", "fscrawl", "audit", "--root", str(tree), "--json"]
    done = subprocess.run(words, capture_output=True, cwd=CHECKOUT, timeout=600, check=False)
    try:
        found = json.loads(done.stdout)["found"]
    except ValueError:
        verdict.wrong.append(f"the audit failed: {done.stderr.decode(errors='replace')[-500:]}")
        return
    for kind, facts in found.items():
        told = [f"{kind}: {example}" for example in facts["examples"]]
        told += [f"{kind}: {facts['count'] - len(told)} more"] if facts["count"] > len(told) else []
        if kind == "dead_temporaries":
            continue
        (verdict.torn if kind in TORN else verdict.lost if kind == "lost_urls" else verdict.wrong).extend(told)


def _records(verdict: Verdict, tree: Path, directory: str, parse: Callable[[bytes], Record]) -> dict[str, Record]:
    """Read a directory, by URL; what cannot be read is torn."""
    found = {}
    read = view(tree)
    for path in files(tree, directory):
        try:
            record = parse(read(path))
        except RecordError as error:
            verdict.torn.append(f"{path.relative_to(tree)}: {error}")
        else:
            found[record.url] = record
    return found


def judge_temporaries(verdict: Verdict, tree: Path, slots: Slots) -> int:
    """What is left by machines that left by themselves is a leak; give how many there are in all."""
    names = {pid: machine for slot in slots.all for pid, machine in slot.machines.items()}
    killed = {str(pid) for slot in slots.all for pid in slot.killed_pids}
    tidy = {end.machine for end in slots.ends if end.code in OUR_ENDS and end.told != "kill"}
    left = temporaries(tree)
    for path in left:
        *_, machine, writer, _ = path.name.rsplit(".", 3)
        pid = machine.rpartition("-")[0].rpartition("-")[2]  # an id is host-pid-random
        if pid.isdecimal() and names.get(int(pid)) in tidy and writer.partition("-")[0] not in killed:
            verdict.wrong.append(f"a temporary of a machine that left by itself: {path.relative_to(tree)}")
    return len(left)


def judge_ends(verdict: Verdict, ends: Iterable[End], faults: Sequence[Fault], calm_at: float) -> None:
    """Each machine ends as it was told, with 75 where its share permits it, and otherwise with 0 when all is over."""
    troubles = defaultdict(list)
    for fault in faults:
        if fault.target == "share":
            troubles[fault.machine.partition(".")[0]].append(fault)
    for end in ends:
        # Until it has read the settings a machine does not know how patient it is to be.
        permitted = any(
            fault.began <= end.at and end.at <= (fault.ended or end.at) + PERMITTED_S
            for fault in troubles[end.machine.partition(".")[0]]
            if fault.permit or end.lived_s < STARTING_S
        )
        if not (
            (end.told == "kill" and end.code in (-9, *OUR_ENDS))
            or (end.told == "leave" and end.code in (-15, *OUR_ENDS))  # -15: it had hardly begun
            or (end.code == 75 and permitted)
            or (end.code == 0 and end.at >= calm_at)
        ):
            verdict.wrong.append(f"machine {end.machine} ended with {end.code}, told {end.told or 'nothing'}")


# -- the web's log


class Faults:
    """The faults of each machine, to be asked what was going on at a time."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._of: dict[str, list[tuple[int, Fault]]] = defaultdict(list)
        for place, fault in enumerate(faults):
            if fault.machine:
                self._of[fault.machine].append((place, fault))
                if fault.target == "share":  # it outlives machines
                    self._of[fault.machine.partition(".")[0]].append((place, fault))

    def around(self, hit: Hit, until: float) -> list[int]:
        """Give the places of faults at which a fetch was under way, or being stored, and that began before `until`."""
        slot = hit.machine.partition(".")[0]
        return sorted(
            {
                place
                for place, fault in self._of.get(hit.machine, []) + self._of.get(slot, [])
                if fault.began - STORING_S <= hit.answered
                and hit.arrived <= (fault.ended or float("inf")) + SENT_S
                and fault.began <= until + SLACK_S
            }
        )


def judge_repeats(verdict: Verdict, hits: Iterable[Hit], faults: Sequence[Fault]) -> None:
    """Every repeat has a fault that explains it, and every fault explains as many as its machine has lanes."""
    asked: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.path != "/robots.txt":
            asked[hit.host, hit.path].append(hit)
    known = Faults(faults)
    causes: list[tuple[list[int], str]] = []
    for (host, path), fetches in asked.items():
        for one, again in itertools.pairwise(sorted(fetches, key=lambda hit: hit.arrived)):
            why = sorted({*known.around(one, again.arrived), *known.around(again, again.arrived)})
            told = f"{host}{path}: by {one.machine} at {one.arrived:.2f}, by {again.machine} at {again.arrived:.2f}"
            causes.append((why, told))
    verdict.repeats = len(causes)
    for why, told in sorted(causes, key=lambda cause: len(cause[0])):
        place = next((place for place in why if verdict.excused[place] < LANES), None)
        if place is None:
            verdict.unexplained.append(told)
        else:
            verdict.excused[place] += 1


def judge_delays(verdict: Verdict, hits: Iterable[Hit], faults: Sequence[Fault], delay_s: float) -> None:
    """Two requests to a host are never closer together than its delay, unless one was under way at a fault."""
    of_host: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        of_host[hit.host].append(hit)
    known = Faults(faults)
    for fetches in of_host.values():
        for one, again in itertools.pairwise(sorted(fetches, key=lambda hit: hit.arrived)):
            gap_s = again.arrived - one.arrived
            if gap_s >= delay_s - 0.005:
                continue
            why = {*known.around(one, again.arrived), *known.around(again, again.arrived)}
            if one.machine == again.machine:  # what a dead worker had in flight is asked for again at once
                why = {place for place in why if faults[place].target == "worker" and one.path == again.path}
            if why:
                verdict.rushed_excused += 1
            else:
                verdict.rushed.append(
                    f"{one.host}: {one.path} by {one.machine} at {one.arrived:.2f},"
                    f" {gap_s:.3f} s later {again.path} by {again.machine}"
                )


def judge_fencing(verdict: Verdict, hits: Iterable[Hit], faults: Sequence[Fault], dead_after_s: float) -> None:
    """A machine whose tree does not answer sends nothing once half of `dead_after` has passed."""
    arrivals = arrivals_of(hits)
    for fault in faults:
        if not fault.fences or fault.ended is None:
            continue
        for machine in (name for name in arrivals if name.partition(".")[0] == fault.machine.partition(".")[0]):
            times = arrivals[machine]
            first = bisect.bisect(times, fault.began + dead_after_s / 2 + SLACK_S)
            last = bisect.bisect(times, fault.ended)
            if first < last:
                verdict.unfenced.append(
                    f"{machine}: {last - first} requests during '{fault.kind}' at {fault.began:.2f}"
                )


def judge_recovery(verdict: Verdict, hits: Iterable[Hit], faults: Sequence[Fault], calm_at: float) -> None:
    """How long after a fault its slot fetched again; nothing where another fault of the slot came before that."""
    arrivals: dict[str, list[float]] = defaultdict(list)
    for machine, times in arrivals_of(hits).items():
        arrivals[machine.partition(".")[0]] += times
    for times in arrivals.values():
        times.sort()
    later: dict[str, float] = {}  # of each slot, when its next fault begins
    for place in sorted(range(len(faults)), key=lambda place: faults[place].began, reverse=True):
        fault = faults[place]
        slot = fault.machine.partition(".")[0]
        if not slot:
            continue
        end, limit = fault.ended or fault.began, later.get(slot, calm_at)
        after = bisect.bisect(arrivals[slot], end)
        if after < len(arrivals[slot]) and arrivals[slot][after] <= limit:
            verdict.recovery_s[place] = arrivals[slot][after] - end
        later[slot] = fault.began


def arrivals_of(hits: Iterable[Hit]) -> dict[str, list[float]]:
    """Give when each machine asked for something, in order."""
    arrivals: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        arrivals[hit.machine].append(hit.arrived)
    for times in arrivals.values():
        times.sort()
    return arrivals
