"""The user's choices: what a dataset is made of. They are the same for all runs of one dataset."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from fscrawl import hostnames
from fscrawl.errors import UsageError, reason
from fscrawl.parse import fields as field_rules
from fscrawl.parse import items as item_rules
from fscrawl.parse.columns import OF_PAGES
from fscrawl.request import url_of
from fscrawl.storage.records import ErrorRecord, PageRecord, timestamp
from fscrawl.util.ages import moment_of
from fscrawl.util.expressions import Expressions, WrongExpressionError, compiled
from fscrawl.util.user_text import decode

FORMATS = ("parquet", "warc", "wacz", "jsonl", "jsonl.zst", "csv")
ARCHIVES = frozenset({"warc", "wacz"})
_JOINED = frozenset({"parquet", *ARCHIVES})  # their files are made of segments
TEXTS = ("visible", "main", "fast", "none")
_TYPES = {"since": str, "since_said": str, "limit": int}  # of options whose default is None


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of `fscrawl merge`.

    formats   of FORMATS
    text      "visible", "main" (the main content, by trafilatura), "fast" (by resiliparse) or "none"
    language  whether the language of texts is detected.
    html      whether tables have the pages' bodies
    files     whether tables have the bodies of documents that are not HTML
    fields    text of a fields.toml, "" without one
    site      digest of the site file whose columns it has, "" without one. Its text is not kept: what stands in a
              dataset is never run
    dedupe    leave out duplicates and near-duplicates
    noindex   keep pages that ask not to be indexed
    hosts     as `hostnames` reads them, also globs: one must mean the page's host
    status    "200" or "2xx": one must match
    since     RFC 3339 in UTC with milliseconds: fetched then or later; since_said: what the user wrote, e.g. an age
    include   regular expressions on the URL: one must match; exclude: none may match
    limit     rows of the whole dataset
    """

    formats: tuple[str, ...] = ("parquet",)
    text: str = "visible"
    html: bool = True
    fields: str = ""
    site: str = ""
    dedupe: bool = False
    noindex: bool = False
    hosts: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    since: str | None = None
    since_said: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    files: bool = False
    language: bool = False

    @property
    def reads_text(self) -> bool:
        """Whether pages must be parsed: archives alone need no text."""
        in_tables = (self.text != "none" or self.language) and not ARCHIVES.issuperset(self.formats)
        return bool(self.fields or self.site) or self.dedupe or in_tables

    @property
    def archives(self) -> bool:
        """Whether there is a format of archives."""
        return not ARCHIVES.isdisjoint(self.formats)

    @property
    def joined(self) -> bool:
        """Whether all formats are made of segments, so that these may be small."""
        return _JOINED.issuperset(self.formats)

    def values(self) -> dict[str, Any]:
        """Return the options as values of JSON; `from_values` reads them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Options:
        """Read what `values` gave; TypeError, AttributeError or UsageError if it is something else."""
        arguments: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
        found = cls(**arguments)
        for each in fields(cls):
            value: Any = getattr(found, each.name)
            are_texts = not isinstance(value, tuple) or all(isinstance(one, str) for one in value)
            is_of_type = type(value) is _TYPES.get(each.name, type(each.default))
            if not are_texts or not (is_of_type or (value is None and each.default is None)):
                raise TypeError(f"{each.name} = {value!r}")
        _check(found)
        return found


def _check(options: Options) -> None:
    """Raise UsageError for a value that nobody could have given: somebody has edited what a dataset keeps."""
    for each in options.formats:
        one_of(each, FORMATS, "--format")
    one_of(options.text, TEXTS, "--text")
    for each in options.hosts:
        host(each)
    for each in options.status:
        status(each)
    for each in (*options.include, *options.exclude):
        expression(each, "--include")
    _check_rules(options.fields, "--fields")


def choose(given: dict[str, Any], kept: Options | None, where: str) -> Options:
    """Return the options of a run: those of the dataset if it has any, else those given, else the defaults.

    `given`: only what the user wrote. UsageError if it differs from what the dataset was made with.

    >>> choose({"text": "none"}, None, "out").text
    'none'
    >>> choose({"text": "main"}, Options(), "out")
    Traceback (most recent call last):
    fscrawl.errors.UsageError: out was made with text = "visible", not "main"; leave it out, or give --rebuild
    """
    if kept is None:
        return Options(**given)
    if kept.site and "site" not in given:
        raise UsageError(f"{where} was made with a site file of digest {kept.site}; give it again, by --site FILE")
    same_since = given.get("since_said") is not None and given["since_said"] == kept.since_said
    for name, value in given.items():
        old = getattr(kept, name)
        is_same = set(old) == set(value) if isinstance(value, tuple) else old == value  # order and repeats say nothing
        if not is_same and name != "since_said" and not (name == "since" and same_since):
            raise UsageError(f"{where} was made with {_difference(name, old, value)}, or give --rebuild")
    return kept


def _difference(name: str, old: Any, value: Any) -> str:
    """Say what a dataset was made with, and how to go on with that."""
    if name == "site":
        made = f"a site file of digest {old}" if old else "no site file"
        return f"{made}, and this one has {value}; {'give that one' if old else 'leave it out'}"
    was, now = ("other rules", "these") if name == "fields" else (json.dumps(old), json.dumps(value))
    return f"{name} = {was}, not {now}; leave it out"


def since(text: str, now: datetime) -> str:
    """Read `--since`: a date, a time of RFC 3339 or ISO 8601 (UTC if it names no zone), or an age like 7d, 12h.

    >>> from datetime import UTC
    >>> since("2026-11-01", datetime(2026, 11, 21, tzinfo=UTC)), since("2d", datetime(2026, 11, 21, tzinfo=UTC))
    ('2026-11-01T00:00:00.000Z', '2026-11-19T00:00:00.000Z')
    """
    try:
        return timestamp(moment_of(text, now))
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since {text}: must be a date (2026-11-01), a time (2026-11-01T12:00:00Z) or an age (7d, 12h)"
        ) from None


def expression(text: str, flag: str) -> str:
    """Check a regular expression. The dataset keeps it."""
    try:
        compiled(text)
    except WrongExpressionError as error:
        raise UsageError(f"{flag} {text}: not a regular expression: {error}") from None
    return text


def host(text: str) -> str:
    """Check a `--host`."""
    return hostnames.option(text, globs=True).said


def one_of(text: str, values: tuple[str, ...], flag: str) -> str:
    if text not in values:
        raise UsageError(f"{flag} {text}: must be one of {', '.join(values)}")
    return text


def rules(path: Path) -> str:
    """Read a file of rules for fields, and check it."""
    try:
        text = decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--fields {path}: cannot be read: {reason(error)}") from error
    _check_rules(text, str(path))
    return text


def _check_rules(text: str, where: str) -> None:
    if text:
        field_rules.parse(text, where, OF_PAGES)
        item_rules.parse(text, where)


def status(text: str) -> str:
    """Check a `--status`.

    >>> status("2xx")
    '2xx'
    """
    if not re.fullmatch(r"[1-5](\d\d|xx)", text):
        raise UsageError(f"--status {text}: must be a status or a class of statuses, like 200 or 2xx")
    return text


class Filters:
    """Decides which records belong to a dataset."""

    def __init__(self, options: Options) -> None:
        self._since = options.since or ""
        self._status = re.compile("|".join(options.status).replace("x", r"\d") or r"\d+")
        self._hosts = [hostnames.option(each, globs=True) for each in options.hosts]
        self._include = Expressions(options.include) if options.include else None
        self._exclude = Expressions(options.exclude)

    def may_take_host(self, directory: str) -> bool:
        """Tell whether pages of a host directory may be wanted. If not, their records need not be read."""
        return not self._hosts or any(host.may_name(directory) for host in self._hosts)

    def takes(self, record: PageRecord) -> bool:
        return bool(self._status.fullmatch(str(record.status))) and self._takes(url_of(record.url), record.fetched_at)

    def takes_failure(self, record: ErrorRecord) -> bool:
        """Like `takes`, but without the status: --status is about pages only."""
        return self._takes(url_of(record.url), record.failed_at)

    def _takes(self, url: str, moment: str) -> bool:
        return (
            moment >= self._since  # both are RFC 3339 of the same length
            and (not self._hosts or any(host.has(url) for host in self._hosts))
            and (self._include is None or self._include.matches(url))
            and not self._exclude.matches(url)
        )
