"""A file server and its clients, each in a network namespace of its own, joined by a switch (a bridge).

Vocabulary:
  namespace   a network of its own (the server: mounts of its own, too), held by a process that only sleeps
  port        a machine's end of its cable at the switch; a cut cable's port belongs to no switch: packets go nowhere,
              and nobody is told, as with a switch that has died
  process     whatever was started inside, and its children, wherever they went: found by their network

Promise: `close` ends every process inside, and with the last of them the network is gone. The host's own network, its
mounts and its directories are not touched. What runs inside sees no other network than this one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

SERVER = "10.77.0.1"
# Left to itself a bridge has the lowest address of its ports. Machines that join within a second change it twice, and
# the second change is not heard of (ARP's locktime): what an older one sends is lost for minutes.
_SWITCH = "02:00:00:00:00:01"
_LIFE_S = 3600  # a namespace ends by itself, if nobody has ended it
_LIMIT_S = 20.0  # of any one command
_OVER_S = 10.0  # processes are gone after a SIGKILL


def missing() -> list[str]:
    """Name what namespaces need and is not there: programs, and root."""
    programs = [name for name in ("ip", "unshare", "nsenter", "mount", "umount") if shutil.which(name) is None]
    return programs + ([] if os.geteuid() == 0 else ["root"])


class Namespace:
    """A network of its own, and with `mounts` also a view of its own of what is mounted."""

    def __init__(self, *, mounts: bool = False) -> None:
        flags = ["--net", *(["--mount"] if mounts else [])]
        self._holder = subprocess.Popen(["unshare", *flags, "sleep", str(_LIFE_S)], stdin=subprocess.DEVNULL)
        try:
            self._await("mnt" if mounts else "net")
            self._network = _network_of(self._holder.pid)
            self.enter = ["nsenter", "-t", str(self._holder.pid), "-n", *(["-m"] if mounts else [])]
            if mounts:
                self._let_go()
            self.run("ip", "link", "set", "lo", "up")
        except BaseException:
            self._end_holder()
            raise

    def _let_go(self) -> None:
        """Unmount the copies of what user programs have mounted: they would live on here when it is unmounted there."""
        lines = Path(f"/proc/{self._holder.pid}/mountinfo").read_text(encoding="utf-8").splitlines()
        for point in [line.split()[4] for line in lines if line.partition(" - ")[2].startswith(("fuse.", "fuse "))]:
            with contextlib.suppress(AssertionError):  # somebody has unmounted it meanwhile
                self.run("umount", "--lazy", "--internal-only", "--no-canonicalize", point)

    @property
    def pid(self) -> int:
        """A process that is inside."""
        return self._holder.pid

    def _await(self, last: str) -> None:
        """Wait until the holder has left the host's namespaces, and is what it will be."""
        deadline = time.monotonic() + _OVER_S
        while Path(f"/proc/self/ns/{last}").readlink() == Path(f"/proc/{self._holder.pid}/ns/{last}").readlink():
            assert self._holder.poll() is None, "no namespace can be made here"
            assert time.monotonic() < deadline, "unshare hangs"
            time.sleep(0.01)

    def run(self, *words: str | Path, limit_s: float = _LIMIT_S) -> str:
        """Run a command inside, to its end; give what it printed, or fail with that."""
        return run(*self.enter, *words, limit_s=limit_s)

    def processes(self) -> list[int]:
        """Give all that run inside, but for the holder."""
        found = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
        return [pid for pid in found if pid != self._holder.pid and _network_of(pid) == self._network]

    def signal(self, number: int) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> int:
        """Kill all that run inside, and what they start meanwhile; return how many when none is left."""
        killed: set[int] = set()
        deadline = time.monotonic() + _OVER_S
        while alive := self.processes():
            killed.update(alive)
            self.signal(signal.SIGKILL)
            assert time.monotonic() < deadline, f"processes that cannot be killed: {alive}"
            time.sleep(0.02)
        return len(killed)

    def close(self) -> None:
        try:
            self.kill()
        finally:
            self._end_holder()

    def _end_holder(self) -> None:
        self._holder.kill()
        self._holder.wait()


class Network:
    """One server, and machines that join."""

    def __init__(self) -> None:
        self.server = Namespace(mounts=True)
        self._machines: dict[Namespace, str] = {}
        self._joined = 0
        try:
            self.server.run("ip", "link", "add", "switch", "address", _SWITCH, "type", "bridge")
            self.server.run("ip", "addr", "add", f"{SERVER}/16", "dev", "switch")
            self.server.run("ip", "link", "set", "switch", "up")
        except BaseException:
            self.close()
            raise

    def join(self) -> Namespace:
        """Give one more machine a network with a cable to the switch."""
        self._joined += 1
        port, machine = f"port{self._joined}", Namespace()
        self._machines[machine] = port
        cable = ["ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(machine.pid)]
        self.server.run(*cable)
        self.server.run("ip", "link", "set", port, "master", "switch", "up")
        machine.run("ip", "addr", "add", f"10.77.{1 + self._joined // 250}.{1 + self._joined % 250}/16", "dev", "eth0")
        machine.run("ip", "link", "set", "eth0", "up")
        return machine

    def leave(self, machine: Namespace) -> None:
        machine.close()
        del self._machines[machine]

    def cut(self, machine: Namespace) -> None:
        """Take a machine off the network; it is not told."""
        self.server.run("ip", "link", "set", self._machines[machine], "nomaster")

    def heal(self, machine: Namespace) -> None:
        self.server.run("ip", "link", "set", self._machines[machine], "master", "switch")

    def close(self) -> None:
        with contextlib.ExitStack() as stack:  # each is closed, whatever comes of the others
            stack.callback(self.server.close)
            for machine in self._machines:
                stack.callback(machine.close)


def run(*words: str | Path, limit_s: float = _LIMIT_S) -> str:
    """Run a command to its end; give what it printed, or fail with that."""
    done = subprocess.run(
        words, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s
    )
    printed = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"{shown(words)}: exit {done.returncode}\n{printed}"
    return printed


def shown(words: Sequence[str | Path]) -> str:
    return " ".join(str(word) for word in words)


def _network_of(pid: int) -> int:
    """Give the number of a process's network; 0 if it is over."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return 0
