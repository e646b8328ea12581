"""A real sshd and sshfs mounts of its files, each a client of its own, for what wants a shared directory.

    with Sshd() as sshd, sshd.mount(tree) as here, sshd.mount(tree) as there:
        (here / "name").write_bytes(b"data")
        assert (there / "name").read_bytes() == b"data"

It listens on loopback, or on the address of a namespace, where clients of other namespaces reach it.

Keys and configuration live in a temporary directory and each mount point is one (outside it, so that nothing that
tidies up can reach what is mounted); the port is a free one, only a key made for the occasion is let in, and nothing
of the user's own ssh is read or changed. Mounts have sshfs's default options, caches
among them, unless told otherwise: that is what people use. Leaving a `with` unmounts and stops, whatever has happened;
a mount that is still in use is detached.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.support.shares.network import Namespace

_START_S = 10.0  # sshd and sshfs take a tenth of a second
_CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {directory}/host
AuthorizedKeysFile {directory}/user.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
LogLevel ERROR
Subsystem sftp {subsystem}
"""
_LOGGING = "/usr/lib/openssh/sftp-server -e -l DEBUG3 2>>{directory}/requests"
_REQUEST = re.compile(r"request \d+: (?!sent )([a-z-]+)")


def missing() -> list[str]:
    """Name the programs that mounting needs and that are not there; `/dev/fuse` is one of them."""
    programs = [name for name in ("sshfs", "ssh", "ssh-keygen", "fusermount") if shutil.which(name) is None]
    if _sshd() is None:
        programs.append("sshd")
    return programs + ([] if os.access("/dev/fuse", os.R_OK | os.W_OK) else ["/dev/fuse"])


def _sshd() -> str | None:
    """Find sshd, which wants to be called by its full path; not every user's PATH has it."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class Sshd:
    """An sshd of this user's own, as context manager."""

    def __init__(self, server: Namespace | None = None, address: str = "127.0.0.1", *, counting: bool = False) -> None:
        """`server`: where it runs, if not here; then `address` is its own there. `counting`: for `requests`."""
        self._counting = counting
        self._temporary = tempfile.TemporaryDirectory(prefix="fscrawl-sshd-", ignore_cleanup_errors=True)
        self._directory = Path(self._temporary.name)
        self._server = server
        self._address = address
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        try:
            self._prepare()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()  # not SIGTERM, which it would not hear if it had been stopped
            self._process.wait()
        self._temporary.cleanup()

    def _prepare(self) -> None:
        if os.geteuid() == 0:
            with contextlib.suppress(OSError):  # which sshd wants of root, and only its service makes
                Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("host", "user"):
            command = [
                "ssh-keygen",
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                "fscrawl",
                "-f",
                str(self._directory / name),
            ]
            subprocess.run(command, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        subsystem = _LOGGING.format(directory=self._directory) if self._counting else "internal-sftp"
        text = _CONFIG.format(port=self.port, address=self._address, directory=self._directory, subsystem=subsystem)
        (self._directory / "sshd_config").write_text(text, encoding="utf-8")

    def start(self) -> None:
        """Start it, and again once it has been killed."""
        if self._process is not None:
            self._process.wait(_START_S)
        log = self._directory / "log"
        words = [*(self._server.enter if self._server else []), _sshd() or "sshd", "-D", "-e"]
        with log.open("wb") as printed:
            self._process = subprocess.Popen(
                [*words, "-f", self._directory / "sshd_config"], stdin=subprocess.DEVNULL, stderr=printed
            )
        deadline = time.monotonic() + _START_S
        while not _listens(self._process.pid, self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"sshd does not answer:\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.02)

    def requests(self) -> Counter[str]:
        """Tell how many SFTP requests it has been sent by all mounts, by kind."""
        assert self._counting
        return Counter(_REQUEST.findall((self._directory / "requests").read_text(encoding="utf-8", errors="replace")))

    @contextlib.contextmanager
    def mount(self, directory: Path, machine: Namespace | None = None, more: str = "", port: int = 0) -> Iterator[Path]:
        """Mount a directory once more: a client of its own, with its own caches and its own connection.

        `machine`: where the client runs, if not here; `more`: options that sshfs is given; `port`: of a relay, if not
        the server's own.
        """
        point = Path(tempfile.mkdtemp(prefix="fscrawl-mount-"))
        try:
            self.attach(directory, point, machine, more, port)
            yield point
        finally:
            unmount(point)

    def attach(
        self, directory: Path, point: Path, machine: Namespace | None = None, more: str = "", port: int = 0
    ) -> None:
        """Mount a directory at a place that is there, and leave it mounted."""
        options = {
            "port": port or self.port,
            "IdentityFile": self._directory / "user",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": "/dev/null",
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "no",
            "LogLevel": "ERROR",
            "BatchMode": "yes",
            "ssh_command": "ssh -F none",
        }
        words = [*(machine.enter if machine else []), "sshfs", f"{self._address}:{directory.resolve()}", str(point)]
        words += ["-o", ",".join([f"{name}={value}" for name, value in options.items()] + ([more] if more else []))]
        done = subprocess.run(words, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=_START_S)
        assert done.returncode == 0, done.stderr.decode(errors="replace")


def _listens(pid: int, port: int) -> bool:
    """Tell whether somebody listens on a port in the network of a process, without knocking."""
    with contextlib.suppress(OSError):
        rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)
    return False


def unmount(point: Path) -> None:
    for flags in ("-u", "-uz"):  # z: detach, for whoever still has a file open there
        command = ["fusermount", flags, str(point)]  # asked even of what seems not mounted: a dead mount seems so
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL, timeout=_START_S).returncode == 0:
            break
    with contextlib.suppress(OSError):
        point.rmdir()
