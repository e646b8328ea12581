"""Can this machine do what it is told? It may lack memory, or files and variables that settings name."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from pathlib import Path

from fscrawl.config.list_files import check_lists
from fscrawl.config.settings import Settings
from fscrawl.errors import NoBrowserError, UsageError
from fscrawl.render.executable import find, not_found
from fscrawl.util.humanize import number_of, size
from fscrawl.util.processes import limit_bytes

_WORKER_BYTES = 20 << 20  # of one that has nothing to do, and of the process beside it; measured
_THREAD_BYTES = 16 << 10  # the same
MOST_THREADS = 1_000  # all busy, they do hundreds of pages/s although each takes seconds: more than one core does
FILES_OF_WORKER = 9  # pipes and sockets that the first process of a machine has for each; measured
_OTHER_FILES = 20  # its logs and the like


def check_fits(workers: int, threads: int) -> None:
    """Raise UsageError if workers would not fit into memory even while they do nothing: the computer would stand still.
    So if their pipes are more files than a process may open, or if their threads could never have something to do.

    `threads`: of each worker.
    """
    if threads > MOST_THREADS:
        raise UsageError(
            f"--threads {threads:,}: a worker process can keep at most {MOST_THREADS:,} busy; use more --workers"
        )
    most = limit_bytes()
    fit = most // (_WORKER_BYTES + threads * _THREAD_BYTES)
    if workers > fit:
        advice = f"at most {number_of(fit, 'worker')}" if fit else "fewer threads"
        who = f"{workers:,} workers of {threads:,} threads"
        raise UsageError(f"{who} need more than the {size(most)} of memory that there are; use {advice}")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    needed = FILES_OF_WORKER * workers + _OTHER_FILES
    if needed > limit != resource.RLIM_INFINITY:
        raise UsageError(
            f"{number_of(workers, 'worker')} must have {needed:,} open files, and {limit:,} are allowed; "
            f"raise the limit (ulimit -n {needed}), or use fewer --workers"
        )


def check_usable(settings: Settings, allow_env: Collection[str] = ()) -> None:
    """Raise SettingsError if this machine cannot use them: a file or an environment variable is missing, or a browser.

    `allow_env`: as for `Options`.
    """
    if settings.render.is_on and find() is None:
        raise NoBrowserError(not_found())
    fetch = settings.fetch
    headers = [fetch.headers, *(site.headers for site in settings.rules)]
    names_variables = any("$" in text for each in headers for text in each.values())
    if fetch.auth or fetch.proxies or fetch.ca_file or names_variables or os.environ.get("SSLKEYLOGFILE"):
        from fscrawl.http.fetch import Fetcher  # noqa: PLC0415 - most crawls have nothing to check

        Fetcher(fetch, settings.politeness, 1, allow_env, settings.rules).close()


def check_edit(root: Path, settings: Settings, allow_env: Collection[str]) -> None:
    """Raise SettingsError if this machine cannot use edited settings."""
    check_usable(settings, allow_env)
    check_lists(root, settings)
