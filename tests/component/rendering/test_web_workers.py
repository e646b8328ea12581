"""Pages that let a web worker load what they show."""

from __future__ import annotations

import time

import pytest

from fscrawl.render.messages import Answer, Ask
from tests.support.keepers import HEADERS, Keeper, done

PAGE = """<body><script>
const worker = new Worker("/worker.js");
worker.onmessage = said => FOUND(said.data);
worker.postMessage("begin");
</script>"""
SHOWS = "(text => document.title = text)"
LOADS_MORE = "(text => fetch('/more').then(more => more.text()).then(more => document.title = text + more))"
LOADS = "onmessage = async () => postMessage(await (await fetch('/data')).text())"
LOADS_TWICE = "onmessage = async () => { await fetch('/first'); postMessage(await (await fetch('/data')).text()) }"
TEXTS = {"/data": b"data", "/more": b" and more", "/first": b"first"}


def serve(code: str, ask: Ask) -> Answer:
    path = "/" + ask.url.split("/", 3)[3]
    if path == "/worker.js":
        return Answer(ask.number, 200, (("content-type", "text/javascript"),), code.encode())
    time.sleep(0.3)
    return Answer(ask.number, 200, tuple(HEADERS.items()), TEXTS[path])


@pytest.mark.parametrize(
    ("found", "code", "title"),
    [
        (SHOWS, LOADS, b"<title>data</title>"),
        (SHOWS, LOADS_TWICE, b"<title>data</title>"),
        (LOADS_MORE, LOADS_TWICE, b"<title>data and more</title>"),
    ],
)
def test_what_a_worker_loads(keeper: Keeper, found: str, code: str, title: bytes) -> None:
    """Requests of a worker do not hold up the page's clock; they are waited for all the same."""
    page = done(keeper.page(PAGE.replace("FOUND", found), lambda ask: serve(code, ask)))
    assert title in page.dom


@pytest.mark.parametrize("code", ["onmessage = () => { while (true) {} }", "setInterval(() => fetch('/data'), 50)"])
def test_a_worker_that_never_rests(keeper: Keeper, code: str) -> None:
    """A page does not wait for a worker that has something to do for ever."""
    began = time.monotonic()
    done(keeper.page(PAGE.replace("FOUND", SHOWS), lambda ask: serve(code, ask)))
    assert time.monotonic() - began < 10
