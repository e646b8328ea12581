"""The commands, a module each: `add` declares its options, `run` does it and gives its exit code.

What a command needs is loaded when it runs, so that a crawl begins at once.
"""

from fscrawl.commands import audit, completion, crawl, dashboard, doctor, merge, report, retry, show, status, steer

ALL = (crawl, status, steer, retry, merge, report, dashboard, audit, show, doctor, completion)
