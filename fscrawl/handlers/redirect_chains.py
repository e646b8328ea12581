"""How many redirects in a row have led to a page, as far as one worker remembers.

Each redirect is a task and a record of its own, so a chain of them would end only where its site ends it; and limits of
pages do not count it. Browsers give up after 20 redirects (https://fetch.spec.whatwg.org/#http-redirect-fetch), so no
longer chain leads to anything that people see.

Promise: nothing is asked of the tree for this, and an ordinary page costs nothing. A host stays with one worker, so a
chain on one host is known as a whole. One over several hosts is, too, if they have the same worker; else `max_depth`
bounds it. What a worker does not remember any more counts as a beginning.
"""

from __future__ import annotations

from fscrawl import urls
from fscrawl.frontier.task import PageTask
from fscrawl.http.answers import Failed, Fetched
from fscrawl.util.recent import Recent

MOST_IN_A_ROW = 20
MOST_TARGETS = 16_384  # of one generation, so 5 MB in all
_TOO_MANY = f"more than {MOST_IN_A_ROW} redirects in a row"


class RedirectChains:
    """Remembers where redirects led lately; used by all threads of a worker."""

    def __init__(self) -> None:
        self._led_to: Recent[int, int] = Recent(MOST_TARGETS)

    def add(self, task: PageTask, answer: Fetched, target: str) -> Failed | None:
        """Note that a page redirects to `target`; give the failure if it is one redirect too many."""
        in_a_row = (self._led_to.get(urls.fingerprint(task.key)) or 0) + 1
        if in_a_row > MOST_IN_A_ROW:
            message = f"{_TOO_MANY}: {MOST_IN_A_ROW} have led here, and it redirects to {target}"
            return Failed("redirects", message, False, answer.status, answer.headers)
        there = urls.fingerprint(urls.key(target))
        if in_a_row < (self._led_to.get(there) or MOST_IN_A_ROW + 1):  # the shortest way counts, so loops do not grow
            self._led_to.put(there, in_a_row)
        return None
