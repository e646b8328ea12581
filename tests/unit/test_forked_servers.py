"""Servers of multiprocessing that begin as copies of a process: what they get of it, and what they do not."""

import subprocess
import sys
import textwrap

import pytest

_BEGIN = """
import os, signal, sys, threading, time
from multiprocessing import util
from fscrawl.util import forked_servers

def run(program, descriptors=()):
    with forked_servers.copies():
        pid = util.spawnv_passfds(sys.executable.encode(), [sys.executable, "-c", program], descriptors)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def _run(script: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", _BEGIN + textwrap.dedent(script)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def _out(script: str) -> str:
    done = _run(script)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_descriptors() -> None:
    """The standard streams and those that are passed are open, and no others."""
    told = _out("""
        kept, closed, told = os.memfd_create("a"), os.memfd_create("b"), os.memfd_create("c")
        run(f"import os; os.write({told}, ' '.join(os.listdir('/proc/self/fd')).encode())", (kept, told))
        print(kept, told, os.pread(told, 99, 0).decode())
    """)
    kept, passed, *open_ = map(int, told.split())
    assert {0, 1, 2, kept, passed} <= set(open_)
    assert len(open_) == 6  # and the one by which the directory is read


def test_signals() -> None:
    """A handler of the process is not that of the copy; a signal that is ignored stays ignored."""
    assert (
        _out("""
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ask = "import os, signal; os.write(1, b'%d %d' % (signal.getsignal(2), signal.getsignal(15)))"
        run(ask)
    """)
        == f"{0:d} {1:d}"
    )


def test_warnings() -> None:
    """A copy removes what a killed process has left without a warning; others are given."""
    done = _run("""
        ask = "import warnings; warnings.warn('resource_tracker: There appear to be 2'); warnings.warn('another')"
        print(run(ask))
    """)
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert "another" in done.stderr
    assert "resource_tracker: There" not in done.stderr


def test_output_is_printed_once() -> None:
    """What the process has not written yet when it is copied is not written by both."""
    assert (
        _out("""
        print("once")
        run("import sys; print('copy'); sys.stdout.flush()")
    """)
        == "once\ncopy\n"
    )


@pytest.mark.gate
@pytest.mark.parametrize(("program", "code"), [("pass", 0), ("raise SystemExit", 0), ("os.nothing", 1), ("1 / 0", 1)])
def test_exit_codes(program: str, code: int) -> None:
    """A server ends by itself, and never goes on with the program that it is a copy of."""
    done = _run(f"print('code', run({program!r}))")
    assert done.stdout == f"code {code}\n"
    assert done.stderr.count("Traceback") == code


def test_a_process_with_threads_is_not_copied() -> None:
    """A new interpreter begins: nothing that the process has loaded is loaded there. Then copies are made again."""
    assert (
        _out("""
        ask = "import sys, os; os.write(1, b'copy ' if 'fscrawl.util.forked_servers' in sys.modules else b'new ')"
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        run(ask)
        end.set()
        thread.join()
        while len(os.listdir("/proc/self/task")) > 1:  # the system may end it a moment later than Python
            time.sleep(0.001)
        run(ask)
        pid = util.spawnv_passfds(sys.executable.encode(), [sys.executable, "-c", ask], ())
        os.waitpid(pid, 0)
    """)
        == "new copy new "
    )
