"""The commands, one module each: `add` declares the command's options, `run` does it and returns the exit code.

Modules that only one command needs are imported when it runs. So a crawl starts without delay.
"""

from fscrawl.commands import (
    audit,
    completion,
    crawl,
    dashboard,
    doctor,
    merge,
    report,
    retry,
    show,
    status,
    steer,
    try_url,
)

ALL = (crawl, status, steer, retry, merge, report, dashboard, audit, show, try_url, doctor, completion)
