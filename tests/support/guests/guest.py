"""One guest: a virtual machine with a name, a shell, a plug that can be pulled and a cable that can be cut.

Vocabulary:
  shell     ssh through a port of 127.0.0.1 that QEMU forwards; one connection, kept open
  monitor   QEMU's own command line on a socket
  inner     the network between the server and the clients: datagrams on sockets in the lab's directory

Promise: a guest ends with its `stop`, or with the process that started it, whatever happens to that. Its root's image
is not changed. Nothing leaves 127.0.0.1: it has no route but to the host's loopback, as 10.0.2.2, and to other guests.
"""

from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.crawling import Running
from tests.support.guests.image import Image

BOOT_S = 240.0  # 20 s on two quiet cores
# A guest that boots on a busy host measures its TSC wrongly and lives several times too fast: so its clock is another.
_LINE = (
    "console=ttyS0 quiet mitigations=off nokaslr random.trust_cpu=on clocksource=acpi_pm tsc=unstable no_timer_check"
    " net.ifnames=0 panic=5"
)
_MEMORY_MB = 448


class GuestError(AssertionError):
    """A guest does not boot, or what runs in it fails: the test has failed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A command that has ended in a guest."""

    code: int
    out: str
    err: str


@dataclass
class Guest:
    """A virtual machine. `number` 0 is the server, 1 and on are clients; `cables`: the clients whose wire ends here."""

    number: int
    image: Image
    directory: Path
    disks: Sequence[Path]
    cables: Sequence[int]
    lease_s: int
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _begun: int = 0

    @property
    def name(self) -> str:
        return f"client{self.number}" if self.number else "server"

    @property
    def address(self) -> str:
        return f"10.77.0.{10 + self.number}" if self.number else "10.77.0.1"

    @property
    def on(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # -- power

    def start(self) -> None:
        """Switch it on; `ready` waits until it can be used."""
        self.port = _free_port()
        for left in (self._path("console"), self._path("monitor"), self._path("ssh")):
            left.unlink(missing_ok=True)
        with self._path("qemu").open("wb") as said:
            words = ["setpriv", "--pdeathsig", "KILL", *self._command()]
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def ready(self, timeout_s: float = BOOT_S) -> None:
        """Wait until it has booted and its shell answers."""
        deadline = time.monotonic() + timeout_s
        console = self._path("console")
        while b"GUEST-READY" not in (console.read_bytes() if console.exists() else b""):
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                said = b"".join(path.read_bytes()[-2000:] for path in (self._path("qemu"), console) if path.exists())
                raise GuestError(f"{self.name} does not boot:\n{said.decode(errors='replace')}")
            time.sleep(0.2)
        while self.run("true", timeout_s=30, check=False).code != 0:
            if time.monotonic() > deadline:
                raise GuestError(f"{self.name} has no shell")
            time.sleep(0.5)

    def stop(self) -> None:
        """Pull the plug: what the guest has not written to its disks is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        self.monitor("stop")

    def resume(self) -> None:
        self.monitor("cont")

    def cut(self, *, joined: bool = False) -> None:
        """Cut the inner network's cable at this guest; `joined`: mend it. The way to the host stays."""
        for cable in self.cables:
            self.monitor(f"set_link i{cable} {'on' if joined else 'off'}")

    def monitor(self, line: str) -> str:
        """Say a line to QEMU's monitor and give its answer."""
        with socket.socket(socket.AF_UNIX) as talk:
            talk.settimeout(30)
            talk.connect(str(self._path("monitor")))
            _until_prompt(talk)
            talk.sendall(line.encode() + b"\n")
            return _until_prompt(talk).decode(errors="replace")

    # -- what runs in it

    def run(self, line: str, *, timeout_s: float = 120.0, check: bool = True, data: bytes = b"") -> Said:
        """Run a shell's line to its end, with `data` as its input."""
        try:
            done = subprocess.run(
                [*self.ssh(), line], input=data, capture_output=True, timeout=timeout_s, check=False
            )  # fmt: skip
        except subprocess.TimeoutExpired as over:
            raise GuestError(f"{self.name}: not over after {timeout_s:g} s: {line}\n{over.stdout!r}") from None
        said = Said(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        if check and said.code:
            raise GuestError(f"{self.name}: exit {said.code}: {line}\n{said.out[-3000:]}\n{said.err[-3000:]}")
        return said

    def begin(self, line: str, timeout_s: float = 900.0) -> Begun:
        """Begin a shell's line, which ends with the `with` of what is given, and after `timeout_s` by itself."""
        self._begun += 1
        return Begun(self, f"/run/begun.{self._begun}", line, timeout_s)

    def fetch(self, directory: str, target: Path, timeout_s: float = 300.0) -> None:
        """Copy what is in a guest's directory into `target`."""
        words = [*self.ssh(), f"tar -C {shlex.quote(directory)} -cf - ."]
        packed = subprocess.run(words, capture_output=True, timeout=timeout_s, check=True, stdin=subprocess.DEVNULL)
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["tar", "-C", str(target), "--warning=no-timestamp", "-xf", "-"],
            input=packed.stdout,
            timeout=timeout_s,
            check=True,
        )

    def hang_up(self) -> None:
        """End the kept connection."""
        words = ["ssh", "-F", "none", "-o", f"ControlPath={self._path('ssh')}", "-O", "exit", "root@127.0.0.1"]
        subprocess.run(words, capture_output=True, timeout=20, check=False)

    # -- how

    def ssh(self) -> list[str]:
        """Give the words before a command line of this guest's shell."""
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "GlobalKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
            "ConnectTimeout": "20",
            "ControlMaster": "auto",
            "ControlPersist": "600",  # it ends by itself, should nobody hang up
            "ControlPath": str(self._path("ssh")),
        }
        said = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return ["ssh", "-F", "none", "-i", str(self.image.key), "-p", str(self.port), *said, "root@127.0.0.1"]

    def _path(self, what: str) -> Path:
        return self.directory / f"{self.name}.{what}"

    def _command(self) -> list[str]:
        words = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-M", "pc", "-cpu", "max"]
        words += [
            "-accel",
            "tcg,thread=multi,tb-size=192",
            "-m",
            str(_MEMORY_MB),
        ]  # KVM is not everywhere, or half there
        role = "client" if self.number else "server"
        who = f"guest.name={self.name} guest.role={role} guest.address={self.address} guest.lease={self.lease_s}"
        words += ["-kernel", str(self.image.kernel), "-initrd", str(self.image.initramfs), "-append", f"{_LINE} {who}"]
        words += ["-drive", f"file={self.image.root},format=raw,if=virtio,snapshot=on"]
        for disk in self.disks:
            read_only = ",readonly=on" if disk.name == "code.img" else ""
            words += ["-drive", f"file={disk},format=raw,if=virtio,cache=writeback{read_only}"]
        words += ["-netdev", f"user,id=u0,hostfwd=tcp:127.0.0.1:{self.port}-:22", *_card("u0", self.number, 0)]
        for cable in self.cables:
            ends = [self.directory / f"cable{cable}.{end}" for end in ("server", "client")]
            here, there = ends if self.number == 0 else reversed(ends)
            sockets = f"local.type=unix,local.path={here},remote.type=unix,remote.path={there}"
            words += ["-netdev", f"dgram,id=n{cable},{sockets}", *_card(f"n{cable}", self.number, cable)]
        words += ["-device", "virtio-rng-pci", "-serial", f"file:{self._path('console')}"]
        return ["qemu-system-x86_64", *words, "-monitor", f"unix:{self._path('monitor')},server=on,wait=off"]


class Begun(Running):
    """A command under way in a guest, seen from here: a process that ends when the command does, with its exit code."""

    def __init__(self, guest: Guest, pid_file: str, line: str, timeout_s: float) -> None:
        self._guest = guest
        self._pid_file = pid_file
        # timeout(1) leads a process group of its own, so that all that the command starts can be ended with it
        words = f"echo $$ >{pid_file}; exec timeout -k 5 {timeout_s:g} sh -c {shlex.quote(line)}"
        super().__init__([*guest.ssh(), words])

    def tell(self, name: str) -> None:
        """Send a signal to all its processes, as a terminal does."""
        self._guest.run(f"kill -{name} -- -$(cat {self._pid_file})", check=False, timeout_s=60)

    def kill(self) -> None:
        """End all its processes, if the guest can still be reached, and this side of it."""
        if self.process.poll() is None and self._guest.on:
            with contextlib.suppress(GuestError):
                self.tell("KILL")
        super().kill()


def _card(net: str, guest: int, cable: int) -> list[str]:
    """Give a network card; it is named i… for the monitor, after the cable."""
    return ["-device", f"virtio-net-pci,id=i{cable},netdev={net},mac=52:54:00:77:{guest:02x}:{cable:02x},romfile="]


def _until_prompt(talk: socket.socket) -> bytes:
    said = b""
    while not said.endswith(b"(qemu) "):
        more = talk.recv(4096)
        if not more:
            raise GuestError("the monitor is gone")
        said += more
    return said


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
