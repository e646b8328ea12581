"""The holder: what is wanted is looked for, fetched or told, and published under the permit (rules H3 to H5, T1)."""

from __future__ import annotations

from tests.model.fold import Fold
from tests.model.lines import STALE, shard_of
from tests.model.machine import Machine, Result, Task
from tests.model.world import Error, Record, World


def wanted(machine: Machine) -> list[tuple[Fold, int]]:
    """Give what is pending, of shards that are put together and stay."""
    if machine.fenced:
        return []
    busy = machine.in_flight.keys() | {result.url for result in machine.results}
    folds = [
        fold
        for shard, fold in machine.folds.items()
        if shard in machine.held and shard not in machine.arriving and shard not in machine.releasing
    ]
    return [
        (fold, url) for fold in folds for url in fold.wanted() if url not in busy and not _is_over_limit(machine, url)
    ]


def _is_over_limit(machine: Machine, url: int) -> bool:
    """Return whether the host has its pages. What is stored is told all the same."""
    limit = machine.config.limit
    if limit is None or url in machine.world.records:
        return False
    pages = machine.world.pages_of(shard_of(url)) + sum(shard_of(u) == shard_of(url) for u in machine.in_flight)
    return pages >= limit


def look_up(machine: Machine) -> bool:
    """H3, H4: take something wanted; tell what is stored, fetch what is not."""
    if not machine.may_go_on():
        return False
    todo = wanted(machine)
    if not todo:
        return False
    fold, url = machine.world.rng.choice(todo)
    if _is_there(machine, fold, url):
        record, error = machine.world.records.get(url), machine.world.errors.get(url)
        if record is not None and _tell_page(machine, fold, url, record):
            return True
        if record is None and error is not None and _tell_error(machine, fold, url, error):
            return True
    return _fetch(machine, fold, url)


def _is_there(machine: Machine, fold: Fold, url: int) -> bool:
    """H3: ask the listing of the host; and by name, as long as the listing may be from before the take."""
    shard = shard_of(url)
    if shard not in machine.listed:
        seen_at = machine.world.lag()
        machine.listed[shard] = machine.world.now, machine.world.stored_by(shard, seen_at)
    listed_at, there = machine.listed[shard]
    if url in there or url in fold.marks or url in fold.doubtful:  # what is told is stored
        return True
    if machine.without("by_name"):
        return False
    ripe_at = machine.taken_at[shard] + STALE
    early = machine.world.now <= ripe_at if machine.without("ripe_listing") else listed_at <= ripe_at
    flagged = bool(fold.again.get(url)) or (url in machine.given_back and not machine.without("given_back"))
    return (early or flagged) and (url in machine.world.records or url in machine.world.errors)


def _tell_page(machine: Machine, fold: Fold, url: int, record: Record) -> bool:
    """H4: tell a stored page; False if it is to be fetched again."""
    if record.fetched_at < machine.refresh_before and not machine.without("check_refreshes"):
        return False
    again = fold.unspent(url)
    depth = fold.known[url]
    links = () if machine.without("told_from_record") else record.links
    machine.results.append(Result(url, depth, machine.term, links, again))
    return True


def _tell_error(machine: Machine, fold: Fold, url: int, error: Error) -> bool:
    """Tell a stored failure; False if a retry names this very one."""
    again = fold.again.get(url, set()) if machine.without("spent_by_time") else set(fold.unspent(url))
    if error.failed_at in again:
        return False
    machine.results.append(Result(url, fold.known[url], machine.term, (), tuple(sorted(again)), error.failed_at))
    return True


def _fetch(machine: Machine, fold: Fold, url: int) -> bool:
    """Send the request, and check that it may be sent."""
    world = machine.world
    if machine.rests.get(shard_of(url), 0) > world.now:
        return False
    record, error = world.records.get(url), world.errors.get(url)
    refresh = record is not None and record.fetched_at < machine.refresh_before
    retry = error is not None and (url, error.failed_at) in world.accounts.asked
    if refresh or retry:
        world.accounts.granted[url] += 1
    world.check_fetch(machine, url, None if record else machine.config.limit)
    world.accounts.check_repeats(url)
    task = Task(url, fold.known[url], machine.term, fold.unspent(url), refresh)
    machine.note(f"fetches {url} {task}")
    machine.in_flight[url] = task
    return True


def publish(machine: Machine) -> bool:
    """T1: an answer has come; it is stored if the permit holds."""
    if not machine.in_flight or not machine.may_go_on():
        return False
    url = machine.world.rng.choice(sorted(machine.in_flight))
    task = machine.in_flight.pop(url)
    failed_at = store(machine.world, task, machine.rests, machine.name)
    if machine.append_fault == "record":  # the reply is lost: the worker says that it could not store it
        machine.append_fault = ""
        machine.given_back.add(url)
        machine.world.accounts.excused[url] += failed_at is not None
        return True
    answer(machine, task, failed_at)
    return True


def answer(machine: Machine, task: Task, failed_at: int | None) -> None:
    """Take a worker's answer: something is stored, and is to be told."""
    links = machine.world.records[task.url].links if failed_at is None else ()
    machine.results.append(Result(task.url, task.depth, task.term, links, task.again, failed_at))


def store(world: World, task: Task, rests: dict[int, int], who: str) -> int | None:
    """Publish a page or an error, whatever the web has for it, and note the host's rest. Return when it failed."""
    url, now = task.url, world.now
    if world.web.rests and world.rng.random() < 0.3:
        until = now + world.rng.randint(1, 6 * STALE)
        world.accounts.rest_until[shard_of(url)] = rests[shard_of(url)] = until
    old = world.records.get(url)
    if old is None and world.web.failures[url] > 0:
        world.web.failures[url] -= 1
        first_at = world.errors[url].first_at if url in world.errors else now
        world.errors[url] = Error(task.depth, now, first_at)
        world.note(f"{who} failed {url}")
        return now
    if old is not None:
        world.web.grow(world.rng, url)
    depth = task.depth if old is None else min(task.depth, old.depth)
    world.records[url] = Record(depth, tuple(world.web.links[url]), old.first_at if old else now, now)
    world.errors.pop(url, None)
    world.note(f"{who} stored {url}")
    return None
