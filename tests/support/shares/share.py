"""One shared directory and its machines, whatever the file system, with the troubles that a file server has.

    with Share(SSHFS) as share, share.mount() as one, share.mount() as other:
        with share.cut(one):
            ...                  # `one` gets no answer from the server; `other` does

Vocabulary:
  flavour  a file system with its options, as the ledger names it
  machine  whoever mounts: its client runs in a network of its own, so that it can be cut off from the file server while
           what it crawls stays in reach. The crawl itself is an ordinary process, which only uses the mount.

Promise: each trouble ends with its `with`. Leaving the share ends all processes, mounts and directories that it made;
a client that hangs is killed for that, which frees whoever waits for it.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.shares import gluster, network, sshfs
from tests.support.shares.network import SERVER, Namespace, Network


@dataclass(frozen=True, slots=True)
class Flavour:
    """A file system with its options.

    survives   a mount outlives the death of its connection
    listing_s  how old a listing may be
    options    of sshfs, beside its defaults
    """

    name: str
    survives: bool
    listing_s: float
    options: str = ""


SSHFS = Flavour("sshfs", survives=False, listing_s=20)
RECONNECT = Flavour("sshfs reconnect", survives=True, listing_s=20, options="reconnect,ServerAliveInterval=15")
GLUSTERFS = Flavour("GlusterFS replica 2", survives=True, listing_s=1)
FLAVOURS = (SSHFS, RECONNECT, GLUSTERFS)


def missing(flavour: Flavour) -> list[str]:
    """Name what is needed and not there; root is one of them."""
    return network.missing() + (gluster.missing() if flavour is GLUSTERFS else sshfs.missing())


class Share:
    """A file server with one shared directory, as context manager.

    `view` is the directory as a test looks at it: the server's own where that is allowed, else one mount more.
    """

    def __init__(
        self, flavour: Flavour, *, ping_timeout_s: int = 42, forget_s: int = 42, counting: bool = False
    ) -> None:
        """`ping_timeout_s`, `forget_s`: GlusterFS's, see there. `counting`: for `requests`."""
        self.flavour = flavour
        self._counting = counting
        self._timeouts = {"ping_timeout_s": ping_timeout_s, "forget_s": forget_s}
        self._machines: dict[Path, Namespace] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:  # closed here if anything fails, by __exit__ else
            self._network = Network()
            stack.callback(self._network.close)
            self._directory = Path(tempfile.mkdtemp(prefix="fscrawl-served-"))
            stack.callback(shutil.rmtree, self._directory, ignore_errors=True)
            self._sshd: sshfs.Sshd | None = None
            if self.flavour is GLUSTERFS:
                self._gluster = gluster.Gluster(self._network.server, **self._timeouts)
                stack.enter_context(self._gluster)
                if self._counting:
                    self._gluster.count()
            else:
                self._network.server.run("mount", "-t", "tmpfs", "none", "/run")
                self._network.server.run("mkdir", "/run/sshd")  # which sshd wants, and only a service makes
                self._sshd = stack.enter_context(sshfs.Sshd(self._network.server, SERVER, counting=self._counting))
            stack.callback(self._unmount_all)
            self.view = self._directory if self._sshd else self.join()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def requests(self) -> Counter[str]:
        """Tell how often the server has been asked for something, by all mounts, by kind; counting must be on."""
        return self._gluster.requests() if self._sshd is None else self._sshd.requests()

    @contextlib.contextmanager
    def mount(self) -> Iterator[Path]:
        """Mount the directory on one more machine."""
        point = self.join()
        try:
            yield point
        finally:
            self.leave(point)

    def join(self) -> Path:
        """Mount the directory on one more machine, until `leave` or the end of the share."""
        point = Path(tempfile.mkdtemp(prefix="fscrawl-mount-"))
        self._machines[point] = self._network.join()
        self.attach(point)
        return point

    def attach(self, point: Path) -> None:
        """Mount where a machine has its mount point; over what was there, if that has died."""
        machine = self._machines[point]
        if self._sshd is None:
            self._gluster.attach(point, machine)
        else:
            self._sshd.attach(self._directory, point, machine, self.flavour.options)

    def detach(self, point: Path) -> None:
        """Unmount, whether or not there is still somebody to answer; the mount point stays."""
        network.run("umount", "--lazy", "--internal-only", "--no-canonicalize", point)

    def leave(self, point: Path) -> None:
        machine = self._machines.pop(point)
        try:
            machine.kill()  # no call waits for a client that is gone
            sshfs.unmount(point)
        finally:
            self._network.leave(machine)

    def abandon(self, point: Path) -> None:
        """Kill the client of a mount: whoever waits for it gets an error. For tests that have failed."""
        self._machines[point].kill()

    def _unmount_all(self) -> None:
        with contextlib.ExitStack() as stack:
            for point in list(self._machines):
                stack.callback(self.leave, point)

    # -- trouble

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the server's processes: its connections stay, and nothing is answered."""
        self.pause_server()
        try:
            yield
        finally:
            self.resume_server()

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """Kill the server's processes, and start it again when this is left."""
        self.kill_server()
        try:
            yield
        finally:
            self.start_server()

    @contextlib.contextmanager
    def cut(self, point: Path) -> Iterator[None]:
        """Cut the cable between the server and the machine that has its mount there."""
        self._network.cut(self._machines[point])
        try:
            yield
        finally:
            self._network.heal(self._machines[point])

    def pause_server(self) -> None:
        self._network.server.signal(signal.SIGSTOP)

    def resume_server(self) -> None:
        self._network.server.signal(signal.SIGCONT)

    def kill_server(self) -> int:
        """Kill all of the server's processes at once; give how many there were."""
        return self._network.server.kill()

    def start_server(self) -> None:
        """Start the server that was killed; it answers when this returns."""
        if self._sshd is None:
            self._gluster.start()
        else:
            self._sshd.start()
