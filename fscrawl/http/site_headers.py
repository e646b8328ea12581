"""Request headers of [[site]] tables: which ones go to which host. Pure.

Promise: a header goes to the hosts of its table only. Values are expanded once, and no message shows one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fscrawl.config.credentials import Variables, expand
from fscrawl.sites.rules import Site, Sites


class SiteHeaders:
    """The headers of all tables. They are false if there are none."""

    def __init__(self, sites: Sequence[Site], variables: Variables) -> None:
        """Raise SettingsError if a variable is missing, or may not be named."""
        self._sites = Sites(sites)
        self._by_hosts = {
            site.hosts: {
                name: expand(text, variables, f"[[site]] {number} headers") for name, text in site.headers.items()
            }
            for number, site in enumerate(sites, 1)
            if site.headers
        }

    def __bool__(self) -> bool:
        return bool(self._by_hosts)

    def of(self, url: str) -> Mapping[str, str]:
        """Give the headers for a normal form."""
        site = self._sites.of(url)
        return {} if site is None else self._by_hosts.get(site.hosts, {})
