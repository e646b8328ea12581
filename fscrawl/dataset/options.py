"""The user's choices: what a dataset is made of. They are the same for all runs of one dataset.

Promise: a dataset keeps the rules of the [[site]] tables that it was made with. If the tables say something else later,
one line says so. A site file is not kept: what stands in a dataset is never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from fscrawl import hostnames
from fscrawl.errors import SettingsError, UsageError
from fscrawl.parse import language as languages
from fscrawl.parse import text as page_text
from fscrawl.request import url_of
from fscrawl.sites.read import TABLE, read_sites
from fscrawl.sites.rules import SiteRules
from fscrawl.storage.layout import SETTINGS
from fscrawl.storage.records import PageRecord, timestamp
from fscrawl.util.expressions import Expressions, WrongExpressionError, compiled
from fscrawl.util.humanize import moment_of
from fscrawl.util.installed import to_install
from fscrawl.util.user_text import read_toml

Format = Literal["parquet", "warc", "jsonl", "jsonl.zst", "csv"]
How = Literal["visible", "main", "none"]
Versions = Literal["last", "all"]
Status = Annotated[str, msgspec.Meta(pattern=r"^[1-5]([0-9][0-9]|xx)\Z")]
FORMATS: tuple[str, ...] = get_args(Format)
ARCHIVE = "warc"  # all others are tables
TEXTS: tuple[str, ...] = get_args(How)
VERSIONS: tuple[str, ...] = get_args(Versions)
_KEPT = ("hosts", "fields", "items")  # of a [[site]] table


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The choices of `fscrawl merge`.

    formats   of FORMATS
    text      "visible", "main" (the main content, by trafilatura) or "none"
    language  whether the language of texts is detected
    html      whether tables have the pages' bodies
    files     whether tables have the bodies of documents that are not HTML
    fields    what [[site]] tables say of fields and items, as JSON, "" if nothing: see `tables_as_text`
    site      digest of the site file whose columns it has, "" without one. Its text is not kept: what stands in a
              dataset is never run
    dedupe    leave out duplicates and near-duplicates
    noindex   export pages marked noindex, too
    hosts     as `hostnames` reads them, also globs: one must mean the page's host
    status    "200" or "2xx": one must match
    since     RFC 3339 in UTC with milliseconds: fetched then or later; since_said: what the user wrote, e.g. an age
    include   regular expressions on the URL: one must match; exclude: none may match
    limit     rows of the whole dataset
    versions  of each page: "last", or "all" that the tree keeps
    changes   whether there is a table of what has changed from version to version
    """

    formats: tuple[Format, ...] = ("parquet",)
    text: How = "visible"
    html: bool = True
    fields: str = ""
    site: str = ""
    dedupe: bool = False
    noindex: bool = False
    hosts: tuple[str, ...] = ()
    status: tuple[Status, ...] = ()
    since: str | None = None
    since_text: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: int | None = None
    files: bool = False
    language: bool = False
    versions: Versions = "last"
    changes: bool = False

    @property
    def reads_text(self) -> bool:
        """Whether pages must be parsed: archives alone need no text."""
        in_tables = (self.text != "none" or self.language) and not self.only_archives
        return bool(self.fields or self.site) or self.dedupe or in_tables

    @property
    def archives(self) -> bool:
        return ARCHIVE in self.formats

    @property
    def only_archives(self) -> bool:
        return {*self.formats} == {ARCHIVE}


def check(options: Options) -> None:
    """Raise UsageError for a value that nobody could have given: somebody has edited what a dataset keeps."""
    for each in options.hosts:
        host(each)
    for each in options.include:
        expression(each, "--include")
    for each in options.exclude:
        expression(each, "--exclude")
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
    try:
        return msgspec.convert(text, Status)
    except msgspec.ValidationError:
        raise UsageError(f"--status {text}: must be a status or a class of statuses, like 200 or 2xx") from None


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

    def includes(self, spelling: str, moment: str) -> bool:
        """Tell whether what is no page belongs to the dataset: --status is about pages only. `moment`: RFC 3339."""
        return not self._reason(url_of(spelling), moment)

    def _reason(self, url: str, moment: str) -> str:
        if moment < self._since:  # both are RFC 3339 of the same length
            return "since"
        if self._hosts and not any(host.has(url) for host in self._hosts):
            return "host"
        if self._include is not None and not self._include.matches(url):
            return "include"
        return "exclude" if self._exclude.matches(url) else ""


# -- the fields and items of sites


def with_sites(
    given: Mapping[str, Any], kept: Options | None, crawl_toml: str | None, root: Path, warn: Callable[[str], None]
) -> dict[str, Any]:
    """Give the options that the user chose, with the fields and items of all tables.

    `kept`: those of the dataset; None: it is new. SettingsError if the tables are wrong.
    """
    where = f"{root}/{SETTINGS}"
    try:
        found = tables_as_text(crawl_toml or "", where)
    except SettingsError as error:
        if kept is None:
            raise
        warn(f"{error}; the dataset keeps the fields that it has")
        return dict(given)
    if kept is None:
        return {**given, "fields": found}
    if found != kept.fields:
        warn(f"{where}: the fields of [[site]] are not those that the dataset was made with; --rebuild takes them")
    return dict(given)


def tables_as_text(crawl_toml: str, where: str) -> str:
    """Give what tables say of fields and items, as JSON; "" if they say nothing. `where`: names the file in errors.

    >>> tables_as_text("[[site]]\\nhosts = ['a.example']\\nfields = {heading = 'css:h1'}", "crawl.toml")
    '[{"hosts": ["a.example"], "fields": {"heading": "css:h1"}}]'
    """
    sites = read_sites(read_toml(crawl_toml, where).get(TABLE, []), where)
    if not any(site.columns or site.item_columns for site in sites):
        return ""
    return json.dumps([{key: site.table[key] for key in _KEPT if key in site.table} for site in sites])


def sites_of(text: str) -> tuple[SiteRules, ...]:
    """Read what `tables_as_text` gave; SettingsError or ValueError if it is something else."""
    return read_sites(json.loads(text), "the fields of the dataset") if text else ()


# -- the optional packages that options need


def missing(text: str | None, *, language: bool) -> str:
    """Say which package this computer lacks for `--text` or `--language`, and how to get it; "" if it has all.

    Each one is tried: it may be there, and not work.
    """
    problem = ""
    if text == "main":
        problem = _try("--text main", "main-text", lambda: page_text.main_content(b""))
    if language and not problem:
        problem = _try("--language", "language", lambda: languages.language("word " * languages.MIN_BYTES))
    return problem


def _try(option: str, extra: str, use: Callable[[], object]) -> str:
    try:
        use()
    except ImportError as error:
        return f"{option} needs {error.name}: {to_install(extra)}"
    except Exception as error:  # noqa: BLE001 - what the library raises of its own, where another one is in its way
        return f"{option} cannot be used: {' '.join(str(error).split())}"
    return ""
