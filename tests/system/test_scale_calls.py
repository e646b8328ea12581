"""The files in memory of the benchmark `scale` count the system calls that the real ones make: compared with strace."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks.scale.memory_os import MemoryOs

pytestmark = pytest.mark.proof

WORK = """
from pathlib import Path
from fscrawl.storage.files import TreeFiles

def work(root):
    files = TreeFiles(Path(root), "m")
    files.make_directory("links")
    files.make_directory("links")
    files.make_directory(".fscrawl")
    files.make_directory(".fscrawl/generations")
    files.make_directory(".fscrawl/generations/1")
    files.make_directory(".fscrawl/generations/1/log")
    for number in range(3):
        files.publish(f"links/{number}", b"some data")
    files.publish_chunks("links/large", lambda: [b"a", b"b"])
    assert files.claim("links/claimed", b"1") and not files.claim("links/claimed", b"2")
    assert files.read("links/1") == b"some data" and files.read("links/none") is None
    assert files.read_range("links/1", 2, 3) == b"me "
    assert files.exists("links/1") and files.size("links/1") == 9
    assert len(files.names("links")) == 5 and len(files.entries("links")) == 5
    assert files.reserve_name("links/name")
    log = files.log("links/beats.log")
    log.append(b"line\\n")
    assert log.sameness() == "same"
    log.close()
    assert files.tail("links/beats.log", 0) == b"line\\n"
    assert files.newest("links/beats.log", 0, 100) == (b"line\\n", 5)
    end = files.log_end(".fscrawl/generations/1/log/m.log")
    end.write(b"B 2 0 7:2\\ns\\n", 0)
    end.close()
    view = files.log_view(".fscrawl/generations/1/log/m.log")
    assert view.read(0, 100) == b"B 2 0 7:2\\ns\\n"
    view.close()
    files.append_line("links/lines", b"x")
    files.set_aside("links/1")
    files.remove("links/2")
    files.remove("links/2")
"""
SAME = {
    "openat": "open",
    "newfstatat": "stat",
    "fstat": "stat",
    "stat": "stat",
    "lstat": "stat",
    "statx": "stat",
    "faccessat2": "access",
    "pwrite64": "write",
}
CALL = re.compile(r"\d+ +(\w+)\(")
LOOK_UP = re.compile(r" = (\d+)<")
CLOSE = re.compile(r" close\((\d+)<")
PYTHONS_OWN = {"execve", "readlink", "getcwd", "ioctl", "lseek", "fcntl"}


def without_look_ups(lines: list[str]) -> Iterator[str]:
    """Leave out what opens directories with O_PATH, and closes them."""
    looked_up = set()
    for line in lines:
        if "O_PATH" in line:
            looked_up.update(LOOK_UP.findall(line))
        elif (closed := CLOSE.search(line)) and closed[1] in looked_up:
            looked_up.remove(closed[1])
        else:
            yield line


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_same_calls(tmp_path):
    """The same work on real files and on files in memory takes the same calls."""
    root = tmp_path / "root"
    root.mkdir()
    trace = tmp_path / "trace"
    script = f"{WORK}\nwork({str(root)!r})\n"
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=file,desc", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "ptrace" in done.stderr:
        pytest.skip("strace may not be used here")
    assert done.returncode == 0, done.stderr
    real = Counter(
        SAME.get(match[1], match[1])
        for line in without_look_ups(trace.read_text().splitlines())
        if (str(root) in line or "/proc/self/fd/" in line)
        and (match := CALL.match(line))
        and match[1] not in PYTHONS_OWN
    )
    memory = MemoryOs(str(root))
    scope: dict[str, object] = {}
    exec(WORK, scope)
    with memory.installed():
        scope["work"](str(root))
    assert dict(memory.tally.names) == dict(real)
