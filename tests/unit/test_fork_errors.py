"""What the process says from which workers are forked, if it cannot fork."""

import sys


def test_one_line_for_the_system(monkeypatch, capsys):
    """What the system refuses is one line. A mistake of the program is a traceback, as ever."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    from fscrawl.util import fork_errors

    for error in (BlockingIOError(11, "Resource temporarily unavailable"), OSError("no more")):
        fork_errors._say(type(error), error, None)
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "a worker process could not be started: Resource temporarily unavailable",
        "a worker process could not be started: no more",
    ]
    fork_errors._say(ValueError, ValueError("a mistake"), None)
    assert capsys.readouterr().err == "ValueError: a mistake\n"
