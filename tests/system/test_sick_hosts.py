"""Many hosts of which some are dead, slow or overwhelmed, and a network that goes away: the others are crawled on."""

from __future__ import annotations

import itertools
import socket
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support import ward
from tests.support.crawling import Done, Running, check_tree, command, errors, pages
from tests.support.ward import BUSY, DELAY_S, FULL, HEALTHY, PAGES, REFUSING, RETRY_AFTER_S, SETTINGS, SILENT, SLOW
from tests.support.web import HTML, Request, Response, Web

HANGING = [f"127.3.7.{n}" for n in range(1, 41)]
JITTER_S = 0.02  # between a request's arrival at the host and what this one notes, on a busy machine


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.timeout(300)
def test_sick_hosts(tmp_path: Path) -> None:
    """Of 100 hosts 60 are dead, slow or overwhelmed: nobody waits for them (`make bench NAME=sick` says how long)."""
    among = ward.crawl_among_sick(tmp_path / "tree")
    assert among.done.code == 0, among.done
    check_tree(among.root)
    stored = Counter(url.split("/")[2].partition(":")[0] for url in pages(among.root))
    assert {host: stored[host] for host in HEALTHY} == dict.fromkeys(HEALTHY, PAGES + 1)
    assert {host: stored[host] for host in SLOW} == dict.fromkeys(SLOW, 4)
    found = {(url.split("/")[2].partition(":")[0], error.class_) for url, error in errors(among.root).items()}
    classes = dict.fromkeys(REFUSING, "connect") | dict.fromkeys(SILENT + FULL, "timeout")
    assert found == {*classes.items(), *((host, "http-4xx") for host in BUSY)}
    for host in HEALTHY + SLOW + BUSY:
        gaps = [b.arrived - a.arrived for a, b in itertools.pairwise(among.web.requests(host))]
        assert min(gaps) >= DELAY_S - JITTER_S, host
    for host in BUSY:
        asked = among.web.requests(host)
        assert [e.status for e in asked if e.path != "/robots.txt"] == [429, 429, 429], host
        rests = [b.arrived - a.answered for a, b in itertools.pairwise(asked) if a.status == 429]
        assert min(rests) >= RETRY_AFTER_S, (host, [(e.path, e.status, e.arrived - asked[0].arrived) for e in asked])
    last_of_slow = max(each.answered for host in SLOW for each in among.web.requests(host))
    assert max(each.answered for host in HEALTHY for each in among.web.requests(host)) < last_of_slow


def _hub(request: Request, port: int) -> Response:
    """HEALTHY[0] names forty silent hosts, and a few pages later another healthy one."""
    if request.path == "/robots.txt":
        return Response(404)
    number = int(request.path.strip("/") or 0)
    named = HANGING if number == 0 else HEALTHY[1:2] if number == 5 else []
    links = "".join(f"<a href=http://{host}:{port}/>" for host in named)
    return Response(200, HTML, f"{links}<a href=/{number + 1}>".encode())


@pytest.mark.fleet
@pytest.mark.proof
def test_a_late_host_beside_many_that_hang(tmp_path: Path) -> None:
    """A new host is asked when the next fetch is free, although many before it take connections and never answer."""
    settings = {**SETTINGS, "fetch.timeout": 6, "fetch.connect_timeout": 1}
    with Web(lambda request: _hub(request, web.port), HEALTHY[:2]) as web, ward.silent(HANGING, web.port):
        words = command(tmp_path / "tree", seeds=[web.url(HEALTHY[0])], settings=settings, workers=1, threads=2)
        with Running(words) as running:
            running.until(lambda: web.count(HEALTHY[1]), "the late host is asked", 25)  # to ask all takes four minutes


# -- outages


@pytest.mark.fleet
@pytest.mark.proof
def test_outage(tmp_path: Path) -> None:
    """When all hosts vanish and come back no page is lost: it is said once, and the crawl goes on by itself."""
    root = tmp_path / "tree"
    hosts = HEALTHY[:10]
    settings = {**SETTINGS, "politeness.delay": 0.05}
    with Web(ward.HEALTHY_SITE, hosts) as web:
        seeds = [web.url(host, "/") for host in hosts]
        with Running(command(root, seeds=seeds, settings=settings)) as running:
            running.until(lambda: len(web.exchanges) > 100, "pages were served")
            web.stop()
            gone_at = time.monotonic()
            running.until(lambda: time.monotonic() - gone_at > 8, "the hosts were gone for a while")
            with Web(ward.HEALTHY_SITE, hosts, web.port) as back:
                done = running.wait(60)
    assert done.code == 0, done
    assert errors(root) == {}
    assert len(pages(root)) == len(hosts) * (PAGES + 1)
    assert back.exchanges
    check_tree(root)
    assert done.err.count("is the network gone?") == 1, done.err
    assert done.err.count("the network is back") == 1, done.err


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.timeout(300)
def test_probes_are_no_attempts(tmp_path: Path) -> None:
    """What is asked for in an outage, to see whether it is over, is not lost, although nothing is tried twice."""
    root = tmp_path / "tree"
    hosts = HEALTHY[:6]
    settings = {**SETTINGS, "politeness.delay": 0.05, "fetch.retries": 0}
    with Web(ward.HEALTHY_SITE, hosts) as web:
        words = command(root, seeds=[web.url(host) for host in hosts], settings=settings, workers=1, threads=1)
        with Running(words) as running:
            running.until(lambda: len(web.exchanges) > 40, "pages were served")
            web.stop()
            gone_at = time.monotonic()
            running.until(lambda: time.monotonic() - gone_at > 8, "there were three probes")
            with Web(ward.HEALTHY_SITE, hosts, web.port):
                done = running.wait(150)
    assert done.err.count("the network is back") == 1, done.err
    lost = errors(root)
    assert len(lost) <= 12  # ten, by which it is noticed, and what the worker had then
    assert len(pages(root)) + len(lost) == len(hosts) * (PAGES + 1)
    check_tree(root)


def nobody(root: Path, hosts: list[str], timeout_s: float) -> Done:
    """Crawl from seeds on hosts that refuse; every seed ends as a failure."""
    with socket.create_server((hosts[0], 0)) as taken:
        port = taken.getsockname()[1]
    seeds = [f"http://{host}:{port}/" for host in hosts]
    with Running(command(root, seeds=seeds, settings={**SETTINGS, "politeness.give_up_after": 3})) as running:
        done = running.wait(timeout_s)
    assert done.code == 1, done
    assert {url: error.class_ for url, error in errors(root).items()} == dict.fromkeys(seeds, "connect")
    check_tree(root)
    return done


def test_nobody_of_few_is_there(tmp_path: Path) -> None:
    """Where none of a few hosts answers the crawl ends, after a few tries, with an error for each."""
    done = nobody(tmp_path / "tree", REFUSING[:4], 40)
    assert "is the network gone?" not in done.err


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.timeout(500)
def test_nobody_of_many_is_there(tmp_path: Path) -> None:
    """Where none of many hosts ever answered the network is waited for, a minute; then it ends as with few."""
    done = nobody(tmp_path / "tree", REFUSING, 420)
    assert done.err.count("is the network gone?") == 1, done.err
    assert done.err.count("no host that has answered can be asked") == 1, done.err
    assert done.elapsed_s >= 60
