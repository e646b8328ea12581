"""How the soak's machines see their tree, and what trouble each way can be in.

Promise: `begin` and `end` touch no mount and are safe to call from any thread, one at a time for each share; `end`
gives how many calls the trouble has hit. Leaving the `with` of a share unmounts it, whatever state it is in.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.faults import Fault as Injected
from tests.support.passthrough import Passthrough


@dataclass(frozen=True, slots=True)
class Trouble:
    """One kind of it. `seconds`: how long it lasts, from and to.

    permit  the machine may stop with exit code 75
    fences  no call is answered while it lasts, so that the machine cannot beat
    what    what is injected, for those that are; else the share knows
    """

    kind: str
    weight: float
    seconds: tuple[float, float]
    permit: bool = False
    fences: bool = False
    what: Injected | None = None


@dataclass
class Share:
    """A local directory: nothing to be mounted, and no trouble. The others are made of it."""

    tree: Path
    file_system: str = "local disk"
    troubles: Sequence[Trouble] = ()
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, trouble: Trouble, rng: random.Random) -> None:
        raise NotImplementedError(trouble.kind)

    def end(self, trouble: Trouble) -> int:
        raise NotImplementedError(trouble.kind)


def passthrough_troubles(dead_after_s: float) -> list[Trouble]:
    """Give the troubles of the pass-through: stale answers are as old as the design allows them to be."""
    stale_s = 0.8 * dead_after_s
    brief, longer = (0.5, 4.0), (1.2 * dead_after_s, 1.8 * dead_after_s)

    def often(kind: str, chance: float, code: int = errno.EIO, seconds: float = 0.0) -> Injected:
        return Injected(kind, code, every=1, chance=chance, seconds=seconds)

    # names that are made once: what grows, or is replaced, was there before and is nothing that a look-up could miss
    missing = Injected("stale-missing", path=r"/(links|errs)/.*\.jsonl?$|/leases/\d", every=1, seconds=stale_s)
    changing = ("write", "create", "mkdir", "rename", "link")
    full = Injected("error", errno.ENOSPC, ops=("write", "create", "mkdir"), every=1)
    read_only = Injected("error", errno.EROFS, ops=changing, every=1)
    return [
        Trouble("EIO", 3, brief, what=often("error", 0.05)),
        Trouble("ESTALE", 3, brief, what=often("error", 0.05, errno.ESTALE)),
        Trouble("lost reply", 3, brief, what=often("lost", 0.05, errno.ETIMEDOUT)),
        Trouble("retransmission", 3, brief, what=often("twice", 0.2)),
        Trouble("short reads and writes", 2, brief, what=often("short", 0.3)),
        Trouble("EIO at close", 2, brief, what=often("deferred", 0.1)),
        Trouble("slow calls", 2, brief, what=often("slow", 0.1, seconds=0.5)),
        Trouble("stale listings", 3, (2.0, 2 * stale_s), what=often("stale-listing", 1.0, seconds=stale_s)),
        Trouble("stale missing names", 3, (2.0, 2 * stale_s), what=missing),
        Trouble("hang, shorter than dead_after", 3, (0.3, 0.6 * dead_after_s), fences=True, what=often("hang", 1.0)),
        Trouble("hang, longer than dead_after", 1, longer, fences=True, what=often("hang", 1.0)),
        Trouble("ENOSPC", 1, (0.2, 1.0), permit=True, what=full),
        Trouble("EROFS", 1, (0.2, 1.0), permit=True, what=read_only),
        Trouble("unmounted", 1, (0.2, 2.0), permit=True),
        Trouble("file system's process killed", 1, (0.2, 2.0), permit=True),
    ]


class Fuse(Share):
    """Our pass-through, with faults injected."""

    def __init__(self, tree: Path, dead_after_s: float, seed: int) -> None:
        super().__init__(tree, "FUSE pass-through", passthrough_troubles(dead_after_s))
        self._mount = Passthrough(tree, seed=seed)
        self.path = self._mount.path
        self._before = 0

    def __enter__(self) -> Self:
        self._mount.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._mount.__exit__()

    def begin(self, trouble: Trouble, rng: random.Random) -> None:
        if trouble.what is not None:
            self._before = self._mount.injected().total()
            self._mount.inject(trouble.what)
        elif trouble.kind == "unmounted":
            self._mount.unmount()
        else:
            self._mount.kill()

    def end(self, trouble: Trouble) -> int:
        if trouble.what is None:
            self._mount.remount()
            return 1
        self._mount.heal()
        return self._mount.injected().total() - self._before
