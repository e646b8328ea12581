"""The commands, a module each: `add` declares its options, `run` does it and gives its exit code.

What a command needs is loaded when it runs, so that a crawl begins at once.
"""

from fscrawl.commands import audit, crawl, merge, retry, steer

ALL = (crawl, steer, retry, merge, audit)
