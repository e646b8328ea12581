"""A file system of our own: everything is passed through to a directory, and any call can be made to fail.

    with Passthrough(backing) as mount:
        mount.inject(Fault("error", errno.EIO, every=10))
        crawl(mount.path / "tree")
        print(mount.calls(), mount.injected())
        mount.heal()

It is a process of its own (`python -m tests.support.passthrough BACKING MOUNT`), by FUSE, with many threads, so that a
call that hangs holds up no other. Nothing is cached: each call of a crawl is a call here. The test speaks to it through
its standard input and output, a JSON line each way; when its input ends it detaches itself and is gone.

`record` names a file that gets a JSON line for each operation that changes something, or makes a change last, in the
order in which they were done:

  seq      1, 2, 3, …         op     create open write truncate mkdir rmdir unlink rename link fsync fsyncdir release
  t        time.monotonic(), which the pass-throughs of one computer share
  path     from the mount point, with its slash; `path2`: the new name, of rename and link
  ino      of the file or directory concerned, the same for all of its names
  offset, data (base64)       of a write: what was written there
  size     of a truncate; an `open` with O_TRUNC has 0, and one without is not recorded
  ok       false: it failed, nothing was changed (`error` says how)

What fsync should do is recorded and not done: the disk below is not what is tried out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from tests.support.faults import Fault, Seam

CHECKOUT = Path(__file__).resolve().parents[2]
_START_S = 30.0
_ANSWER_S = 10.0
_GONE_S = 5.0  # what hangs when the end comes has so long to be let go


def missing() -> list[str]:
    """Name what a pass-through needs and is not there."""
    lacking = [] if os.access("/dev/fuse", os.R_OK | os.W_OK) else ["/dev/fuse"]
    lacking += [] if shutil.which("fusermount3") else ["fusermount3"]
    try:
        import mfusepy  # noqa: F401
    except (ImportError, OSError):
        lacking.append("mfusepy with libfuse3")
    return lacking


class Passthrough:
    """The test's end: mounts `backing` at `path`, a directory of its own; leaving the `with` unmounts it."""

    def __init__(self, backing: Path, *, record: Path | None = None, seed: int = 0) -> None:
        self._backing = backing
        self._record = record
        self._seed = seed
        self.path = Path(tempfile.mkdtemp(prefix="fscrawl-passthrough-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        try:
            self.mount()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def mount(self) -> None:
        """Start the file system."""
        assert self._process is None, "it is there already"
        words = [sys.executable, "-m", "tests.support.passthrough", str(self._backing), str(self.path)]
        words += ["--seed", str(self._seed)] + (["--record", str(self._record)] if self._record else [])
        self._process = subprocess.Popen(words, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        deadline = time.monotonic() + _START_S
        while not os.path.ismount(self.path):
            assert self._process.poll() is None, "the pass-through has ended"
            assert time.monotonic() < deadline, "the pass-through has not been mounted"
            time.sleep(0.01)

    def unmount(self) -> None:
        """Detach it (`fusermount3 -uz`): what is below is an empty directory. `remount` brings it back."""
        detach(self.path)

    def stop(self) -> None:
        """Unmount and end the process; calls that hang are let go, or fail."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()  # it heals, detaches and ends
        try:
            process.wait(_GONE_S + 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        detach(self.path)

    def kill(self) -> None:
        """End the file system's process at once: calls fail with ENOTCONN until `remount`."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def remount(self) -> None:
        """Bring it back after `unmount` or `kill`, without any fault."""
        self.stop()
        self.mount()

    def inject(self, *faults: Fault) -> None:
        """Let faults happen from now on."""
        self._ask("inject", faults=[asdict(fault) for fault in faults])

    def heal(self) -> None:
        """Take all faults away; calls that hang go on."""
        self._ask("heal")

    def calls(self) -> Counter[str]:
        """Tell how many calls there were since it was mounted, by operation."""
        return Counter(self._ask("counts")["calls"])

    def injected(self) -> Counter[tuple[str, str]]:
        """Tell how many faults have happened since it was mounted, by (kind, operation)."""
        return Counter({(kind, op): number for kind, op, number in self._ask("counts")["injected"]})

    def hanging(self) -> int:
        """Tell how many calls hang now."""
        return int(self._ask("counts")["hanging"])

    def _ask(self, what: str, **more: object) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(_ANSWER_S, process.kill)  # then the answer is empty, and the test fails
        with self._lock:
            late.start()
            try:
                process.stdin.write(json.dumps({"ask": what, **more}).encode() + b"\n")
                process.stdin.flush()
                answer: dict[str, Any] = json.loads(process.stdout.readline())
            finally:
                late.cancel()
        return answer


def detach(point: Path) -> None:
    """Unmount what is at `point`, in use or not; nothing, if nothing is."""
    subprocess.run(["fusermount3", "-uz", str(point)], check=False, stderr=subprocess.DEVNULL, timeout=20)


# -- the file system's own process


def _obey(seam: Seam, point: Path) -> None:
    """Do what the test asks until it asks no more; then leave, whatever hangs."""
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if asked["ask"] == "inject":
            seam.inject([Fault(**fault | {"ops": tuple(fault["ops"])}) for fault in asked["faults"]])
        elif asked["ask"] == "heal":
            seam.heal()
        sys.stdout.buffer.write(json.dumps(seam.counts()).encode() + b"\n")
        sys.stdout.buffer.flush()
    seam.heal()
    detach(point)
    time.sleep(_GONE_S)  # by then the last call is done, and the main thread has left
    os._exit(1)


def main() -> None:
    import mfusepy

    from tests.support.faulty.operations import Operations, Recorder

    parser = argparse.ArgumentParser(description="A pass-through file system with faults.")
    parser.add_argument("backing", type=Path)
    parser.add_argument("point", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.umask(0)
    seam = Seam(lambda: detach(options.point), options.seed)
    threading.Thread(target=_obey, args=(seam, options.point), daemon=True).start()
    operations = Operations(str(options.backing.resolve()), seam, Recorder(options.record))
    mfusepy.FUSE(
        *(operations, str(options.point)),
        foreground=True,
        fsname="fscrawl-passthrough",
        max_threads=100,
        max_idle_threads=20,
    )
    os._exit(0)  # the other thread reads its input


if __name__ == "__main__":
    main()
