"""Request headers of sites: which ones go to which host. Pure.

Vocabulary:
  secret    a header whose value names an environment variable. What is written out in crawl.toml can be read anyway
  named     a site names a URL's server if it has its host with the port, or its IP address

Promise: a header goes to the hosts of its site only: to any server that the site names, else to the default ports of
http and https; a secret then to that of https only. Another service on the host, or whoever reads plain http, does not
learn it. Values are expanded once, and no message shows one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from fscrawl import urls
from fscrawl.config.credentials import Variables, expand, names_variable
from fscrawl.hostnames import is_address, pattern_covers
from fscrawl.sites.rules import SiteRules, Sites

_PORT = re.compile(r":\d+\Z")


class SiteHeaders:
    """The headers of all sites. They are false if there are none."""

    def __init__(self, sites: Sequence[SiteRules], variables: Variables) -> None:
        """Raise SettingsError if a variable is missing, or may not be named."""
        sites = [site for site in sites if site.headers or not site.code]  # a table has those of a class without
        self._sites = Sites(sites)
        self._by_name = {
            site.name: {name: expand(text, variables, f"{site.name} headers") for name, text in site.headers.items()}
            for site in sites
            if site.headers
        }
        self._secret = {
            site.name: {name for name, text in site.headers.items() if names_variable(text)} for site in sites
        }

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def of(self, url: str) -> Mapping[str, str]:
        """Give the headers for a normal form."""
        site = self._sites.of(url)
        headers = {} if site is None else self._by_name.get(site.name, {})
        if site is None or not headers or any(_names(pattern, url) for pattern in site.hosts):
            return headers
        if _PORT.search(urls.origin(url)):  # a normal form has no default port
            return {}
        return headers if url.startswith("https:") else _without(headers, self._secret[site.name])


def _names(pattern: str, url: str) -> bool:
    """Tell whether a pattern names the server of a normal form: with its port, or by its address.

    >>> [_names(each, "http://a.example:8080/") for each in ("a.example:8080", "*.example:8080", "a.example")]
    [True, True, False]
    >>> _names("127.0.0.1", "http://127.0.0.1:8080/"), _names("*", "http://127.0.0.1:8080/")
    (True, False)
    """
    return pattern_covers(pattern, url) and (_PORT.search(pattern) is not None or is_address(pattern))


def _without(headers: Mapping[str, str], names: Collection[str]) -> Mapping[str, str]:
    return {name: value for name, value in headers.items() if name not in names}
