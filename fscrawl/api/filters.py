"""Which pages are wanted: as keywords of `Crawl.pages`, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from fscrawl.errors import UsageError
from fscrawl.storage.records import timestamp
from fscrawl.util.ages import moment_of

Since = str | datetime | date | timedelta


@dataclass(frozen=True, slots=True)
class Filters:
    """What is asked of pages and failures.

    hosts    `hostnames.Host`, one of which must mean the host; none: any host
    since    RFC 3339: fetched then or later; "": at any time
    has      tells whether a key is wanted; None: any
    """

    hosts: tuple[Any, ...] = ()
    since: str = ""
    has: Callable[[str], bool] | None = None

    def may_take_host(self, directory: str) -> bool:
        return not self.hosts or any(host.may_name(directory) for host in self.hosts)

    def takes(self, url: str, moment: Any) -> bool:
        """Tell whether a record is wanted. `moment`: when it was fetched, or failed."""
        if self.since and not (isinstance(moment, str) and moment >= self.since):
            return False
        if not self.hosts:
            return True
        from fscrawl.request import url_of  # noqa: PLC0415 - most readers want all hosts

        return any(host.has(url_of(url)) for host in self.hosts)


def hosts_of(host: str | Iterable[str] | None) -> tuple[Any, ...]:
    """Read `host`: one or several, in any form, also patterns. UsageError if one is no host, or if there is none."""
    if host is None:
        return ()
    from fscrawl import hostnames  # noqa: PLC0415

    try:
        given = [host] if isinstance(host, str) else list(host)
        if not given:  # it would mean all hosts, and whoever has filtered a list means none
            raise ValueError("the list is empty; leave host out for all hosts")
        return tuple(hostnames.read(each, globs=True) for each in given)
    except (TypeError, AttributeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else "must be a host, or a list of hosts"
        raise UsageError(f"host={host!r}: {why}") from None


def since_of(since: Since | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> str:
    """Read `since`: a time, a date, an age, or a text as `merge --since` takes it; "" for None.

    What names no time zone is in UTC, as all times of a tree are. UsageError if it is none of these.

    >>> since_of(datetime(2026, 11, 1, 12)), since_of(date(2026, 11, 1)), since_of("2026-11-01T12:00+02:00")
    ('2026-11-01T12:00:00.000Z', '2026-11-01T00:00:00.000Z', '2026-11-01T10:00:00.000Z')
    """
    if since is None:
        return ""
    try:
        if isinstance(since, timedelta):
            return timestamp((now() - since).timestamp())
        if isinstance(since, datetime):
            return timestamp((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp())
        if isinstance(since, date):
            return timestamp(datetime(since.year, since.month, since.day, tzinfo=UTC).timestamp())
        if isinstance(since, str):
            return timestamp(moment_of(since, now()))
    except (ValueError, OverflowError, OSError):
        pass
    raise UsageError(f"since={since!r}: must be a datetime, a date, or a text like '2026-11-01' or '7d'")
