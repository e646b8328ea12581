"""`python -m tests.support.soak`: see the package's docstring. Exit code 1 on any loss."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.support import passthrough
from tests.support.shares import sshfs
from tests.support.soak.chaos import Chaos, Plan
from tests.support.soak.leaks import Sample, growth, leaks, sample
from tests.support.soak.machines import Slot, Slots
from tests.support.soak.report import table, to_ledger, told
from tests.support.soak.shares import Fuse, Share
from tests.support.soak.site import Web, read_log
from tests.support.soak.sshfs import Sshfs
from tests.support.soak.verdict import (
    Verdict,
    judge_delays,
    judge_ends,
    judge_fencing,
    judge_recovery,
    judge_repeats,
    judge_temporaries,
    judge_tree,
)

HOSTS, LATE_HOSTS = 120, 20
DELAY_S = 4.0
BEAT_S, DEAD_AFTER_S = 1.0, 8.0
PATIENCE_S = 60  # longer than any trouble lasts
SETTINGS: dict[str, object] = {
    "politeness.delay": DELAY_S,
    "politeness.robots": "true",
    "fetch.headers": '{"X-Machine" = "$FSCRAWL_MACHINE"}',
    "fleet.beat": BEAT_S,
    "fleet.dead_after": DEAD_AFTER_S,
    "store.patience": PATIENCE_S,
}
KILL_EVERY_S = FAULT_EVERY_S = 1.55
END_S = 300.0  # from the end of the chaos to that of the crawl: a chain's last pages, and a host's delay for each
SAMPLE_S = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of chaos; the crawl then runs to its end")
    parser.add_argument("--machines", type=int, default=10)
    parser.add_argument("--layout", choices=("files", "packs"), default="files")
    parser.add_argument("--seed", type=int, default=None, help="of the chaos; a new one without it")
    parser.add_argument("--keep", action="store_true", help="leave tree and logs, also of a run that went well")
    given = parser.parse_args()
    if lacking := [*passthrough.missing(), *sshfs.missing()]:
        print(f"not here: {', '.join(sorted(set(lacking)))}", file=sys.stderr)
        return 2
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    folder = Path(tempfile.mkdtemp(prefix="fscrawl-soak-"))
    print(f"{given.machines} machines, {given.minutes:g} minutes, seed {seed}, in {folder}", flush=True)
    ok = Soak(folder, given.machines, given.minutes * 60, given.layout, random.Random(seed)).run()
    print("nothing is wrong" if ok else f"something is wrong; tree and logs are in {folder}")
    if ok and not given.keep:
        shutil.rmtree(folder)
    return 0 if ok else 1


class Soak:
    """One run."""

    def __init__(self, folder: Path, machines: int, seconds: float, layout: str, rng: random.Random) -> None:
        self.in_packs = layout == "packs"
        self.settings = {**SETTINGS, "store.layout": layout}
        self.folder, self.tree, self.seconds, self.rng = folder, folder / "tree", seconds, rng
        self.machines = machines
        self.samples: list[Sample] = []
        self.slots: Slots
        self.chaos: Chaos
        self.web: Web

    def run(self) -> bool:
        """Give whether nothing was wrong."""
        with contextlib.ExitStack() as stack:
            self.web = stack.enter_context(Web(HOSTS, self.folder, self.seconds + END_S + 300))
            self.tree.mkdir()
            shares = [stack.enter_context(share) for share in self._shares()]
            self.slots = stack.enter_context(Slots(shares, self.tree, self.folder))
            self._begin()
            self._disturb()
            calm_at = time.monotonic()
            trouble = self._finish()
            self.web.end()
        return self._judge(calm_at, trouble)

    def _shares(self) -> list[Share]:
        """Give three tenths of the machines the local disk, half of them the pass-through, the rest sshfs."""
        fuse, remote = round(self.machines * 0.5), round(self.machines * 0.2)
        local = max(1, self.machines - fuse - remote)
        return [
            *(Share(self.tree) for _ in range(local)),
            *(Sshfs(self.tree, DEAD_AFTER_S) for _ in range(remote)),
            *(Fuse(self.tree, DEAD_AFTER_S, self.rng.randrange(10**6)) for _ in range(fuse)),
        ][: self.machines]

    def _begin(self) -> None:
        early = range(HOSTS - LATE_HOSTS)
        self.slots.all[0].start([self.web.seed(host) for host in early], self.settings)
        deadline = time.monotonic() + 20
        while not (self.tree / ".fscrawl" / "tree.json").exists():
            assert time.monotonic() < deadline, f"no tree was made:\n{self.slots.all[0].tail()}"
            time.sleep(0.05)
        plan = Plan(DEAD_AFTER_S, KILL_EVERY_S, FAULT_EVERY_S, tuple(range(HOSTS - LATE_HOSTS, HOSTS)))
        self.chaos = Chaos(self.slots, self.tree, self.web, plan, self.rng)

    def _disturb(self) -> None:
        began = time.monotonic()
        until, next_line, next_sample = began + self.seconds, began + 60, began + SAMPLE_S
        while (now := time.monotonic()) < until:
            self.chaos.step()
            if now >= next_sample:
                next_sample = now + SAMPLE_S
                self.samples.append(sample(self.slots.all[0].pids()))
            if now >= next_line:
                next_line = now + 60
                self._say(now - began)
            time.sleep(0.02)

    def _say(self, seconds: float) -> None:
        with self.web.log.open("rb") as log:
            requests = sum(1 for _ in log)
        up = sum(slot.is_up for slot in self.slots.all)
        last = self.samples[-1]
        print(
            f"{seconds / 60:4.0f} min  {requests} requests, {up} machines up, {len(self.chaos.faults)} faults, of them"
            f" {self.chaos.kills} SIGKILLs; the one left alone: {last.handles} handles, {last.threads} threads,"
            f" {last.memory_bytes >> 20} MB",
            flush=True,
        )

    def _finish(self) -> list[str]:
        """Let the crawl come to its end, with nobody disturbing; give what kept it from it."""
        self.chaos.calm()
        self.web.close()
        deadline = time.monotonic() + END_S
        finished: set[int] = set()
        began = time.monotonic()
        while len(finished) < len(self.slots.all) and time.monotonic() < deadline:
            for slot, end in self.slots.reap():
                if end.code == 0:
                    finished.add(slot.number)
                slot.next_at = 0.0
            for slot in self.slots.all:
                if slot.running is None and slot.number not in finished:
                    slot.start()
            time.sleep(0.05)
        print(f"the crawl came to its end {time.monotonic() - began:.0f} s after the last fault", flush=True)
        late = [slot for slot in self.slots.all if slot.number not in finished]
        return [f"not over {END_S:g} s after the last fault: machine {_tell(slot)}" for slot in late]

    def _judge(self, calm_at: float, trouble: list[str]) -> bool:
        verdict = Verdict(wrong=trouble + self.chaos.broken + leaks(self.samples, in_packs=self.in_packs))
        hits, faults = list(read_log(self.web.log)), self.chaos.faults
        told_of = [*map(asdict, faults), *map(asdict, self.slots.ends)]
        (self.folder / "faults.jsonl").write_text("\n".join(map(json.dumps, told_of)), encoding="utf-8")
        judge_tree(verdict, self.tree, self.web.closure(self.chaos.seeded))
        left = judge_temporaries(verdict, self.tree, self.slots)
        judge_ends(verdict, self.slots.ends, faults, calm_at)
        judge_repeats(verdict, hits, faults)
        judge_delays(verdict, hits, faults, DELAY_S)
        judge_fencing(verdict, hits, faults, DEAD_AFTER_S)
        judge_recovery(verdict, hits, faults, calm_at)
        print("\n".join([*table(verdict, faults), *told(verdict)]))
        print(f"temporaries of the killed: {left}; growth of the machine left alone: {growth(self.samples)}")
        to_ledger(verdict, faults)
        return verdict.ok


def _tell(slot: Slot) -> str:
    return f"{slot.machine} ({slot.share.file_system})\n{slot.tail()}"


if __name__ == "__main__":
    sys.exit(main())
