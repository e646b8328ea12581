"""What a crawl has left behind, as figures: counted to the end whatever is wrong, so that a ledger has the truth.

Vocabulary:
  lost   a URL that was asked for, or is linked to by a stored page, and has no record when all is over
  torn   a file with its final name that cannot be read, or a record whose body is not there as it says
  hasty  a pair of requests that reached a host closer together than its delay
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fscrawl.errors import RecordError
from fscrawl.storage.records import PageRecord
from tests.support.crawling import files, view
from tests.support.ledger import Entry, note
from tests.support.web import Exchange, Web

_SENT_S = 1.0
_EARLY_S = 0.01  # arrivals are told to some milliseconds


@dataclass
class Findings:
    """Of one crawl that is over, or of what is there of it."""

    stored: dict[str, PageRecord] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    torn: list[str] = field(default_factory=list)
    hasty: list[tuple[Exchange, Exchange]] = field(default_factory=list)
    duplicates: int = 0

    def excuse(self, resumed_at: Sequence[float]) -> None:
        """Do not count what a machine had been about to send when it was stopped, and sent when it went on."""

        def was_on_its_way(each: Exchange) -> bool:
            return any(at <= each.arrived <= at + _SENT_S for at in resumed_at)

        self.hasty = [pair for pair in self.hasty if not any(map(was_on_its_way, pair))]

    def note(
        self,
        file_system: str,
        fault: str,
        *,
        faults: int = 0,
        kills: int = 0,
        violations: int = 0,
        recovery_s: float | None = None,
    ) -> Entry:
        """Write them into the ledger; `violations` are such that the web's log alone does not show."""
        entry = Entry(
            file_system=file_system,
            fault=fault,
            faults=faults,
            kills=kills,
            pages=len(self.stored),
            lost=len(self.lost),
            torn=len(self.torn),
            duplicates=self.duplicates,
            violations=violations + len(self.hasty),
            recovery_s=recovery_s,
        )
        note(entry)
        return entry


def found(root: Path, web: Web, delay_s: float = 0.0) -> Findings:
    """Look at a tree and at the log of the web that it was crawled from."""
    findings = Findings(duplicates=sum(times - 1 for times in web.duplicates().values()))
    read = view(root)
    for path in files(root, "links"):
        _read(root, path, findings, read)
    asked = {web.url(each.host, each.path) for each in web.requests() if each.path != "/robots.txt"}
    linked = {link for record in findings.stored.values() for link in record.links}
    findings.lost = (asked | linked) - findings.stored.keys()
    for host in {each.host for each in web.requests()} if delay_s else ():
        pairs = itertools.pairwise(web.requests(host))
        findings.hasty += [pair for pair in pairs if pair[1].arrived - pair[0].arrived < delay_s - _EARLY_S]
    return findings


def _read(root: Path, path: Path, findings: Findings, read: Callable[[Path], bytes]) -> None:
    """Take in one record, and see whether its body is what it says."""
    try:
        record = PageRecord.from_json(read(path))
    except RecordError as error:
        findings.torn.append(f"{path}: {error}")
        return
    findings.stored[record.url] = record
    if record.sha256:
        body = (root / "htmls" / path.relative_to(root / "links")).with_suffix(".html")
        try:
            data = read(body)
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != record.sha256:
            findings.torn.append(f"{body}: {len(data)} bytes")
