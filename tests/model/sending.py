"""The sender: links of what is stored, then its mark, then the flush (rules T1 to T5, GONE)."""

from __future__ import annotations

from tests.model.lines import Found, Line, Promise, Told, shard_of
from tests.model.machine import Machine, Result
from tests.model.share import Block, Segment


def say(machine: Machine, line: Line) -> None:
    """Put a line into the buffer, and into memory if its shard is put together here."""
    machine.buffer.append((line.shard in machine.held, line))
    machine.needed.add(line.shard)
    fold = machine.active(line.shard)
    if fold is not None:
        fold.take(line)


def tell(machine: Machine) -> bool:
    """T2 to T4: tell the links of a stored page, filtered as its worker was told to, and then its mark."""
    if not machine.results or not machine.is_up():
        return False
    result = machine.results.pop(0)
    shard = shard_of(result.url)
    fold = machine.active(shard)
    depth = result.depth if fold is None else min(result.depth, fold.known.get(result.url, result.depth))
    term = machine.term if machine.without("term_of_filter") else result.term
    for link in result.links:
        _tell_link(machine, result, link, depth + 1)
    machine.note(f"tells {result.url} at {depth} by {term}")
    say(machine, Told(shard, result.url, depth, term, result.again, result.failed_at))
    return True


def _tell_link(machine: Machine, result: Result, link: int, depth: int) -> None:
    world, term = machine.world, result.term
    if not world.web.is_inside(link, wide=term.wide) or (term.max_depth is not None and depth > term.max_depth):
        return
    if machine.without("limit_not_told") and world.is_full(machine.config, shard_of(link)):
        return
    fold = machine.active(shard_of(link))
    memory = machine.sent if fold is None else fold.known
    if link in memory and (term.max_depth is None or memory[link] <= depth):
        return
    if fold is None:
        machine.sent[link] = depth
    machine.note(f"says {link} at {depth}")
    say(machine, Found(shard_of(link), link, depth))


def flush(machine: Machine) -> bool:
    """T5: one write, and then the size must be as counted. It may be asked for before, too."""
    if not machine.buffer or not machine.is_up():
        return False
    if machine.world.rng.random() < 0.5 and machine.is_gone():
        machine.rejoin()
        return True
    lines, machine.buffer = machine.buffer, []
    if machine.without("one_file"):  # the marks go first, as into a file of their own
        told = [each for each in lines if type(each[1]) is Told]
        machine.buffer = [each for each in lines if type(each[1]) is not Told] if told else []
        lines = told or lines
    append(machine, _with_promise(machine, lines))
    if machine.is_gone():
        machine.rejoin()
    return True


def _with_promise(machine: Machine, lines: list[tuple[bool, Line]]) -> list[tuple[bool, Line]]:
    """PROMISE: before marks, say how much of all logs was read. What they vouch for may stand there."""
    told = next((line for _, line in lines if type(line) is Told), None)
    if told is None or machine.without("promise"):
        return lines
    places = dict(machine.places)
    for name, place in machine.in_snapshots.items():
        places[name] = max(place, places.get(name, (0, 0)))
    return [(True, Promise(told.shard, machine.number, places)), *lines]


def append(machine: Machine, lines: list[tuple[bool, Line]]) -> None:
    """Append a block. After an append that failed in any way, the block goes into the next segment."""
    fault, machine.append_fault = machine.append_fault, ""
    as_counted = machine.log.size() == machine.counted
    if not machine.log.segments or (as_counted and machine.world.rng.random() < 0.2):
        _begin_segment(machine)
    if fault and as_counted:
        before = machine.counted
        if fault != "nothing":
            _write(machine, lines, whole=fault == "whole")
        if machine.without("next_segment"):
            machine.counted = before
        else:
            _begin_segment(machine, counts=before[1])
    _write(machine, lines)
    if machine.without("own_log_is_looked_at") or machine.without("next_segment"):
        machine.counted = machine.log.size()
    machine.places[machine.name] = machine.counted[0] - 1, machine.counted[1]


def _begin_segment(machine: Machine, counts: int | None = None) -> None:
    number, blocks = machine.counted
    machine.log.segments.append(Segment(blocks if counts is None else counts, machine.world.now))
    machine.counted = number + 1, 0


def _write(machine: Machine, lines: list[tuple[bool, Line]], *, whole: bool = True) -> None:
    number, blocks = machine.counted
    machine.log.append(Block((number - 1, blocks), lines, machine.world.now, whole))
    machine.counted = number, blocks + 1
    machine.note(f"appends block {number - 1}/{blocks}{'' if whole else ' torn'}")
