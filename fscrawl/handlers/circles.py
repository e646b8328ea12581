"""A circle of redirects: a page leads to a log-in, which sets a cookie and leads back to the page.

The page is stored as a redirect by then, and with the cookie it may answer otherwise. So it is asked for once more. If
it is a redirect again, that is followed as any other, but the page is not asked for a third time.

Here the circle is seen. The machine knows whether the page would get a cookie now (see `engine.outcomes`): another
worker may have got it.
"""

from __future__ import annotations

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import MOST_REDIRECTS
from fscrawl.labels import sound
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree


def back_to(context: Context, task: PageTask, target: str) -> PageTask | None:
    """Give the task to ask once more for the target of a redirect; None if there is no reason to do so.

    There is one if cookies are kept, and the target is stored as a redirect that has led here. `task`: of the page that
    redirects; `target`: the spelling of a request.
    """
    if task.flags.led_back or context.jar_of(task.url) is None:
        return None
    first = step = _redirect(context.tree, target)
    for steps in range(1, MOST_REDIRECTS + 1):
        if first is None or step is None:
            return None
        (following,) = step.links
        if following == task.url:
            if task.flags.redirects > 2 * steps:  # it was led to by a whole circle before: this is the second one
                return None
            flags = Flags(refresh=True, label=sound(first.label), redirects=task.flags.redirects + 1)
            return PageTask(target, urls.host(target), urls.key(target), first.depth, first.referrer, 0, flags=flags)
        step = _redirect(context.tree, following)
    return None


def _redirect(tree: Tree, url: str) -> PageRecord | None:
    """Read the record of a redirect that leads on; None if it is another one, or cannot be read."""
    try:
        record = tree.page(urls.host(url), urls.key(url))
    except (RecordError, TreeError):  # it was an extra: what this page is does not depend on it
        return None
    return record if record.redirect is not None and len(record.links) == 1 else None
