"""A database of journal articles behind a search form, as `examples/journals` crawls it.

    /start                     gives a session, as a cookie
    POST /search               searches for a day and a class in that session; answers with the first page of results
    /results?page=2            another page of what was searched for last in the session
    /article/<number>          an article: labels and values, in which labels come and go

A session serves 15 lists; then, and without a session, lists are a redirect to /login. At random an answer is a captcha
or a page with nothing but a script, both with status 200. A search shows 120 pages at most. Some articles fail for as
long as the site is `ill`, and so does one class.
"""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.server import Request, Response
from tests.imitations.frame import answer, missing, rng

LABELS = ("Authors", "Source", "Published", "DOI", "Keywords", "Fund")  # as an article may have them
SERVES = 15  # lists for each session
ILL_CLASS = "Z9"
CAPTCHA = '<form id="captcha"><img src="/captcha.png"> are you a human?</form>'
SCRIPT = '<script>location.replace("/verify?back=" + location.pathname)</script>'


@dataclass
class _Session:
    searched: tuple[str, str] = ("", "")
    served: int = 0


@dataclass
class Journals:
    """`results`: articles of each search, in turn; `is_ill`: what fails, fails."""

    days: tuple[str, ...] = ("2024-01-01", "2024-01-02", "2024-01-03")
    classes: tuple[str, ...] = ("Q1", "R2", ILL_CLASS)
    results: tuple[int, ...] = (130, 0, 49, 50, 901, 51)
    a_page: int = 50
    most_pages: int = 120
    is_ill: bool = True
    sessions: dict[str, _Session] = field(default_factory=dict)
    traps: int = 0  # captchas, scripts and log-ins that were answered
    host = "127.0.80.1"
    port = 8801

    def __post_init__(self) -> None:
        self._numbers, self._answers = itertools.count(1), itertools.count(1)
        self._lock = threading.Lock()
        searches = itertools.product(self.days, self.classes)
        counts = zip(searches, itertools.cycle(self.results), strict=False)
        self.found: dict[tuple[str, str], list[int]] = {}
        first = 1
        for search, count in counts:
            self.found[search] = list(range(first, first + count))
            first += count

    # -- what it answers

    def __call__(self, request: Request) -> Response:
        path = urlsplit(request.path).path
        if path == "/start":
            name = f"s{next(self._numbers)}"
            self.sessions[name] = _Session()
            return answer("<p>welcome", headers={"Set-Cookie": f"sid={name}; Path=/; HttpOnly"})
        if path in ("/search", "/results"):
            return self._list(request)
        number = path.removeprefix("/article/")
        if number.isdecimal() and int(number) in self._listed():
            return self._article(int(number))
        return answer("<form id=login>user and password</form>") if path == "/login" else missing()

    def _list(self, request: Request) -> Response:
        session = self._session_of(request)
        if session is None or session.served >= SERVES:
            return self._trap(Response(302, {"Location": "/login"}))
        session.served += 1
        if rng("captcha", next(self._answers)).random() < 0.06:
            return self._trap(answer(CAPTCHA if session.served % 2 else SCRIPT))
        page = 1
        if request.method == "POST":
            form = parse_qs(request.body.decode())
            session.searched = (form["day"][0], form["class"][0])
        else:
            page = int(parse_qs(urlsplit(request.path).query)["page"][0])
        if session.searched not in self.found:
            return missing()
        if session.searched[1] == ILL_CLASS and self.is_ill:
            return self._trap(answer(CAPTCHA))
        return answer(self._results(session.searched, page))

    def _session_of(self, request: Request) -> _Session | None:
        sid = SimpleCookie(request.headers.get("cookie", "")).get("sid")
        return self.sessions.get(sid.value) if sid is not None else None

    def _trap(self, response: Response) -> Response:
        with self._lock:
            self.traps += 1
        return response

    def _results(self, search: tuple[str, str], page: int) -> str:
        found = self.found[search]
        shown = found[(page - 1) * self.a_page : page * self.a_page]
        if not shown:
            return "<p class=none>nothing found</p>"
        rows = "".join(f'<tr><td><a href="/article/{number}">{_title(number)}</a></tr>' for number in shown)
        more = page * self.a_page < len(found) and page < self.most_pages
        link = f'<a class=next href="/results?page={page + 1}">next</a>' if more else ""
        return f"<p>{len(found)} results</p><table class=results>{rows}</table>{link}<a href=/about>about</a>"

    def _article(self, number: int) -> Response:
        if self.is_ill and number % 97 == 0:
            return answer("<h1>try again later</h1>", status=500)
        values = _labelled(number).items()
        pairs = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in values)
        return answer(f"<h1>{_title(number)}</h1><dl class=article>{pairs}</dl><a href=/login>log in</a>")

    # -- the truth

    def _listed(self) -> set[int]:
        """Give the articles that some page of results shows."""
        most = self.most_pages * self.a_page
        return {number for numbers in self.found.values() for number in numbers[:most]}

    def stored(self) -> set[tuple[str, str]]:
        found = {(f"/article/{number}", "") for number in self._listed()}
        for (day, class_), numbers in self.found.items():
            pages = min(max(1, -(-len(numbers) // self.a_page)), self.most_pages)
            found.add(("/search", f"day={day}&class={class_}"))
            # The number of a page says nothing of the search: that is in the name of the session.
            found |= {(f"/results?page={page}", f"{day} {class_}") for page in range(2, pages + 1)}
        return found

    def rows(self) -> list[dict[str, Any]]:
        return [_row(number) for number in sorted(self._listed())]


def _title(number: int) -> str:
    return f"On the nature of subject {number}"


def _labelled(number: int) -> dict[str, str]:
    """Give the labels and values of an article, in the order of its page."""
    chance = rng("article", number)
    values = {
        "Authors": "; ".join(f"Author {chance.randrange(500)}" for _ in range(chance.randint(1, 4))),
        "Source": f"Journal {number % 11}",
        "Published": f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}",
        "DOI": f"10.5555/{number}",
        "Keywords": f"key {number % 7}",
        "Fund": f"Fund {number % 5}",
    }
    return {label: values[label] for label in LABELS if label == "Source" or chance.random() < 0.8}


def _row(number: int) -> dict[str, Any]:
    labelled = _labelled(number)
    authors = labelled.get("Authors")
    return {
        "number": number,
        "heading": _title(number),
        "authors": authors.split("; ") if authors else None,
        "source": labelled.get("Source"),
        "published": labelled.get("Published"),
        "doi": labelled.get("DOI"),
        "labels": json.dumps(labelled, ensure_ascii=False),
    }
