"""Log-ins for several hosts, with any number of workers and machines: cookies belong to a site, not to a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, errors
from tests.support.fleet import Fleet
from tests.support.single_sign_on import ADDRESS, ALL, ELSEWHERE, LOGIN, MEMBERS, SingleSignOn, titles

Names = Callable[[Mapping[str, str]], dict[str, str]]


@pytest.mark.parametrize("login", [LOGIN, ELSEWHERE])
def test_several_workers(root: Path, names: Names, login: str) -> None:
    """All pages are stored, whichever worker asks for them."""
    site = SingleSignOn(login=login)
    with site.web:
        done = crawl(root, seeds=site.seeds, workers=4, env=names(ADDRESS))
    assert done.code == 0, done
    assert titles(root) == ALL
    assert errors(root) == {}
    check_tree(root)


def test_a_worker_that_is_replaced(root: Path, names: Names) -> None:
    """The process that comes in its place has the cookies: nobody logs in again."""
    site = SingleSignOn(delay_s=0.3)
    with (
        site.web as web,
        Running(command(root, seeds=site.seeds, workers=2, threads=1), env=names(ADDRESS)) as running,
    ):
        running.until(lambda: {each.split()[0] for each in titles(root)} == set(MEMBERS), "a page of each host")
        logged_in = web.count(ADDRESS[LOGIN])
        for pid in running.workers():
            os.kill(pid, signal.SIGKILL)
        done = running.wait()
        assert done.code == 0, done
        assert titles(root) == ALL
        assert web.count(ADDRESS[LOGIN]) == logged_in


@pytest.mark.fleet
def test_several_machines(root: Path, names: Names) -> None:
    """With `partition = "site"` the hosts of a site are at one machine, whichever it is."""
    site, env = SingleSignOn(delay_s=0.1), names(ADDRESS)
    with site.web, Fleet(root, {"crawl.partition": "site"}, workers=2) as fleet:
        fleet.start(seeds=site.seeds, env=env)
        fleet.wait_for_tree()
        fleet.start(env=env)
        fleet.wait_for_all(60)
        assert [member.code for member in fleet.members] == [0, 0], [member.output() for member in fleet.members]
    assert titles(root) == ALL
    check_tree(root)
