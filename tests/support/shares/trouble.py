"""A crawl that lasts as long as a test wants, while its file server is in trouble, and what came of it.

Vocabulary:
  row      a host's pages /0, /1, …, each of which links to the next and to a leaf, until the web is told to end them;
           so a machine always has something to fetch, and the crawl ends when the test has seen enough
  asked    a request, with the number of the machine that sent it (each sends its own in a header)
  fenced   a machine that has not been able to beat for half of `dead_after` must not ask any more

Promise: `end` looks at all that a crawl must not lose, tear, repeat or hurry, and gives it as an entry of the ledger.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from fscrawl.errors import RecordError
from tests.support.crawling import check_tree, errors, leases, pages
from tests.support.fleet import Fleet, Member
from tests.support.ledger import Entry
from tests.support.shares.findings import found
from tests.support.shares.place import SharedPlace
from tests.support.web import Exchange, Request, Response, Web

# How long the file server is in trouble; the rest follows from it. What people see is tested with 120.
TROUBLE_S = float(os.environ.get("FSCRAWL_TROUBLE_S", "25"))
DELAY_S = 0.8
DEAD_AFTER_S = 8.0
LANES = 4  # fetches at a time of one machine
_HOSTS = [f"127.0.31.{number}" for number in range(1, 17)]
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_SLACK_S = 0.5  # between a machine's look at the fence and the request's arrival, on a busy computer
_LATE = "no heartbeat could be written for a while"
_MEETING_S = 60.0
_END_S = 90.0


class Crawl:
    """Machines on mounts of a share, and a web that lasts; as context manager."""

    def __init__(self, place: SharedPlace, patience_s: float, deadline_s: float) -> None:
        """`patience_s`: the machines' `store.patience`; `deadline_s`: of the whole."""
        settings = {
            "politeness.delay": DELAY_S,
            "fleet.dead_after": DEAD_AFTER_S,
            "store.patience": patience_s,
            "fetch.headers": '{"X-Machine" = "$FSCRAWL_MACHINE"}',
        }
        self.place = place
        self.fleet = Fleet(place, settings, threads=LANES)
        self.web = Web(self._serve, hosts=_HOSTS, deadline_s=deadline_s)
        self._lasts = True

    def __enter__(self) -> Self:
        self.web.__enter__()
        self.fleet.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.fleet.__exit__(*exception)
        finally:
            self.web.__exit__(*exception)

    def _serve(self, request: Request) -> Response:
        number = request.path.strip("/") or "0"
        links = f'<a href="/{int(number) + 1}">next</a> <a href="/{number}-leaf">leaf</a>' if number.isdigit() else ""
        return Response(200, _HTML, f"<title>{number}</title>{links if self._lasts else ''}".encode())

    def begin(self, machines: int = 3) -> None:
        """Start the machines; return when all of them ask."""
        for number in range(machines):
            self.start(number)
            self.fleet.wait_for_tree(20)
        for number in range(machines):
            self.member(number).until(lambda n=number: len(self.asked(n)) > 5, "each machine asks", _MEETING_S)  # type: ignore[misc]

    def start(self, number: int, root: Path | None = None) -> Member:
        """Start a machine, with a mount of its own if none is given; the first is told the seeds."""
        seeds = [] if number else [self.web.url(host, "/0") for host in _HOSTS]
        return self.fleet.start(seeds=seeds, root=root, env={**os.environ, "FSCRAWL_MACHINE": str(number)})

    def member(self, number: int) -> Member:
        return self.fleet.members[number]

    def asked(self, machine: int) -> list[Exchange]:
        """Give what a machine has asked for, in the order of arrival."""
        return [each for each in self.web.requests() if each.headers.get("x-machine") == str(machine)]

    def asked_between(self, machine: int, begin: float, end: float) -> list[Exchange]:
        return [each for each in self.asked(machine) if begin < each.arrived < end]

    def beyond_the_fence(self, machine: int, began: float, ended: float) -> list[Exchange]:
        """Give what a machine asked for while it could not beat, and later than it may.

        Its last beat was written before the trouble began: the fence is half of `dead_after` after that at the latest.
        """
        return self.asked_between(machine, began + DEAD_AFTER_S / 2 + _SLACK_S, ended)

    def recovery_s(self, machines: Sequence[int], since: float, limit_s: float) -> float:
        """Wait until each of the machines has stored a page that it fetched after `since`; seconds for the slowest."""
        behind = time.time() - time.monotonic()
        return (
            max(self._first_stored(self.member(number), since + behind, limit_s) for number in machines)
            - behind
            - since
        )

    def _first_stored(self, member: Member, since: float, limit_s: float) -> float:
        found: list[float] = []

        def look() -> bool:
            try:
                records = pages(self.place.root).values()
            except (OSError, RecordError):  # the mount that the test looks through is in trouble, too, or heals
                return False
            times = [
                datetime.fromisoformat(each.fetched_at).timestamp()
                for each in records
                if f"-{member.pid}-" in each.machine
            ]
            found[:] = [at for at in times if at > since]
            time.sleep(0.3)  # the whole tree is read: not all the time
            return bool(found)

        member.until(look, "a page is stored again", limit_s / self.place.slowness)
        return min(found)

    def end(self, fault: str, *, faults: int, hit: int, recovery_s: float | None, fenced: int, kills: int = 0) -> Entry:
        """Let the rows end, wait for the machines, look at everything, and write it down.

        `hit`: how often a machine lost its server; so often may what it had in flight be fetched again. So may it
        where a machine says that it could not beat in time, which a crowded computer does to those that are well.
        """
        self._lasts = False
        self.fleet.wait_for_all(_END_S / self.place.slowness)
        self._tell()
        findings = found(self.place.root, self.web, DELAY_S)
        name = self.place.share.flavour.name
        entry = findings.note(name, fault, faults=faults, kills=kills, violations=fenced, recovery_s=recovery_s)
        print(entry, *self._told_twice(), sep="\n  ")
        codes = [member.code for member in self.fleet.members]
        assert codes == [0] * len(codes), [member.output()[-2000:] for member in self.fleet.members]
        assert not findings.lost, sorted(findings.lost)[:10]
        assert not findings.torn, findings.torn
        check_tree(self.place.root, whole=False)
        assert errors(self.place.root) == {}
        assert not findings.hasty, findings.hasty
        late = sum(member.output().count(_LATE) for member in self.fleet.members)
        assert findings.duplicates <= LANES * max(hit, late), self.web.duplicates()
        return entry

    def _tell(self) -> None:
        """Print what helps to understand a failure; pytest shows it only then."""
        for number, member in enumerate(self.fleet.members):
            print(f"-- machine {number}, exit {member.code}\n{member.output()[-3000:]}")
        for name, lease in leases(self.place.root).items():
            print(name, lease.strip())

    def _told_twice(self) -> list[str]:
        """Describe the pages that were fetched twice: by which machine, and when."""
        return [
            f"{host}{path}: "
            + ", ".join(
                f"{each.headers.get('x-machine')} at {each.arrived:.2f}" for each in self.web.requests(host, path)
            )
            for host, path in self.web.duplicates()
        ]
