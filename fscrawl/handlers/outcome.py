"""What comes of a task: one type for each case. Outcomes are sent from the worker process to the machine.

They are named tuples: one is made for each page, and it crosses a pipe between processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fscrawl.frontier.task import PageTask, RobotsTask, Task
from fscrawl.storage.records import Kind

Health = Literal["answered", "failing", "silent", "unknown"]


class Replaced(NamedTuple):
    """What stood in the tree for the URL before: a record of that kind with `bytes` of body, or a failure.

    what    a `Kind` of record, or the class of a failure
    """

    what: str
    bytes: int = 0


class Exchange(NamedTuple):
    """What one exchange showed of the host.

    asked_at    monotonic time when the request had surely reached the host: its delay counts from then; None: there
                was none
    health      "answered", "failing" (the host says "not now"), "silent" (no answer) or "unknown": it was not asked,
                or fscrawl has a defect
    latency_s   time until the answer was complete
    rest_s      seconds that Retry-After asks for, 0 without it
    begun_at    monotonic time when a thread began the task, so before the host was asked; `Worker.do` sets it
    address     the host's IP address, "" if it is not known
    costly_s    seconds that the answer has taken of processors and browsers beyond the usual (see `costs`); `Worker.do`
                sets it
    """

    asked_at: float | None
    health: Health
    latency_s: float = 0.0
    rest_s: float = 0.0
    begun_at: float = 0.0
    address: str = ""
    costly_s: float = 0.0


class Stored(NamedTuple):
    """The page's record is in the tree, with its body if there is one.

    kind       that of the record
    bytes      of the stored body
    links      outlinks inside the scope that this worker has not reported before
    sitemaps   of a sitemap: the sitemaps that it names; of a redirect: where it has moved
    cut        fingerprints of outlinks left out, by the setting that did it; by "length": they are too long for URLs.
               Most that the worker has reported before are not among them
    generation   by whose link rules the outlinks were chosen (`CrawlConfig.generation`)
    replaced   what the record replaces: a refresh replaces a record, another try a failure; None: nothing
    again      of a redirect: its target, to be asked for once more if it gets a cookie now (see `circles`)
    later      how many links are not in `links`, since they are many: they are to be told from the record
    skipped    why it has no body, as its record says; "" if it has one, or is a redirect
    was_skipped  the same of the record that it replaces
    astray     of a seed that leads nowhere in the crawl: why (see `fleet.status_file`)
    """

    task: PageTask
    exchange: Exchange
    kind: Kind
    status: int
    bytes: int = 0
    links: tuple[str, ...] = ()
    cut: Mapping[str, Sequence[int]] | None = None
    sitemaps: tuple[str, ...] = ()
    generation: int = 0
    replaced: Replaced | None = None
    again: PageTask | None = None
    later: int = 0
    skipped: str = ""
    was_skipped: str = ""
    astray: tuple[str, str, str] | None = None

    @property
    def moved(self) -> bool:
        """It is a redirect."""
        return self.kind == "redirect"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as one call: measured, a third less time than the default, which treats each tuple as an object."""
        task, exchange, *others = self
        return _stored, (*task, *exchange, *others)


_TASK_FIELDS = len(PageTask._fields)
_TASK_AND_EXCHANGE_FIELDS = _TASK_FIELDS + len(Exchange._fields)


def _stored(*fields: Any) -> Stored:
    task = PageTask._make(fields[:_TASK_FIELDS])
    exchange = Exchange._make(fields[_TASK_FIELDS:_TASK_AND_EXCHANGE_FIELDS])
    return Stored(task, exchange, *fields[_TASK_AND_EXCHANGE_FIELDS:])


class Unchanged(NamedTuple):
    """A refreshed page stays as it is: it has not changed, or it could not be fetched (then `class_` says why)."""

    task: PageTask
    exchange: Exchange
    status: int
    class_: str = ""
    message: str = ""
    links: tuple[str, ...] = ()
    cut: Mapping[str, Sequence[int]] | None = None
    generation: int = 0
    sitemaps: tuple[str, ...] = ()
    moved: bool = False


class Known(NamedTuple):
    """The tree has a record of the URL already. The host was not asked, so there is no `exchange`.

    If it is the record of a page, `links`, `cut`, `sitemaps` and `generation` are set as in `Stored`, and `moved` if
    it is a redirect. If it is an error record, `failed_at` is set. If it is damaged, neither of the last two is.
    """

    task: PageTask
    links: tuple[str, ...] = ()
    cut: Mapping[str, Sequence[int]] | None = None
    sitemaps: tuple[str, ...] = ()
    generation: int = 0
    failed_at: str = ""
    moved: bool = False
    exchange: None = None


class FailedForGood(NamedTuple):
    """It failed and is not tried again; for a page, the error record is in the tree.

    exchange   None if the host was not asked
    class_     the error class (see `http.answers`)
    failed_at  of a page: the time in its error record
    replaced   the failure that this one replaces; None: there was none
    """

    task: PageTask | RobotsTask
    exchange: Exchange | None
    class_: str
    message: str
    failed_at: str = ""
    replaced: Replaced | None = None


class FailedForNow(NamedTuple):
    """It failed, but another attempt may succeed: nothing is written.

    first   what is to be asked for before that (see `refreshes`); None: nothing
    """

    task: PageTask | RobotsTask
    exchange: Exchange
    class_: str
    message: str
    first: PageTask | None = None


class RobotsKnown(NamedTuple):
    """The rules in the host's robots.txt are known.

    exchange   None if the rules were in the tree
    delay_s    the delay that robots.txt asks for
    sitemaps   the sitemaps that it names
    generation   by whose link rules these were chosen
    """

    task: RobotsTask
    exchange: Exchange | None
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()
    generation: int = 0


class Returned(NamedTuple):
    """The task is handed back undone. `asked_at`: set if the host was asked all the same."""

    task: Task
    asked_at: float | None = None


class ReturnedError(Exception):
    """The page cannot be finished now, and nothing was written: its task is handed back. `asked_at`: as there."""

    def __init__(self, asked_at: float | None = None) -> None:
        super().__init__()
        self.asked_at = asked_at


Outcome = Stored | Unchanged | Known | FailedForGood | FailedForNow | RobotsKnown | Returned
