"""The adversary: crashes, pauses, cuts, edits, deletions, lost replies."""

from __future__ import annotations

from collections.abc import Callable

from fscrawl.admin.retry import retry as retry_command
from fscrawl.errors import RecordError
from fscrawl.storage.layout import ERRS, GENERATIONS, LEASES, LINKS, LOG, SEEDS, SNAP
from fscrawl.storage.records import ErrorRecord, timestamp
from tests.component.schedules.member import Killed, Member
from tests.component.schedules.patches import EPOCH
from tests.component.schedules.share import BEATS_C, ROOT, Crash
from tests.component.schedules.world import Config, World

MOST_MACHINES = 3


def _some(world: World) -> Member | None:
    up = world.up()
    return world.rng.choice(up) if up else None


def crash(world: World) -> None:
    if member := _some(world):
        member.die()


def crash_at_call(world: World) -> None:
    """A machine crashes at one of its next changes: before it, after it, or half way."""
    if member := _some(world):
        left = world.rng.randint(1, 12)
        how = world.rng.choice(["before", "torn", "after"])
        member.note(f"will crash {how} its change {left}")
        view = member.view

        def on_call(call: str, path: str) -> str:
            nonlocal left
            left -= 1
            if left == 0 and how == "before":
                raise Crash
            if left < 0:
                raise Crash
            return "torn" if left == 0 and how == "torn" and call == "write" else ""

        view.on_call = on_call


def lost_reply(world: World) -> None:
    """A change of a machine fails; it may have been made."""
    if member := _some(world):
        left = world.rng.randint(1, 8)
        how = world.rng.choice(["before", "torn", "after", "after"])
        count = world.rng.choice([1, 1, 2])
        member.note(f"its change {left} will fail: {how}")
        member.view.was_disturbed = True

        def on_call(call: str, path: str) -> str:
            nonlocal left
            left -= 1
            if not -count < left <= 0:
                return ""
            world.note(f"{call} {path} fails: {how}")
            return how

        member.view.on_call = on_call


def pause(world: World) -> None:
    """A machine stands still; it wakes up later, by `resume`."""
    if member := _some(world):
        member.stand_still()
        member.note("stands still")


def stick(world: World) -> None:
    """The main loop of a machine stands still, and its heart does not."""
    if member := _some(world):
        member.is_stuck = True
        member.note("is stuck")


def resume(world: World) -> None:
    for member in world.up():
        if member.is_paused or member.is_stuck:
            member.note("goes on")
            member.go_on()


def time_passes(world: World) -> None:
    """For a while, all others go on."""
    for _ in range(world.rng.choice([5, 12, 20])):
        world.now += world.rng.choice([3.0, 7.0])
        world.round()


def takeover(world: World) -> None:
    """A machine stands still, is taken for dead, and wakes up."""
    up = world.up()
    if len(up) < 2:
        return
    member = world.rng.choice(up)
    member.stand_still()
    member.note("stands still for long")
    for _ in range(world.rng.randint(13, 24)):
        world.now += 5.0
        world.round()
    resume(world)
    if world.rng.random() < 0.5:
        for act in world.rng.sample([member.beat, member.turn, member.work, member.turn, member.beat], 4):
            act()


def slow_store(world: World) -> None:
    """A worker stands still between its look at the permit and the rename of a record."""
    if member := _some(world):
        view = member.view

        def on_call(call: str, path: str) -> str:
            if call == "rename" and path.startswith((f"{ROOT}/{LINKS}", f"{ROOT}/{ERRS}")):
                pool = member.pool
                if pool is not None and pool.at_work is not None:
                    view.on_call = lambda call, path: ""
                    member.note(f"is slow to store {path}")
                    world.excuse(pool.at_work.url)
                    time_passes(world)
                    if member.state != "up" or pool.at_work is None:
                        raise Killed
            return ""

        view.on_call = on_call


def leave(world: World) -> None:
    if member := _some(world):
        member.interrupt()


def join(world: World) -> None:
    if len(world.up()) < MOST_MACHINES:
        world.join()


def reseed(world: World) -> None:
    if len(world.up()) < MOST_MACHINES:
        world.join(reseed=True)


def edit(world: World) -> None:
    rng, config = world.rng, world.config
    what = rng.random()
    if what < 0.4:
        config = config._replace(wide=not config.wide)
    elif what < 0.8:
        config = config._replace(max_depth=rng.choice([1, 2, 3, None]))
    else:
        config = config._replace(nofollow=not config.nofollow)
    change(world, config)


def change(world: World, config: Config) -> None:
    world.config = config
    world.note(f"edit: {config}")
    world.edited_at = world.now
    world.write_settings()


def late_edit(world: World) -> None:
    """There is an edit when the machines are about to leave."""
    for _ in range(30):
        idle = [member for member in world.up() if member.engine._membership._state.idle]
        if idle and len(idle) == len(world.up()):
            break
        world.now += 2.0
        world.round()
    edit(world)


def add_seed(world: World) -> None:
    url = world.rng.choice(world.web.urls)
    if url not in world.seeds and "/x" not in url:
        world.note(f"new seed: {url}")
        world.seeds.append(url)
        world.edited_at = world.now
        world.as_person().append_line(SEEDS, f"{url}\n".encode())


def retry(world: World) -> None:
    """A person has failures tried again."""
    tree = world.tree()
    if not world.machinery():
        return
    asked = {}
    for path in world.share.files(ERRS):
        node = world.share.node(path)
        try:
            record = ErrorRecord.from_json(bytes(node.data or b"")) if node else None
        except RecordError:  # a power failure has taken its content: the command passes it over, too
            continue
        if record is not None and not tree.is_done(path.split("/")[-2], record.key):
            asked[record.url] = record.failed_at
    if asked:
        name = world.new_name()
        world.note(f"{name} retries {asked}")
        retry_command(world.tree(name), (), (), world.note)
        world.must_retry |= asked
        world.edited_at = world.now
        for url in asked:
            world.excuse(url)


def refresh(world: World) -> None:
    """A person starts a machine that fetches again what is older than a second."""
    if len(world.up()) < MOST_MACHINES:
        for url in world.web.urls:
            world.excuse(url)
        world.edited_at = world.now
        world.join(refresh_before=timestamp(EPOCH + world.now - 1.0))  # a request may have begun a moment ago


def cut(world: World) -> None:
    """The server has lost the end of a log, or all of it."""
    rng = world.rng
    logs = [path for path in world.share.files(GENERATIONS) if f"/{LOG}/" in path and _size(world, path)]
    if not logs:
        return
    path = rng.choice(logs)
    size = _size(world, path)
    left = rng.choice([0, size // 2, max(size - 1, 0), rng.randint(0, size), size - size // 4])
    world.note(f"{path}: cut from {size} to {left}")
    world.cut.add(path.split("/")[-1].removesuffix(".log"))
    world.must_retry.clear()
    world.share.cut(path, left)


def _size(world: World, path: str) -> int:
    node = world.share.node(path)
    return len(node.data or b"") if node else 0


def tear(world: World) -> None:
    """A snapshot is torn, or removed."""
    files = (path for path in world.share.files(GENERATIONS) if f"/{SNAP}/" in path)
    snapshots = [path for path in files if not path.rpartition("/")[2].startswith(".")]
    if snapshots:
        path = world.rng.choice(snapshots)
        if world.rng.random() < 0.5:
            world.share.cut(path, world.rng.randint(0, _size(world, path)))
        else:
            world.as_person().remove(path.removeprefix(f"{ROOT}/"))
        world.note(f"{path} is torn")


def delete(world: World) -> None:
    """A person deletes `.fscrawl`. (Where nothing is stored yet, nobody waits for the machines of the old one.)"""
    if world.machinery() and world.share.files(LINKS):
        world.note(".fscrawl is deleted")
        world.deletions += 1
        world.must_retry.clear()
        world.share.delete(".fscrawl")


def remove_leases(world: World) -> None:
    """A person removes the leases, which look like locks that were left behind.

    Whoever knows one of them ends. Until then, a machine that knows none would take shards that are still held. So all
    are at work, and nobody has joined just now.
    """
    if world.waiting() or not all(_is_at_work(member) and member.fleet._newest for member in world.up()):
        return
    world.note("the leases are removed")
    world.were_leases_removed = True
    for path in world.share.files(LEASES):
        world.as_person().remove(path.removeprefix(f"{ROOT}/"))
    for _ in range(3):
        world.now += BEATS_C / 2
        world.round()


def _is_at_work(member: Member) -> bool:
    return not (member.is_paused or member.is_stuck or member.engine._membership.fenced or member.engine._interrupts)


def page_fails(world: World) -> None:
    url = world.rng.choice(world.web.urls)
    if not world.asked[url]:
        world.web.failures[url] = world.rng.randint(1, 2)


Fault = Callable[[World], None]
FAULTS: list[Fault] = [
    *(crash, crash_at_call, lost_reply, lost_reply, pause, stick, resume, resume, time_passes, takeover, slow_store),
    *(leave, join, join, edit, add_seed, retry, cut, tear, page_fails, refresh, reseed),
]
FOCUS = (
    "takeover join",
    "takeover edit join",
    "edit",
    "edit crash join",
    "crash_at_call join",
    "cut join",
    "cut crash join",
    "lost_reply join",
    "lost_reply crash_at_call join",
    "delete join join",
    "delete crash join",
    "tear crash join",
    "tear cut crash join",
    "slow_store takeover join",
    "pause resume time_passes join",
    "stick resume time_passes join edit",
    "leave join",
    "leave join edit",
    "page_fails retry join",
    "page_fails retry takeover crash join",
    "refresh leave",
    "refresh crash join",
    "reseed leave",
    "late_edit join",
    "add_seed edit join",
    "join leave time_passes",
    "delete takeover join",
    "cut takeover",
    "remove_leases join",
    "remove_leases join takeover leave",
)


def named(names: str) -> list[Fault]:
    """Give faults by their names."""
    found: list[Fault] = [globals()[name] for name in names.split()]
    return found


def plan(world: World) -> tuple[list[Fault], float]:
    """Choose which faults a schedule has, and how often: often a few kinds."""
    rng = world.rng
    if rng.random() < 0.6:
        return named(rng.choice(FOCUS)), rng.choice([0.03, 0.08, 0.15])
    faults = [fault for fault in FAULTS if rng.random() < 0.5]
    return faults, rng.choice([0.0, 0.02, 0.05, 0.12]) if faults else 0.0
