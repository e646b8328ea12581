"""Which outlinks a worker reports to its machine: those inside the scope that it has not reported before.

Most links of a site's pages are the same on every page. Reporting each once saves the machine most of its work. No link
is lost by that: a page is stored before its links are remembered here, and it is told only when they are in the log. A
machine that is killed between the two leaves a stored page that is not told, and its links are reported once more.

The memory belongs to one generation: other settings and other generations make other workers, which remember nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fscrawl import urls
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.scope import Scope
from fscrawl.storage.records import SITEMAP, PageRecord
from fscrawl.util.distinct import LeftOut
from fscrawl.util.lru import RecentDepths

# URLs that a worker remembers having reported, per generation: some 20,000 of usual length. It is counted in bytes,
# because pages decide how long URLs are.
_REPORTED_BYTES = 4 * 1024 * 1024
_URL_BYTES = 150  # measured: a remembered URL without its characters
_MANY = 1000  # the machine takes some ten milliseconds to take them in


class FreshLinks:
    """Remembers what one worker has reported; used by all its threads."""

    def __init__(self, rules: LinkRules, scope: Scope) -> None:
        """`scope`: that of the link rules."""
        self._follow_nofollow = rules.follow_nofollow
        self._deep = rules.is_deep
        self._scope = scope
        self._reported: RecentDepths[str] = RecentDepths(_REPORTED_BYTES)
        self._left_out = LeftOut()  # what the machine need not be told again

    def many(self, record: PageRecord) -> int:
        """Give how many outlinks of a page were not reported lately; 0 if they are not many."""
        links = record.links_to(nofollow=self._follow_nofollow)
        if len(links) <= _MANY:
            return 0
        known, label = self._reported.young, _prefix(record)
        count = sum(label + url not in known for url in links)
        return count if count > _MANY else 0

    def of(self, record: PageRecord, depth: int) -> tuple[tuple[str, ...], Mapping[str, Sequence[int]] | None]:
        """Give the outlinks of a page to report, and the fingerprints of those that are left out, by setting.

        `depth`: of the page. With `max_depth`, a link is reported again if this way to it is shorter; and always once
        for each label, since the task of that name may be stopped.
        """
        label = _prefix(record)
        depth_of_links = depth + (record.skipped != SITEMAP) if self._deep else 0
        inside = []
        cut: dict[str, list[int]] = {}
        links: Iterable[str] = record.links_to(nofollow=self._follow_nofollow)
        if not (self._deep or label):  # then depth and label are the same for all: most links are found by a look-up
            known = self._reported.young
            links = [url for url in links if url not in known]
        for url in links:
            if self._reported.add(label + url, depth_of_links, _URL_BYTES + len(label) + len(url)):
                rule = self._scope.refuses(url)
                if rule is None:
                    inside.append(url)
                elif self._left_out.add(rule, fingerprint := urls.fingerprint_of(url)):
                    cut.setdefault(rule, []).append(fingerprint)
        return tuple(inside), cut or None


def _prefix(record: PageRecord) -> str:
    """Give what stands before a link of a page where it is remembered: links of two tasks are not the same."""
    return f"{record.label} " if record.label else ""
