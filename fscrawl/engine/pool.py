"""The worker processes of one machine: one ProcessPoolExecutor each, so that one that dies takes no other along.

Vocabulary:
  slot       a place for one worker process, with its tasks in flight; a dead process is replaced in its slot
  inbox      the tasks waiting inside a worker for one of its threads
  suspect    a task that was in flight when its worker died: it is tried again with nothing beside it, so that the
             one that killed the worker is told from its neighbours; if that worker dies too, it is guilty

Data flows one way round: the machine submits tasks, `wait` gives back outcomes. Every task submitted comes back once:
as its Outcome, or as a `Died` if it killed its worker twice.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import queue
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from fscrawl.errors import FscrawlError, TreeError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.task import PageTask, ProbeTask, RobotsTask, Task
from fscrawl.handlers.outcome import Exchange, FailedForGood, Outcome, Probed, Returned
from fscrawl.handlers.records import error_record
from fscrawl.http.fetch import Failed
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree
from fscrawl.util.memory import keep_freed_memory
from fscrawl.worker import CrawlConfig, Worker

_STOOD_STILL_S = 5.0  # without a look at the workers: what they sent meanwhile has not been read
_STILLBORN = 20  # deaths in a row without an answer between them: more than any page could cause
_EXIT_MEMORY = 71  # EX_OSERR: this process can no longer be trusted with a page


class Died(NamedTuple):
    """A task that killed its worker twice."""

    task: Task


class Trouble(NamedTuple):
    """The tree could not be used while working on `task`."""

    task: Task
    error: TreeError


@dataclass(frozen=True, slots=True)
class Place:
    """What a worker process needs to work on its tree; the `record` is its machine's, so that it need not be read."""

    root: Path
    record: TreeRecord
    machine: str
    fsync: bool
    threads: int
    permit: Permit | None = None

    def tree(self, patience_s: float) -> Tree:
        """Give the tree; it is not waited for without a permit, since somebody else may have the host by then."""
        retrying = Retrying(patience_s, self.permit.holds if self.permit else _always)
        return Tree(self.root, self.machine, fsync=self.fsync, retrying=retrying, record=self.record)


def _always() -> bool:
    return True


# -- inside a worker process


_STALLED_S = 1.0  # a host that takes longer is not worth a thread that others could use
_STRANGER_S = 0.25  # of one that has not answered yet, there is less to expect
_GLANCE_S = 0.25
_MOST_THREADS = 5  # times `threads`, where most of them are stalled
_DRAIN, _STOP = "drain", "stop"
_connection: Connection
_place: Place
_config: CrawlConfig


def _start(connection: Connection, place: Place, config: CrawlConfig) -> None:
    """Set a new worker process up; what is passed here travels with the fork, as an open pipe must."""
    global _connection, _place, _config
    _connection, _place, _config = connection, place, config
    keep_freed_memory()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # a page's nodes die with it; to look through them for cycles finds none
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides


def _serve() -> None:
    """Be a worker until the parent says stop, or is gone: then at once, for its successor may begin."""
    try:
        _Inside(_connection, _place, _config).run()
    except (EOFError, ConnectionError):
        os._exit(0)


class _Inside:
    def __init__(self, connection: Connection, place: Place, config: CrawlConfig) -> None:
        self._connection = connection
        self._place = place
        self._worker = self._new_worker(config)
        self._inbox: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._outbox: deque[Any] = deque()
        self._sending = threading.Lock()

        self._in_trouble = False  # the machine is going to stop: what is fetched now could not be stored
        self._threads: list[threading.Thread] = []
        self._stalls_at: dict[int, float] = {}  # thread → from when on what it is doing counts as stalled

    def run(self) -> None:
        for _ in range(self._place.threads):
            self._add_thread()
        for message in iter(self._receive, _STOP):
            if message == _DRAIN:
                self._return_waiting()
            elif isinstance(message, CrawlConfig):
                self._worker = self._new_worker(message)
            else:
                for task in message:
                    self._inbox.put(task)
                self._make_up_for_stalled()
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    def _new_worker(self, config: CrawlConfig) -> Worker:
        self._tree = self._place.tree(config.settings.store.patience)
        return Worker(self._tree, config, self._place.threads, self._place.permit, self._host_has_answered)

    def _host_has_answered(self) -> None:
        """Whoever waits from now on waits for the tree: then others could not store what they fetched either."""
        self._stalls_at.pop(threading.get_ident(), None)

    def _receive(self) -> Any:
        """Wait for a message, with an eye on what waits behind stalled threads: no message may come because of it."""
        while not self._connection.poll(_GLANCE_S):
            self._make_up_for_stalled()
        return self._connection.recv()

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _make_up_for_stalled(self) -> None:
        """Where threads wait for hosts that hardly answer, let others do what has come."""
        if self._inbox.qsize() and len(self._threads) < _MOST_THREADS * self._place.threads:
            now = time.monotonic()
            stalled = sum(now > at for at in self._stalls_at.copy().values())
            for _ in range(min(self._place.threads + stalled - len(self._threads), self._inbox.qsize())):
                self._add_thread()

    def _work(self) -> None:
        me = threading.get_ident()
        while (task := self._inbox.get()) is not None:
            self._stalls_at[me] = time.monotonic() + _patience_s(task)
            outcome = self._outcome(task)
            self._stalls_at.pop(me, None)
            self._send(outcome)

    def _outcome(self, task: Task) -> Outcome | Trouble:
        if self._in_trouble:
            return Returned(task)
        try:
            return self._worker.do(task)
        except TreeError as error:
            self._in_trouble = True
            return Trouble(task, error)
        except MemoryError:
            os._exit(_EXIT_MEMORY)
        except Exception as error:  # noqa: BLE001 - a defect must cost one page, not the crawl
            return self._defect(task, error)

    def _defect(self, task: Task, error: Exception) -> Outcome | Trouble:
        """Give the outcome of a task that failed by a defect of fscrawl."""
        message = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        exchange = Exchange(time.monotonic(), "unknown")
        if isinstance(task, ProbeTask):
            return Probed(task, exchange, "internal", message)
        if isinstance(task, PageTask):
            record = error_record(task, Failed("internal", message, retry=False), self._place.machine)
            try:
                self._tree.put_error(task.host, record)
            except TreeError as trouble:
                return Trouble(task, trouble)
        return FailedForGood(task, exchange, "internal", message)

    def _return_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._inbox.get_nowait()
                if task is not None:
                    self._send(Returned(task))

    def _send(self, outcome: Any) -> None:
        """Send what has gathered, in one message; a thread that finds another sending leaves its own to it."""
        self._outbox.append(outcome)
        while self._outbox and self._sending.acquire(blocking=False):
            try:
                batch = []
                while self._outbox:
                    batch.append(self._outbox.popleft())
                if batch:
                    self._connection.send(batch)
            except OSError:
                os._exit(0)  # the parent is gone
            finally:
                self._sending.release()


# -- in the parent


class _Slot:
    def __init__(self) -> None:
        self.connection: Connection
        self.executor: ProcessPoolExecutor
        self.in_flight: dict[str, Task] = {}
        self.stalls_at: dict[str, float] = {}
        self.stalled = 0  # tasks that have been under way for long: they wait for hosts, and take no part of the work
        self.unsent: list[Task] = []
        self.suspects: deque[tuple[float, Task]] = deque()  # each with when its host may be asked again
        self.alone: Task | None = None
        self.heard_at = time.monotonic()
        self.stillborn = 0  # processes in a row that died without a word

    @property
    def load(self) -> int:
        return len(self.in_flight) - self.stalled

    def count_stalled(self, now: float, most: int) -> None:
        stalled = sum(now > at for at in self.stalls_at.values())
        self.stalled = min(stalled, most)

    @property
    def open(self) -> bool:
        """It may be given more than a suspect."""
        return not self.suspects and self.alone is None


def _patience_s(task: Task) -> float:
    """Tell how long a task may take before it no longer counts as work."""
    return _STALLED_S if isinstance(task, PageTask) else _STRANGER_S


def _name(task: Task) -> str:
    """Name a task among those in flight: a host has one for its robots.txt, and perhaps a probe, at a time."""
    if isinstance(task, PageTask):
        return task.key
    return f"robots {task.host}" if isinstance(task, RobotsTask) else f"probe {task.host}"


class Pool:
    """Worker processes behind one `submit` and one `wait`."""

    def __init__(
        self,
        workers: int,
        place: Place,
        config: CrawlConfig,
        *,
        hung_after_s: float,
        delay_s: Callable[[str], float] = lambda host: 0.0,  # noqa: ARG005
    ) -> None:
        """`hung_after_s`: a worker with tasks that has not answered for so long is killed and replaced.

        `delay_s`: of a host, seconds between two requests; what killed a worker had perhaps just been asked for.
        """
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fscrawl.engine.pool"])
        self._place = place
        self._config = config
        self._hung_after_s = hung_after_s
        self._delay_s = delay_s
        self._selector = selectors.DefaultSelector()
        self._slots = [_Slot() for _ in range(workers)]
        self._of_host: dict[str, _Slot] = {}
        self._capacity = 2 * place.threads  # as many waiting in the inbox as being worked on
        self._most_stalled = (_MOST_THREADS - 1) * place.threads
        self.replaced = 0
        self.bereaved: set[str] = set()  # hosts for which something was under way in a worker that died
        self._waited_at = time.monotonic()
        for slot in self._slots:
            self._spawn(slot)

    def _spawn(self, slot: _Slot) -> None:
        ours, theirs = self._context.Pipe()
        slot.connection = ours
        slot.executor = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_start, initargs=(theirs, self._place, self._config)
        )
        slot.executor.submit(_serve)
        theirs.close()
        slot.heard_at = time.monotonic()
        self._selector.register(ours, selectors.EVENT_READ, slot)

    @property
    def has_room(self) -> bool:
        """A task submitted now would find a thread, or a place in an inbox."""
        return any(slot.open and slot.load < self._capacity for slot in self._slots)

    def submit(self, task: Task) -> None:
        """Give a task to its host's worker, or, where that one is busy, to one that has a thread to spare.

        A host sticks to a worker so that its connection is used again.
        """
        slot = self._of_host.get(task.host)
        if slot is None or not slot.open or slot.load >= self._place.threads:
            open_slots = [each for each in self._slots if each.open]
            idlest = min(open_slots, key=lambda each: each.load)
            if slot is None or not slot.open or slot.load >= self._capacity or idlest.load < self._place.threads:
                slot = self._of_host[task.host] = idlest
        slot.in_flight[_name(task)] = task
        slot.stalls_at[_name(task)] = time.monotonic() + _patience_s(task)
        slot.unsent.append(task)

    def wait(self, timeout_s: float, *, excused: bool = False) -> Iterator[Outcome | Died | Trouble]:
        """Send what was submitted; give what has come back, waiting for the first of it at most `timeout_s`.

        `excused`: the workers are known to wait for the tree, and are not killed for it.
        """
        now = time.monotonic()
        self._excuse(now, excused=excused)
        for slot in self._slots:
            slot.count_stalled(now, self._most_stalled)
            self._flush(slot, now)
        for chosen, _ in self._selector.select(timeout_s):
            slot = chosen.data
            try:
                answers = slot.connection.recv()
            except (EOFError, OSError):
                yield from self._replace(slot)
                continue
            slot.heard_at = time.monotonic()
            slot.stillborn = 0
            for answer in answers:
                slot.in_flight.pop(_name(answer.task), None)
                slot.stalls_at.pop(_name(answer.task), None)
                slot.alone = None
                yield answer
        self._kill_hung()

    def _excuse(self, now: float, *, excused: bool) -> None:
        """Do not count as silence when this process itself stood still, or the tree does."""
        stood_still_s = now - self._waited_at
        for slot in self._slots:
            if excused or stood_still_s > _STOOD_STILL_S:
                slot.heard_at = now
        self._waited_at = now

    def _flush(self, slot: _Slot, now: float) -> None:
        if slot.suspects and not slot.in_flight and slot.suspects[0][0] <= now:
            slot.alone = slot.suspects.popleft()[1]
            slot.in_flight[_name(slot.alone)] = slot.alone
            slot.unsent = [slot.alone]
        if slot.unsent:
            if len(slot.in_flight) == len(slot.unsent):
                slot.heard_at = time.monotonic()  # it was idle until now
            with contextlib.suppress(OSError):  # it just died; `wait` will see it
                slot.connection.send(slot.unsent)
            slot.unsent = []

    def _replace(self, slot: _Slot) -> Iterator[Died]:
        """Put a new process into a dead one's slot, and make its tasks suspects."""
        self._selector.unregister(slot.connection)
        slot.connection.close()
        slot.executor.shutdown(wait=False)
        self.replaced += 1
        slot.stillborn += 1
        if slot.stillborn > _STILLBORN:
            raise FscrawlError("worker processes die as soon as they begin; run with one worker and -v to see why")
        self.bereaved |= {task.host for task in slot.in_flight.values()}
        guilty, slot.alone = slot.alone, None
        now = time.monotonic()
        slot.suspects.extend((now + self._delay_s(t.host), t) for t in slot.in_flight.values() if t is not guilty)
        slot.in_flight = {}
        slot.stalls_at = {}
        slot.unsent = []
        self._spawn(slot)
        if guilty is not None:
            yield Died(guilty)

    def _kill_hung(self) -> None:
        for slot in self._slots:
            if slot.in_flight and time.monotonic() - slot.heard_at > self._hung_after_s:
                slot.heard_at = time.monotonic()
                _kill(slot)

    def tell(self, config: CrawlConfig) -> None:
        """Let all workers go on by other settings."""
        self._config = config
        self._broadcast(config)

    def drain(self) -> None:
        """Ask for what no thread has begun: it comes back as outcomes of kind "returned"."""
        self._broadcast(_DRAIN)

    def _broadcast(self, message: Any) -> None:
        for slot in self._slots:
            with contextlib.suppress(OSError):
                slot.connection.send(message)

    def close(self) -> None:
        """Let the workers end; they have nothing in flight."""
        self._broadcast(_STOP)
        for slot in self._slots:
            slot.executor.shutdown(wait=True)
            slot.connection.close()
        self._selector.close()

    def kill(self) -> None:
        """End the workers at once."""
        for slot in self._slots:
            _kill(slot)


def _kill(slot: _Slot) -> None:
    processes = getattr(slot.executor, "_processes", None) or {}
    for process in list(processes.values()):
        process.kill()
