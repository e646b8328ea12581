"""What tests of snapshots share: files in memory, and a fold that is easy to trust."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fscrawl import urls
from fscrawl.fleet.lines import Found, Line, Surveyed, Told
from fscrawl.fleet.snapshot_file import NO_DEPTH, Snapshot

SHARD = 7


class FilesInMemory:
    """The part of `TreeFiles` that snapshots and generations use."""

    machine = "m"

    def __init__(self) -> None:
        self.there: dict[str, bytes] = {}
        self.reads: list[tuple[str, int, int]] = []
        self.removed: list[str] = []

    def names(self, path: str) -> list[str]:
        below = (name.removeprefix(f"{path}/") for name in self.there if name.startswith(f"{path}/"))
        return sorted({name.partition("/")[0] for name in below})

    def exists(self, path: str) -> bool:
        return path in self.there

    def make_directory_alone(self, path: str, *, fsync: bool = False) -> None:
        pass

    def remove_empty_directory(self, path: str) -> None:
        pass

    def size(self, path: str) -> int:
        return len(self.there.get(path, b""))

    def read_or_torn(self, path: str) -> bytes | None:
        return self.there.get(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes | None:
        self.reads.append((path, offset, length))
        data = self.there.get(path)
        return None if data is None else data[offset : offset + length]

    def claim(self, path: str, data: bytes, *, fsync: bool = False) -> bool:
        if path in self.there:
            return False
        self.there[path] = data
        return True

    def publish_chunks(self, path: str, make: Callable[[], Iterable[bytes]]) -> int:
        self.there[path] = b"".join(make())
        return len(self.there[path])

    def remove(self, path: str) -> None:
        self.removed.append(path)
        self.there.pop(path, None)


def url(number: int) -> str:
    return f"http://a.example/{number}"


@dataclass
class Folded:
    """What lines say of one URL."""

    kind: str
    known: int | None = None
    told: int | None = None
    again: frozenset[str] = frozenset()
    sitemap: str = ""
    referrer: str = ""
    failed_once: bool = False
    stored: bool = False


def fold(lines: Iterable[Line], *, deep: bool) -> dict[int, Folded]:
    """Put lines together in the way that is easiest to trust: fingerprint → state, without those of kind "nothing"."""
    found: dict[int, list[Found]] = defaultdict(list)
    told: dict[int, list[Told]] = defaultdict(list)
    for line in lines:
        if isinstance(line, Found):
            found[urls.fingerprint(urls.key(line.url))].append(line)
        elif isinstance(line, Told):
            told[urls.fingerprint(line.key)].append(line)
    states = {each: _state(found[each], told[each], deep) for each in found.keys() | told.keys()}
    return {each: state for each, state in states.items() if state.kind != "nothing"}


def _state(found: list[Found], told: list[Told], deep: bool) -> Folded:
    known = min((line.depth for line in found), default=None)
    successes = [line for line in told if not line.failed_at]
    best = min((line.depth for line in successes), default=None)
    failures = {line.failed_at for line in told if line.failed_at}
    again = frozenset(line.flags.retry_of for line in found if line.flags.retry_of)
    state = Folded("nothing", known, again=again, failed_once=bool(failures), stored=bool(successes))
    if best is not None and not (deep and known is not None and best > known):
        state.kind, state.told = "told", best
    elif not successes and failures - again:
        state.kind = "failed"
    elif found:
        state.kind = "waiting"
        state.sitemap = min((line.flags.sitemap for line in found if line.flags.sitemap), default="")
        state.referrer = min((line.depth, line.referrer or "-") for line in found)[1].replace("-", "")
    return state


def content(snapshot: Snapshot) -> dict[int, Folded]:
    """Give what is in a snapshot, by fingerprint; fails if something is in it twice."""
    states: dict[int, Folded] = {}
    for fingerprint, state in _content(snapshot):
        if fingerprint in states:  # one line for each failure because of which it is tried again
            assert states[fingerprint].kind == state.kind == "waiting"
            assert states[fingerprint].again.isdisjoint(state.again)
            state.again |= states[fingerprint].again
        states[fingerprint] = state
    head = snapshot.head
    kinds = [state.kind for state in states.values()]
    counts = [kinds.count(kind) for kind in ("waiting", "failed", "told")]
    assert counts == [head.waiting, head.failed, head.told]
    assert head.urls == len(states)
    return states


def _content(snapshot: Snapshot) -> Iterator[tuple[int, Folded]]:
    for found in snapshot.pending():
        again = frozenset({found.flags.retry_of} - {""})
        fingerprint = urls.fingerprint(urls.key(found.url))
        yield fingerprint, Folded("waiting", found.depth, None, again, found.flags.sitemap, found.referrer)
    for kind, section in (("failed", snapshot.failed()), ("told", snapshot.told())):
        before = -1
        for columns in section:
            for fingerprint, *depths in zip(*columns, strict=True):
                assert before < fingerprint
                before = fingerprint
                known = None if depths[:1] in ([], [NO_DEPTH]) else depths[0]
                yield fingerprint, Folded(kind, known, depths[1] if len(depths) > 1 else None)


def surveyed(lines: Iterable[Line]) -> bool:
    return any(isinstance(line, Surveyed) for line in lines)
