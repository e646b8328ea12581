"""The dashboard's routes over a tree that was made for it: what is found, what is said, and what is refused."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from fscrawl.admin import dashboard_control as control
from fscrawl.errors import TreeBusyError, TreeError, UsageError
from fscrawl.monitor.dashboard import pages, scan
from fscrawl.monitor.dashboard.app import _FILES, Dashboard
from fscrawl.monitor.dashboard.guard import Guard, names_for
from fscrawl.monitor.dashboard.hosts import Hosts, Query
from fscrawl.monitor.dashboard.latest import Latest
from fscrawl.store import Tree
from tests.support.dashboards import Answer, Expected, call, write_log
from tests.support.trees import Grown

A = "http://a.example/"
PORT = "http://p.example:8080/"
BEATS = [{"beat": n, "pages": n * 10, "bytes": n * 1000, "pending": 5, "errors": {"dns": 1}} for n in range(5)]
Ask = Callable[..., Answer]


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    grown = Grown(tmp_path / "tree")
    front = grown.page(
        A, b"<title>Front</title><a href=b>b</a><a href=/c rel=nofollow>c</a><a href=http://p.example:8080/>p</a>"
    )
    grown.page(A + "b", "<meta charset=shift_jis><title>表</title><p>表".encode("shift_jis"), referrer=front.key)
    grown.redirect(A + "old", A + "b", referrer=front.key)
    grown.skipped(A + "doc.pdf")
    grown.page(PORT, b"<link rel=canonical href='http://a.example/b'><a href=x>x</a>", referrer=front.key)
    grown.fail(A + "gone", referrer=front.key)
    grown.fail(A + "dns", "dns", None)
    write_log(grown.root, "old-1-aa", *BEATS)
    return grown


@pytest.fixture
def dashboard(grown: Grown) -> Iterator[Dashboard]:
    made = Dashboard(grown.root, control.VERBS)
    yield made
    made.close()


@pytest.fixture
def ask(dashboard: Dashboard) -> Ask:
    guard = Guard(dashboard.app, names_for("127.0.0.1", "box"), "tok")
    return lambda path, *args, **more: call(guard, path, *args, **more)


def post(ask: Ask, verb: str, given: Any) -> Answer:
    headers = {"x-fscrawl-token": "tok", "origin": "http://127.0.0.1", "content-type": "application/json"}
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    return ask(f"/control/{verb}", "POST", headers, body)


def key(grown: Grown, url: str) -> str:
    return (grown.records.get(url) or grown.failures[url]).key


# -- the page and the state


@pytest.mark.parametrize("path", _FILES)
def test_static_files(ask: Ask, path: str) -> None:
    """The page, its style and its script come from here, name nothing outside, and fit a policy without exceptions."""
    answer = ask(path)
    text = answer.body.decode()
    assert answer.status == 200
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not re.search(r"""(?:src|href|url|import|fetch|EventSource)[=( ]*["'`]?(?:https?:)?//""", text)
    for word in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "onclick=", "style="):
        assert word not in text, word


def test_state(ask: Ask, grown: Grown) -> None:
    """The state is of the logs, and says where the tree is."""
    facts = ask("/api/state?window=1h").json()
    assert (facts["totals"]["pages"], facts["errors"], facts["state"]) == (40, [["dns", 1]], "stopped")
    assert (facts["root"], facts["control"]) == (str(grown.root), True)


@pytest.mark.parametrize(
    "path",
    [
        "/api/state?window=2h",
        "/events?window=",
        "/api/hosts?sort=size",
        "/api/hosts?page=-1",
        "/api/hosts?page=99999999",
        "/api/page",
        "/api/page?url=words",
        "/api/pages?host=a.example&room=leases",
        "/api/pages?host=a.example&page=x",
        "/api/search?host=a.example&q=+",
        "/api/links-in?url=a",
        f"/body/a.example/{'0' * 24}?as=script",
    ],
)
def test_wrong_questions(ask: Ask, path: str) -> None:
    """A question that makes no sense is answered with what would."""
    answer = ask(path)
    assert answer.status == 400
    assert ":" in answer.json()["error"] or "URL" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/favicon.ico",
        "/static/index.html",
        "/api/page?url=http://a.example/never",
        "/api/page?host=a.example&key=zz",
        "/api/page?host=..&key=" + "0" * 24,
        "/api/pages?host=../errs",
        "/api/pages?host=.fscrawl",
        "/api/search?host=a/b&q=x",
        f"/body/a.example/{'0' * 24}",
        f"/body/.fscrawl/{'0' * 24}",
        "/body/a.example/x",
    ],
)
def test_nothing_there(ask: Ask, path: str) -> None:
    """What is not there is a 404, and so is what lies outside the rooms of pages."""
    assert ask(path).status == 404


def test_tree_that_goes_and_comes_back(ask: Ask, grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the tree is away each question says so, by status 503, and afterwards all is as before."""
    monkeypatch.setattr("fscrawl.monitor.dashboard.latest._FRESH_S", 0)
    asked = ["/api/state", "/api/hosts", "/api/pages?host=a.example", "/api/errors", f"/api/page?url={A}x"]
    asked += [f"/body/a.example/{'0' * 24}", f"/api/links-in?url={A}", f"/api/page?url={A}"]
    assert ask("/api/hosts").status == 200
    away = grown.root.rename(grown.root.with_name("away"))
    grown.root.mkdir()  # an empty mount point
    for path in asked:
        answer = ask(path)
        assert answer.status == 503, path
        assert "is the share mounted?" in answer.json()["error"]
    assert b"fscrawl_tree_up 0" in ask("/metrics").body
    grown.root.rmdir()
    away.rename(grown.root)
    assert b"fscrawl_tree_up 1" in ask("/metrics").body
    assert ask("/api/state").json()["totals"]["pages"] == 40


def test_events_say_what_is_new(dashboard: Dashboard, grown: Grown) -> None:
    """A stream gives the state, nothing while nothing changes, the trouble, and ends when the dashboard does."""
    came: list[str] = []

    async def listen() -> None:
        looks = 0

        def look(window: str) -> dict[str, Any]:
            nonlocal looks
            looks += 1
            if looks == 3:
                raise TreeError("gone")
            if looks == 5:
                dashboard.close()
            return {"window": window, "now": looks}

        with mock.patch.object(dashboard, "_look", look), mock.patch("fscrawl.monitor.dashboard.app._EVERY_S", 0.001):
            request = mock.Mock(query_params={})
            response = await dashboard._state_events(request)
            came.extend([text async for text in response.body_iterator])

    asyncio.run(asyncio.wait_for(listen(), 20))
    assert came == [
        "retry: 2000\n\n",
        'event: state\ndata: {"window":"10min","now":1}\n\n',
        'event: trouble\ndata: {"error":"gone"}\n\n',
        'event: state\ndata: {"window":"10min","now":4}\n\n',
    ]


def test_events_while_nothing_changes(dashboard: Dashboard) -> None:
    """A stream that has nothing to say says so now and then, which shows whether anybody still listens."""

    async def listen() -> str:
        with (
            mock.patch("fscrawl.monitor.dashboard.app._EVERY_S", 0.001),
            mock.patch("fscrawl.monitor.dashboard.app._STILL_HERE_S", 0),
        ):
            events = dashboard._events("hosts", lambda: {"rows": []})
            said = [await anext(events) for _ in range(4)]
            await events.aclose()
            return said[3]

    assert asyncio.run(asyncio.wait_for(listen(), 20)) == ": still here\n\n"


def test_page_of_hosts(ask: Ask) -> None:
    """A page past the last is empty, and says how many there are."""
    table = ask("/api/hosts?page=7").json()
    assert (table["rows"], table["page"], table["pages"]) == ([], 7, 1)


def test_host_events(dashboard: Dashboard, ask: Ask) -> None:
    """The table of hosts is a stream too."""
    threading.Timer(0.5, dashboard._closing.set).start()
    assert b"event: hosts" in ask("/events/hosts?sort=host&order=up").body


def test_metrics(ask: Ask) -> None:
    """Metrics are text of the format's version."""
    answer = ask("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b'fscrawl_pages_total{machine="old-1-aa"} 40' in answer.body


def test_what_nobody_expected(dashboard: Dashboard, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """An error in the program is a line on the terminal and a status 500, with all headers."""
    with mock.patch.object(dashboard._latest, "ask", side_effect=Expected("oh")):
        answer = ask("/api/state")
    assert (answer.status, "oh" in answer.json()["error"]) == (500, False)
    assert "content-security-policy" in answer.headers
    assert capsys.readouterr().err == "fscrawl: dashboard: /api/state: _Expected: oh\n"


def test_only_http(dashboard: Dashboard) -> None:
    """What is no HTTP request is not answered."""
    guard = Guard(dashboard.app, names_for("127.0.0.1", ""), None)
    asyncio.run(guard({"type": "websocket"}, mock.Mock(), mock.Mock()))


# -- pages


@pytest.mark.parametrize("typed", [A + "b", "HTTP://A.example:80/./b#top", "a.example/b", " a.example/b "])
def test_page_by_url(ask: Ask, grown: Grown, typed: str) -> None:
    """A URL is found in any spelling, and tells where it was found first."""
    facts = ask(f"/api/page?url={typed.replace('#', '%23').replace(' ', '+')}").json()
    assert (facts["url"], facts["record"]["title"], facts["has_body"]) == (A + "b", "表", True)
    assert facts["referrer"]["url"] == A
    assert facts["error"] is None


def test_page_of_another_host_tells_its_key(ask: Ask, grown: Grown) -> None:
    """Where a URL was found on another host only the key is known; a seed was found nowhere."""
    assert ask(f"/api/page?url={PORT}").json()["referrer"] == {"key": key(grown, A)}
    assert ask(f"/api/page?url={A}").json()["referrer"] is None


def test_failure_by_key(ask: Ask, grown: Grown) -> None:
    """A failure is found by host and key, with a colon before the port or without."""
    facts = ask(f"/api/page?host=a.example&key={key(grown, A + 'gone')}").json()
    assert (facts["error"]["class"], facts["record"], facts["has_body"]) == ("http-4xx", None, False)
    assert ask(f"/api/page?host=p.example:8080&key={key(grown, PORT)}").json()["url"] == PORT


def test_damaged_record(ask: Ask, grown: Grown) -> None:
    """A record that cannot be read is said to be damaged."""
    grown.file("links", A + "b").write_bytes(b"{")
    facts = ask(f"/api/page?url={A}b").json()
    assert (facts["record"], facts["url"], len(facts["damages"])) == (None, None, 1)


def test_file_that_cannot_be_read(ask: Ask, grown: Grown) -> None:
    """What stands in the place of a record and is no file is trouble, and not a page that is missing."""
    grown.file("links", A + "b").unlink()
    grown.file("links", A + "b").mkdir()
    assert ask(f"/api/page?url={A}b").status == 503


def test_bodies(ask: Ask, grown: Grown) -> None:
    """A body is decoded as its record says, as a page, as what one reads, and as source."""
    place = f"/body/a.example/{key(grown, A + 'b')}"
    page, source = ask(place), ask(f"{place}?as=source")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert source.body.decode() == "<meta charset=shift_jis><title>表</title><p>表"
    assert page.body.decode().startswith(source.body.decode())
    assert source.headers["content-type"] == "text/plain; charset=utf-8"
    assert ask(f"{place}?as=text").body.decode() == "表"
    for answer in (page, source, ask("/body/x/y")):
        assert answer.headers["content-security-policy"].startswith("sandbox;")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_body_without_encoding(ask: Ask, grown: Grown) -> None:
    """A body whose record is gone is read as its own declaration has it."""
    grown.file("links", A + "b").unlink()
    assert "表" in ask(f"/body/a.example/{key(grown, A + 'b')}").body.decode()


def test_pages_of_a_host(ask: Ask, grown: Grown) -> None:
    """A host's records and failures are listed, and what cannot be read is counted."""
    rows = ask("/api/pages?host=a.example").json()
    assert [(row["url"], row["kind"]) for row in rows["rows"]] == [
        (A, "page"),
        (A + "b", "page"),
        (A + "doc.pdf", "skipped"),
        (A + "old", "redirect"),
    ]
    grown.file("errs", A + "gone").write_bytes(b"")
    failures = ask("/api/pages?host=a.example&room=failures").json()
    assert [row["class"] for row in failures["rows"]] == ["dns"]
    assert (failures["found"], failures["unreadable"], failures["pages"]) == (2, 1, 1)
    assert ask("/api/pages?host=nowhere.example").json()["rows"] == []


# -- searches


def test_search_within_a_host(ask: Ask) -> None:
    """A part of a URL or of a title is found in any case, and the end says that it is all."""
    lines = ask("/api/search?host=a.example&q=FRONT").lines()
    assert [(line["page"]["url"], line["page"]["how"]) for line in lines if "page" in line] == [(A, "title")]
    assert lines[-2:] == [{"looked": 4, "hosts": 1}, {"end": "all"}]
    urls = [line["page"]["url"] for line in ask("/api/search?host=a.example&q=.PDF").lines() if "page" in line]
    assert urls == [A + "doc.pdf"]
    assert not any("page" in line for line in ask("/api/search?host=a.example&q=sha256").lines())


def test_links_in(ask: Ask) -> None:
    """All pages that lead to a URL are found on all hosts, with how they do."""
    found = {
        line["page"]["url"]: line["page"]["how"] for line in ask(f"/api/links-in?url={A}b").lines() if "page" in line
    }
    assert found == {A: "link", A + "old": "redirect", PORT: "canonical"}
    nofollow = ask(f"/api/links-in?url={A}c").lines()
    assert [line["page"]["how"] for line in nofollow if "page" in line] == ["nofollow"]


def test_links_in_of_what_only_looks_like_it(grown: Grown) -> None:
    """A record that names a URL elsewhere than in its links does not lead to it, nor does the page itself."""
    grown.page(A + "z", b"", headers={"x": A + "b"}, links=(A + "z",), sitemaps=(A + "s",))
    found = [event["page"]["url"] for event in scan.links_in(grown.tree, A + "z", "a.example") if "page" in event]
    assert found == []
    assert A + "z" not in [e["page"]["url"] for e in scan.links_in(grown.tree, A + "b", "a.example") if "page" in e]
    assert [e["page"]["how"] for e in scan.links_in(grown.tree, A + "s", "a.example") if "page" in e] == ["link"]


def test_searches_are_bounded(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search ends when it has found enough or took long enough, tells how far it came, and skips what is torn."""
    grown.file("links", A + "old").write_bytes(b'{"a.example')
    ticks = iter(range(0, 1000, 50))
    events = list(scan.matching(grown.tree, "a.example", "a.example", lambda: float(next(ticks))))
    assert events[-1] == {"end": "time"}
    assert {"looked": 1, "hosts": 1} in events
    monkeypatch.setattr(scan, "_MOST_FOUND", 2)
    events = list(scan.matching(grown.tree, "a.example", "a.example"))
    assert events[-1] == {"end": "enough"}
    assert sum("page" in event for event in events) == 2


def test_search_of_a_tree_that_goes(dashboard: Dashboard) -> None:
    """A tree that goes away during a search is its last line."""

    def events() -> Iterator[scan.Event]:
        yield {"looked": 1}
        raise TreeError("gone")

    assert list(dashboard._lines(events())) == ['{"looked":1}\n', '{"error":"gone"}\n']


def test_search_ends_with_the_dashboard(dashboard: Dashboard) -> None:
    """A search does not outlive the dashboard."""
    dashboard.close()
    assert len(list(dashboard._lines(iter([{"looked": 1}, {"looked": 2}])))) == 1


def test_examples_of_failures(ask: Ask, grown: Grown) -> None:
    """A few failures of each class are shown; a file that is torn is passed over."""
    for number in range(30):
        grown.fail(f"{A}{number}")
    grown.file("errs", A + "3").write_bytes(b"x")
    facts = ask("/api/errors").json()
    assert {name: len(rows) for name, rows in facts["classes"].items()}.get("http-4xx") == 5
    assert facts["looked"] == 32
    few = scan.examples(grown.tree, random.Random(1))
    assert set(few["classes"]) == {"dns", "http-4xx"}
    assert scan.examples(Grown(grown.root.parent / "empty").tree) == {"looked": 0, "classes": {}}


# -- hosts


def test_hosts_are_counted_behind(grown: Grown) -> None:
    """A request does not wait for counts, which come one by one, those of the rows that are looked at first."""
    go = threading.Event()
    asked: list[str] = []
    real = Tree.keys

    def slow(tree: Tree, room: str, host: str) -> list[str]:
        asked.append(host)
        assert go.wait(20)
        return real(tree, room, host)

    hosts = Hosts(grown.tree)
    with mock.patch.object(Tree, "keys", slow):
        table = hosts.table(Query(sort="host", descending=False))
        assert [(row["host"], row["records"]) for row in table["rows"]] == [
            ("a.example", None),
            ("p.example_8080", None),
        ]
        go.set()
        while (table := hosts.table(Query()))["counted"] < 2:
            pass
    assert [tuple(row.values()) for row in table["rows"]] == [
        ("a.example", "a.example", 4, 2),
        ("p.example_8080", "p.example:8080", 1, 0),
    ]
    assert asked[0] == "a.example"
    hosts.close()


def test_counts_grow_old(grown: Grown) -> None:
    """The rows that are looked at are counted again after some seconds, names listed anew; a pass takes its time."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    while hosts.table(Query())["counted"] < 2:
        pass
    grown.page("http://new.example/")
    assert hosts.table(Query())["hosts"] == 2
    now = 30.0
    while not (table := hosts.table(Query()))["hosts"] == table["counted"] == 3:
        pass
    assert table["pages"] == 1
    hosts.close()


def test_hosts_of_an_empty_mount_point(grown: Grown) -> None:
    """Hosts that all of a sudden have nothing are not counted as empty: the tree is gone."""
    now = 0.0
    hosts = Hosts(grown.tree, lambda: now)
    while hosts.table(Query())["counted"] < 2:
        pass
    away = grown.root.rename(grown.root.with_name("away"))
    grown.root.mkdir()
    now = 15.0  # counts are old, names are not

    def look_on() -> None:
        while hosts.table(Query()):
            pass

    with pytest.raises(TreeError, match="is the share mounted"):
        look_on()
    grown.root.rmdir()
    away.rename(grown.root)
    assert hosts._counts["a.example"].records == 4
    hosts.close()


def test_hosts_of_a_tree_that_goes(grown: Grown) -> None:
    """Hosts that cannot be listed are an error, and come back."""
    hosts = Hosts(grown.tree)
    with mock.patch.object(Tree, "hosts", side_effect=TreeBusyError("stale")), pytest.raises(TreeBusyError):
        hosts.table(Query())
    for _ in range(100_000):
        try:
            assert hosts.table(Query())["hosts"] == 2
            break
        except TreeBusyError:  # of the time before
            continue
    hosts.close()
    hosts.close()


# -- the latest


def test_looks_are_shared(grown: Grown) -> None:
    """Questions within a second are about one look."""
    now = 0.0
    latest = Latest(grown.root, lambda: now)
    first = latest.ask(id)
    now = 0.5
    assert latest.ask(id) == first
    looks = mock.Mock(wraps=latest._observer.look)
    latest._observer.look = looks  # type: ignore[method-assign]
    now = 1.5
    latest.ask(id)
    latest.ask(id)
    assert looks.call_count == 1


def test_tree_that_hangs(grown: Grown) -> None:
    """While one look hangs, others are told for how long."""
    now = 0.0
    latest = Latest(grown.root, lambda: now, limit_s=0.01)
    entered, go = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        assert go.wait(20)

    with mock.patch.object(latest, "check", hang):
        thread = threading.Thread(target=latest.ask, args=[id])
        thread.start()
        assert entered.wait(20)
        now = 12.0
        with pytest.raises(TreeError, match="no answer for 12 s; does the share hang"):
            latest.ask(id)
        go.set()
        thread.join(20)
    assert latest.ask(id)


def test_settings_that_are_wrong(grown: Grown) -> None:
    """A mistake in crawl.toml is told with the state."""
    (grown.root / "crawl.toml").write_text("nonsense = 1")
    assert "nonsense" in Latest(grown.root).ask(lambda view: view.settings_trouble)


# -- control


def test_control(ask: Ask, grown: Grown) -> None:
    """Pause, stop and resume make and remove signs, of hosts too; each says what it did."""
    assert post(ask, "pause", {}).json() == {"done": "created: PAUSE"}
    assert post(ask, "pause", {"hosts": ["p.example:8080"]}).json() == {"done": "created: PAUSE.p.example_8080"}
    assert post(ask, "stop", {}).json() == {"done": "created: STOP"}
    assert grown.tree.controls.signs() == {"PAUSE", "PAUSE.p.example_8080", "STOP"}
    assert post(ask, "resume", {"hosts": ["p.example_8080"]}).status == 200
    assert post(ask, "resume", b"").json() == {"done": "removed: PAUSE, STOP"}
    assert post(ask, "resume", {}).json() == {"done": "nothing was paused or stopped"}


def test_seeds(ask: Ask, grown: Grown) -> None:
    """A seed is added in its normal form, once."""
    assert post(ask, "seed", {"url": "HTTP://New.example"}).json() == {"done": "added: http://new.example/"}
    assert "already" in post(ask, "seed", {"url": "http://new.example/#x"}).json()["done"]
    assert grown.tree.controls.seeds().count("new.example") == 1
    for wrong in ({"url": "new.example"}, {"url": 1}, {}, {"url": "http://a.example/\nhttp://b.example/ x"}):
        answer = post(ask, "seed", wrong)
        assert answer.status == (200 if "b.example" in str(wrong) else 400)
    assert all(" " not in line for line in grown.tree.controls.seeds().splitlines())


def test_retry(ask: Ask, grown: Grown) -> None:
    """Failures go back to work, of a class and a host if those are named."""
    assert post(ask, "retry", {"classes": ["dns"], "hosts": ["a.*"]}).json() == {"done": "to be tried again: 1 URLs"}
    assert post(ask, "retry", {"hosts": ["b.*"]}).json() == {"done": "there is no such failure"}
    assert post(ask, "retry", {"classes": ["luck"]}).status == 400


@pytest.mark.parametrize("given", [b"[]", b"{", b"[" * 5000, b'{"hosts":"a"}', b'{"hosts":[1]}', b'{"hosts":["a b"]}'])
def test_control_takes_what_it_takes(ask: Ask, grown: Grown, given: bytes) -> None:
    """What is no JSON object, or not of texts, changes nothing."""
    assert post(ask, "pause", given).status == 400
    assert grown.tree.controls.signs() == frozenset()


def test_control_is_bounded(ask: Ask, grown: Grown) -> None:
    """A long request is refused before it is read, an unknown verb is none, and GET is no way to change anything."""
    assert post(ask, "pause", b" " * 70_000).status == 413
    assert post(ask, "shutdown", {}).status == 404
    assert ask("/control/pause").status == 405
    assert ask("/control/pause", "POST").status == 403
    with pytest.raises(UsageError):
        control.pause(grown.tree, {"hosts": ["a.example"] * 1001})
    assert grown.tree.controls.signs() == frozenset()


def test_candidates() -> None:
    """What cannot be a URL has no spelling to look for."""
    assert pages.candidates("http://[") == []
    assert pages.candidates("localhost:8000/x") == ["https://localhost:8000/x", "http://localhost:8000/x"]
