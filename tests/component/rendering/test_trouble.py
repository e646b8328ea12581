"""Pages and browsers that make trouble: each costs its own page, within its time, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running, command, crawl, errors, pages
from tests.support.web import HTML, Request, Response, Web

HOST, GOOD = "127.0.65.1", "127.0.65.2"
ENDLESS = {
    "loop": "<script>while (true) {}</script>",
    "later": "<script>setTimeout(() => { while (true) {} }, 50)</script>",
    "alerts": "<script>while (true) alert(1)</script>",
    "memory": "<script>const a = []; while (true) a.push(new Uint8Array(2e7).fill(7))</script>",
    "history": "<script>for (;;) history.pushState({}, '', '/' + Math.random())</script>",
    "hashes": "<script>for (let n = 0; ; n++) location.hash = n</script>",
    "replaces": "<script>for (let n = 0; ; n++) location.replace('/' + n)</script>",
    "messages": "<script>for (;;) postMessage('x'.repeat(100000))</script>",
    "writes": "<script>for (;;) document.write('<p>x')</script>",
    "floods": "<iframe id=f></iframe><script>for (;;) f.contentWindow.postMessage(new Uint8Array(1e6))</script>",
    "microtasks": "<script>(function f() { Promise.resolve().then(f) })()</script>",
}
HARMLESS = {
    "dialogs": "<script>alert(1); confirm(2); prompt(3); print()</script>",
    "elsewhere": "<script>location = '/gone-to'</script>",
    "refresh": "<meta http-equiv=refresh content='0;url=/gone-to'>",
    "reloads": "<script>location.reload()</script>",
    "entries": "<script>setInterval(() => history.pushState({}, '', '/' + Math.random()), 1)</script>",
    "hash": "<script>setInterval(() => { location.hash = Math.random() }, 1)</script>",
    "places": "<script>setInterval(() => location.replace('/' + Math.random()), 1)</script>",
    "ping": "<script>onmessage = () => postMessage(0, '*'); postMessage(0, '*')</script>",
    "frames": "<script>const make = () => document.body.append(document.createElement('iframe'));"
    "setInterval(() => { for (let n = 9; n--;) make() }, 1)</script>",
    "pop-ups": "<script>for (let n = 0; n < 50; n++) open('/popup')</script>",
    "closes": "<script>close()</script>",
    "workers": "<script>for (let n = 0; n < 2; n++) new Worker(URL.createObjectURL(new Blob(['for(;;){}'])))</script>",
    "requests": "<script>setInterval(() => fetch('/api'), 1)</script>",
    "unload": "<script>onbeforeunload = () => 'stay'</script>",
}


def _answer(request: Request) -> Response:
    name = request.path.strip("/")
    text = {**ENDLESS, **HARMLESS}.get(name, "<p>a good page")
    return Response(200, HTML, f"<title>{name}</title><body><p>{name}</p>{text}".encode())


def _left() -> list[str]:
    """List what browsers have left on the disk, and those that run."""
    found = [str(path) for path in Path(tempfile.gettempdir()).glob("fscrawl-browser-*")]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{tempfile.gettempdir()}/fscrawl-browser-".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def _gone_within(seconds: float) -> bool:
    until = time.monotonic() + seconds
    while _left() and time.monotonic() < until:
        time.sleep(0.1)
    return not _left()


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that run beside have browsers, too."""
    short = tempfile.mkdtemp(prefix="fr-")
    monkeypatch.setenv("TMPDIR", short)
    monkeypatch.setattr(tempfile, "tempdir", short)


@pytest.mark.timeout(240)
def test_endless_and_harmless_pages(root: Path) -> None:
    """What never ends is an error of its own; all the rest is stored; other hosts go on, and nothing is left.

    Each page that never ends has its own host: a site waits after such a page for minutes.
    """
    endless = {name: f"127.0.65.{number}" for number, name in enumerate(ENDLESS, 11)}
    hosts = [HOST, GOOD, *endless.values()]
    with Web(_answer, hosts) as web:
        seeds = [web.url(host, f"/{name}") for name, host in endless.items()]
        seeds += [web.url(HOST, f"/{name}") for name in HARMLESS]
        seeds += [web.url(GOOD, f"/{n}") for n in range(20)]
        settings = {
            "render.hosts": json.dumps([f"{host}:{web.port}" for host in hosts]),
            "render.timeout": "8",
            "politeness.per_host": "2",
            "fetch.retries": "0",
            "crawl.max_depth": "0",
        }
        done = crawl(root, seeds=seeds, settings=settings, timeout_s=200)
    assert done.code == 0, done
    failed = {url.rpartition("/")[2]: record for url, record in errors(root).items()}
    assert set(failed) == set(ENDLESS), {name: record.message for name, record in failed.items()}
    assert {record.class_ for record in failed.values()} == {"render"}
    assert "memory" in failed["memory"].message
    stored = {url.rpartition("/")[2]: record for url, record in pages(root).items() if f"//{HOST}:" in url}
    assert set(stored) == set(HARMLESS)
    assert web.url(HOST, "/gone-to") in stored["elsewhere"].links
    assert "made 200 frames" in str(stored["frames"].rendered)
    assert web.count(path="/popup") == 0
    assert web.count(path="/gone-to") == 0
    assert sum(f"//{GOOD}:" in url for url in pages(root)) == 20
    assert _gone_within(10), _left()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_behind(root: Path, number: signal.Signals) -> None:
    """When the machine is killed, or ends early, its browsers and their directories are gone a moment later."""
    with Web(_answer, [HOST]) as web:
        settings = {"render.when": "always", "crawl.max_depth": "0", "render.browsers": "2"}
        seeds = [web.url(HOST, "/loop"), *(web.url(HOST, f"/{n}") for n in range(50))]
        with Running(command(root, seeds=seeds, settings=settings)) as running:
            running.until(lambda: len(_left()) > 4, "browsers run")
            os.kill(running.process.pid, number)
            running.wait()
            assert _gone_within(20), _left()


def test_a_browser_that_dies(root: Path) -> None:
    """When a browser and its keeper are killed, others take their place, and no page is lost."""
    with Web(_answer, [HOST]) as web:
        settings = {"render.when": "always", "crawl.max_depth": "0", "politeness.per_host": "4"}
        seeds = [web.url(HOST, f"/{n}") for n in range(60)]
        with Running(command(root, seeds=seeds, settings=settings)) as running:
            for stored in (3, 20):
                running.until(lambda stored=stored: len(pages(root)) >= stored, "some pages are stored")
                for pid in [int(each) for each in _left() if each.isdigit()]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
            done = running.wait(90)
    assert done.code == 0, done
    assert set(pages(root)) == set(seeds)
    assert errors(root) == {}
