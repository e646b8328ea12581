"""What a dataset is made of, as the user said it; the same for all runs of one dataset."""

from __future__ import annotations

import fnmatch
import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fscrawl import urls
from fscrawl.dataset.schema import PAGES
from fscrawl.errors import UsageError
from fscrawl.parse import fields as field_rules
from fscrawl.storage.records import ErrorRecord, PageRecord, timestamp
from fscrawl.util.ages import parse_age

FORMATS = ("parquet", "warc", "jsonl", "jsonl.zst", "csv")
TAKEN = frozenset(PAGES.names)  # which no field may be called
TEXTS = ("visible", "main", "none")


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of `fscrawl merge`.

    formats   of FORMATS
    text      "visible", "main" (the main content, by trafilatura) or "none"
    html      whether tables have the pages' bodies
    fields    text of a fields.toml, "" without one
    dedupe    leave out duplicates and near-duplicates
    noindex   keep pages that ask not to be indexed
    hosts     shell patterns on the host name; any of them
    status    "200" or "2xx"; any of them
    since     RFC 3339 in UTC with milliseconds: fetched then or later; since_said: as the user wrote it, perhaps an age
    include   regular expressions on the URL, any of them; exclude: none of them
    limit     rows in all
    """

    formats: tuple[str, ...] = ("parquet",)
    text: str = "visible"
    html: bool = True
    fields: str = ""
    dedupe: bool = False
    noindex: bool = False
    hosts: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    since: str | None = None
    since_said: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def reads_text(self) -> bool:
        """Whether pages must be parsed: an archive alone needs no text."""
        return bool(self.fields) or self.dedupe or (self.text != "none" and self.formats != ("warc",))

    def values(self) -> dict[str, Any]:
        """Give them as values of JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Options:
        """Read what `values` gave."""
        arguments: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
        return cls(**arguments)


def choose(given: dict[str, Any], kept: Options | None, where: str) -> Options:
    """Give the options of a run: those given, else the dataset's own, else the defaults.

    `given`: only what the user said. UsageError where it differs from what the dataset was made with.

    >>> choose({"text": "none"}, None, "out").text
    'none'
    >>> choose({"text": "main"}, Options(), "out")
    Traceback (most recent call last):
    fscrawl.errors.UsageError: out was made with text = "visible", not "main"; leave it out, or start over by --rebuild
    """
    if kept is None:
        return Options(**given)
    same_since = given.get("since_said") is not None and given["since_said"] == kept.since_said
    for name, value in given.items():
        old = getattr(kept, name)
        if old != value and name != "since_said" and not (name == "since" and same_since):
            was, now = ("other rules", "these") if name == "fields" else (json.dumps(old), json.dumps(value))
            raise UsageError(
                f"{where} was made with {name} = {was}, not {now}; leave it out, or start over by --rebuild"
            )
    return kept


def since(text: str, now: datetime) -> str:
    """Read `--since`: a date, a time of RFC 3339 or ISO 8601 (UTC if it names no zone), or an age like 7d, 12h.

    >>> since("2026-11-01", datetime(2026, 11, 21, tzinfo=UTC)), since("2d", datetime(2026, 11, 21, tzinfo=UTC))
    ('2026-11-01T00:00:00.000Z', '2026-11-19T00:00:00.000Z')
    """
    age = parse_age(text)
    try:
        if age is not None:
            return timestamp(now.timestamp() - age)
        moment = datetime.fromisoformat(text)
        return timestamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since {text}: it takes a date (2026-11-01), a time (2026-11-01T12:00:00Z) or an age (7d, 12h)"
        ) from None


def expression(text: str, flag: str) -> str:
    """Check a regular expression."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{flag} {text}: it takes a regular expression: {error}") from None
    return text


def one_of(text: str, values: tuple[str, ...], flag: str) -> str:
    if text not in values:
        raise UsageError(f"{flag} {text}: it takes one of {', '.join(values)}")
    return text


def rules(path: Path) -> str:
    """Read a file of rules for fields, and check it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--fields {path}: cannot be read: {error}") from error
    field_rules.parse(text, str(path), TAKEN)
    return text


def status(text: str) -> str:
    """Check a `--status`.

    >>> status("2xx")
    '2xx'
    """
    if not re.fullmatch(r"[1-5](\d\d|xx)", text):
        raise UsageError(f"--status {text}: it takes a status or a class of them, like 200 or 2xx")
    return text


class Filters:
    """Which records belong to a dataset."""

    def __init__(self, options: Options) -> None:
        self._since = options.since or ""
        self._status = re.compile("|".join(options.status).replace("x", r"\d") or r"\d+")
        names = [name.lower() for name in options.hosts]  # as they are, too: "[::1]" as a pattern is one character
        self._hosts = names and re.compile(
            "|".join([*map(fnmatch.translate, names), *(rf"{re.escape(n)}\Z" for n in names)])
        )
        self._include = [re.compile(each) for each in options.include]
        self._exclude = [re.compile(each) for each in options.exclude]

    def may_take_host(self, directory: str) -> bool:
        """Tell whether pages of a host directory may be wanted: a first sieve, which saves reading their records."""
        if not self._hosts or directory.startswith("h-"):
            return True
        names = (urls.without_port(directory), directory)  # a host's name may end as if it had a port
        return any(self._hosts.match(name) for name in names)

    def takes(self, record: PageRecord) -> bool:
        return bool(self._status.fullmatch(str(record.status))) and self._takes(record.url, record.fetched_at)

    def takes_failure(self, record: ErrorRecord) -> bool:
        """As `takes`; a wanted status is one of pages, and says nothing of failures."""
        return self._takes(record.url, record.failed_at)

    def _takes(self, url: str, moment: str) -> bool:
        return (
            moment >= self._since  # of one fixed shape, both
            and (not self._hosts or bool(self._hosts.match(urls.hostname(url))))
            and (not self._include or any(each.search(url) for each in self._include))
            and not any(each.search(url) for each in self._exclude)
        )
