"""What runs inside a worker process: threads that do tasks, and the pipe to the machine. `pool` is the other end.

Vocabulary:
  inbox      the tasks that wait here for a thread
  outbox     the answers that wait here to be sent
  fetching   a thread that may have a fetch in flight: as many as `--threads` says, however slow the hosts are
  parked     a task whose page waits for long to be read (see `parsing`) or rendered: the machine is told, and another
             thread fetches in place of the one that waits

The machine sends a `Message`; this process sends lists of `Sent`, and ahead of them the `Cookies` that it has learnt.
Promise: each task that is received is answered once, unless the process dies; and the process ends when the machine is
gone.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from fscrawl.engine import frames
from fscrawl.engine.messages import (
    MOST_PARKED,
    Answer,
    Begun,
    Drain,
    Message,
    Parked,
    Sent,
    Stop,
    TreeUnusable,
    WorkerSetup,
)
from fscrawl.engine.parsing import Parsing
from fscrawl.engine.side_process import Forker, ForkerGoneError, Start, by_server
from fscrawl.errors import PlantedError, TreeError
from fscrawl.frontier.task import PageTask, Task
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Exchange, FailedForGood, Returned
from fscrawl.handlers.records import error_record
from fscrawl.handlers.sessions import Opened
from fscrawl.http.answers import Failed
from fscrawl.http.cookies import Cookies
from fscrawl.render.messages import GaveWay, Job, Lanes, Rendered, Trouble
from fscrawl.sites.rules import SiteFault
from fscrawl.util.processes import SIGNALS, end_with_parent, keep_freed_memory, look_for_cycles_rarely, pin
from fscrawl.worker import Worker

if TYPE_CHECKING:
    from fscrawl.render.client import Fetch

_TIDY_S = 0.25
_MOST_WITHOUT_BROWSER = 256  # parked, too: they wait for hosts that others do not wait for
_BYTES_WITHOUT_BROWSER = 32 << 20
_EXIT_MEMORY = 71  # EX_OSERR: this process can no longer be trusted with a page


# -- the process

_connection: Connection
_setup: WorkerSetup
_config: CrawlConfig
_forker: Forker


def start(connection: Connection, setup: WorkerSetup, config: CrawlConfig) -> None:
    """Set up a new worker process. What is passed here is inherited by the fork; an open pipe must be."""
    global _connection, _setup, _config, _forker
    keep_freed_memory()
    look_for_cycles_rarely()
    for number in SIGNALS:  # they reach the whole process group; the machine decides
        signal.signal(number, signal.SIG_IGN)
    _load(config)
    _connection, _setup, _config, _forker = connection, setup, config, Forker()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked until here
    end_with_parent(0)  # also when the machine dies before it has said what to do


def _load(config: CrawlConfig) -> None:
    """Run the site file before the process beside this one is forked: then it has it."""
    if not config.settings.code:
        return
    from fscrawl.sites.code import load  # noqa: PLC0415 - it loads the parsers

    with contextlib.suppress(SiteFault):  # the machine could load it; if this process cannot, each page says so
        for site in config.settings.code:
            if site.code is not None:
                load(site.code.file)


def serve(number: int, workers: int) -> None:
    """Work until the machine says stop. If the machine is gone, end at once: its successor may begin any time.

    `number`: of this worker, of all `workers` of the machine.
    """
    pin(number, workers)  # not the processes beside this one, which have one thread each
    try:
        _WorkerProcess(_connection, _setup, _config, _forker.start).run()
        _forker.close()
    except (EOFError, ConnectionError):
        os._exit(0)


def serve_here(connection: Connection, setup: WorkerSetup, config: CrawlConfig) -> None:
    """Work in the machine's own process until the machine says stop, or is gone.

    The user's code runs here, too, as in a debugger. What else would be read in a process beside it still is.
    """
    _load(config)
    with contextlib.suppress(EOFError, ConnectionError):
        _WorkerProcess(connection, setup, config, by_server, owns_process=False).run()


class _WorkerProcess:
    def __init__(
        self,
        connection: Connection,
        setup: WorkerSetup,
        config: CrawlConfig,
        start_beside: Start,
        *,
        owns_process: bool = True,
    ) -> None:
        """`owns_process`: the process may end, for example when it cannot be trusted with a page any more."""
        self._connection = connection
        self._owns_process = owns_process
        self._setup = setup
        self._parsing = Parsing(start_beside, self._park, rules_here=not owns_process)
        self._opened = Opened()
        self._tree = setup.tree()
        self._worker = self._new_worker(config)
        self._inbox: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._outbox: deque[Sent] = deque()
        self._sending = threading.Lock()
        self._tree_unusable = False  # the machine is going to stop: what is fetched now could not be stored
        self._threads: list[threading.Thread] = []
        self._fetching = threading.Semaphore(setup.threads)
        self._tasks: dict[int, Task] = {}  # by thread
        self._parked: set[int] = set()  # threads
        self._is_held = False  # what no browser has begun is given back, too
        self._counting = threading.Lock()
        self._lanes = Lanes()
        self._waiting_bytes = 0  # of pages that are rendered, or wait for it

    def run(self) -> None:
        for _ in range(self._setup.threads):
            self._add_thread()
        try:
            self._serve()
        except BaseException:
            if not self._owns_process:  # else it ends now, and its threads with it
                self._return_waiting()  # to nobody: another worker does these tasks
                self._end()
            raise
        self._end()

    def _end(self) -> None:
        """Let the threads do what is in the inbox, and end."""
        self._is_held = True
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()
        self._parsing.close()
        self._tree.close()

    def _serve(self) -> None:
        frames.send(self._connection, Begun())
        for message in self._messages():
            match message:
                case Stop():
                    break
                case Drain():
                    self._is_held = True
                    self._return_waiting()
                case CrawlConfig():
                    self._tree.look_anew()  # a new generation, perhaps after a repair
                    self._worker = self._new_worker(message)
                case Cookies():
                    self._opened.replace(message)
                case _:
                    self._is_held = False
                    for task in message:
                        self._inbox.put(task)

    def _new_worker(self, config: CrawlConfig) -> Worker:
        setup = self._setup
        self._tree.files.retrying = setup.retrying(config.settings.store.patience)
        return Worker(
            self._tree,
            config,
            setup.threads,
            setup.permit,
            allow_env=setup.allow_env,
            read=self._parsing.read,
            render=self._render if setup.browsers and config.settings.render.is_on else None,
            opened=self._opened,
        )

    def _render(self, job: Job, fetch: Fetch) -> Rendered | Trouble | GaveWay:
        """Let a keeper render a page: this thread waits for long, so another one works in its place."""
        from fscrawl.render.client import render  # noqa: PLC0415 - most crawls render nothing

        with self._counting:
            self._waiting_bytes += len(job.body)
        if self._waiting_bytes <= _BYTES_WITHOUT_BROWSER:
            self._park(_MOST_WITHOUT_BROWSER)
        try:
            return render(self._setup.browsers, job, fetch, self._lanes, lambda: self._is_held)
        finally:
            with self._counting:
                self._waiting_bytes -= len(job.body)

    def _park(self, most: int = MOST_PARKED) -> None:
        """From now on this thread waits for its page to be read or rendered: another one fetches in its place."""
        me = threading.get_ident()
        if me not in self._parked and len(self._parked) < most:
            self._parked.add(me)
            self._send(Parked(self._tasks[me]))
            self._fetching.release()
            if len(self._threads) < self._setup.threads + len(self._parked):
                self._add_thread()

    def _messages(self) -> Iterator[Message]:
        """Give each message as it comes. Meanwhile close connections that have waited for too long."""
        received = frames.Incoming(self._connection)
        while True:
            while not received.wait(_TIDY_S):
                self._worker.tidy()
            yield from received.read()

    # -- threads

    def _add_thread(self) -> None:
        """Start one more thread. If the system has none to give, those that there are do the work."""
        thread = threading.Thread(target=self._work, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _work(self) -> None:
        me = threading.get_ident()
        while True:
            self._fetching.acquire()
            task = self._inbox.get()
            if task is None:
                self._inbox.put(None)  # for a thread that came in place of a parked one
                self._fetching.release()
                return
            self._tasks[me] = task
            answer = self._answer(task)
            if me in self._parked:
                self._parked.discard(me)
            else:
                self._fetching.release()
            self._send(answer)

    # -- one task

    def _answer(self, task: Task) -> Answer:
        if self._tree_unusable:
            return Returned(task)
        try:
            return self._worker.do(task)
        except PlantedError as error:
            return self._failed(task, "planted", error)
        except TreeError as error:
            self._tree_unusable = True
            return TreeUnusable(task, error)
        except (MemoryError, ForkerGoneError):
            if self._owns_process:
                os._exit(_EXIT_MEMORY)
            return self._failed(task, "internal", "memory is short")
        except Exception as error:  # noqa: BLE001 - a defect must cost one page, not the crawl
            return self._failed(task, "internal", f"{type(error).__name__}: {error}")

    def _failed(self, task: Task, class_: str, error: object) -> Answer:
        """Give the answer to a task that failed by a defect of fscrawl, or by what stands in the place of its files."""
        message = " ".join(str(error).split())[:500]
        exchange = Exchange(time.monotonic(), "unknown")
        failed_at = ""
        if isinstance(task, PageTask):
            record = error_record(task, Failed(class_, message, retry=False), self._setup.machine)
            failed_at = record.failed_at
            try:
                self._tree.put_error(task.host, record)
            except PlantedError:  # there is no place for it, either; the progress line and the audit tell
                pass
            except TreeError as tree_error:
                return TreeUnusable(task, tree_error)
        return FailedForGood(task, exchange, class_, message, failed_at=failed_at)

    # -- answers

    def _return_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._inbox.get_nowait()
                if task is not None:
                    self._send(Returned(task))

    def _send(self, answer: Sent) -> None:
        """Send all that is in the outbox in one message. If another thread is sending, it sends this one, too."""
        self._outbox.append(answer)
        while self._outbox and self._sending.acquire(blocking=False):
            try:
                batch = []
                while self._outbox:
                    batch.append(self._outbox.popleft())
                if learnt := self._opened.pop_learnt():  # before the answers: tasks that follow from these need it
                    frames.send(self._connection, learnt)
                if batch:
                    frames.send(self._connection, batch)
            except OSError:  # the machine is gone
                if self._owns_process:
                    os._exit(0)
                return
            finally:
                self._sending.release()
