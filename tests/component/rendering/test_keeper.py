"""A keeper and its browser, asked as workers ask them: odd answers, odd pages, and many pages at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.measure import descendants
from fscrawl.render.messages import QUICK_S, Answer, Ask, Cookie, GaveWay, Rendered, Trouble
from tests.support.keepers import GOOD, HEADERS, URL, Keeper, done, trouble

OTHER = "http://127.0.69.2/"


def test_large_results(keeper: Keeper) -> None:
    """Of many large pages at once, each result arrives whole, and the keeper's places come back."""

    def one(size: int) -> int:
        script = f"<body><script>document.body.append('x'.repeat({size}))</script>"
        found: Rendered | Trouble | GaveWay = GaveWay()
        while isinstance(found, GaveWay):
            found = keeper.page(script, wait="load")
        return len(done(found).dom)

    sizes = [200_000 + 60_000 * number for number in range(0, 30, 3)]
    with ThreadPoolExecutor(6) as pool:
        assert all(got > size for got, size in zip(pool.map(one, sizes), sizes, strict=True))


@pytest.mark.parametrize("status", [0, 404, 503])
def test_a_page_that_loads_itself_again_in_vain(keeper: Keeper, status: int) -> None:
    """It stays as it is: the page of an error does not take its place."""
    again = "<p>content<script>location.reload()</script>"
    found = done(keeper.page(again, lambda ask: Answer(ask.number, status, tuple(HEADERS.items()), b"an error")))
    assert b"content" in found.dom


def test_a_page_that_loads_itself_again(keeper: Keeper) -> None:
    """What comes then is the page."""
    again = "<p>before<script>location.reload()</script>"
    found = done(keeper.page(again, lambda ask: Answer(ask.number, 200, tuple(HEADERS.items()), b"<p>after")))
    assert b"after" in found.dom


def test_headers_that_are_none(keeper: Keeper) -> None:
    """Headers that a browser does not take are left out, of the page and of what it loads."""
    odd = {**HEADERS, "@x": "1", '"q"': "1", "x-(y)": "1", "x": "a\0b", "y": "ä", "z": "a\tb"}
    script = "<script>fetch('/a').then(a => a.text()).then(t => document.title = t)</script>"
    found = done(keeper.page(script, lambda ask: Answer(ask.number, 200, tuple(odd.items()), b"came"), headers=odd))
    assert b"<title>came</title>" in found.dom


def test_what_no_browser_opens(keeper: Keeper) -> None:
    """A page that would be a download is refused, with the browser's own reason, and does not wait for its time."""
    found = keeper.page(GOOD, headers={"content-type": "application/octet-stream"}, timeout_s=60.0)
    assert trouble(found) == ("the browser refuses the page: net::ERR_ABORTED", False)


def test_cookies_of_a_page(keeper: Keeper) -> None:
    """Scripts see no HttpOnly cookie, and a cookie that the browser does not take costs no other."""
    cookies = (
        Cookie("bad", "é\t", "127.0.69.1", "/", secure=False, http_only=False),
        Cookie("shy", "1", "127.0.69.1", "/", secure=False, http_only=True),
        Cookie("open", "2", "127.0.69.1", "/", secure=False, http_only=False),
    )
    sent: list[str] = []

    def fetch(ask: Ask) -> Answer:
        sent.append({name.lower(): value for name, value in ask.headers.items()}.get("cookie", ""))
        return Answer(ask.number, 200, tuple(HEADERS.items()), b"x")

    script = "<script>document.title = document.cookie; fetch('/a')</script>"
    found = done(keeper.page(script, fetch, headers={**HEADERS, "set-cookie": "a=1, b=2"}, cookies=cookies))
    assert b"<title>open=2</title>" in found.dom
    assert sent == ["shy=1; open=2"]


def test_places_without_end(keeper: Keeper) -> None:
    """Of a page that wants to go everywhere, a hundred places are kept; methods that it makes up count as one."""
    script = """<script>
    for (let n = 0; n < 300; n++) fetch('/x', {method: 'M' + n}).catch(() => 0);
    let n = 0; const go = () => { if (n++ < 300) { location = '/' + n; setTimeout(go, 5); } }; go();
    location = '/' + 'x'.repeat(100000);
    </script>"""
    found = done(keeper.page(script))
    assert 1 < len(found.went_to) <= 100
    assert max(map(len, found.went_to)) < 10_000
    assert found.blocked == {"method": 300}


def test_a_page_whose_host_is_slow(keeper: Keeper) -> None:
    """What waits for being seen comes, and a picture is taken, though the page's clock is far behind the real one."""

    def fetch(ask: Ask) -> Answer:
        time.sleep(2.5)
        return Answer(ask.number, 200, tuple(HEADERS.items()), b"x")

    script = """<body><script>(async () => {
    for (let n = 0; n < 3; n++) await fetch('/slow' + n);
    let shown = 0;
    const end = Object.assign(document.createElement('p'), {style: 'margin-top: 4000px'});
    document.body.append(end);
    new IntersectionObserver(seen => {
      if (!seen[0].isIntersecting) return;
      document.title = ++shown + ' seen';
      end.style.marginTop = 4000 * (shown + 1) + 'px';
    }).observe(end);
    })()</script>"""
    began = time.monotonic()
    found = done(keeper.page(script, fetch, scroll=3, screenshot=True, timeout_s=30.0))
    assert b"<title>3 seen</title>" in found.dom
    assert found.screenshot.startswith(b"\x89PNG")
    assert time.monotonic() - began < 20


def test_a_picture_of_a_page_that_never_rests(keeper: Keeper) -> None:
    """Of a page that is still loading when its time is over, a picture is taken as well."""
    over = threading.Event()

    def fetch(ask: Ask) -> Answer:
        over.wait(30)
        return Answer(ask.number)

    found = keeper.page(f"{GOOD}<script>fetch('/never')</script>", fetch, screenshot=True, timeout_s=3.0)
    over.set()
    assert isinstance(found, Rendered), found
    assert found.ended == "timeout"
    assert found.screenshot.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "script",
    [
        "location = 'about:blank'",
        "setTimeout(() => location.replace('about:blank'), 100)",
        "open('', '_self'); close(); history.back(); setTimeout(() => location.href = 'about:blank', 500)",
        "history.go(-1); history.forward()",
    ],
)
def test_a_page_that_does_not_want_to_be_watched(keeper: Keeper, script: str) -> None:
    """It cannot leave an empty page behind, nor let itself be waited for."""
    found = done(keeper.page(f"{GOOD}<script>{script}</script>"))
    assert b"a good page" in found.dom


def test_a_page_that_leaves_by_its_frame(keeper: Keeper) -> None:
    """What is empty since its scripts have left it is no page."""
    script = "document.body.append(document.createElement('iframe')); frames[0].history.back()"
    found = keeper.page(f"<body>{GOOD}<script>setTimeout(() => {{ {script} }}, 100)</script>", timeout_s=5.0)
    assert trouble(found) == ("its scripts have left it for about:blank", False)


def test_the_history_of_a_page(keeper: Keeper) -> None:
    """Within its own history a page may go back and forward."""
    script = """onpopstate = () => { document.title += location.pathname; if (location.pathname == '/') history.go(1) };
    history.pushState({}, '', '/b'); history.back();"""
    assert b"<title>//b</title>" in done(keeper.page(f"<script>{script}</script>")).dom


def test_a_page_that_becomes_too_large() -> None:
    """That is known at once, and said as it is."""
    keeper = Keeper(MAX_BYTES=100_000)
    try:
        found = keeper.page("<body hidden><script>document.body.append('x'.repeat(2e6))</script>", max_bytes=100_000)
        assert trouble(found) == ("its DOM is too large (more than 100000 bytes)", False)
    finally:
        keeper.close()


def test_a_form_that_a_page_sends(keeper: Keeper) -> None:
    """A page that submits a form by POST stays where it is; where that leads cannot be had by a GET, and is no link."""
    form = "<form method=post action=/search><input name=q value=1></form><script>document.forms[0].submit()</script>"
    found = done(keeper.page(GOOD + form))
    assert (found.went_to, found.blocked) == ((), {"form": 1})
    assert b"a good page" in found.dom


def test_what_a_page_sends_has_a_bound(keeper: Keeper) -> None:
    """A page may not send more than it may load."""
    asked: list[int] = []

    def fetch(ask: Ask) -> Answer:
        asked.append(len(ask.body))
        return Answer(ask.number, 200, tuple(HEADERS.items()), b"x")

    script = """<script>(async () => {
    for (let n = 0; n < 9; n++) await fetch('/p', {method: 'POST', body: 'x'.repeat(300000)}).catch(() => 0);
    document.title = 'sent'; })()</script>"""
    found = done(keeper.page(script, fetch, max_bytes=1_000_000))
    assert asked == [300_000] * 3
    assert found.blocked == {"max_bytes": 6}
    assert b"<title>sent" in found.dom


def test_a_process_that_dies_while_its_page_waits(keeper: Keeper) -> None:
    """It is known at once, not only when the page's time is over, and another try may help."""
    found = keeper.page("<script>fetch('/a')</script>", lambda ask: _killed(keeper, ask), timeout_s=100.0)
    assert isinstance(found, Trouble)
    assert found.retry
    assert "its process has died" in found.message


def _killed(keeper: Keeper, ask: Ask) -> Answer:
    for pid in descendants(keeper.pid()):
        if b"--type=renderer" in _command(pid):
            _end(pid)
    return Answer(ask.number)


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_a_fetch_that_raises(keeper: Keeper) -> None:
    """What is raised while a page's requests are answered is raised for the page, and does not hang it."""

    def fetch(ask: Ask) -> Answer:
        raise LookupError(ask.url)

    with pytest.raises(LookupError):
        keeper.page("<script>fetch('/a')</script>", fetch)


def test_other_hosts_need_not_wait_for_the_own_one(keeper: Keeper) -> None:
    """While requests to the page's own host wait for each other, those to other hosts are answered."""
    others = threading.Semaphore(0)

    def fetch(ask: Ask) -> Answer:
        if ask.url.startswith(URL):
            assert others.acquire(timeout=10)
        else:
            others.release()
        return Answer(ask.number, 200, (*HEADERS.items(), ("access-control-allow-origin", "*")), b"x")

    script = """<script>Promise.all([
        ...Array.from({length: 8}, (_, n) => fetch('/own' + n)),
        ...Array.from({length: 8}, (_, n) => fetch('http://127.0.69.2/' + n)),
    ]).then(all => document.title = all.length)</script>"""
    assert b"<title>16</title>" in done(keeper.page(script, fetch)).dom


def test_what_a_page_takes_of_the_processor(keeper: Keeper) -> None:
    """It is told with the page."""
    script = "<script>let sum = 0; for (let n = 0; n < 2e8; n++) sum += n % 7; document.title = sum</script>"
    assert done(keeper.page(script, timeout_s=60.0)).processor_s > 0.1


def test_a_browser_that_hangs(keeper: Keeper) -> None:
    """It is given up, with all its processes and its page; the next page gets another one."""
    stopped: list[int] = []

    def fetch(ask: Ask) -> Answer:
        stopped.extend(_stopped(keeper, b"--remote-debugging-pipe"))
        return Answer(ask.number)

    found = keeper.page("<script>fetch('/a')</script>", fetch, timeout_s=2.0)
    assert trouble(found) == ("its scripts, or what they ask of the browser, took more than 2 s", False)
    assert b"a good page" in done(keeper.page(GOOD)).dom
    assert stopped
    assert not any(map(_runs, stopped))


def test_a_browser_that_opens_no_page(keeper: Keeper) -> None:
    """One that answers, but does nothing, gets no more pages: another one takes its place."""
    keeper.page(GOOD)
    assert _stopped(keeper, b"network.mojom")
    found = keeper.page(GOOD, timeout_s=2.0)
    assert trouble(found) == ("the browser has not opened it within 2 s", True)
    assert b"a good page" in done(keeper.page(GOOD)).dom


def _stopped(keeper: Keeper, name: bytes) -> list[int]:
    """Stop the processes of the browser whose arguments have a name."""
    found = [pid for pid in descendants(keeper.pid()) if name in _command(pid) and b"reaper.py" not in _command(pid)]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return found


def test_a_browser_that_dies_while_it_is_idle(keeper: Keeper) -> None:
    """Another one takes its place; nothing of the first is left."""
    keeper.page(GOOD)
    before = set(descendants(keeper.pid()))
    for pid in before:
        if b"fscrawl-browser-" in _command(pid):
            _end(pid)
    found = keeper.page(GOOD)
    if isinstance(found, Trouble):  # it came before the browser's end was seen
        assert found.retry
        found = keeper.page(GOOD)
    assert b"a good page" in done(found).dom
    assert not {pid for pid in before & set(descendants(keeper.pid())) if _runs(pid)}


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_page_that_takes_long_gives_way() -> None:
    """It does so once, and only if another page waits. When it comes again, it has its time."""
    keeper, waits, is_open = Keeper(), threading.Event(), threading.Event()

    def fetch(ask: Ask) -> Answer:
        waits.set()
        assert is_open.wait(60)
        return Answer(ask.number, 200, tuple(HEADERS.items()), b"x")

    def slow() -> Rendered | Trouble | GaveWay:
        script = "<script>fetch('/a').then(() => document.title = 'came')</script>"
        return keeper.page(script, fetch, timeout_s=60.0)

    with contextlib.closing(keeper), ThreadPoolExecutor(2) as pool:
        first = pool.submit(slow)
        assert waits.wait(60)
        quick = pool.submit(keeper.page, GOOD, url=OTHER)
        assert isinstance(first.result(60), GaveWay)
        assert b"a good page" in done(quick.result(60)).dom
        waits.clear()
        again = pool.submit(slow)
        assert waits.wait(60)
        quick = pool.submit(keeper.page, GOOD, url=OTHER)
        time.sleep(QUICK_S + 2)
        assert not again.done()
        is_open.set()
        assert b"<title>came" in done(again.result(60)).dom
        done(quick.result(60))
