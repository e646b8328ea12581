"""What a signal does to a process that catches it: a line, an exit code, and no step that is cut."""

import signal
import subprocess
import sys

import pytest

BEGIN = """\
import os, signal, threading
from fscrawl import interrupts
from fscrawl.interrupts import before_leaving, keeps, later
def send(number): os.kill(os.getpid(), number)
"""
CATCH = "interrupts.catch()\n"


def run(code, begin=BEGIN + CATCH):
    """Run a program; give its exit code, its output and its errors."""
    done = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")],
)
def test_a_line_and_a_code(number, name):
    """Each signal has its exit code and its word; what is kept is said as the command said it last."""
    assert run(f"send({number:d})\nprint('on')") == (128 + number, "", f"{name}: nothing was changed\n")
    assert run(f"keeps('a'); keeps('b')\nsend({number:d})") == (128 + number, "", f"{name}: b\n")


def test_a_signal_that_is_ignored():
    """What the parent has let ignore, as `nohup` does with SIGHUP, stays ignored."""
    assert run(f"signal.signal(1, signal.SIG_IGN)\n{CATCH}send(1)\nprint('on')", BEGIN) == (0, "on\n", "")


def test_no_exception():
    """Nothing that catches or cleans up sees the signal."""
    code = "try:\n    send(2)\nexcept BaseException:\n    print('caught')\nfinally:\n    print('cleaned')"
    assert run(code) == (130, "", "interrupted: nothing was changed\n")


def test_the_usual_end():
    """Where Ctrl-C is how a command ends, it ends with 0 and no word; SIGTERM is as elsewhere."""
    assert run("keeps('x', usual_end=True); send(2)") == (0, "", "")
    assert run("keeps('x', usual_end=True); send(15)") == (143, "", "terminated: x\n")


def test_a_step_is_not_cut():
    """The first signal waits for the end of the outermost block, a second one does not."""
    code = "with later():\n    with later():\n        send(2)\n    keeps('it')\n    os.write(1, b'done')\nprint('on')"
    assert run(code) == (130, "done", "interrupted: it\n")
    assert run("with later():\n    send(2)\n    send(15)\n    os.write(1, b'on')") == (
        143,
        "",
        "terminated: nothing was changed\n",
    )


def test_a_signal_to_the_process_and_to_its_group():
    """The same signal that comes again at once is one signal, and cuts no step; later it is a second one."""
    code = "import time\nwith later():\n    send(15)\n    time.sleep({})\n    send(15)\n    os.write(1, b'done')"
    assert run(code.format(0)) == (143, "done", "terminated: nothing was changed\n")
    assert run(code.format(0.15)) == (143, "", "terminated: nothing was changed\n")


def test_a_step_of_another_thread():
    """A dashboard does such steps in threads: the signal waits for them, is not lost, and they end well."""
    code = """\
begun = threading.Event()
def work():
    with later():
        begun.set()
        while not interrupts._signal.getsignal(15) is interrupts._do_nothing: pass
    os.write(1, b'done ')
thread = threading.Thread(target=work)
thread.start()
begun.wait()
before_leaving(thread.join)
send(15)
print('on')
"""
    assert run(code) == (143, "done ", "terminated: nothing was changed\n")


def test_a_signal_that_is_taken_over():
    """Who takes the signal that waits sees to the end; if nobody does, the end of the block is it."""
    code = "from fscrawl.interrupts import receive, until_received\nwith until_received():\n    send(2)\n"
    assert run(f"{code}    print(receive(), receive())\nprint('on')") == (0, "2 0\non\n", "")
    assert run(f"{code}print('on')") == (130, "", "interrupted: nothing was changed\n")


def test_a_step_that_fails_when_a_signal_waits():
    """The signal counts, not the error."""
    assert run("with later():\n    send(2)\n    raise OSError")[0::2] == (130, "interrupted: nothing was changed\n")


def test_both_signals_at_the_same_moment():
    """Signals that have come when the handler of the first one begins are no warning of Python."""
    both = "signal.pthread_sigmask(0, [2, 15]); send(15); send(2); signal.pthread_sigmask(1, [2, 15])"
    assert run(both) in [
        (130, "", "interrupted: nothing was changed\n"),
        (143, "", "terminated: nothing was changed\n"),
    ]


def test_what_must_be_done_before():
    """It is done before the line, once; and if it fails, the process ends all the same."""
    acts = "act = lambda: os.write(2, b'act ')\nbefore_leaving(act); before_leaving(act)\n"
    assert run(acts + "send(2)") == (130, "", "act interrupted: nothing was changed\n")
    assert run("before_leaving(lambda: 1 / 0)\nsend(2)")[::2] == (130, "interrupted: nothing was changed\n")


def test_from_another_thread():
    """A thread that ends the process waits for the main thread's step, but not for ever."""
    code = """
def end():
    began.set()
    interrupts.leave(15, informed=True)
began = threading.Event()
with later():
    threading.Thread(target=end).start()
    began.wait()
    os.write(1, b"done ")
    if {for_ever}:
        threading.Event().wait()
threading.Event().wait()
"""
    assert run(code.format(for_ever=False)) == (143, "done ", "")
    assert run("interrupts._STEP_TAKES_S = 0.05\n" + code.format(for_ever=True)) == (143, "done ", "")


def test_an_ignored_signal_stays_ignored():
    """What the parent has let ignore, as `nohup` and `&` in scripts do, is not caught."""
    code = "send(2); print(signal.getsignal(2).name)"
    begin = f"import signal; signal.signal(2, signal.SIG_IGN)\n{BEGIN}{CATCH}"
    assert run(code, begin) == (0, "SIG_IGN\n", "")


def test_nothing_is_loaded_before():
    """The modules that are loaded until signals are caught: those that Python itself has loaded at its start."""
    code = "import sys; before = set(sys.modules)\nfrom fscrawl import interrupts\nprint(*set(sys.modules) - before)"
    assert set(run(code, "")[1].split()) == {"fscrawl", "fscrawl.interrupts"}


def test_errors_that_nobody_reads():
    """A pipe that is full does not keep the process."""
    full = "read, end = os.pipe(); os.set_blocking(end, False)\ntry:\n    while os.write(end, b'x' * 65536): pass\n"
    full += "except BlockingIOError: pass\nos.set_blocking(end, True); os.dup2(end, 2)\n"
    assert run(f"{full}send(15)")[0] == 143


@pytest.mark.parametrize(
    ("is_read", "code", "said"), [(True, 143, "terminated: nothing was changed\n"), (False, -14, "")]
)
def test_no_more_threads(is_read, code, said):
    """Without a thread the line is written all the same; if nobody reads it, the process ends after a moment."""
    stop = """
def no_thread(*_): raise RuntimeError("can't start new thread")
interrupts.start_new_thread, interrupts._STEP_TAKES_S = no_thread, 0.1
"""
    fill = """
ours, theirs = os.pipe()
os.set_blocking(theirs, False)
try:
    while True: os.write(theirs, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(theirs, True)
os.dup2(theirs, 2)
"""
    assert run(f"{stop}{'' if is_read else fill}send(15)") == (code, "", said)
