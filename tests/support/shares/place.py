"""A fleet whose machines each have a mount of their own of one share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.fleet import Place
from tests.support.shares.share import Share


class SharedPlace(Place):
    """A new directory on a share, and for each machine a mount; `close` unmounts them."""

    slowness = 3.0
    caches_s = 60.0

    def __init__(self, share: Share, name: str, settings: Mapping[str, object] | None = None) -> None:
        self.meeting_s = share.flavour.listing_s
        (share.view / name).mkdir()
        # sshfs shows another machine's new log after 20 s at the latest, and once shown it is read fresh: so beats may
        # be seconds apart, and what is taken from the dead is asked for by name
        calm = {"fleet.beat": 1, "fleet.dead_after": 10, "store.patience": 60}
        super().__init__(share.view / name / "tree", {**calm, **(settings or {})})
        self.share = share
        self.mounts: list[Path] = []
        self._name = name

    def next(self) -> Path:
        self.mounts.append(self.share.join())
        return self.seen_from(self.mounts[-1])

    def seen_from(self, mount: Path) -> Path:
        """Give the tree's path on a mount."""
        return mount / self._name / "tree"

    def abandon(self) -> None:
        for mount in self.mounts:
            self.share.abandon(mount)

    def close(self) -> None:
        for mount in self.mounts:
            self.share.leave(mount)
