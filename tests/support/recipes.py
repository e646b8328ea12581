"""docs/recipes.md as data, and the web against which its commands are run.

A recipe is a section. Its blocks of `sh` are run one after another, in one directory. A comment before the first of
them says what a reader has already: `a crawl` that has ended, or one that is `running`; and what is needed, or which
exit code its last command has.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from demo.server import Request, Response

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
_BLOCK = re.compile(r"(?:^<!-- (?P<said>.*) -->\n\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE = re.compile(r"^(?:cat > (\S+)|(python) -) ?<<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)

NAMES = (
    *("example.org", "www.example.net", "intranet.example", "members.example", "api.example", "search.example"),
    *("app.example.org", "proxy.example", "wiki.example"),
)
ADDRESS = {name: f"127.0.43.{number}" for number, name in enumerate(NAMES, 1)}


class Recipe(NamedTuple):
    """A section with its blocks of commands, and what the comments before them say."""

    title: str
    said: str
    blocks: tuple[str, ...]


def recipes() -> list[Recipe]:
    """Read the document."""
    found = []
    for section in re.split(r"^## ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        blocks = list(_BLOCK.finditer(text))
        said = " ".join(block["said"] for block in blocks if block["said"])
        found.append(Recipe(title, said, tuple(block["text"] for block in blocks)))
    return found


def files(block: str) -> Iterator[tuple[str, str]]:
    """Give the files that a block writes, by name; what it gives to Python is called "python".

    >>> list(files("cat > a.txt <<'END'\\none\\nEND\\npython - <<'END'\\nprint()\\nEND\\n"))
    [('a.txt', 'one\\n'), ('python', 'print()\\n')]
    """
    for name, python, text in _HERE.findall(block):
        yield name or python, text


def on_loopback(text: str, port: int) -> str:
    r"""Put the addresses of the test's web in place of the names of sites, also in regular expressions and in paths.

    >>> print(on_loopback(r"https://example.org/a '^https://example\.org/' x/htmls/example.org", 8))
    http://127.0.43.1:8/a '^http://127\.0\.43\.1:8/' x/htmls/127.0.43.1_8
    """
    for name, address in ADDRESS.items():
        end = r"(?![\w.-]*\w)"
        text = re.sub(rf"(/(?:htmls|links|files|errs)/){re.escape(name)}{end}", rf"\g<1>{address}_{port}", text)
        for written, found in ((name, address), (name.replace(".", r"\."), address.replace(".", r"\."))):
            ours = f"{found}:{port}".replace("\\", r"\\")
            text = re.sub(rf"https://{re.escape(written)}{end}", f"http://{ours}", text)
            text = re.sub(rf"(?<![\w.]){re.escape(written)}(?::3128)?{end}", ours, text)
    return text


def _html(text: str, *links: str) -> Response:
    body = f"<!DOCTYPE html><title>{text[:20]}</title><h1>{text[:20]}</h1><p>{text}</p>"
    body += "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return Response(200, {"Content-Type": "text/html; charset=utf-8"}, body.encode())


def _json(text: str) -> Response:
    return Response(200, {"Content-Type": "application/json"}, text.encode())


_GERMAN = (
    "Der Leuchtturm steht seit mehr als hundert Jahren auf einer kleinen Insel vor der Küste. Jeden Abend zündete der"
    " Wärter die Lampe an, und in den Nächten, in denen Nebel über dem Wasser lag, läutete er dazu eine Glocke."
)
_ENGLISH = (
    "The lighthouse has stood on a small island off the coast for more than a hundred years. Every evening the keeper"
    " lit the lamp, and in nights when fog lay over the water he rang a bell as well."
)
_SCRIPT = "<!DOCTYPE html><title>App</title><script>document.write('<a href=\"/made\">made</a>')</script>"
MISSING = Response(404, {"Content-Type": "text/plain"}, b"not here")


class RecipeWeb:
    """All sites of the recipes, as a function from request to response."""

    def __init__(self, pdf: bytes) -> None:
        self._pdf = pdf

    def __call__(self, request: Request) -> Response:
        name = next(name for name, address in ADDRESS.items() if address == request.host)
        answer: Response = getattr(self, "_" + name.replace(".", "_"))(request)
        return answer

    def _example_org(self, request: Request) -> Response:
        net = f"http://{ADDRESS['www.example.net']}:{request.headers['host'].partition(':')[2]}/"
        pages = {
            "/robots.txt": Response(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"),
            "/": _html("Front", "/docs/", "/news", "/de", "/leaflet.pdf", "/missing", "/private/report", net),
            "/docs/": _html("Docs", "/docs/one", "/docs/two", "/news", net),
            "/docs/one": _html("One", "/docs/"),
            "/docs/two": _html("Two", "/docs/"),
            "/news": _html(_ENGLISH, "/"),
            "/de": _html(_GERMAN, "/"),
            "/leaflet.pdf": Response(200, {"Content-Type": "application/pdf"}, self._pdf),
        }
        return pages.get(request.path, MISSING)

    def _www_example_net(self, request: Request) -> Response:
        return {"/": _html("Net", "/two"), "/two": _html("Two", "/")}.get(request.path, MISSING)

    def _intranet_example(self, request: Request) -> Response:
        login = base64.b64encode(b"crawler:secret").decode()
        if request.headers.get("authorization") != f"Basic {login}":
            return Response(401, {"WWW-Authenticate": 'Basic realm="x"'}, b"no")
        return {"/": _html("Inside", "/more"), "/more": _html("More", "/")}.get(request.path, MISSING)

    def _wiki_example(self, request: Request) -> Response:
        return {"/": _html("Wiki", "/more"), "/more": _html("More", "/")}.get(request.path, MISSING)

    def _members_example(self, request: Request) -> Response:
        wanted = {b"user": [b"me"], b"password": [b"secret"], b"csrf": [b"t0ken"]}
        if request.path == "/login" and request.method == "GET":
            form = b"<form method=post><input type=hidden name=csrf value=t0ken><input name=user></form>"
            return Response(200, {"Content-Type": "text/html"}, form)
        if request.path == "/login" and parse_qs(request.body) == wanted:
            return Response(303, {"Location": "/", "Set-Cookie": "who=me; Path=/"}, b"")
        if request.path in ("/", "/mine") and "who=me" not in request.headers.get("cookie", ""):
            return Response(302, {"Location": "/login"}, b"")
        pages = {"/": _html("Members", "/mine", "/logout"), "/mine": _html("Mine", "/"), "/help": _html("Help")}
        return pages.get(request.path, MISSING)

    def _api_example(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        if path == "/list":
            page = int(query.removeprefix("page="))
            return _json(json.dumps({"result": [{"url": f"/item/{number}"} for number in (2 * page, 2 * page + 1)]}))
        return _json(f'{{"title": "Item {path.rpartition("/")[2]}"}}') if path.startswith("/item/") else MISSING

    def _search_example(self, request: Request) -> Response:
        if request.method == "POST":
            words = parse_qs(request.body.decode())
            name = f"{words['day'][0]}-{words['class'][0]}"
            body = (
                f'<table class="results"><tr><td><a class="hit" href="/article/{name}">x</a></table><a href="/x">x</a>'
            )
            return Response(200, {"Content-Type": "text/html"}, body.encode())
        return Response(200, {"Content-Type": "text/html"}, b'<h1 class="article">A</h1>')

    def _app_example_org(self, request: Request) -> Response:
        if request.path == "/":
            return Response(200, {"Content-Type": "text/html"}, _SCRIPT.encode())
        return _html("Made") if request.path == "/made" else MISSING

    def _proxy_example(self, request: Request) -> Response:
        if request.headers.get("proxy-authorization") != f"Basic {base64.b64encode(b'me:secret').decode()}":
            return Response(407, {}, b"")
        parts = urlsplit(request.path)
        headers = {**request.headers, "host": parts.netloc}
        return self(replace(request, host=parts.hostname or "", path=parts.path, headers=headers))
