"""A GlusterFS volume of two replicated bricks, in the server's namespace, and its FUSE clients.

What glusterd keeps in /run, /var/lib/glusterd and /var/log/glusterfs lies in mounts that only its namespace has, so a
glusterd of this computer's own is not touched and nothing is left of this one. The bricks' directory is temporary;
both bricks always die and come back together: two that take turns would be split-brain, which two replicas cannot heal.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Self

from tests.support.shares.network import SERVER, Namespace

_VOLUME = "shared"
_START_S = 60.0  # glusterd takes 2 s, both bricks 2 s more
_PRIVATE = ("/run", "/var/lib/glusterd", "/var/log/glusterfs")


def missing() -> list[str]:
    """Name the programs that it needs and that are not there."""
    programs = ("glusterd", "gluster", "glusterfs", "glusterfsd")
    return [name for name in programs if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]


class Gluster:
    """A glusterd with one volume, as context manager; it ends with the processes of its namespace."""

    def __init__(self, server: Namespace, *, ping_timeout_s: int = 42, forget_s: int = 42) -> None:
        """After so much silence of the server a client fails its calls; of a client, a brick drops it and its locks.

        42 is GlusterFS's default of both. `forget_s` must be below a fleet's `dead_after`: a brick never resumes an
        unlink that waits for a lock of a client that it drops, so nobody may remove what a lost machine was writing
        before that.
        """
        self._server = server
        self._options = {
            "network.ping-timeout": ping_timeout_s,
            "server.tcp-user-timeout": forget_s,
            "server.keepalive-time": max(1, forget_s // 2),  # of a connection on which nothing was under way
            "server.keepalive-interval": 1,
        }
        self._temporary = tempfile.TemporaryDirectory(prefix="fscrawl-gluster-", ignore_cleanup_errors=True)
        self._directory = Path(self._temporary.name)

    def __enter__(self) -> Self:
        try:
            for place in _PRIVATE:
                assert Path(place).is_dir(), f"{place} is not there"
                self._server.run("mount", "-t", "tmpfs", "none", place)
            self._server.run("mkdir", "-p", "/run/gluster", "/var/log/glusterfs/bricks")
            self._server.run("glusterd", limit_s=_START_S)
            bricks = [f"{SERVER}:{self._directory}/brick{number}" for number in (1, 2)]
            self._gluster("create", "replica", "2", *bricks, "force")
            for option, value in self._options.items():
                self._gluster("set", option, str(value))
            self._gluster("start")
            self._await_bricks()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._temporary.cleanup()

    def start(self) -> None:
        """Start it again, when all its processes have been killed; both bricks are up then."""
        self._server.run("glusterd", limit_s=_START_S)
        self._await_bricks()

    def attach(self, point: Path, machine: Namespace) -> None:
        """Mount the volume by a client that runs on a machine, and leave it mounted."""
        log = self._directory / f"{point.name}.log"
        machine.run("glusterfs", f"--volfile-server={SERVER}", f"--volfile-id={_VOLUME}", f"--log-file={log}", point)
        deadline = time.monotonic() + _START_S
        while True:  # it returns before it has reached the bricks
            try:
                list(point.iterdir())
            except OSError:
                if time.monotonic() > deadline:
                    raise AssertionError(f"no answer:\n{log.read_text(encoding='utf-8')[-3000:]}") from None
                time.sleep(0.1)
            else:
                return

    def count(self) -> None:
        """Count from now on, for `requests`."""
        self._gluster("profile", "start")

    def requests(self) -> Counter[str]:
        """Tell how many operations its bricks have been asked for, both together, by kind."""
        told = self._gluster("profile", "info", "cumulative", "--xml")
        found: Counter[str] = Counter()
        for name, hits in re.findall(r"<name>([A-Z]+)</name>\s*<hits>(\d+)</hits>", told):
            found[name] += int(hits)
        return found

    def _gluster(self, *words: str) -> str:
        what, *more = words
        return self._server.run("gluster", "--mode=script", "volume", what, _VOLUME, *more, limit_s=_START_S)

    def _await_bricks(self) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                told = self._gluster("status", "--xml")
            except AssertionError as error:  # glusterd is not there yet
                told = str(error)
            if (
                len(re.findall(rf"<path>{self._directory}/brick\d</path>\s*<peerid>[^<]*</peerid>\s*<status>1<", told))
                == 2
            ):
                return
            assert time.monotonic() < deadline, f"bricks are not up:\n{told}"
            time.sleep(0.2)
