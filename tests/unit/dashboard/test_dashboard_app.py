"""The dashboard's page, its state and its events, and how it is steered."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from fscrawl.errors import TreeError
from fscrawl.hostnames import candidates
from fscrawl.monitor.dashboard.app import _FILES, Dashboard, Latest
from fscrawl.monitor.dashboard.guard import Guard, names_for
from fscrawl.monitor.snapshot import Observer, Snapshot
from fscrawl.storage.records import timestamp
from tests.support.dashboards import Answer, Expected, write_log
from tests.support.dashboards_in_process import A, Ask
from tests.support.trees import Grown


def post(ask: Ask, verb: str, given: Any) -> Answer:
    headers = {"x-fscrawl-token": "tok"}
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    return ask(f"/control/{verb}", "POST", headers, body)


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
    assert (facts["pages"], facts["errors"], facts["state"]) == (40, {"dns": 1}, "stopped")
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
        "/api/pages?host=a.example&list=leases",
        "/api/pages?host=a.example&page=x",
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
        f"/body/a.example/{'0' * 24}",
        f"/body/.fscrawl/{'0' * 24}",
        "/body/a.example/x",
    ],
)
def test_nothing_there(ask: Ask, path: str) -> None:
    """What is not there is a 404, and so is what lies outside the directories of pages."""
    assert ask(path).status == 404


def test_tree_that_goes_and_comes_back(ask: Ask, grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the tree is away each question says so, by status 503, and afterwards all is as before."""
    monkeypatch.setattr("fscrawl.monitor.dashboard.app._FRESH_S", 0)
    asked = ["/api/state", "/api/hosts", "/api/pages?host=a.example", "/api/errors", f"/api/page?url={A}x"]
    asked += [f"/body/a.example/{'0' * 24}", f"/api/page?url={A}"]
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
    assert ask("/api/state").json()["pages"] == 40


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
    assert b'fscrawl_pages{machine="old-1-aa"} 40' in answer.body


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


# -- control


def test_control(ask: Ask, grown: Grown) -> None:
    """Pause, stop and resume make and remove signs, of hosts too; each says what it did."""
    assert post(ask, "pause", {}).json() == {"done": "created: PAUSE"}
    assert post(ask, "pause", {"hosts": ["p.example:8080"]}).json() == {"done": "created: PAUSE.p.example_8080"}
    assert post(ask, "stop", {}).json() == {"done": "created: STOP"}
    assert grown.tree.controls.signs() == {"PAUSE", "PAUSE.p.example_8080", "STOP"}
    assert post(ask, "resume", b"").json() == {"done": "removed: PAUSE, STOP; still there: PAUSE.p.example_8080"}
    assert post(ask, "resume", b"").json() == {"done": "nothing was removed; still there: PAUSE.p.example_8080"}
    assert post(ask, "resume", {"hosts": ["p.example_8080"]}).json() == {"done": "removed: PAUSE.p.example_8080"}
    assert post(ask, "resume", {}).json() == {"done": "nothing was paused or stopped"}


def test_seeds(ask: Ask, grown: Grown) -> None:
    """A seed is added in its normal form, once."""
    assert post(ask, "seed", {"url": "HTTP://New.example"}).json() == {"done": "added: http://new.example/"}
    assert "already" in post(ask, "seed", {"url": "http://new.example/#x"}).json()["done"]
    assert grown.tree.controls.seeds().count("new.example") == 1
    for wrong in ({"url": "new.example"}, {"url": 1}, {}, {"url": "http://a.example/\nhttp://b.example/ x"}):
        assert post(ask, "seed", wrong).status == 400
    assert all(" " not in line for line in grown.tree.controls.seeds().splitlines())
    assert post(ask, "seed", {"url": "http://c.example/ # day 1"}).json() == {"done": "added: http://c.example/"}
    assert "http://c.example/  # day 1\n" in grown.tree.controls.seeds()


def test_retry(ask: Ask, grown: Grown) -> None:
    """Failures go back to work, of a class and a host if those are named."""
    assert post(ask, "retry", {"classes": ["dns"], "hosts": ["a.*"]}).json() == {"done": "will be tried again: 1 URL"}
    assert post(ask, "retry", {"hosts": ["b.*"]}).json() == {"done": "no failed URL matches"}
    assert post(ask, "retry", {"classes": ["luck"]}).status == 400


@pytest.mark.parametrize(
    "given",
    [b"[]", b"{", b'{"hosts":["\xff"]}', b"[" * 5000, b'{"hosts":"a"}', b'{"hosts":[1]}', b'{"hosts":["a b"]}'],
)
def test_control_takes_what_it_takes(ask: Ask, grown: Grown, given: bytes) -> None:
    """What is no JSON object, or not of texts, changes nothing."""
    assert post(ask, "pause", given).status == 400
    assert grown.tree.controls.signs() == frozenset()


@pytest.mark.parametrize(
    ("verb", "given", "why"),
    [
        ("pause", {"host": ["a.example"]}, "Object contains unknown field `host`"),
        ("resume", {"hosts": []}, "Expected `array` of length >= 1 - at `$.hosts`"),
        ("stop", {"hosts": ["a.example"]}, "Object contains unknown field `hosts`"),
        ("retry", {"class": ["dns"]}, "Object contains unknown field `class`"),
        ("retry", {"classes": []}, "Expected `array` of length >= 1 - at `$.classes`"),
        ("seed", {"url": "http://a.example/", "label": "x"}, "Object contains unknown field `label`"),
    ],
)
def test_a_slip_does_not_mean_the_whole_crawl(ask: Ask, grown: Grown, verb: str, given: object, why: str) -> None:
    """A misspelled field and an empty list would be taken for "everything"."""
    answer = post(ask, verb, given)
    assert (answer.status, answer.json()) == (400, {"error": why})
    assert grown.tree.controls.signs() == frozenset()


def test_what_is_no_verb(ask: Ask, grown: Grown) -> None:
    """A long request is refused, an unknown verb is none, GET changes nothing, and nobody does without the token."""
    assert post(ask, "pause", b" " * 70_000).status == 413
    assert post(ask, "shutdown", {}).status == 404
    assert ask("/control/pause").status == 405
    assert ask("/control/pause", "POST").status == 403
    assert grown.tree.controls.signs() == frozenset()


def test_candidates() -> None:
    """What cannot be a URL has no spelling to look for."""
    assert candidates("http://[") == []
    assert candidates("mailto:me@a.example") == []
    assert candidates("localhost:8000/x") == ["https://localhost:8000/x", "http://localhost:8000/x"]


# -- tables


@pytest.mark.parametrize(
    "path",
    [
        "/api/hosts?only=none",
        "/api/hosts?sort=records",
        "/events/hosts?only=open",
        "/api/pages?host=a.example&list=none",
    ],
)
def test_what_tables_do_not_know(ask: Ask, path: str) -> None:
    """A column or a part that there is not is said in one line."""
    answer = ask(path)
    assert answer.status == 400
    assert "must be" in answer.json()["error"]


def test_hosts_that_wait(ask: Ask, grown: Grown) -> None:
    """A host that a machine holds back says why and until when; one without a record is listed, too."""
    write_log(grown.root, "new-1-aa", {"beat": 1}, alive=True)
    hosts = {
        "a.example": {
            "pending": 3,
            "delay_s": 2.5,
            "set_by": "robots",
            "wait_s": 300,
            "cause": "retry-after",
            "failures": 1,
        },
        "new.example_81": {"pending": 1, "cause": "turn"},
    }
    file = grown.root / ".fscrawl" / "machines" / "new-1-aa.status.json"
    file.write_text(json.dumps({"at": timestamp(time.time()), "hosts": hosts}))
    facts = ask("/api/hosts?sort=pending").json()
    first, second = facts["rows"][:2]
    assert (first["host"], first["why"]) == ("a.example", "rests: its answer asked for a pause (Retry-After)")
    assert (first["delay_s"], first["set_by"], first["held"]) == (2.5, "by its robots.txt", True)
    assert 250 < first["until"] - facts["now"] <= 301
    assert (second["spoken"], second["records"], second["why"]) == ("new.example:81", 0, "waits for its turn")
    assert (facts["hosts"], facts["held"]) == (3, 1)
    for query, found in (
        ("only=held", ["a.example"]),
        ("only=pending&sort=host&order=up", ["a.example", "new.example_81"]),
    ):
        assert [row["host"] for row in ask(f"/api/hosts?{query}").json()["rows"]] == found
    assert ask("/api/hosts?sort=until").json()["rows"][0]["host"] == "a.example"


def test_tables_of_a_tree_that_is_gone(ask: Ask, grown: Grown, tmp_path: Path) -> None:
    """If the tree is gone, the table does not show what was there before."""
    assert ask("/api/hosts").status == 200
    grown.root.rename(tmp_path / "away")
    time.sleep(1.0)  # a snapshot is as long fresh
    assert ask("/api/hosts").status == 503


def test_a_share_that_is_unmounted_during_a_look(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a mount point is not taken for a crawl that has not begun, not even for a second."""
    latest, look = Latest(grown.root), Observer.look

    def unmounted(self: Observer) -> Snapshot:
        grown.root.rename(grown.root.with_name("away"))
        grown.root.mkdir()
        return look(self)

    monkeypatch.setattr(Observer, "look", unmounted)
    with pytest.raises(TreeError, match="is the share mounted"):
        latest.ask(lambda view: view)
