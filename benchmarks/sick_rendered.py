"""One host whose pages are rendered, beside eight that mean harm to the browser: how many of its pages are stored?

A mix is a script that all pages of the neighbours have:
  scripts    never ends
  loads      asks for something that does not come
  many       asks for 500 things, each of which takes 0.3 s
  posts      has a worker that posts 200 MB, again and again
  memory     takes memory without end
  history    makes entries of the history without end, which the browser's main process must keep
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from tests.support.crawling import Running, command, pages
from tests.support.web import HTML, Request, Response, Web

HEALTHY, NEIGHBOURS = "127.5.9.1", [f"127.5.9.{n}" for n in range(11, 19)]
MIXES = {
    "scripts": "setTimeout(() => { for (;;); }, 10)",
    "loads": "fetch('/never')",
    "many": "for (let n = 0; n < 500; n++) fetch('/slow' + n)",
    "posts": """const code = `const post = () =>
        fetch("${origin}/post", {method: "POST", body: new Blob([new Uint8Array(2e8)])}).finally(post); post(); post()`;
        new Worker(URL.createObjectURL(new Blob([code])))""",
    "memory": "const all = []; for (;;) all.push(new Uint8Array(2e7).fill(7))",
    "history": "for (;;) history.pushState({}, '', '/' + Math.random())",
}
_OF_HEALTHY = "fetch('/data').then(answer => answer.text()).then(text => document.title = text)"
_DELAYS_S = {"/never": 60.0, "/slow": 0.3}
_LINKS = 5


def healthy_pages(mix: str, seconds: float) -> int:
    """Give how many pages are stored so many seconds after the first request. `mix`: "alone" is one, too."""
    neighbours = NEIGHBOURS if mix in MIXES else []
    began: list[float] = []
    with (
        Web(lambda request: _answer(request, MIXES.get(mix, "")), [HEALTHY, *NEIGHBOURS], deadline_s=120) as web,
        tempfile.TemporaryDirectory(prefix="fscrawl-sick-") as directory,
    ):
        hosts = [*neighbours, HEALTHY]
        settings = {"politeness.delay": 0, "render.hosts": json.dumps([f"{host}:{web.port}" for host in hosts])}
        root = Path(directory, "tree")
        crawl = command(root, seeds=[web.url(host) for host in hosts], settings=settings, workers=2, threads=8)

        def over() -> bool:
            if web.exchanges and not began:
                began.append(min(each.arrived for each in web.requests()))
            return bool(began) and time.monotonic() > began[0] + seconds

        with Running(crawl) as running:
            running.until(over, f"the end of {mix}", seconds + 60)
        return sum(f"//{HEALTHY}:" in url for url in pages(root))


def _answer(request: Request, script: str) -> Response:
    if request.path == "/robots.txt":
        return Response(404, {"Content-Type": "text/plain"})
    if request.path in ("/data", "/post"):
        return Response(200, {"Content-Type": "text/plain"}, b"a title")
    delay_s = next((seconds for path, seconds in _DELAYS_S.items() if request.path.startswith(path)), 0.0)
    number = int(request.path[1:] or 0) if not delay_s else 0
    links = "".join(f'<a href="/{number * _LINKS + n}">x</a>' for n in range(1, _LINKS + 1))
    script = _OF_HEALTHY if request.host == HEALTHY else script
    return Response(200, HTML, f"<body>{links}<script>{script}</script>".encode(), delay_s)
