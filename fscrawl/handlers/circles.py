"""A circle of redirects: a page leads to a log-in, which sets a cookie and leads back to the page.

The page is stored as a redirect by then, and with the cookie it may answer otherwise. So it is asked for once more. If
it is a redirect again, that is followed as any other, but the page is not asked for a third time: its record says so.

Here the circle is seen. The machine knows whether the page would get a cookie now (see `engine.outcomes`): another
worker may have got it. The redirect that leads back is told only when the page was asked for once more: if the machine
dies before that, or the shard goes to another one, the next holder has no cookie, and so asks for that redirect again.

A page that is stored, and redirects when it is refreshed, stays as it is until the tree shows that the redirect leads
to an answer: a circle is none. What the tree does not know of the way is asked for first, step by step, and then the
page once more.
"""

from __future__ import annotations

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import MOST_REDIRECTS
from fscrawl.handlers.records import stored_record
from fscrawl.http.answers import Failed, Fetched
from fscrawl.labels import sound
from fscrawl.parse.headers import REDIRECTS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree

_MOST_WAITS = 6  # of a page for what it redirects to: in all, a minute or the times that the host may be asked


def back_to(context: Context, task: PageTask, target: str) -> PageTask | None:
    """Give the task to ask once more for the target of a redirect; None if there is no reason to do so.

    There is one if cookies are kept, and the target is stored as a redirect that has led here. `task`: of the page that
    redirects; `target`: the spelling of a request.
    """
    if task.flags.led_back or context.jar_of(task.url) is None:
        return None
    circle = _circle(context.tree, task.url, target)
    if not circle:
        return None
    first = circle[0]
    flags = Flags(refresh=True, label=sound(first.label), redirects=task.flags.redirects + 1)
    return PageTask(target, urls.host(target), urls.key(target), first.depth, first.referrer, 0, flags=flags)


def is_unanswered(context: Context, task: PageTask) -> bool:
    """Tell whether a stored redirect leads back to a page that was not asked for since, although a cookie was set."""
    record = _redirect(context.tree, task.url)
    if record is None or context.jar_of(task.url) is None:
        return False
    circle = _circle(context.tree, task.url, record.links[0])
    return bool(circle) and any("set-cookie" in each.headers for each in (record, *circle))


def _circle(tree: Tree, url: str, target: str) -> list[PageRecord]:
    """Give the stored redirects from `target` to `url`; none if it does not lead there, or was asked for once more."""
    steps: list[PageRecord] = []
    following = target
    while following != url:
        step = _redirect(tree, following)
        if step is None or len(steps) == MOST_REDIRECTS or (not steps and step.led_back):
            return []
        steps.append(step)
        (following,) = step.links
    return steps


class Kept(Failed, frozen=True):
    """Why a stored page that redirects now is kept. `first`: what must be known to decide otherwise; None: nothing."""

    first: PageTask | None = None


def kept_since(context: Context, task: PageTask, target: str | None, answer: Fetched) -> Kept | None:
    """Give the reason to keep a stored page that redirects to `target` now; None if it leads to an answer.

    A page to which another one sends does not wait for a third one: two could send for each other without end.
    """
    why, ahead = _way(context, task, target)
    if not why:
        return None
    first = ahead if task.attempt <= _MOST_WAITS and not task.flags.redirects else None
    return Kept("redirects", f"it redirects to {target}{why}", False, answer.status, answer.headers, first=first)


def _way(context: Context, task: PageTask, target: str | None) -> tuple[str, PageTask | None]:
    """Follow redirects in the tree. Give why they have led to no answer, "" if they have or leave the crawl.

    With it comes the task for the first step that is not known, or was not looked at in this refresh.
    """
    step, depth, before = target, task.depth, context.refresh_before
    most_deep = context.settings.crawl.max_depth
    for _ in range(MOST_REDIRECTS):
        if step == task.url:
            return ", and so back to itself", None
        depth += 1
        if step is None or context.scope.refuses(step) or (most_deep is not None and depth > most_deep):
            return "", None
        flags = Flags(refresh=True, label=task.flags.label, redirects=task.flags.redirects + 1)
        ahead = PageTask(step, urls.host(step), urls.key(step), depth, task.key, 0, flags=flags)
        found = stored_record(context.tree, ahead)
        if found is None and context.tree.failure(ahead.host, ahead.key) is not None:
            return "", None
        if found is None or (before and found.is_older_than(before)):
            return f", and what {step} answers is not known yet", ahead
        if found.redirect is None or not found.links:
            return f", and {step} redirects, too" if found.checked_status in REDIRECTS else "", None
        step = found.links[0]
    return f", and more than {MOST_REDIRECTS} redirects follow", None


def _redirect(tree: Tree, url: str) -> PageRecord | None:
    """Read the record of a redirect that leads on; None if it is another one, or cannot be read."""
    try:
        record = tree.page(urls.host(url), urls.key(url))
    except (RecordError, TreeError):  # it was an extra: what this page is does not depend on it
        return None
    return record if record.redirect is not None and len(record.links) == 1 else None
