"""The worker processes of one machine, seen from the machine. What runs inside one is in `worker_process`.

Each worker has a ProcessPoolExecutor of its own, so that one that dies takes no other along. With no worker process
(`--workers 0`) one worker runs in a thread of the machine's process, behind the same pipe.

Vocabulary:
  slot       holds one worker process and its tasks in flight; a dead process is replaced in its slot
  spare      a slot that has had no process yet. Spare slots get one as work appears, a few at a time: a process takes
             some milliseconds to start, and processor time of its own before it can work. A machine that starts
             hundreds at once hears no signal and writes no beats meanwhile, and its few cores have nothing left for the
             processes that have begun
  suspect    a task that was in flight when its worker died. It is tried again alone, so that the page that killed the
             worker is told from the others. If the worker then hangs, or dies twice, the task is guilty: one death
             more may be the deed of somebody else, such as the system when memory is short. A worker that ends
             before it has begun to work is no task's deed at all

Data flows one way round: the machine submits tasks, `wait` gives back answers. Promise: every task submitted comes
back once: as an outcome, as `TreeUnusable`, or as `KilledWorker` if it is guilty.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import multiprocessing
import random
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from fscrawl import interrupts
from fscrawl.engine import PRELOADED, frames, worker_entry
from fscrawl.engine.messages import Answer, Begun, Drain, Message, Parked, Sent, Stop, WorkerSetup
from fscrawl.engine.shared_cookies import SharedCookies
from fscrawl.errors import FscrawlError
from fscrawl.frontier.task import PageTask, Task
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Returned
from fscrawl.http.cookies import Cookies
from fscrawl.request import names_session
from fscrawl.util.lru import Lru

_PAUSED_S = 5.0  # since the last `wait`: this process stood still itself, and has not read what the workers sent
_HOSTS = 10_000  # so many hosts stay with their workers: more than all workers together keep connections to
_MOST_WAITING = 2  # times its capacity: so much may be at a worker whose hosts are due while others have room
_UNEVEN_S = 0.5  # a worker is busy and another is not for so long: then it is no chance, and hosts move
_DEATHS_ALONE = 2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 30.0  # until the system is asked again for a process
_MAX_FAILED_STARTS = 20  # that is for some six minutes
_MAX_WITHOUT_ANY = 6  # if no worker is left, for thirteen seconds: then other machines get the hosts
_NONE_BEGINS = "they end before they begin to work"
_FIRST = 8  # processes that are started at once: more than a machine has by default
_AT_ONCE_S = 0.05  # so long may the main loop stand still to start more
_MAX_DEATHS_AT_START = 20  # in a row without an answer between them: more than any page could cause


def most_slow(threads: int) -> int:
    """Give how many tasks of hosts that are not known to answer soon a worker has at most while others wait."""
    return max(1, threads // 2)


class KilledWorker(NamedTuple):
    """The worker that did this task died, and again when it did the task alone: it hung, or died twice."""

    task: Task


class Pool:
    """Worker processes behind one `submit` and one `wait`."""

    def __init__(
        self,
        workers: int,
        setup: WorkerSetup,
        config: CrawlConfig,
        *,
        hung_after_s: float,
        delay_s: Callable[[str], float] = lambda host: 0.0,  # noqa: ARG005
    ) -> None:
        """`workers`: how many processes; 0: one worker in this process.

        `hung_after_s`: a worker process with tasks that sends no answer for so long is killed and replaced.

        `delay_s`: of a host, seconds between two requests; what killed a worker may just have been asked for.
        """
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(PRELOADED))
        self._setup = setup
        self._config = config
        self._hung_after_s = hung_after_s
        self._delay_s = delay_s
        self._selector = selectors.DefaultSelector()
        self._in_this_process = workers == 0
        self._slots = [Slot(number) for number in range(max(workers, 1))]
        self._first_core = random.randrange(1 << 16)
        self._returned: deque[Returned] = deque()  # suspects that are not tried here
        self._slot_of: Lru[str, Slot] = Lru(_HOSTS)  # by host, and by host and "#" for the requests of its sessions
        self.cookies = SharedCookies(config.identity)
        self._capacity = 2 * setup.threads  # as many waiting in the inbox as being worked on
        self._most_slow = most_slow(setup.threads)
        self.replaced = 0
        self.hosts_of_dead_workers: set[str] = set()  # hosts with a task in flight in a worker that died
        self._waited_at = time.monotonic()
        self._by_load: list[tuple[int, int, int]] | None = None  # a heap of slots that take tasks; None: to be made
        self._is_held = False  # nothing is handed out, so no more processes are needed
        for slot in self._slots[:_FIRST]:
            self._start_process(slot)
        self._spare = deque(self._slots[_FIRST:])

    def _start_more(self) -> None:
        """Start processes for a few spare slots, if there is a task for each."""
        if not self._spare or self._is_held:
            return
        loads = [slot.load for slot in self._slots if slot.is_open]
        needed = 1 + sum(loads) - len(loads)
        until = time.monotonic() + _AT_ONCE_S
        while needed > 0 and self._spare and time.monotonic() < until:
            self._start_process(self._spare.popleft())
            needed -= 1

    def _start_process(self, slot: Slot) -> None:
        """Start a process for a slot. If the system gives none, that is tried again later."""
        context = self._context
        try:
            with contextlib.ExitStack() as undone:
                ours, theirs = context.Pipe()
                undone.callback(ours.close)
                given = theirs, self._setup, self._config
                if self._in_this_process:
                    slot.executor = ThreadPoolExecutor(1)
                    slot.executor.submit(worker_entry.serve_here, *given)
                else:
                    with theirs:
                        slot.executor = ProcessPoolExecutor(1, context, worker_entry.start, given)
                        undone.callback(slot.executor.shutdown, wait=False)
                        before = set(multiprocessing.active_children())
                        with interrupts.later():  # a process that is half started could not be ended
                            slot.executor.submit(worker_entry.serve, self._first_core + slot.number, len(self._slots))
                        slot.process = next(iter(set(multiprocessing.active_children()) - before), None)
                undone.pop_all()
        except (OSError, EOFError) as error:
            self._put_off(slot, why_none(error))
            return
        slot.connection, slot.incoming, slot.outgoing = ours, frames.Incoming(ours), frames.Outgoing(ours)
        slot.start_at = None
        slot.last_answer_at = time.monotonic()
        self.cookies.forget(slot)
        self._selector.register(ours, selectors.EVENT_READ, slot)

    def _put_off(self, slot: Slot, why: str) -> None:
        """Let a slot wait for its next process, longer after each time that there was none, or none that began."""
        slot.failed_starts += 1
        is_any_left = any(each.has_begun for each in self._slots)
        if slot.failed_starts > (_MAX_FAILED_STARTS if is_any_left else _MAX_WITHOUT_ANY):
            raise FscrawlError(
                f"no worker process can be started: {why}; look at the limits of memory and processes of this machine"
            )
        slot.start_at = time.monotonic() + min(_FIRST_PAUSE_S * 2**slot.failed_starts, _LONGEST_PAUSE_S)

    # -- tasks go out

    @property
    def has_room(self) -> bool:
        """A task submitted now would find a thread, or room in an inbox.

        An inbox may have more than its share, as long as the others have less.
        """
        idlest = self._idlest()
        if idlest is None or idlest.load >= self._capacity:
            return False
        if idlest.load < self._setup.threads:
            return True
        loads = [slot.load for slot in self._slots if slot.is_open]
        return sum(loads) < len(loads) * self._capacity

    def submit(self, task: Task, *, slow: bool = False) -> None:
        """Give a task to the worker of its host, or, if that one stays busy, to one that has threads to spare.

        A host stays with a worker, which has its address, its connection and its TLS session. Requests of its sessions
        wait for their worker as long as that lives: another one would open the sessions anew.

        `slow`: the host is not known to answer soon. All workers have their share of such tasks, so that each has
        threads for the others.
        """
        now = time.monotonic()
        of_session = names_session(task.url)
        place = f"{task.host}#" if of_session else task.host
        slot = self._slot_of.get(place)
        if slot is None or not slot.is_open or (slot.load >= self._setup.threads and not of_session):
            idlest = self._idlest()
            assert idlest is not None, "nothing is submitted without room"
            if slot is None or not slot.is_open or self._moves(task.host, slot, idlest, now):
                slot = idlest
                self._slot_of.put(place, slot)
        if slow and not of_session and len(slot.slow) >= self._most_slow:
            slot = min((each for each in self._slots if each.is_open), key=lambda each: (len(each.slow), each.load))
            self._slot_of.put(place, slot)
        name = name_of(task)
        slot.in_flight[name] = task
        if slow:
            slot.slow.add(name)
        slot.unsent.append(task)
        slot.note_busy(now, self._setup.threads)
        self._is_held = False

    def _moves(self, host: str, slot: Slot, idlest: Slot, now: float) -> bool:
        """Tell whether a host whose worker is busy goes to another one, where it is met for the first time.

        For a task that is alone it is better to wait a moment, if threads are short here by chance.
        """
        if slot.load >= _MOST_WAITING * self._capacity:
            return True
        if idlest.load >= self._setup.threads:
            return False
        is_alone = all(task.host != host for task in slot.in_flight.values())
        return not is_alone or min(slot.busy_s(now), idlest.spare_s(now)) > _UNEVEN_S

    def _idlest(self) -> Slot | None:
        """Give the slot with the least load; None if none takes tasks.

        While tasks go out, loads only grow: a slot that is first in the heap by an old load is put back.
        """
        if self._by_load is None:
            self._by_load = [(each.load, len(each.in_flight), n) for n, each in enumerate(self._slots) if each.is_open]
            heapq.heapify(self._by_load)
        while self._by_load:
            *before, number = self._by_load[0]
            slot = self._slots[number]
            now = slot.load, len(slot.in_flight)
            if now == tuple(before):
                return slot
            heapq.heapreplace(self._by_load, (*now, number))
        return None

    def _send_tasks(self, slot: Slot, now: float) -> None:
        if slot.suspects and not slot.in_flight and slot.suspects[0][0] <= now:
            slot.alone = slot.suspects.popleft()[1]
            slot.in_flight[name_of(slot.alone)] = slot.alone
            slot.unsent = [slot.alone]
        if slot.unsent:
            if len(slot.in_flight) == len(slot.unsent):
                slot.last_answer_at = time.monotonic()  # it was idle until now
            if news := self.cookies.news(slot, slot.unsent):
                self._send(slot, news)
            self._send(slot, slot.unsent)
            slot.unsent = []

    def _send(self, slot: Slot, message: Message) -> None:
        with contextlib.suppress(OSError):  # it has just died; `wait` will see that
            slot.outgoing.send(message)
            self._watch(slot)

    def _watch(self, slot: Slot) -> None:
        """Wait for what the process sends; and also until it takes more, if something is left for it."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if slot.outgoing.waits else 0)
        if events != self._selector.get_key(slot.connection).events:
            self._selector.modify(slot.connection, events, slot)

    # -- answers come back

    def wait(self, timeout_s: float, *, tree_stalled: bool = False) -> Iterator[Answer | KilledWorker | Parked]:
        """Send what was submitted; give what has come back, waiting for the first of it at most `timeout_s`.

        `tree_stalled`: the workers are known to wait for the tree, and are not killed for it.
        """
        now = time.monotonic()
        while self._returned:
            yield self._returned.popleft()
        self._forgive_silence(now, tree_stalled=tree_stalled)
        self._start_more()
        self._by_load = None
        for slot in self._slots:
            if slot.start_at is not None:
                if slot.start_at <= now:
                    self._start_process(slot)
                continue
            slot.note_busy(now, self._setup.threads)  # its tasks may wait to be read since
            self._send_tasks(slot, now)
        for chosen, events in self._selector.select(timeout_s):
            slot = chosen.data
            try:
                messages = self._write_and_read(slot, events)
            except (EOFError, OSError):
                yield from self._replace(slot)
                continue
            for sent in itertools.chain.from_iterable(messages):
                self._take_in(sent, slot)
                yield sent
        self._by_load = None
        self._kill_hung()

    def _write_and_read(self, slot: Slot, events: int) -> list[list[Sent]]:
        """Write what waits, and read what has come; EOFError or OSError if the process is gone and all was read."""
        if events & selectors.EVENT_WRITE:
            with contextlib.suppress(OSError):  # it may have answered before it died
                slot.outgoing.flush()
            self._watch(slot)
        if not events & selectors.EVENT_READ:
            return []
        messages = []
        for message in slot.incoming.read():
            if isinstance(message, Cookies):
                self.cookies.take(slot, message)
            elif isinstance(message, Begun):
                slot.has_begun, slot.failed_starts = True, 0
            else:
                messages.append(message)
        slot.last_answer_at = time.monotonic()
        if messages:
            slot.deaths_at_start = 0
        return messages

    def _take_in(self, sent: Sent, slot: Slot) -> None:
        """Take in what a worker has sent: most often, that a task is over."""
        name = name_of(sent.task)
        slot.slow.discard(name)
        if isinstance(sent, Parked):
            slot.parked.add(name)
            return
        slot.parked.discard(name)
        slot.in_flight.pop(name, None)
        slot.alone = None
        slot.deaths_alone = 0
        slot.note_busy(slot.last_answer_at, self._setup.threads)

    def _forgive_silence(self, now: float, *, tree_stalled: bool) -> None:
        """Do not count time without an answer if this process itself stood still, or the tree does."""
        paused_s = now - self._waited_at
        if tree_stalled or paused_s > _PAUSED_S:
            for slot in self._slots:
                slot.last_answer_at = now
        self._waited_at = now

    # -- workers that die or hang

    def _replace(self, slot: Slot) -> Iterator[KilledWorker]:
        """Put a new process into a dead one's slot, and make its tasks suspects."""
        self._selector.unregister(slot.connection)
        slot.connection.close()
        # Its thread is over then. If this process ended before, the executor could write into a pipe that was closed.
        slot.executor.shutdown(wait=slot.process is not None)
        self.replaced += 1
        has_begun, slot.has_begun = slot.has_begun, False
        slot.deaths_at_start += has_begun
        if slot.deaths_at_start > _MAX_DEATHS_AT_START:
            raise FscrawlError(
                "worker processes die as soon as they begin; if no line above says why, "
                "look at the limits of memory and processes of this machine"
            )
        self.hosts_of_dead_workers |= {task.host for task in slot.in_flight.values()}
        alone, slot.alone = slot.alone, None
        slot.deaths_alone += alone is not None and has_begun
        guilty = alone if has_begun and (slot.was_hung or slot.deaths_alone >= _DEATHS_ALONE) else None
        if guilty is not None:
            slot.deaths_alone = 0
        slot.was_hung = False
        now = time.monotonic()
        undone = [to_check(task) for task in slot.take_undone() if task is not guilty]
        suspects = [(now + self._delay_s(task.host), task) for task in undone]
        if alone is None:
            slot.suspects.extend(suspects)
        else:  # it is tried again before the others, so that its deaths are counted in a row
            slot.suspects.extendleft(suspects)
        if has_begun:
            self._start_process(slot)
        else:
            self._put_off(slot, _NONE_BEGINS)
        if guilty is not None:
            yield KilledWorker(guilty)

    def _kill_hung(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            if slot.in_flight.keys() <= slot.parked:  # whoever reads or renders these pages has limits of its own
                slot.last_answer_at = now
            elif now - slot.last_answer_at > self._hung_after_s:
                slot.last_answer_at = now
                slot.was_hung = True
                slot.kill()

    # -- to all workers

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all workers go on by other settings or seeds."""
        self._config = config
        if config.identity != self.cookies.identity:
            self.cookies = SharedCookies(config.identity)
        self._broadcast(config)

    def drain(self) -> None:
        """Ask for the tasks that no thread has begun: each comes back as `Returned`."""
        self._is_held = True
        self._broadcast(Drain())
        self.return_suspects()

    def return_suspects(self) -> None:
        """Let the suspects that wait come back as `Returned`; their hosts may have been asked a moment ago."""
        now = time.monotonic()
        for slot in self._slots:
            self._returned.extend(Returned(task, now) for _, task in slot.suspects)
            slot.suspects.clear()
            if slot.alone is None:
                slot.deaths_alone = 0
        self._by_load = None

    def _broadcast(self, message: Message) -> None:
        for slot in self._slots:
            if slot.start_at is None:  # another process learns the settings when it is started
                self._send(slot, message)

    def close(self) -> None:
        """Let the workers end; they have nothing in flight."""
        self._broadcast(Stop())
        for slot in self._slots:
            if slot.start_at is None:
                with contextlib.suppress(OSError):
                    slot.outgoing.finish()
                slot.executor.shutdown(wait=True)
                slot.connection.close()
        self._selector.close()

    def kill(self) -> None:
        """End the workers at once."""
        for slot in self._slots:
            if slot.start_at is None:  # another one may never have had a process
                slot.kill()
                slot.connection.close()  # a worker in this process ends by that


# -- one worker process, which may be replaced


def name_of(task: Task) -> str:
    """Name a task among those in flight: a host has at most one RobotsTask at a time."""
    return task.key if isinstance(task, PageTask) else f"robots {task.host}"


def to_check(task: Task) -> Task:
    """Give a task that looks into the tree first: a worker that died may have stored its page."""
    return task._replace(check=True) if isinstance(task, PageTask) else task


class Slot:
    """One place for a process, with its tasks in flight.

    start_at    when a process is to be started, since the system has given none; infinite: the slot is spare; None:
                there is one
    has_begun   the process has threads that work. If it ends before, that is no task's deed
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.connection: Connection
        self.incoming: frames.Incoming
        self.outgoing: frames.Outgoing
        self.executor: Executor
        self.start_at: float | None = math.inf
        self.failed_starts = 0  # in a row
        self.process: BaseProcess | None = None  # None: a thread
        self.has_begun = False
        self.in_flight: dict[str, Task] = {}
        self.slow: set[str] = set()  # of these, tasks of hosts that are not known to answer soon
        self.parked: set[str] = set()  # tasks whose pages wait to be read or rendered: they are no load
        self.unsent: list[Task] = []
        self.suspects: deque[tuple[float, Task]] = deque()  # each with when its host may be asked again
        self.alone: Task | None = None  # the suspect that is being tried
        self.deaths_alone = 0  # of processes while they tried it
        self.was_hung = False  # the process was killed for it
        self.last_answer_at = time.monotonic()
        self.deaths_at_start = 0  # processes in a row that have begun, and died without an answer
        self._is_busy = False
        self._since = time.monotonic()

    @property
    def load(self) -> int:
        return len(self.in_flight) - len(self.parked)

    def note_busy(self, now: float, threads: int) -> None:
        """Note since when all threads have a task, or some have none."""
        busy = self.load >= threads
        if busy != self._is_busy:
            self._is_busy, self._since = busy, now

    def busy_s(self, now: float) -> float:
        return now - self._since if self._is_busy else 0.0

    def spare_s(self, now: float) -> float:
        return 0.0 if self._is_busy else now - self._since

    @property
    def is_open(self) -> bool:
        """It takes tasks: it has a process, and no suspect waits or is being tried."""
        return self.start_at is None and not self.suspects and self.alone is None

    def take_undone(self) -> list[Task]:
        """Give what was in flight in a process that is gone, and forget it."""
        undone = list(self.in_flight.values())
        self.in_flight, self.slow, self.parked, self.unsent = {}, set(), set(), []
        return undone

    def kill(self) -> None:
        """End the process at once. A thread cannot be ended."""
        if self.process is not None:
            self.process.kill()


def why_none(error: Exception) -> str:
    """Say why the system gave no process."""
    if isinstance(error, EOFError):
        return "what forks them has ended"
    return getattr(error, "strerror", None) or str(error)
