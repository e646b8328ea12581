"""Can this machine use some settings? Files and environment variables that they name may be missing here."""

from __future__ import annotations

import os
from collections.abc import Collection

from fscrawl.config.list_files import check_lists
from fscrawl.config.settings import Settings
from fscrawl.engine.browsers import executable, no_browser
from fscrawl.errors import SettingsError
from fscrawl.store import Tree


def check_usable(settings: Settings, allow_env: Collection[str] = ()) -> None:
    """Raise SettingsError if this machine cannot use them: a file or an environment variable is missing.

    `allow_env`: as for `Options`.
    """
    if settings.render.is_on and executable(settings.render) is None:
        raise SettingsError(no_browser(settings.render))
    fetch = settings.fetch
    headers = [fetch.headers, *(site.headers for site in settings.sites)]
    names_variables = any("$" in text for each in headers for text in each.values())
    if fetch.auth or fetch.proxies or fetch.ca_file or names_variables or os.environ.get("SSLKEYLOGFILE"):
        from fscrawl.http.fetch import Fetcher  # noqa: PLC0415 - most crawls have nothing to check

        Fetcher(fetch, settings.politeness, 1, allow_env, settings.sites).close()


def check_edit(tree: Tree, settings: Settings, allow_env: Collection[str]) -> None:
    """Raise SettingsError if this machine cannot use edited settings."""
    check_usable(settings, allow_env)
    check_lists(tree, settings)
