"""deploy/slurm on a Slurm of one node: tasks that are put back, preempted or killed, and the web that they crawl."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster.slurm import KILL_WAIT_S, SLOTS, Slurm, missing
from tests.support.cluster.watching import is_whole, until
from tests.support.crawling import CHECKOUT, check_tree
from tests.support.web import Pages, Request, Response, Web, linked_site, slowly

pytestmark = pytest.mark.timeout(150)

SCRIPT = CHECKOUT / "deploy/slurm/fscrawl.sbatch"
HOSTS = [f"127.0.5.{number}" for number in range(1, 9)]
PAGES = 40
SETTINGS = """\
[crawl]
scope = "any"
[politeness]
delay = 0.0
user_agent = "fscrawl-tests/1 (+mailto:tests@example.org)"
[fetch]
allow_addresses = ['127.0.0.0/8']
[fleet]
beat = 0.5
# end of settings (leave this line: it shows that the file was read to its end)
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    lacking = missing()
    if lacking:
        pytest.skip(f"Slurm needs {', '.join(lacking)}")
    with Slurm() as running:
        yield running


class Crawl:
    """A tree that has only seeds and settings yet, and the array job that crawls it."""

    def __init__(self, slurm: Slurm, root: Path, web: Web, *options: str) -> None:
        self.slurm, self.root, self.web = slurm, root, web
        root.mkdir()
        (root / "crawl.toml").write_text(SETTINGS)
        (root / "seeds.txt").write_text("".join(f"{web.url(host)}\n" for host in web.hosts))
        variables = {"ROOT": str(root), "FSCRAWL": f"{sys.executable} -m fscrawl", "PYTHONPATH": str(CHECKOUT)}
        limits = ["--cpus-per-task=1", "--mem=100", f"--output={root.parent}/%a.log"]
        self.job = slurm.submit(SCRIPT, variables, *limits, *options)

    def until(self, holds: Callable[[], object], what: str, timeout_s: float = 40.0) -> None:
        until(holds, what, timeout_s, self.told)

    def told(self, task: str = "*") -> str:
        return "\n".join(path.read_text() for path in sorted(self.root.parent.glob(f"{task}.log")))

    def machines(self) -> int:
        """Give how many machines have begun a log."""
        return len(list((self.root / ".fscrawl/machines").glob("*[0-9a-f].log")))

    def is_whole(self) -> bool:
        return is_whole(self.root, self.web, PAGES)


def test_a_task_that_is_put_back_costs_nothing(slurm: Slurm, tmp_path: Path) -> None:
    """Four tasks crawl; one is requeued, and starts at once on the same node. All is stored, nothing is asked twice."""
    with Web(slowly(linked_site(PAGES, 4), 0.3), HOSTS) as web:
        crawl = Crawl(slurm, tmp_path / "tree", web)
        crawl.until(lambda: crawl.machines() == 4 and web.count() > 40, "four machines crawl")
        slurm.requeue(f"{crawl.job}_1")
        slurm.start_again(crawl.job)
        crawl.until(lambda: crawl.machines() == 5, "the task is there again")
        slurm.until_over(crawl.job, 60)
        assert crawl.is_whole(), crawl.told()
        assert web.duplicates() == {}
    check_tree(crawl.root)
    assert "stopping: waiting for the pages in flight" in crawl.told("1")
    assert "DUE TO JOB REQUEUE" in crawl.told("1")


def test_a_job_that_is_preempted_goes_on(slurm: Slurm, tmp_path: Path) -> None:
    """A job of a higher partition takes all places. Later the tasks go on; nothing was lost or asked twice."""
    with Web(slowly(linked_site(PAGES, 4), 0.3), HOSTS) as web:
        crawl = Crawl(slurm, tmp_path / "tree", web)
        crawl.until(lambda: crawl.machines() == 4 and web.count() > 40, "four machines crawl")
        other = tmp_path / "other.sh"
        other.write_text("#!/bin/sh\nsleep 1\n")
        higher = slurm.submit(other, {}, "--partition=high", f"--cpus-per-task={SLOTS}", "--output=/dev/null")
        slurm.until_over(higher, 40)
        assert set(slurm.states(crawl.job).values()) == {"PENDING"}
        before = web.count()
        assert not crawl.is_whole()
        slurm.start_again(crawl.job)
        slurm.until_over(crawl.job, 60)
        assert web.count() > before
        assert crawl.is_whole(), crawl.told()
        assert web.duplicates() == {}
    check_tree(crawl.root)
    assert "DUE TO PREEMPTION" in crawl.told()


def test_a_task_puts_itself_back_before_its_time_is_over(slurm: Slurm, tmp_path: Path) -> None:
    """The signal that Slurm sends before the limit ends the crawl cleanly, and the same task goes on later."""
    with Web(slowly(linked_site(PAGES, 4), 0.3), HOSTS[:2]) as web:
        crawl = Crawl(slurm, tmp_path / "tree", web, "--array=0")
        crawl.until(lambda: web.count() > 10, "it crawls")
        slurm.run("scancel", "--batch", "--signal=USR1", f"{crawl.job}_0")
        crawl.until(lambda: slurm.states(crawl.job).get(f"{crawl.job}_0") == "PENDING", "it is in the queue again")
        slurm.start_again(crawl.job)
        slurm.until_over(crawl.job, 60)
        assert crawl.is_whole(), crawl.told()
        assert web.duplicates() == {}
    assert "fscrawl: back in the queue (exit code 143)" in crawl.told()


def slow_once(site: Pages, path: str, delay_s: float) -> Pages:
    """Answer late when `path` is asked for the first time."""
    asked: list[str] = []

    def serve(request: Request) -> Response:
        answer = site(request)
        asked.append(request.path)
        late = request.path == path and asked.count(path) == 1
        return Response(answer.status, answer.headers, answer.body, delay_s if late else answer.delay_s)

    return serve


def test_a_task_that_is_killed_after_its_grace_loses_only_what_was_in_flight(slurm: Slurm, tmp_path: Path) -> None:
    """A page takes longer than KillWait. The task starts again on the same node, and takes its own leases over at once.

    `dead_after` is a minute, but a process of this computer that is gone is known to be gone.
    """
    with Web(slow_once(linked_site(PAGES, 4), "/17", KILL_WAIT_S * 5.0), HOSTS[:1]) as web:
        crawl = Crawl(slurm, tmp_path / "tree", web, "--array=0")
        crawl.until(lambda: web.count() >= PAGES - 1, "all but one page are fetched")
        time.sleep(1.0)
        slurm.requeue(f"{crawl.job}_0")
        crawl.until(lambda: slurm.states(crawl.job).get(f"{crawl.job}_0") == "PENDING", "it was killed")
        slurm.start_again(crawl.job)
        began = time.monotonic()
        slurm.until_over(crawl.job, 40)
        assert time.monotonic() - began < 30, crawl.told()
        assert crawl.is_whole(), crawl.told()
        assert set(web.duplicates()) <= {(HOSTS[0], "/17")}
    check_tree(crawl.root, whole=False)


def test_a_tree_that_cannot_be_used_is_tried_again(slurm: Slurm, tmp_path: Path) -> None:
    """Exit code 75 puts the task back; a mistake of the user does not."""
    with Web(linked_site(PAGES, 4), HOSTS[:1]) as web:
        crawl = Crawl(slurm, tmp_path / "tree", web, "--array=0", "--hold")
        (tmp_path / "kept").mkdir()
        for name in ("crawl.toml", "seeds.txt"):
            (crawl.root / name).rename(tmp_path / "kept" / name)
        slurm.run("scontrol", "release", crawl.job)
        crawl.until(lambda: "back in the queue (exit code 75)" in crawl.told(), "it is in the queue again")
        for name in ("crawl.toml", "seeds.txt"):
            (tmp_path / "kept" / name).rename(crawl.root / name)
        crawl.until(lambda: slurm.states(crawl.job).get(f"{crawl.job}_0") == "PENDING", "it waits")
        slurm.start_again(crawl.job)
        slurm.until_over(crawl.job, 40)
        assert crawl.is_whole(), crawl.told()
