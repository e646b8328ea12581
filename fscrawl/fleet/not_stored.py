"""What a machine has not stored, by its reasons: for the summary of a crawl, for `status`, and for its JSON.

    types     answers of a type that is not accepted: `skipped` of their records, perhaps with `LIKE_HTML`, and how many
    left_out  links that belong to no page of this crawl: rule → how many different URLs
    seeds     seeds that lead nowhere in the crawl, and why
    hosts     hosts that were given up, and of the latest ones how they failed

Promise: it is small, however large a crawl is. What a file of another machine says is believed only if a machine could
have written it; text in it may be from the web.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fscrawl.util.distinct import LeftOut

_MOST_TYPES = 100
_MOST_NAMED = 10  # seeds and hosts
_MOST_CHARS = 1000
_MOST = 1 << 62
OTHERS = "type (others)"
LIKE_HTML = ", begins like HTML"  # the end of a reason


class Astray(NamedTuple):
    """Why a seed leads nowhere in the crawl.

    how      "redirects" or "links": only out of it; "scripts": only scripts have more than a few words
    target   the first URL that it leads to, and `rule` against it; both are "" for scripts
    """

    how: str
    target: str
    rule: str


class NotStored:
    def __init__(self, left_out: LeftOut | None = None, hosts: Callable[[], Mapping[str, str]] = dict) -> None:
        """`left_out`: counted elsewhere. `hosts`: gives those that are given up now, and why."""
        self.types: Counter[str] = Counter()
        self.left_out = LeftOut() if left_out is None else left_out
        self.seeds: dict[str, Astray] = {}
        self.hosts: dict[str, str] = {}
        self._hosts_now = hosts

    def count_type(self, skipped: str, number: int = 1) -> None:
        """Count records that say why they have no body; a refresh takes some away again."""
        self.types[skipped if skipped in self.types or len(self.types) < _MOST_TYPES else OTHERS] += number

    def note_seed(self, seed: str, astray: Astray | None) -> None:
        """Note where a seed has led; None: into the crawl."""
        if astray is None:
            self.seeds.pop(seed, None)
        elif seed in self.seeds or len(self.seeds) < _MOST_NAMED:
            self.seeds[seed] = astray

    def to_json(self) -> dict[str, Any]:
        hosts = dict(list(self._hosts_now().items())[-_MOST_NAMED:])
        types = {name: number for name, number in self.types.items() if number}
        parts = {"types": types, "left_out": self.left_out.to_json(), "seeds": self.seeds, "hosts": hosts}
        return {name: values for name, values in parts.items() if values}

    def take(self, said: Mapping[str, Any]) -> None:
        """Add what another machine, or an earlier run, has said."""
        for skipped, number in _table(said.get("types")).items():
            if type(number) is int and abs(number) < _MOST:
                self.count_type(skipped[:_MOST_CHARS], number)
        self.left_out.merge(LeftOut.from_json(said.get("left_out")))
        for seed, values in _table(said.get("seeds")).items():
            if isinstance(values, list) and len(values) == 3 and all(isinstance(each, str) for each in values):
                self.note_seed(seed, Astray(*values))
        for host, why in _table(said.get("hosts")).items():
            if isinstance(why, str) and len(self.hosts) < _MOST_NAMED:
                self.hosts[host] = why[:_MOST_CHARS]


def _table(values: Any) -> dict[str, Any]:
    return values if isinstance(values, dict) else {}
