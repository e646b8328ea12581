"""Which sites have used up their processor time. Pure: times are arguments.

Vocabulary:
  usual     what reading a page of this size, with so many links, takes at most if it is a page for people. Of 7,000
            pages of manuals, with up to 10 MB or 18,000 links, none takes more than six tenths of that
  excess    what a page took beyond the usual
  debt      the excess of a site's pages, less what was forgiven since
  used up   a site owes more than `_FREE_S`

Promise: a site whose pages take the usual time never owes anything, however many they are. The debt is forgiven at one
hundredth of a second each second, so a site gets that share of one processor beside what is usual.
"""

from __future__ import annotations

from fscrawl.util.lru import Lru

_FREE_S = 0.1
_FORGIVEN = 0.01  # seconds each second
_MOST_S = 6.0  # then it takes ten minutes
_SITES = 10_000
_USUAL_S = 0.005
_USUAL_S_PER_BYTE = 4e-8
_USUAL_S_PER_LINK = 4e-6
_MOST_LINKS = 20_000  # more of them are no longer usual
# PDF: the links of manuals of 0.1 to 9 MB take at most six tenths. Sitemaps are compressed to a fiftieth and less: one
# of 50,000 URLs with seven images each takes eight tenths.
_TIMES_SLOWER = {"html5lib": 50.0, "pdf": 10.0, "sitemap": 20.0}


def usual_s(size_bytes: int, parser: str, links: int = 0) -> float:
    """Give how many seconds a page may take that is not made to take long, on the computer where that was measured.

    >>> round(usual_s(100_000, "lexbor"), 3), round(usual_s(100_000, "lexbor", 1000), 3)
    (0.009, 0.013)
    """
    usual = _USUAL_S + _USUAL_S_PER_BYTE * size_bytes + _USUAL_S_PER_LINK * min(links, _MOST_LINKS)
    return usual * _TIMES_SLOWER.get(parser, 1.0)


class ParseBudget:
    """The debts of sites. Threads may share it: two that charge one site at the same time may lose one charge."""

    def __init__(self) -> None:
        self._debts: Lru[str, tuple[float, float]] = Lru(_SITES)  # seconds, and when they were counted

    def charge(self, site: str, excess_s: float, now: float) -> None:
        """Add to a site's debt."""
        self._debts.put(site, (min(self._debt(site, now) + excess_s, _MOST_S), now))

    def is_used_up(self, site: str, now: float) -> bool:
        return self._debt(site, now) > _FREE_S

    @property
    def is_blank(self) -> bool:
        """No site has ever owed anything."""
        return not len(self._debts)

    def _debt(self, site: str, now: float) -> float:
        found = self._debts.get(site)
        return 0.0 if found is None else max(0.0, found[0] - _FORGIVEN * (now - found[1]))
