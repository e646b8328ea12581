"""A site of single-page applications, for measuring: each page is a script that fetches its text and its links as JSON.

    python -m benchmarks.spa_web HOST PORT PAGES SECONDS      serves for so long at most

Every third page gets its JSON only after a second of its own clock, as pages do that wait for something else first.
"""

from __future__ import annotations

import json
import re
import sys
import threading

from tests.support.web import HTML, Request, Response, Web

SHELL = "<!doctype html><meta charset=utf-8><title>loading</title><div id=app></div><script src=/app.js></script>"
APP = """
const start = async () => {
  const page = await (await fetch("/api" + location.pathname)).json();
  document.title = page.title;
  const item = number => `<li><a href="/page/${number}">page ${number}</a></li>`;
  document.getElementById("app").innerHTML =
    `<h1>${page.title}</h1><p>${page.text}</p><ul>${page.links.map(item).join("")}</ul>`;
};
const number = Number(location.pathname.split("/")[2] || 0);
number % 3 == 2 ? setTimeout(start, 1000) : start();
"""
_TEXT = "The text of this page is fetched by a script, as is everything else on it. " * 20
_LINKS = 5


def pages(count: int) -> list[str]:
    """List the paths of all pages."""
    return ["/", *(f"/page/{number}" for number in range(1, count))]


def answer(request: Request, count: int) -> Response:
    """Answer as the site does."""
    found = re.fullmatch(r"(/api)?/(?:page/(\d+))?", request.path)
    if request.path == "/app.js":
        headers = {"Content-Type": "text/javascript", "Cache-Control": "max-age=3600"}
        return Response(200, headers, APP.encode())
    if found is None or int(found[2] or 0) >= count:
        return Response(404, {"Content-Type": "text/plain"})
    if found[1] is None:
        return Response(200, HTML, SHELL.encode())
    number = int(found[2] or 0)
    links = [each for each in range(number * _LINKS + 1, number * _LINKS + _LINKS + 1) if each < count]
    data = {"title": f"Page {number}", "text": _TEXT, "links": links}
    return Response(200, {"Content-Type": "application/json"}, json.dumps(data).encode())


def main() -> None:
    host, port, count, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    with Web(lambda request: answer(request, count), [host], port, deadline_s=seconds + 5):
        print("serving", flush=True)
        threading.Event().wait(seconds)


if __name__ == "__main__":
    main()
