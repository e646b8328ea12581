"""A real sshd on loopback and sshfs mounts of its files, each a client of its own, for what wants a shared directory.

    with Sshd() as sshd, sshd.mount(tree) as here, sshd.mount(tree) as there:
        (here / "name").write_bytes(b"data")
        assert (there / "name").read_bytes() == b"data"

Keys and configuration live in a temporary directory and each mount point is one (outside it, so that nothing that
tidies up can reach what is mounted); the port is a free one, only a key made for the occasion is let in, and nothing
of the user's own ssh is read or changed. Mounts have sshfs's default options, caches
among them: that is what people use. Leaving a `with` unmounts and stops, whatever has happened; a mount that is still
in use is detached.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

_START_S = 10.0  # sshd and sshfs take a tenth of a second
_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host
AuthorizedKeysFile {directory}/user.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
LogLevel ERROR
Subsystem sftp internal-sftp
"""


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

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="fscrawl-sshd-", ignore_cleanup_errors=True)
        self._directory = Path(self._temporary.name)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._temporary.cleanup()

    def _start(self) -> None:
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fscrawl", "-f", self._directory / name]
            subprocess.run(command, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        configuration = self._directory / "sshd_config"
        configuration.write_text(_CONFIG.format(port=self.port, directory=self._directory), encoding="utf-8")
        log = self._directory / "log"
        with log.open("wb") as printed:
            self._process = subprocess.Popen(
                [_sshd() or "sshd", "-D", "-e", "-f", configuration], stdin=subprocess.DEVNULL, stderr=printed
            )
        self._await(log)

    def _await(self, log: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"sshd does not answer:\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.02)

    @contextlib.contextmanager
    def mount(self, directory: Path) -> Iterator[Path]:
        """Mount a directory once more: a client of its own, with its own caches and its own connection."""
        point = Path(tempfile.mkdtemp(prefix="fscrawl-mount-"))
        options = {
            "port": self.port,
            "IdentityFile": self._directory / "user",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": "/dev/null",
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "no",
            "LogLevel": "ERROR",
            "BatchMode": "yes",
            "ssh_command": "ssh -F none",
        }
        command = ["sshfs", f"127.0.0.1:{directory.resolve()}", str(point)]
        command += ["-o", ",".join(f"{name}={value}" for name, value in options.items())]
        try:
            done = subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=_START_S)
            assert done.returncode == 0, done.stderr.decode(errors="replace")
            yield point
        finally:
            _unmount(point)


def _unmount(point: Path) -> None:
    for flags in ("-u", "-uz"):  # z: detach, for whoever still has a file open there
        command = ["fusermount", flags, str(point)]  # asked even of what seems not mounted: a dead mount seems so
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            break
    with contextlib.suppress(OSError):
        point.rmdir()
