"""The user's choices: what a dataset is made of. They are the same for all runs of one dataset."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

import msgspec

from fscrawl import hostnames
from fscrawl.errors import SettingsError, UsageError
from fscrawl.request import url_of
from fscrawl.storage.records import ErrorRecord, PageRecord, timestamp
from fscrawl.util.expressions import Expressions, WrongExpressionError, compiled
from fscrawl.util.humanize import moment_of

FORMATS = ("parquet", "warc", "jsonl", "jsonl.zst", "csv")
ARCHIVE = "warc"  # all others are tables
TEXTS = ("visible", "main", "none")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The choices of `fscrawl merge`.

    formats   of FORMATS
    text      "visible", "main" (the main content, by trafilatura) or "none"
    language  whether the language of texts is detected
    html      whether tables have the pages' bodies
    files     whether tables have the bodies of documents that are not HTML
    fields    what [[site]] tables say of fields and items, as JSON, "" if nothing: see `site_fields`
    site      digest of the site file whose columns it has, "" without one. Its text is not kept: what stands in a
              dataset is never run
    dedupe    leave out duplicates and near-duplicates
    noindex   export pages marked noindex, too
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
    since_text: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    files: bool = False
    language: bool = False

    @property
    def reads_text(self) -> bool:
        """Whether pages must be parsed: archives alone need no text."""
        in_tables = (self.text != "none" or self.language) and {*self.formats} != {ARCHIVE}
        return bool(self.fields or self.site) or self.dedupe or in_tables

    @property
    def archives(self) -> bool:
        return ARCHIVE in self.formats


def check(options: Options) -> None:
    """Raise UsageError for a value that nobody could have given: somebody has edited what a dataset keeps."""
    for each in options.formats:
        one_of(each, FORMATS, "--format")
    one_of(options.text, TEXTS, "--text")
    for each in options.hosts:
        host(each)
    for each in options.status:
        status(each)
    for each in options.include:
        expression(each, "--include")
    for each in options.exclude:
        expression(each, "--exclude")
    from fscrawl.dataset.site_fields import sites_of  # noqa: PLC0415 - it needs these options

    try:
        sites_of(options.fields)
    except (ValueError, SettingsError) as error:
        raise UsageError(f"fields: {error}") from error


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
    same_since = given.get("since_text") is not None and given["since_text"] == kept.since_text
    for name, value in given.items():
        old = getattr(kept, name)
        is_same = set(old) == set(value) if isinstance(value, tuple) else old == value  # order and repeats say nothing
        if not is_same and name != "since_text" and not (name == "since" and same_since):
            raise UsageError(f"{where} was made with {_difference(name, old, value)}, or give --rebuild")
    return kept


def _difference(name: str, old: Any, value: Any) -> str:
    """Say what a dataset was made with, and how to go on with that."""
    if name == "site":
        made = f"a site file of digest {old}" if old else "no site file"
        return f"{made}, and this one has {value}; {'give that one' if old else 'leave it out'}"
    return f"{name} = {json.dumps(old)}, not {json.dumps(value)}; leave it out"


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
    return hostnames.option(text, globs=True).text


def one_of(text: str, values: tuple[str, ...], flag: str) -> str:
    if text not in values:
        raise UsageError(f"{flag} {text}: must be one of {', '.join(values)}")
    return text


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

    def may_include_host(self, directory: str) -> bool:
        """Tell whether pages of a host directory may be wanted. If not, their records need not be read."""
        return not self._hosts or any(host.may_name(directory) for host in self._hosts)

    def reason(self, record: PageRecord) -> str:
        """Say which option leaves a page out of the dataset; "" if none does."""
        if not self._status.fullmatch(str(record.status)):
            return "status"
        return self._reason(url_of(record.url), record.fetched_at)

    def includes_failure(self, record: ErrorRecord) -> bool:
        """Tell whether a failure belongs to the dataset. --status is about pages only."""
        return not self._reason(url_of(record.url), record.failed_at)

    def _reason(self, url: str, moment: str) -> str:
        if moment < self._since:  # both are RFC 3339 of the same length
            return "since"
        if self._hosts and not any(host.has(url) for host in self._hosts):
            return "host"
        if self._include is not None and not self._include.matches(url):
            return "include"
        return "exclude" if self._exclude.matches(url) else ""
