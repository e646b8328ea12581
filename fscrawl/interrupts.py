"""What SIGINT (Ctrl-C), SIGTERM (`kill`) and SIGHUP (the terminal is gone) do to a command, from first line to last.

The handler ends the child processes, says in one line what is kept, and ends the process at once: exit code 130, 143 or
129. It raises no exception. An exception that may come between any two steps is a traceback while modules load, is lost
in a destructor, and comes a second time into the code that cleans up after the first. Nothing has to be cleaned up:
what a command has made is whole at every moment, since the process may also be killed (docs/design/failures.md).

    catch            the entry points call it before anything else is loaded
    keeps            a command sets what is kept if a signal comes from now on
    later            a `with` word for short steps that a signal does not cut, such as to start a child
    until_received   the same for a step that ends where other handlers begin, which `receive` the signal
    before_leaving   what must be done before the process ends

Two commands have other handlers while they work: a crawl finishes its pages in flight (`engine.watchdog`), and a
dashboard closes its streams. Both end by `leave` at a second signal, or if they cannot.

Promise: no traceback and no process stays behind, whenever a signal comes. Only the interpreter's own start, before
`catch`, is as Python has it: SIGTERM and SIGHUP end it silently, SIGINT may show a traceback of `site`. Measured: once
in 500 of these first 30 ms, Python drops the interrupt ("Exception ignored in: … cb"), and the command goes on.
"""

# Only what Python has loaded at its start is imported here: until `catch` is called, signals do what Python does.
import _signal  # type: ignore[import-not-found]  # what `signal` is made of, which takes 4 ms to load
import os
from _thread import RLock, allocate_lock, get_ident, start_new_thread
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

# SIGTERM last: whoever sees it caught knows that all are
_NAMES = {_signal.SIGINT: "interrupted", _signal.SIGHUP: "hung up", _signal.SIGTERM: "terminated"}
SAME_SIGNAL_S = 0.1  # `timeout` and others send one to the process, and the same to its group
_STEP_TAKES_S = 1.0  # at most; then a second signal cuts it all the same
_STDERR = 2

_kept = "nothing was changed"
_usual_end = False  # Ctrl-C is how this command ends: exit code 0, and no word
_acts: "list[Callable[[], object]]" = []
_step = RLock()  # held during steps that are not to be cut
_main_thread = get_ident()  # it loads this module first of all
_steps = 0  # how many are under way, one in the other
_waiting = 0  # the signal that came meanwhile
_waiting_since = 0.0


def catch() -> None:
    """Handle these signals from now on. One that the parent has let ignore, as `nohup` does, stays ignored."""
    for number in _NAMES:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _on_signal)


def keeps(words: str, *, usual_end: bool = False) -> None:
    """Set what is kept if a signal comes from now on. `usual_end`: Ctrl-C is how people end this command."""
    global _kept, _usual_end
    _kept, _usual_end = words, usual_end


def kept() -> str:
    """Give what is kept if a signal comes now."""
    return _kept


def before_leaving(act: "Callable[[], object]") -> None:
    """Do this, too, before a signal ends the process. It may not print by `sys.stdout`, which may be in use."""
    if act not in _acts:
        _acts.append(act)


class until_received:  # noqa: N801 - reads as what it is, a `with` word
    """Inside `with until_received():` the first signal waits for `receive`, or for the end of the block.

    For the main thread.
    """

    def __enter__(self) -> None:
        global _steps  # noqa: PLW0603
        _steps += 1

    def __exit__(self, *_: object) -> None:
        global _steps  # noqa: PLW0603
        _steps -= 1
        if _waiting and not _steps:
            _on_signal(_waiting)


class later(until_received):  # noqa: N801 - as above
    """Inside `with later():` the first signal waits for the end of the block, and `leave` in another thread does.

    In another thread than the main one, only `leave` waits.
    """

    def __enter__(self) -> None:
        _step.acquire()
        if get_ident() == _main_thread:
            super().__enter__()

    def __exit__(self, *error: object) -> None:
        _step.release()
        if get_ident() == _main_thread:
            super().__exit__(*error)


def receive() -> int:
    """Give the signal that has come and waits, 0 if there is none. Whoever calls this sees to the end."""
    global _waiting
    number, _waiting = _waiting, 0
    return number


def _on_signal(number: int, _frame: object = None) -> None:
    global _waiting, _waiting_since
    if _steps and not _waiting:
        _waiting, _waiting_since = number, monotonic()
        return
    if _steps and number == _waiting and monotonic() - _waiting_since < SAME_SIGNAL_S:
        return
    for each in _NAMES:  # one word is enough. Not by SIG_IGN: Python prints a warning if a signal has just come
        _signal.signal(each, _do_nothing)
    leave(number)


def _write(data: bytes) -> None:
    """Write to standard error, but do not wait for one that nobody reads, such as a pager or a stopped terminal."""
    written = allocate_lock()
    written.acquire()

    def write() -> None:
        try:
            os.write(_STDERR, data)
        except OSError:  # it was closed
            pass
        finally:
            written.release()

    try:
        start_new_thread(write, ())
    except RuntimeError:  # there are no more threads
        _signal.setitimer(_signal.ITIMER_REAL, _STEP_TAKES_S)  # it ends the process if nobody reads
        write()
    written.acquire(timeout=_STEP_TAKES_S)


def _do_nothing(*_: object) -> None:
    """Handle a signal."""


def leave(number: int, *, informed: bool = False) -> "NoReturn":
    """End the process at once, as the signal `number` does. `informed`: the user knows why. Any thread may call it."""
    is_usual = _usual_end and number == _signal.SIGINT
    try:
        _step.acquire(timeout=_STEP_TAKES_S)
        try:
            for act in _acts:
                act()
        finally:
            line = "" if is_usual or informed else f"{_NAMES[number]}: {_kept}\n"
            on_terminal = not informed and os.isatty(_STDERR)  # there, the cursor stands behind ^C or a progress bar
            _write(f"{chr(10) * on_terminal}{line}".encode())
    finally:
        os._exit(0 if is_usual else 128 + number)
