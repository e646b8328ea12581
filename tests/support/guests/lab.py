"""A file server and its clients as guests: real kernel NFS, v3 or v4.2, with the server's disks and everybody's cables.

    with Lab("4.2") as lab:
        lab.clients[0].run("ls /mnt/tree")

Every client mounts /mnt/tree (2 GB), /mnt/small (32 MiB) and /mnt/quota (8 MiB for the user 1000) with default options;
they are /srv/tree, /srv/small and /srv/quota on the server, in ext4. The checkout is in /opt/checkout of each.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Self

from tests.support.guests.guest import Guest
from tests.support.guests.image import code_disk, empty_disk, image

LEASE_S = 15  # of NFSv4, and the grace after the server's start; the kernel's default of 90 only makes tests wait
EXPORTS = ("tree", "small", "quota")


class Lab:
    """A server and clients, booted and mounted, as context manager; leaving it ends them all."""

    def __init__(self, version: str, clients: int = 2, lease_s: int = LEASE_S) -> None:
        self.version = version
        self.directory = Path(tempfile.mkdtemp(prefix="fscrawl-lab-"))
        booted, disks = image(), [self.directory / f"{name}.img" for name in ("code", *EXPORTS)]
        numbers = range(1, clients + 1)
        self.server = Guest(0, booted, self.directory, disks, list(numbers), lease_s)
        self.clients = [Guest(n, booted, self.directory, disks[:1], [n], lease_s) for n in numbers]

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for guest in self.guests:
            with contextlib.suppress(Exception):
                guest.hang_up()
            guest.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def guests(self) -> list[Guest]:
        return [self.server, *self.clients]

    def _boot(self) -> None:
        code_disk(self.server.image, self.directory / "code.img")
        empty_disk(self.directory / "tree.img", "2G")
        empty_disk(self.directory / "small.img", "32M", "-m", "0")
        empty_disk(
            self.directory / "quota.img", "256M", "-O", "quota,project", "-E", "quotatype=usrquota:grpquota:prjquota"
        )
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.ready()
        for client in self.clients:
            self.mount(client)

    def mount(self, client: Guest) -> None:
        """Mount the server's directories on a client, as people do: with the version and no other option."""
        for name in EXPORTS:
            client.run(f"mount -t nfs -o vers={self.version} {self.server.address}:/srv/{name} /mnt/{name}")

    def restart_server(self) -> None:
        """Boot the server again after its `stop`, with its disks; clients go on by themselves."""
        self.server.start()
        self.server.ready()
