"""What the tree holds already of each host: the frontier hands those URLs out only to be looked at in the tree.

The tree is read through a list of hosts that is brought up to date now and then: a host that is not in it costs no
call. Most hosts are met for the first time, and then nothing is stored of them. A host of which all is told costs none
either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fscrawl.storage.layout import BODY_DIRECTORIES, ERRS, LINKS, PAGE_DIRECTORIES
from fscrawl.store import Tree


class StoredPages(Protocol):
    """What the frontier asks, once for each host with a pending URL; once more if it had one just after a take.

    robots_first   hosts whose robots.txt is to be read even if only stored pages are to be told: it may name sitemaps
    """

    robots_first: set[str]

    def list_hosts(self) -> None:
        """Find out of which hosts something is stored."""
        ...

    def keys(self, host: str) -> Iterable[str]:
        """Give the keys that are stored or have failed for good."""
        ...

    def page_count(self, host: str) -> int:
        """Tell how many pages are stored."""
        ...


class StoredOnTree:
    """Reads what is stored from the tree.

    hosts   those that had directories when they were last listed
    robots_first
            as for `StoredPages`
    met     those of them whose keys were asked for since `take_met`
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.hosts: frozenset[str] = frozenset()
        self.robots_first: set[str] = set()
        self.met: list[str] = []
        self._bodies: dict[str, frozenset[str]] = {}  # by directory, the hosts that have bodies there

    def list_hosts(self) -> None:
        """Bring `hosts` up to date."""
        found = {directory: frozenset(self._tree.hosts(directory)) for directory in PAGE_DIRECTORIES}
        self.hosts = frozenset().union(*found.values())
        self._bodies = {directory: found[directory] for directory in BODY_DIRECTORIES}

    def keys(self, host: str) -> list[str]:
        """Give the keys that are stored or have failed for good."""
        if host not in self.hosts:
            return []
        self.met.append(host)
        return self._tree.keys(LINKS, host) + self._tree.keys(ERRS, host)

    def take_met(self) -> list[str]:
        """Empty `met`; return what it held."""
        met, self.met = self.met, []
        return met

    def page_count(self, host: str) -> int:
        """Tell how many pages are stored."""
        return self._tree.page_count(host, [directory for directory, hosts in self._bodies.items() if host in hosts])
