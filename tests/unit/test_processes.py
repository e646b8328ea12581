"""Whether the process that said hello still runs, as far as this machine can tell."""

import os
import subprocess
import sys

import pytest
from msgspec.structs import replace

from fscrawl.fleet import heartbeat
from fscrawl.fleet.heartbeat import hello, is_gone, is_gone_by_name, new_machine_id, uptime


def test_alive():
    """A process that runs is not gone."""
    assert not is_gone(hello("m"))


def test_dead():
    """A process that has ended is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    assert is_gone(replace(hello("m"), pid=process.pid, start="1"))


@pytest.mark.parametrize("name", ["boot", "pidns"])
def test_elsewhere(name):
    """Of another boot, or another namespace of process ids, nothing is known."""
    assert not is_gone(replace(hello("m"), pid=2**30, **{name: "other"}))
    assert not is_gone(replace(hello("m"), **{name: ""}))


def test_reused_pid():
    """A process id that belongs to a younger process now is not the one that said hello."""
    assert is_gone(replace(hello("m"), start="1"))


def test_zombie():
    """A process that has ended and was not waited for is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    with process:
        start = heartbeat._start_of(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(replace(hello("m"), pid=process.pid, start=start))


def hide(monkeypatch, answer):
    """Let /proc show no other process, as with hidepid=2; `answer`: what the kernel says of signal 0."""
    opened = open

    def proc(path, *args, **more):
        if str(path).endswith("/stat"):
            raise FileNotFoundError(path)
        return opened(path, *args, **more)

    def kill(pid, number):
        assert (pid, number) == (4242, 0)
        if answer is not None:
            raise answer

    monkeypatch.setattr(heartbeat, "open", proc, raising=False)
    monkeypatch.setattr(os, "kill", kill)


@pytest.mark.parametrize(
    ("answer", "gone"),
    [(PermissionError(), False), (None, False), (ProcessLookupError(), True), (OverflowError(), True)],
)
def test_hidden_process(monkeypatch, answer, gone):
    """A process of another user that /proc hides runs, if the kernel says that it may not be signalled."""
    greeting = replace(hello("m"), pid=4242, start="1")
    here, _, _ = new_machine_id().rpartition("-")[0].rpartition("-")
    hide(monkeypatch, answer)
    assert is_gone(greeting) is gone
    assert is_gone_by_name(f"{here}-4242-abcdef") is gone


def test_no_process_has_the_id_zero(monkeypatch):
    """A hello without a process id, or with one below 1, is of no process: no process group is asked."""
    monkeypatch.setattr(os, "kill", lambda pid, number: pytest.fail("asked"))
    assert is_gone(replace(hello("m"), pid=0))
    assert is_gone(replace(hello("m"), pid=-1))


@pytest.mark.root
def test_hidden_by_the_kernel(tmp_path):
    """The same where /proc is mounted with hidepid=2, and the process that asks is another user's."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    script = """
import os, subprocess, sys, time
from fscrawl.fleet.heartbeat import hello, is_gone
greeting, child = hello("m"), os.fork()
if child == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os._exit(os.path.exists(f"/proc/{os.getppid()}") * 2 + is_gone(greeting))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    mounted = "mount -t proc -o hidepid=2 proc /proc && exec"
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{mounted} "$0" -c "$1"', sys.executable]
    done = subprocess.run([*words, script], capture_output=True, text=True, timeout=60, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


def test_by_name():
    """Of a machine that left no hello its name tells the same, if it was of this host."""
    here, _, _ = new_machine_id().rpartition("-")[0].rpartition("-")
    assert is_gone_by_name(f"{here}-{2**30}-abcdef")
    assert is_gone_by_name(f"{here}-{os.getpid()}-abcdef"), "an id is of one run"
    assert not is_gone_by_name(f"{here}-{os.getppid()}-abcdef")
    assert not is_gone_by_name(f"other-{2**30}-abcdef")
    assert not is_gone_by_name("strange")


def test_machine_id(monkeypatch):
    """An id is of plain characters, and another one each time."""
    assert new_machine_id() != new_machine_id()
    assert len(bytes.fromhex(new_machine_id().rpartition("-")[2])) == 8
    monkeypatch.setattr(os, "uname", lambda: type("U", (), {"nodename": "Büro PC.local"}))
    assert new_machine_id().startswith(f"b-ro-pc-local-{os.getpid()}-")
    monkeypatch.setattr(os, "uname", lambda: type("U", (), {"nodename": ""}))
    assert new_machine_id().startswith("machine-")


def test_uptime():
    """Uptime goes on."""
    assert uptime() <= uptime()
