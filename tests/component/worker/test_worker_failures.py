"""What a worker does with a failure, with further tries of it, and with a host that does not answer."""

from __future__ import annotations

import gzip
import socket
import time
from email.utils import formatdate
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.errors import TreeError
from fscrawl.frontier.flags import parse_flags
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Known, Replaced
from tests.support.crawling import check_tree, errors, pages
from tests.support.raw import Raw
from tests.support.web import Response, Web
from tests.support.workers import (
    HOST,
    HTML,
    SETTINGS,
    Work,
    dead_url,
    opened,
    page,
    site,
    stored_record,
    task,
    what,
)


def test_missing_page_is_an_error(work: Work, root: Path) -> None:
    """A 404 is recorded with class, status, headers and attempts, and is not tried again."""
    with Web(site({}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/gone")))
    assert (what(outcome), outcome.class_) == (FailedForGood, "http-4xx")
    record = errors(root)[web.url(HOST, "/gone")]
    assert (record.class_, record.status, record.attempts, record.depth) == ("http-4xx", 404, 1, 3)
    assert record.headers is not None
    assert record.headers["x-why"] == "gone"
    assert pages(root) == {}
    check_tree(root)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_passing_failure(work: Work, root: Path, status: int) -> None:
    """A status that may pass is recorded only after the last attempt."""
    with Web(site({"/": Response(status, {"Retry-After": "7"})}), [HOST]) as web:
        worker = work()
        outcomes = [worker.do(task(web.url(HOST), attempt=n)) for n in (1, 2)]
        assert [(what(o), o.exchange.rest_s) for o in outcomes] == [(FailedForNow, 7.0)] * 2
        assert errors(root) == {}
        assert what(worker.do(task(web.url(HOST), attempt=3))) == FailedForGood
    record = errors(root)[web.url(HOST)]
    assert (record.class_, record.attempts) == ("http-5xx" if status >= 500 else "http-4xx", 3)


@pytest.mark.parametrize("status", [400, 401, 403, 410, 451, 501, 505])
def test_lasting_failure(work: Work, root: Path, status: int) -> None:
    """A status that will not change is recorded at the first attempt."""
    with Web(site({"/": Response(status)}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == FailedForGood
    assert errors(root)[web.url(HOST)].attempts == 1


@pytest.mark.parametrize(("text", "delay_s"), [("120", 120.0), ("-1", 0.0), ("1.5", 2.0), ("x", 0.0), ("9" * 30, 1e9)])
def test_retry_after(work: Work, text: str, delay_s: float) -> None:
    """Retry-After is a number of seconds, rounded up to whole ones, up to a limit."""
    with Web(site({"/": Response(503, {"Retry-After": text})}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.rest_s == delay_s


@pytest.mark.parametrize(("status", "delay_s"), [(301, 3.0), (302, 3.0), (200, 0.0)])
def test_retry_after_without_a_failure(work: Work, status: int, delay_s: float) -> None:
    """A redirect may ask for a pause, too; a page cannot."""
    answer = Response(status, {**HTML, "Location": "/b", "Retry-After": "2.1"}, b"<p>")
    with Web(site({"/": answer}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.rest_s == delay_s


def test_too_large_is_an_error(work: Work, root: Path) -> None:
    """A page over fetch.max_bytes leaves only its error record."""
    settings = replace(SETTINGS, fetch=replace(SETTINGS.fetch, max_bytes=100))
    with Web(site({"/": page("." * 101)}), [HOST]) as web:
        assert what(work(settings).do(task(web.url(HOST)))) == FailedForGood
    assert errors(root)[web.url(HOST)].class_ == "too-large"
    check_tree(root)


def test_tree_error_passes_through(work: Work, root: Path) -> None:
    """If the tree is gone a TreeError is raised, and no new tree is made in its place."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        worker = work()
        opened(worker, web.url(HOST))
        root.rename(root.with_name("away"))
        with pytest.raises(TreeError):
            worker.do(task(web.url(HOST)))
    assert not root.exists()


@pytest.mark.parametrize("ahead_s", [40, -40])
def test_retry_after_as_a_date(work: Work, ahead_s: int) -> None:
    """Retry-After may be a date; a past one asks for no rest."""
    date = formatdate(time.time() + ahead_s, usegmt=True)
    with Web(site({"/": Response(429, {"Retry-After": date})}), [HOST]) as web:
        delay_s = work().do(task(web.url(HOST))).exchange.rest_s
    assert 30 < delay_s <= 40 if ahead_s > 0 else delay_s == 0


@pytest.mark.parametrize("ahead_s", [-3600, 3600])
def test_retry_after_by_the_clock_of_the_server(work: Work, ahead_s: int) -> None:
    """A date counts from the Date of its answer, so a clock that is wrong, here or there, makes no difference."""
    now = time.time() + ahead_s
    headers = {"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 40, usegmt=True)}
    with Web(site({"/": Response(503, headers)}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.rest_s == 40


def test_retry_after_without_the_clock_of_the_server(work: Work) -> None:
    """If the Date cannot be read, the clock here must do."""
    headers = {"Date": "today", "Retry-After": formatdate(time.time() + 40, usegmt=True)}
    with Web(site({"/": Response(503, headers)}), [HOST]) as web:
        assert 30 < work().do(task(web.url(HOST))).exchange.rest_s <= 40


# -- how the host does


@pytest.mark.parametrize(
    ("status", "health"), [(200, "answered"), (404, "answered"), (500, "failing"), (503, "failing"), (429, "failing")]
)
def test_health(work: Work, status: int, health: str) -> None:
    """An outcome says how the host does: it answers, or it says "not now"."""
    with Web(site({"/": Response(status, HTML)}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.health == health


def test_health_of_a_dead_host(work: Work) -> None:
    """A host that does not answer is silent, and the outcome says since when an answer was waited for."""
    url, before = dead_url(), time.monotonic()
    exchange = opened(work(), url).exchange
    assert exchange.health == "silent"
    assert before <= exchange.begun_at <= exchange.asked_at


def test_health_of_a_host_that_hangs_up(work: Work, root: Path) -> None:
    """A host that ends TLS handshakes fails for now: neither it nor its page is given up for one of them."""
    unruled = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))

    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)

    with Raw(hang_up, host=HOST) as server:
        url = server.url(scheme="https")
        outcomes = [opened(work(), url), work(unruled).do(task(url))]
    assert [(what(each), each.class_) for each in outcomes] == [(FailedForNow, "tls")] * 2
    assert [each.exchange.health for each in outcomes] == ["failing"] * 2
    assert errors(root) == {}


def test_probe(work: Work, root: Path) -> None:
    """A probe of the network asks the host although its rules are known, and leaves no failure behind."""
    worker = work()
    with Web(site({}), [HOST]) as web:
        outcomes = [opened(worker, web.url(HOST), attempt=attempt) for attempt in (1, 1, 0)]
        assert [each.exchange and each.exchange.health for each in outcomes] == ["answered", None, "answered"]
        assert web.count(HOST, "/robots.txt") == 2
    assert opened(worker, web.url(HOST), attempt=0).exchange.health == "silent"
    assert errors(root) == {}


# -- hosts that were given up, and further tries


def test_given_up(work: Work, root: Path) -> None:
    """A page of a host given up is recorded without asking; a stored page is left as it is."""
    url = dead_url()
    gone = task(url)._replace(flags=parse_flags("gave-up=dns"))
    outcome = work().do(gone)
    assert (what(outcome), outcome.class_, outcome.exchange) == (FailedForGood, "dns", None)
    assert errors(root)[url].class_ == "dns"
    store.Tree(root, "m").drop_error(gone.host, gone.key)
    store.Tree(root, "m").put_page(gone.host, stored_record(url), b"old")
    outcome = work().do(gone)
    assert (what(outcome), outcome.links) == (Known, (url + "?old",))
    assert errors(root) == {}
    check_tree(root)


def test_given_up_after_a_failure(work: Work, root: Path) -> None:
    """What failed before its host was given up keeps its error record, unless another try was asked for."""
    url = dead_url()
    outcomes = [
        work().do(task(url)._replace(flags=parse_flags(f"gave-up={word}"))) for word in ("dns", "tls", "tls,again=then")
    ]
    assert [what(outcome) for outcome in outcomes] == [FailedForGood, Known, Known]
    again = task(url)._replace(flags=parse_flags(f"gave-up=tls,again={outcomes[0].failed_at}"))
    assert what(work().do(again)) == FailedForGood
    assert errors(root)[url].class_ == "tls"


def test_again(tree: store.Tree, work: Work, root: Path) -> None:
    """A marked failure is tried again: a success removes its error record, a failure replaces it."""
    answers = {"/a": Response(500)}
    with Web(site(answers), [HOST]) as web:
        url = web.url(HOST, "/a")
        worker = work()
        worker.do(task(url, attempt=3))
        first = msgspec.structs.replace(errors(root)[url], failed_at="2001-01-01T00:00:00.000Z")
        tree.put_error(HOST + f"_{web.port}", first)
        again = task(url)._replace(flags=parse_flags(f"again={first.failed_at}"))
        assert what(worker.do(again._replace(attempt=3))) == FailedForGood
        second = errors(root)[url]
        assert (second.failed_at > first.failed_at, second.class_) == (True, "http-5xx")
        assert what(worker.do(again)) == Known, "it has failed since"
        answers["/a"] = page("healed")
        again = again._replace(flags=parse_flags(f"again={second.failed_at}"))
        assert [what(worker.do(again)), what(worker.do(again))] == ["page", Known]
    assert web.count(path="/a") == 3
    assert errors(root) == {}
    check_tree(root)


def test_again_by_the_record(tree: store.Tree, work: Work, root: Path) -> None:
    """A record that says so is enough: the next attempt, whoever asks for it, is that try, and the last one."""
    answers = {"/a": Response(500)}
    with Web(site(answers), [HOST]) as web:
        url, worker = web.url(HOST, "/a"), work()
        worker.do(task(url, attempt=3))
        first = msgspec.structs.replace(errors(root)[url], again=True, failed_at="2001-01-01T00:00:00.000Z")
        tree.put_error(HOST + f"_{web.port}", first)
        outcome = worker.do(task(url, attempt=3))
        assert what(outcome) == FailedForGood
        assert (outcome.task.flags.retry_of, outcome.replaced) == (first.failed_at, Replaced("http-5xx"))
        assert (errors(root)[url].again, what(worker.do(task(url)))) == (None, Known)
        tree.put_error(HOST + f"_{web.port}", first)
        answers["/a"] = page("healed")
        assert what(worker.do(task(url))) == "page"
    assert web.count(path="/a") == 3
    assert errors(root) == {}


def test_again_without_a_failure(work: Work) -> None:
    """If the error record is gone and no page is stored, the URL is fetched."""
    with Web(site({"/a": page("")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST, "/a"))._replace(flags=parse_flags("again=t")))) == "page"


@pytest.mark.parametrize("is_stored", [False, True])
def test_bodies_that_inflate_in_vain(work: Work, *, is_stored: bool) -> None:
    """A host whose body inflates beyond its limit rests for what that took; one whose page is stored need not."""
    body = Response(200, {**HTML, "Content-Encoding": "gzip"}, gzip.compress(b"<p>" + b"x" * 20_000_000))
    limit = 30_000_000 if is_stored else 19_000_000
    with Web(site({"/": body}), [HOST]) as web:
        worker = work(replace(SETTINGS, fetch=replace(SETTINGS.fetch, max_bytes=limit)))
        opened(worker, web.url(HOST))
        outcome = worker.do(task(web.url(HOST)))
    assert what(outcome) == ("page" if is_stored else FailedForGood)
    assert outcome.exchange is not None
    assert (outcome.exchange.costly_s > 0) is not is_stored
