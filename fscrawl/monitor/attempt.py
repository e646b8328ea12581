"""What a crawl would make of one URL now: it is fetched under all rules of the crawl, and nothing is stored.

The worker that a crawl has does it, with a tree that keeps nothing. So what is shown here is what a crawl would do.

The target of a redirect is fetched, too, but only to see whether it leads back with a cookie, as a log-in does (see
`handlers.circles`).

Vocabulary:
  attempt   what came of it: the record that would be stored, or the failure that would be
  cut       a link that a crawl would not follow, and the rule that forbids it

Promise: nothing is written, neither into the tree nor elsewhere. robots.txt is obeyed; the copy in the tree is used.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.errors import FscrawlError, RecordError, UsageError
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Outcome, Returned, Stored
from fscrawl.handlers.reading import Reader, read_here
from fscrawl.handlers.rendering import Render
from fscrawl.handlers.sessions import Opened
from fscrawl.http.answers import Fetched
from fscrawl.parse.fields import Extracted, Items
from fscrawl.politeness.robots import product_token
from fscrawl.render.messages import Rendered
from fscrawl.sites.rules import Sites, near_to
from fscrawl.sites.site import Answer
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RobotsRecord, TreeRecord
from fscrawl.store import Beside, Tree
from fscrawl.util.installed import command
from fscrawl.util.time_limit import time_limit
from fscrawl.worker import Worker

_LONGEST_WAIT_S = 60.0  # for the delay between robots.txt and the page
_MOST_FIELDS_S = 30.0  # for the fields and items of the page
_NOWHERE = Path("/nonexistent")


class Attempt(msgspec.Struct, frozen=True):
    """What came of one URL.

    url       the spelling of the request
    refused   the rule by which a crawl would not ask for it at all, although it was asked for here; None: it would
    record    what would be stored; None if it failed
    error     the failure that would be written down
    followed  the requests that a crawl would follow
    cut       the links that it would not follow, with the rule that forbids it
    site      whose rules are for its host: "[[site]] 2 (a.example)", or "class Shop in site.py"; "" if there are none
    fields    what these rules find for columns of the dataset; None if they have none, or there is no body
    items     what they find for its table `items`
    opened    the requests that opened its session, each with what came
    log_in    the URLs to which it redirected, until one set a cookie and led back to it; () if none did
    """

    url: str
    refused: str | None
    record: PageRecord | None
    error: ErrorRecord | None
    followed: tuple[str, ...]
    cut: tuple[tuple[str, str], ...]
    site: str = ""
    fields: Extracted | None = None
    items: Items | None = None
    log_in: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()


def attempt(
    settings: Settings,
    seeds: frozenset[str],
    url: str,
    tree: Tree | None = None,
    allow_env: Collection[str] = (),
    read: Reader = read_here,
    render: Render | None = None,
) -> Attempt:
    """Fetch a request as a crawl would. `url`: its spelling; `seeds`: of the crawl; `tree`: has the rules of hosts.

    `read`, `render`: as for `Worker`.

    SettingsError if a setting cannot be used on this machine.
    """
    nowhere = _Nowhere(tree, url)
    opened: list[str] = []
    worker = _worker(nowhere, settings, seeds, allow_env, read, render, Opened(told=opened.append))
    log_in = _through_log_in(url, _asking(worker, settings.politeness.delay), settings)
    return replace(_what_came(url, nowhere, settings, seeds), log_in=log_in, opened=tuple(opened))


def _asking(worker: Worker, delay_s: float) -> Callable[[PageTask], Outcome]:
    """Give what has a worker do tasks, with the delay between those of one host."""
    asked: set[str] = set()
    pause_s = min(delay_s, _LONGEST_WAIT_S)

    def ask(task: PageTask) -> Outcome:
        if task.host in asked:
            time.sleep(pause_s)
        asked.add(task.host)
        outcome = worker.do(task)
        if isinstance(outcome, Returned):  # robots.txt was asked for a moment ago
            time.sleep(pause_s)
            outcome = worker.do(task)
        return outcome

    return ask


def _through_log_in(url: str, ask: Callable[[PageTask], Outcome], settings: Settings) -> tuple[str, ...]:
    """Ask for a page, and once more if it redirects to a log-in that leads back to it; give the way until there.

    Targets of redirects are fetched as in a crawl, which gives up after some.
    """
    outcome, way = ask(_task(url, settings)), [url]
    limit = settings.crawl.max_depth
    while isinstance(outcome, Stored) and outcome.kind == "redirect":
        if outcome.again is not None:
            if outcome.again.url != url:
                break
            then = ask(outcome.again._replace(attempt=settings.fetch.retries + 1))
            return tuple(way[1:]) if isinstance(then, Stored) and then.kind != "redirect" else ()
        if not outcome.links or (limit is not None and len(way) > limit):  # it leads nowhere, or out of the crawl
            break
        task = _task(outcome.links[0], settings)
        outcome = ask(task._replace(depth=len(way), flags=Flags(redirects=len(way))))
        way.append(task.url)
    return ()


def attempt_stored(
    settings: Settings,
    seeds: frozenset[str],
    url: str,
    tree: Tree,
    allow_env: Collection[str] = (),
    read: Reader = read_here,
) -> Attempt:
    """Read the page that the tree has, as a crawl with these settings would; FscrawlError if it has none.

    No scripts are run. What they have made of it is taken from the tree, if these settings want that.
    """
    host, key = urls.host(url), urls.key(url)
    if not tree.is_done(host, key):
        to_see = f"{command('show', tree.root)} {shlex.quote(url)}"
        raise FscrawlError(f"{url}: the tree has no page of it; to see why:  {to_see}")
    record, nowhere = tree.page(host, key), _Nowhere(tree, url)
    if record.sha256:
        body = tree.body(host, key, record.bytes, record.file)
        answer = Fetched(record.status, record.headers, body, time.monotonic(), record.elapsed, record.ip or "")
        stored = _stored_dom(tree, host, record)
        _worker(nowhere, settings, seeds, allow_env, read, stored).store(_task(url, settings), answer)
    else:
        nowhere.record_put = record
    return _what_came(url, nowhere, settings, seeds)


def _stored_dom(tree: Tree, host: str, record: PageRecord) -> Render | None:
    """Give what takes the DOM from the tree in place of a browser; None if there is none."""
    rendered = record.rendered
    if rendered is None or not record.is_rendered:
        return None
    dom = tree.dom(host, record.key, rendered.bytes)
    return lambda _job, _fetch: Rendered(dom, rendered.ended, rendered.seconds, {}, (), ())


def _worker(
    nowhere: _Nowhere,
    settings: Settings,
    seeds: frozenset[str],
    allow_env: Collection[str],
    read: Reader,
    render: Render | None,
    opened: Opened | None = None,
) -> Worker:
    config = CrawlConfig(settings, near_to(seeds, settings.rules))
    return Worker(nowhere, config, threads=1, allow_env=allow_env, read=read, render=render, opened=opened)


def _task(url: str, settings: Settings) -> PageTask:
    """Give the task of the last attempt, so that a failure is written down at once."""
    return PageTask(url, urls.host(url), urls.key(url), 0, "", settings.fetch.retries + 1, check=False)


def _what_came(url: str, nowhere: _Nowhere, settings: Settings, seeds: frozenset[str]) -> Attempt:
    scope = Scope(settings.crawl, near_to(seeds, settings.rules))
    record, body = nowhere.record_put, nowhere.body_put
    seen, seen_body = record, body
    if record is not None and nowhere.dom_put is not None:
        seen, seen_body = record.as_seen, nowhere.dom_put
    try:
        with time_limit(_MOST_FIELDS_S):
            site, fields, items = _of_site(url, record, seen, seen_body, settings)
    except TimeoutError as error:
        raise UsageError(f"{url}: the fields and items of this page: {error}") from error
    return Attempt(
        url,
        None if url in seeds else scope.explain(url),
        record,
        nowhere.error_put,
        *_divided(record, settings, scope),
        site,
        fields,
        items,
    )


def _of_site(
    url: str, sent: PageRecord | None, record: PageRecord | None, body: bytes | None, settings: Settings
) -> tuple[str, Extracted | None, Items | None]:
    """Name the site of a URL, and give the fields and items that it finds in the page.

    `sent`: the record of what the server sent; `record`, `body`: of what the page looks like.
    """
    site = Sites(settings.rules).of(url)
    if site is None or record is None or body is None:
        return "" if site is None else site.name, None, None
    page = Answer(
        url,
        body,
        status=record.status,
        headers=record.headers,
        encoding=record.encoding,
        agent=product_token(settings.politeness.user_agent),
        query_encoding="" if sent is None else sent.encoding or "",
    )
    items = site.items_of(page) if site.item_columns else None
    return site.name, site.values_of(page) if site.columns else None, items


def _divided(
    record: PageRecord | None, settings: Settings, scope: Scope
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Divide the links of a page into those that are followed, and others with what forbids it.

    How deep the page is, nobody says; but no link of any page is followed if `max_depth` is 0.
    """
    if record is None:
        return (), ()
    too_deep = "max_depth = 0" if settings.crawl.max_depth == 0 else None
    rules = {url: scope.explain(url) or too_deep for url in record.links_to(nofollow=settings.crawl.follow_nofollow)}
    rules |= {url: "follow_nofollow = false" for url in record.nofollow or () if url not in rules}
    followed = tuple(url for url, rule in rules.items() if rule is None)
    return followed, tuple((url, rule) for url, rule in rules.items() if rule is not None)


class _Nowhere(Tree):
    """A tree that keeps what a worker writes to it for a moment, in memory. It reads robots.txt from a real one."""

    def __init__(self, real: Tree | None, url: str) -> None:
        """`url`: of which the record, the body and the failure are wanted."""
        record = real.record if real else TreeRecord(FORMAT, "", "", 1, "host", "")
        super().__init__(real.root if real else _NOWHERE, "try", record=record)
        self._real = real
        self._url = url
        self._robots: dict[str, RobotsRecord] = {}
        self._pages: dict[str, PageRecord] = {}
        self.record_put: PageRecord | None = None
        self.body_put: bytes | None = None
        self.dom_put: bytes | None = None
        self.error_put: ErrorRecord | None = None

    def put_page(self, host: str, record: PageRecord, body: bytes | None, beside: Beside = None) -> None:
        self._pages[record.key] = record
        if record.url == self._url:
            self.record_put, self.body_put = record, body
            self.dom_put = (beside or {}).get(self.dom_path(host, record.key))

    def put_record(self, host: str, record: PageRecord) -> None:
        pass

    def put_error(self, host: str, record: ErrorRecord) -> None:  # noqa: ARG002
        if record.url == self._url:
            self.error_put = record

    def page(self, host: str, key: str) -> PageRecord:  # noqa: ARG002
        """Give what was put; what the real tree has does not count: a crawl would ask for it now."""
        if key not in self._pages:
            raise RecordError("it was not put here")
        return self._pages[key]

    def drop_bodies(self, host: str, before: PageRecord, now: PageRecord) -> None:
        pass

    def put_robots(self, host: str, record: RobotsRecord) -> None:
        self._robots[host] = record

    def robots(self, host: str) -> RobotsRecord | None:
        return self._robots.get(host) or (self._real.robots(host) if self._real else None)
