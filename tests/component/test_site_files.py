"""Crawls with a site file: a search form behind sessions, captchas among the answers, kills, mistakes in the file."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from fscrawl import cli
from fscrawl.request import Request as Asked
from fscrawl.request import spelling
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.neighbours import customised
from tests.support.sessions import await_end
from tests.support.web import Request, Response, Web

A, B = "127.0.62.1", "127.0.62.2"
HTML = {"Content-Type": "text/html; charset=utf-8"}
DAYS, HITS, A_PAGE, SERVES = 6, 23, 10, 4
SITE = f"""\
from fscrawl.site import Request, Site, Unexpected, dates

class Journals(Site):
    hosts = ["{A}"]
    renew_after = {SERVES}

    def seeds(self):
        for day in dates("2024-01-01", "2024-01-0{DAYS}"):
            yield Request("http://{A}:PORT/find", form={{"day": day, "page": 1}}, session=day)

    def open_session(self, session, send):
        assert send("/start").status == 200

    def expect(self, page):
        if page.status == 302 or page.css("#captcha"):
            raise Unexpected("not the list", renew=page.status == 302)

    def follow(self, page):
        yield from page.css("a.hit::attr(href)")
        for number in page.css("a.next::attr(data-page)"):
            form = {{"day": page.request.session, "page": number}}
            yield Request(page.url, form=form, session=page.request.session)
"""


class Journals:
    """A search form. A session serves so many searches; each seventh answer is a captcha with status 200."""

    def __init__(self) -> None:
        self._numbers, self._answers = itertools.count(1), itertools.count(1)
        self.served: dict[str, int] = {}
        self.refused = 0

    def __call__(self, request: Request) -> Response:
        path = request.path
        if path == "/start":
            sid = str(next(self._numbers))
            self.served[sid] = 0
            return Response(200, {**HTML, "Set-Cookie": f"sid={sid}"}, b"welcome")
        if path == "/find" and request.method == "POST":
            return self._list(request)
        if path.startswith("/item/"):
            return Response(200, HTML, f"<h1>{path}</h1>".encode())
        return Response(404, HTML, b"nothing here")

    def _list(self, request: Request) -> Response:
        sid = request.headers.get("cookie", "").removeprefix("sid=")
        if self.served.get(sid, SERVES) >= SERVES:
            self.refused += 1
            return Response(302, {"Location": "/login"}, b"")
        self.served[sid] += 1
        if next(self._answers) % 7 == 0:
            return Response(200, HTML, b"<div id=captcha>are you human?</div>")
        fields = parse_qs(request.body.decode())
        day, page = fields["day"][0], int(fields["page"][0])
        hits = range((page - 1) * A_PAGE, min(HITS, page * A_PAGE))
        links = "".join(f'<a class=hit href="/item/{day}-{n}">{n}</a>' for n in hits)
        more = f"<a class=next data-page={page + 1}>next</a>" if page * A_PAGE < HITS else ""
        return Response(200, HTML, f"<title>{day}</title>{links}{more}<a href=/imprint>i</a>".encode())


def wanted(web: Web) -> set[str]:
    """Give the truth of the imitation, as requests."""
    found = set()
    for day in (f"2024-01-0{n}" for n in range(1, DAYS + 1)):
        found |= {web.url(A, f"/item/{day}-{n}") for n in range(HITS)}
        for page in range(1, -(-HITS // A_PAGE) + 1):
            found.add(spelling(Asked(web.url(A, "/find"), form={"day": day, "page": page}, session=day)))
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def site_file(tmp_path: Path, web: Web, text: str = SITE) -> str:
    path = tmp_path / "site.py"
    path.write_text(text.replace("PORT", str(web.port)))
    return str(path)


@pytest.mark.gate
def test_a_search_form(root: Path, tmp_path: Path) -> None:
    """Every list and every item is stored, captchas and log-ins are not; sessions are opened when they must be."""
    with Web(imitation := Journals(), [A]) as web:
        done = crawl(root, "--site", site_file(tmp_path, web), workers=1)
        assert done.code == 0, done
        assert set(pages(root)) == wanted(web)
        assert errors(root) == {}
        assert imitation.refused == 0
        searches = len([each for each in web.exchanges if each.path == "/find"])
        assert searches > DAYS * 3  # some answers were captchas
        assert max(imitation.served.values()) <= SERVES
        asked = len(web.exchanges)
        assert crawl(root, "--site", site_file(tmp_path, web)).code == 0
        assert len(web.exchanges) == asked
    check_tree(root)
    texts = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    assert not any(b"sid=" in text for text in texts)  # nothing of a session is stored


@pytest.mark.gate
def test_killed_in_the_middle(root: Path, tmp_path: Path) -> None:
    """Machines that are killed lose their sessions and no page: others open theirs, and complete the crawl."""
    with Web(Journals(), [A]) as web:
        file = site_file(tmp_path, web)
        settings = {"fleet.beat": 1, "fleet.dead_after": 4}
        for least in (5, 30, 60):
            with Running(command(root, "--site", file, settings=settings, workers=2)) as running:
                running.until(lambda least=least: len(pages(root)) >= least, f"{least} pages")
                running.signal(signal.SIGKILL, group=True)
        with Running(command(root, "--site", file)) as one, Running(command(root, "--site", file)) as other:
            assert [one.wait().code, other.wait().code] == [0, 0]
        assert set(pages(root)) == wanted(web)
        assert errors(root) == {}
    check_tree(root)


@pytest.mark.gate
def test_machines_must_have_the_same_file(root: Path, tmp_path: Path) -> None:
    """A machine that comes with another file, or without one, leaves with one line; the others go on."""
    with Web(Journals(), [A]) as web:
        file = site_file(tmp_path, web)
        with Running(command(root, "--site", file, "--wait")) as first:
            first.until(lambda: len(pages(root)) > 5, "some pages")
            (tmp_path / "other.py").write_text(Path(file).read_text() + "# edited\n")
            for flags, said in (
                (["--site", str(tmp_path / "other.py")], "start all machines with the same"),
                (["--seed", web.url(A, "/item/2024-01-01-1")], "with no site file; start all machines with the same"),
            ):
                done = crawl(root, *flags, workers=1)
                assert done.code == 2, done
                assert said in done.err
                assert "Traceback" not in done.err
            first.until(lambda: set(pages(root)) == wanted(web), "all pages")
            first.signal(signal.SIGINT)
            assert first.wait().code == 130


PLAIN = f"""\
from fscrawl.site import Site

class Plain(Site):
    hosts = ["{A}"]

    def seeds(self):
        yield "http://{A}:PORT/"
"""


def linked(request: Request) -> Response:
    links = {"/": "<a href=/a class=x>a</a> <a href=/b>b</a>", "/a": "<a href=/c>c</a>"}
    return Response(200, HTML, (links.get(request.path, "") + "<p>text").encode())


def paths(root: Path) -> set[str]:
    return {"/" + url.split("/", 3)[3] for url in pages(root)}


def test_a_file_that_is_forgotten(root: Path, tmp_path: Path) -> None:
    """A crawl that goes on without its file warns in one line, and one that never had a file does not."""
    narrow = PLAIN + "    def follow(self, page):\n        yield from page.css('a.x::attr(href)')\n"
    with Web(linked, [A]) as web:
        assert crawl(root, "--site", site_file(tmp_path, web, narrow)).code == 0
        done = crawl(root, seeds=[web.url(A)])
        assert done.code == 0, done
        assert done.err.count("this crawl has had a site file of digest ") == 1
        done = crawl(tmp_path / "other", seeds=[web.url(A)])
        assert "site file" not in done.err


def test_another_file_finds_more_in_stored_pages(root: Path, tmp_path: Path) -> None:
    """With a file that follows more, the stored pages are understood anew, and only what is new is fetched."""
    narrow = PLAIN + "    def follow(self, page):\n        yield from page.css('a.x::attr(href)')\n"
    with Web(linked, [A]) as web:
        assert crawl(root, "--site", site_file(tmp_path, web, narrow)).code == 0
        assert paths(root) == {"/", "/a"}
        assert crawl(root, "--site", site_file(tmp_path, web, PLAIN)).code == 0
        assert paths(root) == {"/", "/a", "/b", "/c"}
        assert web.duplicates() == {}


@pytest.mark.parametrize(
    ("lines", "class_", "said"),
    [
        (["def expect(self, page):", "    page.nothing"], "site", "site.py:10: expect: AttributeError"),
        (["def follow(self, page):", "    return 7"], "site", "follow: gave 7; it must give requests"),
    ],
)
def test_mistakes_that_pages_show(root: Path, tmp_path: Path, lines: list[str], class_: str, said: str) -> None:
    """A mistake is a failure of the pages that show it, with its place; other hosts are crawled as ever."""
    text = PLAIN + "\n" + "".join(f"    {line}\n" for line in lines)
    with Web(linked, [A, B]) as web:
        done = crawl(root, "--site", site_file(tmp_path, web, text), seeds=[web.url(B)])
        assert done.code == 0, done
        assert {url for url in pages(root) if A in url} == set()
        assert len(pages(root)) == 4
        [failure] = errors(root).values()
        assert failure.class_ == class_
        assert said in failure.message


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (["yield 'http://HOST/'", "yield 7"], "seeds: gave 7; it must give URLs and Requests"),
        (["yield 'http://HOST/'", "1 / 0"], "site.py:8: seeds: ZeroDivisionError"),
    ],
)
def test_mistakes_in_seeds(root: Path, tmp_path: Path, seeds: list[str], said: str) -> None:
    """What seeds gave before a mistake is crawled; one line names the mistake."""
    with Web(linked, [A]) as web:
        text = PLAIN.partition("        yield")[0] + "".join(f"        {line}\n" for line in seeds)
        done = crawl(root, "--site", site_file(tmp_path, web, text.replace("HOST", f"{A}:{web.port}")))
        assert done.code == 1, done
        assert "finished: nothing is left to fetch, but seeds are missing: " in done.out
        assert paths(root) == {"/", "/a", "/b", "/c"}
        assert said in done.err
        assert done.err.count(said) == 1


@pytest.mark.gate
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def x(:", "site.py:1: SyntaxError: invalid syntax"),
        ("import os; os._exit(1)", "site.py: loading it has not ended after 30 s, or has ended its process"),
        ("x = 1", "site.py: it has no site; write a class"),
    ],
)
def test_files_that_cannot_be_used(root: Path, tmp_path: Path, text: str, said: str) -> None:
    """A file with a mistake is refused in one line, before a tree is made."""
    (tmp_path / "site.py").write_text(text)
    done = crawl(root, "--site", str(tmp_path / "site.py"), workers=2)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not root.exists()


IMPATIENT = "import fscrawl.engine.parsing\nfscrawl.engine.parsing._LIMIT_S = 0.2\n"
QUICK = f"{IMPATIENT}import fscrawl.engine.side_process\nfscrawl.engine.side_process.MOST_WAIT_S = 3.0\n"


@pytest.mark.proof
@pytest.mark.parametrize("method", ["expect", "follow"])
def test_a_method_that_never_ends(root: Path, tmp_path: Path, method: str) -> None:
    """It is ended, and is a failure of its page; other hosts do not wait for it."""
    text = f"{PLAIN}\n    def {method}(self, page):\n        while True: pass\n"
    with Web(linked, [A, B]) as web:
        file = site_file(tmp_path, web, text)
        done = crawl(root, "--site", file, seeds=[web.url(B)], env=customised(tmp_path, IMPATIENT))
        assert done.code == 0, done
        assert len(pages(root)) == 4
        [failure] = errors(root).values()
        assert failure.class_ == "parse"
        assert "takes more than" in failure.message


@pytest.mark.gate
def test_an_opening_that_never_ends(root: Path, tmp_path: Path) -> None:
    """It is ended, named with its line, and costs neither its worker nor another host anything."""
    own = "import fscrawl.handlers.sessions\nfscrawl.handlers.sessions.MOST_OWN_S = 0.5\n"
    file = tmp_path / "site.py"
    file.write_text(
        "from fscrawl.site import Request, Site\n\nclass Endless(Site):\n"
        f"    hosts = ['{A}']\n    def open_session(self, session, send):\n"
        "        send('/start')\n        while True:\n            try:\n                pass\n"
        "            except Exception:\n                pass\n"
    )
    with Web(lambda request: Response(200, HTML, b"x"), [A, B]) as web:
        asked = [spelling(Asked(web.url(A, f"/{number}"), session="s")) for number in range(3)]
        words = command(root, "--site", str(file), seeds=[*asked, web.url(B)], workers=1)
        with Running(words, env=customised(tmp_path, own)) as running:
            done = running.wait()
        assert done.code == 0, done
        assert set(pages(root)) == {web.url(B)}
        found = errors(root)
        assert set(found) == set(asked)
        assert {each.class_ for each in found.values()} == {"site"}
        assert all("open_session: TookTooLongError: it does not end" in each.message for each in found.values())
        assert all(f"{file}:" in each.message for each in found.values())


@pytest.mark.gate
def test_seeds_that_never_come(root: Path, tmp_path: Path) -> None:
    """Seeds that do not come are waited for, for a while, and all others are crawled meanwhile."""
    text = PLAIN.partition("        yield")[0] + "        while True: pass\n"
    with Web(linked, [A, B]) as web:
        file = site_file(tmp_path, web, text)
        done = crawl(root, "--site", file, seeds=[web.url(B)], env=customised(tmp_path, QUICK))
    assert done.code == 1, done
    assert len(pages(root)) == 4
    assert done.err.count("site.py: seeds: gave nothing for 3 s") == 1


@pytest.mark.gate
def test_a_file_that_is_never_loaded(root: Path, tmp_path: Path) -> None:
    """A file that does not end when it is loaded is refused after a while."""
    (tmp_path / "site.py").write_text("while True: pass\n")
    done = crawl(root, "--site", str(tmp_path / "site.py"), env=customised(tmp_path, QUICK))
    assert done.code == 2
    assert "site.py: loading it has not ended after 3 s" in done.err
    assert not root.exists()


@pytest.mark.gate
def test_seeds_that_end_their_process(root: Path, tmp_path: Path) -> None:
    """A process that ends while it gives seeds is noticed, and the other seeds are crawled."""
    with Web(linked, [A, B]) as web:
        text = PLAIN.partition("        yield")[0] + "        import os\n        os._exit(3)\n"
        done = crawl(root, "--site", site_file(tmp_path, web, text), seeds=[web.url(B)], workers=2)
        assert done.code == 1, done
        assert "site.py: seeds: its process has ended; no more seeds are taken" in done.err
        assert len(pages(root)) == 4


SLOW = PLAIN.replace("        yield", "        import time\n        yield") + "        time.sleep(60)\n"


@pytest.mark.gate
def test_an_interrupt_while_seeds_are_awaited(root: Path, tmp_path: Path) -> None:
    """The machine stores what it has and leaves at once; the process of the seeds ends with it."""
    with Web(linked, [A]) as web, Running(command(root, "--site", site_file(tmp_path, web, SLOW))) as running:
        running.until(lambda: len(pages(root)) == 4, "all pages of the seed that has come")
        running.signal(signal.SIGTERM)
        done = running.wait(20)
        assert done.code == 143, done
        await_end(running.process.pid)


@pytest.mark.gate
def test_an_edit_while_seeds_are_awaited(root: Path, tmp_path: Path) -> None:
    """An edit of the settings does not end the crawl before the seeds have come."""
    late = SLOW.replace("        yield", "        time.sleep(4)\n        yield").replace("time.sleep(60)", "return")
    with Web(linked, [A]) as web:
        file = site_file(tmp_path, web, late)
        with Running(command(root, "--site", file, settings={"fleet.beat": 0.3})) as running:
            running.until(lambda: list(root.glob(".fscrawl/machines/*.log")), "the machine")
            settings = root / "crawl.toml"
            settings.write_text(settings.read_text().replace("\nretries = 3", "\nretries = 2"))
            done = running.wait()
        assert done.code == 0, done
        assert paths(root) == {"/", "/a", "/b", "/c"}


def test_a_file_that_has_a_mistake_later(root: Path, tmp_path: Path) -> None:
    """Stored pages that show a mistake lead to nothing; with the file mended, they lead where it says."""
    follows = PLAIN + "    def follow(self, page):\n        yield from page.css('a.x::attr(href)')\n"
    with Web(linked, [A]) as web:
        assert crawl(root, "--site", site_file(tmp_path, web, follows)).code == 0
        assert crawl(root, "--site", site_file(tmp_path, web, follows + "        1 / 0\n")).code == 0
        assert paths(root) == {"/", "/a"}
        assert crawl(root, "--site", site_file(tmp_path, web, PLAIN)).code == 0
        assert paths(root) == {"/", "/a", "/b", "/c"}


def test_audit_and_show_by_the_same_file(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the file, audit counts only what it follows as pending, and show names the reason of what it does not."""
    narrow = PLAIN + "    def follow(self, page):\n        yield from page.css('a.x::attr(href)')\n"
    with Web(linked, [A]) as web:
        file = site_file(tmp_path, web, narrow)
        assert crawl(root, "--site", file, seeds=[web.url(A)]).code == 0
        assert cli.main(["audit", "--root", str(root), "--site", file]) == 0
        assert "pending: 0 URLs" in capsys.readouterr().out
        assert cli.main(["show", "--root", str(root), "--site", file, "--inlinks", web.url(A, "/b")]) == 1
        assert "its rules follow other links" in capsys.readouterr().out


def test_nothing_in_a_tree_is_run(root: Path, tmp_path: Path) -> None:
    """A Python file that somebody has put into the tree is not run, whatever it is called."""
    ran = tmp_path / "ran"
    with Web(linked, [A]) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        for name in ("site.py", "fscrawl.py", "sitecustomize.py", ".fscrawl/site.py"):
            (root / name).write_text(f"open({str(ran)!r}, 'w')\n")
        for words in (["--refresh", "0s"], ["--reseed"]):
            assert crawl(root, *words).code == 0
    assert not ran.exists()
