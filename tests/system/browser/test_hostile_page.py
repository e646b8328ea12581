"""The dashboard beside a page that means harm, in the same browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboards import Served
from tests.support.raw import Raw
from tests.support.trees import Grown
from tests.support.web import Response, Web
from tests.system.browser.conftest import HTML, Open

# ruff: noqa: E501 - pages and scripts as they are

pytestmark = pytest.mark.timeout(180)

_HOSTILE = """<!DOCTYPE html><html manifest="{t}/manifest"><head>
<meta charset=utf-8><title><img src={t}/title onerror=alert(1)></title>
<meta http-equiv=refresh content="0;url={t}/refresh">
<meta http-equiv=x-dns-prefetch-control content=on>
<base href="{t}/base/" target=_top>
<link rel=stylesheet href="{t}/css"><link rel=icon href="{t}/icon"><link rel=manifest href="{t}/webmanifest">
<link rel=preload as=image href="{t}/preload"><link rel=prefetch href="{t}/prefetch"><link rel=prerender href="{t}/prerender">
<link rel=modulepreload href="{t}/module"><link rel=preconnect href="{t}"><link rel=dns-prefetch href="{t}">
<style>@import "{t}/import"; @font-face {{ font-family: x; src: url({t}/font) }}
body {{ background: url({t}/background); font-family: x }} li {{ list-style-image: url(relative) }}</style>
<script src="{t}/script"></script><script type=module>import "{t}/import-module"</script>
<script type=speculationrules>{{"prefetch":[{{"urls":["{t}/rules"]}}]}}</script>
<script>
document.title = "ran"; fetch("{t}/fetch"); navigator.sendBeacon("{t}/beacon"); new WebSocket("{t}/ws".replace("http", "ws"));
try {{ top.location = "{t}/top" }} catch (e) {{}} try {{ parent.document.title = "broken out" }} catch (e) {{}}
window.open("{t}/open"); location = "{t}/self"; alert("script ran");
</script></head>
<body onload="fetch('{t}/onload')" background="{t}/body"><ul><li>x</ul>
<img src="{t}/img" srcset="{t}/srcset 2x" onerror="top.location='{t}/onerror'"><img src=x onerror="alert(2)"><img src=relative>
<picture><source srcset="{t}/source"><img></picture><svg><image href="{t}/svg" /><use href="{t}/use#a" /></svg>
<video src="{t}/video" poster="{t}/poster" autoplay></video><audio src="{t}/audio" autoplay></audio><track src="{t}/track">
<iframe src="{t}/iframe"></iframe><iframe srcdoc="<img src={t}/srcdoc><script>top.location='{t}/srcdoc-top'</script>"></iframe>
<object data="{t}/object"></object><embed src="{t}/embed"><input type=image src="{t}/input" autofocus onfocus="alert(3)">
<a id=go href="{t}/go">go</a> <a id=self target=_self href="{t}/go-self">self</a> <a id=blank target=_blank href="{t}/go-blank" ping="{t}/ping">blank</a>
<a id=down href="{t}/down" download target=_self>down</a> <a id=script href="javascript:top.location='{t}/javascript'">script</a>
<form id=form action="{t}/form" target=_top><button id=send>send</button></form>
<form action="{t}/form-self" target=_self method=post><button id=post>post</button></form>
<p id=end>the end</p></body></html>"""


def _behave(connection: Any) -> None:
    connection.recv(65536)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrap"
    )


def test_hostile_page(tmp_path: Path, open_page: Open) -> None:
    """A stored page that tries all it can reaches nobody, not even by a connection, and does not leave its frame."""
    grown = Grown(tmp_path / "tree")
    url = "http://hostile.example/"
    with Raw(_behave) as trap, Raw(_behave) as control, Served(grown.root) as served:
        record = grown.page(url, _HOSTILE.format(t=trap.url("")).encode())
        page = open_page()
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(f"{served.url}#pages?url={url}")
        title = page.locator("#pages-found h3").first
        assert "onerror=alert(1)" in title.inner_text()
        frame = page.frame_locator("iframe")
        frame.locator("#end").wait_for()
        here = page.url
        for name in ("go", "self", "blank", "down", "script", "send", "post"):
            frame.locator(f"#{name}").click(no_wait_after=True)
        assert frame.locator("#end").inner_text() == "the end"
        # by its own address too, as somebody may open it
        bare = page.context.new_page()
        bare.goto(f"{served.url}body/hostile.example/{record.key}")
        bare.locator("#end").wait_for()
        assert bare.title() == f"<img src={trap.url('')}/title onerror=alert(1)>"
        assert len(page.context.pages) == 2
        # the same page without the policy: proof of the trap, and time for all that was begun before
        open_control(page, control)
        assert trap.accepted == 0
        assert page.url == here
        assert dialogs == []


def open_control(page: Any, control: Raw) -> None:
    hostile = (
        _HOSTILE.format(t=control.url(""))
        .replace("alert(", "void(")
        .replace("http-equiv=refresh", "x")
        .replace("location", "x")
    )
    with Web(lambda request: Response(200, HTML, hostile.encode()), ["127.0.21.99"]) as web:
        other = page.context.new_page()
        other.goto(web.url("127.0.21.99"), wait_until="commit")
        other.locator("#end").wait_for()
        for _ in range(100):
            if control.accepted >= 10:
                return
            other.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    raise AssertionError(f"the trap caught {control.accepted} connections only")
