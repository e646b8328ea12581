"""Workers where the system has fewer threads than they want, or none at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, Done, Running, errors, pages
from tests.support.pools import HOSTS
from tests.support.web import Response, Web

# The fork server has the limits, and so have its workers: threads take memory for their stacks.
LIMITED = """
import multiprocessing.forkserver, resource, sys, time
from pathlib import Path
from fscrawl.engine import pool
from fscrawl.errors import FscrawlError
from tests.support.pools import pools, task

root, stack_mb, memory_mb, *urls = sys.argv[1:]
limits = {resource.RLIMIT_STACK: int(stack_mb) << 20, resource.RLIMIT_AS: int(memory_mb) << 20}
before = {what: resource.getrlimit(what) for what in limits}
for what, limit in limits.items():
    resource.setrlimit(what, (limit, before[what][1]))
multiprocessing.forkserver.ensure_running()
for what, limit in before.items():
    resource.setrlimit(what, limit)

pool._FIRST_PAUSE_S = 0.0
with pools(Path(root)) as start:
    made = start(threads=30, hung_after_s=600.0)
    for url in urls:
        made.submit(task(url))
    answers, deadline = [], time.monotonic() + 30
    try:
        while len(answers) < len(urls) and time.monotonic() < deadline:
            answers += made.wait(0.2)
    except FscrawlError as error:
        sys.exit(f"answers: {len(answers)}\\nfscrawl: {error}")
    print(len(answers), made.replaced)
"""


def crawl(root: Path, stack_mb: int, memory_mb: int, served: Web) -> Done:
    """Let one worker that wants 30 threads fetch 30 pages."""
    urls = [served.url(HOSTS[n % 3], f"/{n}") for n in range(30)]
    words = [sys.executable, "-c", LIMITED, str(root), str(stack_mb), str(memory_mb), *urls]
    with Running(words, cwd=CHECKOUT) as running:
        return running.wait(60.0)


@pytest.fixture
def served() -> Web:
    return Web(lambda request: Response(200, {"Content-Type": "text/html"}, b"<p>", delay_s=0.05), HOSTS)


def test_fewer_threads(served: Web, root: Path) -> None:
    """The threads that could be started do all pages, and none fails for want of a thread."""
    with served:
        done = crawl(root, 256, 3_000, served)
    assert done.out.split() == ["30", "0"], done
    assert (len(pages(root)), errors(root)) == (30, {})


def test_no_threads(served: Web, root: Path) -> None:
    """A worker that cannot begin ends with a reason, and is not waited for until it counts as hung."""
    with served:
        done = crawl(root, 4_096, 3_000, served)
    *reasons, answers, end = done.err.splitlines()
    assert set(reasons) == {"a worker ends: RuntimeError: can't start new thread"}, done
    assert end.startswith("fscrawl: no worker process can be started: they end before they begin to work"), done
    assert answers == "answers: 0", "it is no page's fault"
    assert done.elapsed_s < 20.0
