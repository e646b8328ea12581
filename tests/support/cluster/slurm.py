"""A Slurm of one node, as processes of a test: munged, slurmctld and slurmd in a directory of their own.

    with Slurm() as slurm:
        job = slurm.submit(script, {"ROOT": str(root)}, "--array=0-3")
        slurm.until_over(job, 60)

Vocabulary:
  job      the number of an array job; a task of it is written "12_3"
  low      the partition of jobs, and `high` that of jobs that take its place (PreemptMode=REQUEUE)

Promise: nothing of the computer's own Slurm is touched, nor its configuration. Leaving the `with` ends all daemons,
steps and tasks, by their ids. Nothing listens elsewhere than on loopback and at sockets of the directory.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")
KILL_WAIT_S = 5  # from SIGTERM to SIGKILL
SLOTS = 8
_NEW_RUN_S = 2.5
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_CONFIGURATION = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
SlurmUser=root
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait={kill_wait}
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={slots} RealMemory=16000 State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""
# No cgroups are used, but a plugin must be named, as the one for cgroups 2 asks systemd at once.
_CGROUPS = "CgroupPlugin=cgroup/v1\nCgroupMountpoint={at}/none\n"


def missing() -> list[str]:
    """Name what is needed and not there; root is one of them."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return lacking + ([] if os.geteuid() == 0 else ["root"])


class Slurm:
    """One node with `SLOTS` processors, whatever the computer has."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="fscrawl-slurm-"))
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.directory / "slurm.conf")}

    def __enter__(self) -> Self:
        try:
            self._write()
            munge = ["--key-file=key", "--socket=munge.socket", "--pid-file=munge.pid", "--log-file=munge.log"]
            own = [f"{word.partition('=')[0]}={self.directory}/{word.partition('=')[2]}" for word in munge]
            self._start("munged", "--foreground", *own, f"--seed-file={self.directory}/seed")
            self._until((self.directory / "munge.socket").exists, "munged listens", 10)
            self._start("slurmctld", "-D")
            self._start("slurmd", "-D", "-N", os.uname().nodename)
            self._until(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"), "the node is idle", 30)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()  # a controller that is asked to end takes its time
            daemon.wait()
        for pid in self._processes():  # steps and their tasks
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _write(self) -> None:
        self.directory.chmod(0o755)
        for name in ("state", "spool"):
            (self.directory / name).mkdir()
        key = self.directory / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        controller, node = _free_ports(2)
        values = {"at": self.directory, "host": os.uname().nodename, "kill_wait": KILL_WAIT_S, "slots": SLOTS}
        text = _CONFIGURATION.format(controller=controller, node=node, **values)
        (self.directory / "slurm.conf").write_text(text)
        (self.directory / "cgroup.conf").write_text(_CGROUPS.format(at=self.directory))

    def _start(self, program: str, *words: str) -> None:
        name = shutil.which(program, path=_PATH)
        assert name is not None
        with (self.directory / f"{program}.out").open("wb") as output:
            daemon = subprocess.Popen(
                [name, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment,
                start_new_session=True,
            )
        self._daemons.append(daemon)

    def _processes(self) -> list[int]:
        """Give the processes that were started with this configuration, whoever their parents are by now."""
        wanted, found = f"SLURM_CONF={self.directory}/slurm.conf".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def _until(self, holds: Callable[[], object], what: str, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout_s} s: {what}\n{self._said()}")
            time.sleep(0.2)

    def _said(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in self.directory.glob("*.out"))

    def run(self, *words: str) -> str:
        """Run a command of Slurm and give what it prints."""
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""

    def submit(self, script: Path, variables: Mapping[str, str], *options: str) -> str:
        """Submit a script with these variables in its environment; give the job's number."""
        words = ["sbatch", "--parsable", f"--chdir={self.directory}", "--export=ALL", *options, str(script)]
        environment = {**self._environment, **variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def states(self, job: str) -> dict[str, str]:
        """Give the state of each task that is not over, such as RUNNING, PENDING, COMPLETING."""
        told = self.run("squeue", "--noheader", "--array", f"--jobs={job}", "--format=%i %T")
        return dict(line.split() for line in told.splitlines())

    def requeue(self, task: str) -> None:
        self.run("scontrol", "requeue", task)

    def start_again(self, job: str, timeout_s: float = 30.0) -> None:
        """Let the tasks that were put back start soon: Slurm lets them wait for two minutes.

        Within the second in which a node has ended a task, it takes the new run for the old one, and kills it.
        """
        deadline = time.monotonic() + timeout_s
        while "COMPLETING" in self.states(job).values() and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(_NEW_RUN_S)
        while time.monotonic() < deadline:
            states = self.states(job)
            for task in (task for task, state in states.items() if state == "PENDING"):
                self.run("scontrol", "update", f"jobid={task}", "StartTime=now")
            if not {"PENDING", "COMPLETING"} & set(states.values()):
                return
            time.sleep(0.3)
        raise AssertionError(f"still waiting: {self.states(job)}\n{self._said()}")

    def until_over(self, job: str, timeout_s: float) -> None:
        self._until(lambda: not self.states(job), f"job {job} is over; {self.states(job)}", timeout_s)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
