"""`fscrawl try`: what a crawl would make of a page, shown without a trace in the tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fscrawl import cli
from fscrawl.config.settings import END
from fscrawl.engine import parsing
from fscrawl.monitor import attempt
from tests.support.crawling import crawl
from tests.support.trees import contents
from tests.support.web import Request, Response, Web

HTML = {"Content-Type": "text/html; charset=gbk"}
HOME = """<title>主页</title><a href=/a>a</a> <a href=/private/x>x</a> <a href=http://b.invalid/>b</a>
<a rel=nofollow href=/n>n</a> <a href=/skip/x>s</a>""".encode("gbk")


def site(request: Request) -> Response:
    pages = {
        "/robots.txt": Response(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"),
        "/": Response(200, HTML, HOME),
        "/a": Response(200, {"Content-Type": "text/html", "X-Robots-Tag": "noarchive"}, b"<title>A</title>"),
        "/old": Response(301, {"Location": "/a"}, b""),
        "/pdf": Response(200, {"Content-Type": "application/x-unheard-of"}, b"\0"),
        "/busy": Response(503, {}, b""),
    }
    return pages.get(request.path, Response(404, {"Content-Type": "text/plain"}, b"nothing here"))


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(site, ["127.0.30.1"]) as web:
        yield web


LOCAL = ["--set", "fetch.allow_addresses=['127.0.0.0/8']", "--set", "politeness.delay=0"]


def tried(capsys: pytest.CaptureFixture[str], url: str, *flags: str) -> dict[str, Any]:
    code = cli.main(["try", url, "--json", *flags])
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (0 if facts["stored"] == "page" else 1)
    return facts


def test_a_page_without_a_tree(web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a tree the usual settings count, those of the command line on top: each link says what becomes of it."""
    home = web.url("127.0.30.1")
    found = tried(capsys, home, *LOCAL, "--set", 'crawl.deny=["/skip/"]')
    assert (found["status"], found["encoding"], found["title"]) == (200, "gbk", "主页")
    assert found["follow"] == [f"{home}a", f"{home}private/x"]
    assert found["cut"] == [
        {"url": "http://b.invalid/", "rule": 'scope = "domain"'},
        {"url": f"{home}skip/x", "rule": 'deny = "/skip/"'},
        {"url": f"{home}n", "rule": "follow_nofollow = false"},
    ]


def test_for_people(web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed for people says the same in lines."""
    home = web.url("127.0.30.1")
    assert cli.main(["try", home, *LOCAL]) == 0
    out = capsys.readouterr().out
    assert "encoding  gbk, declared\ntitle     主页\nlinks     3 links to follow, 2 not\n" in out
    assert f"  follow  {home}a\n" in out
    assert '  cut     http://b.invalid/: scope = "domain"\n' in out
    assert cli.main(["try", f"{home}a", *LOCAL]) == 0
    assert "robots    noarchive\nlinks     0 links to follow, 0 not\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("old", "redirect  to http://127.0.30.1:{port}/a"),
        ("pdf", "no body   type application/x-unheard-of, which fetch.accept does not name"),
        ("gone", "failed    http-4xx: the server answered 404"),
        ("busy", "failed    http-5xx: the server answered 503"),
        ("private/x", "failed    robots: robots.txt does not allow it: "),
    ],
)
def test_what_is_no_page(web: Web, capsys: pytest.CaptureFixture[str], path: str, said: str) -> None:
    """What a crawl would not store as a page is named with the reason, and the exit code is 1."""
    assert cli.main(["try", web.url("127.0.30.1", f"/{path}"), *LOCAL]) == 1
    assert said.format(port=web.port) in capsys.readouterr().out


def test_an_address_that_is_not_public(web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """What permits such an address is named."""
    url = web.url("127.0.30.1")
    assert cli.main(["try", url]) == 1
    said = '127.0.30.1 is a private address; if it is yours, write allow_addresses = ["127.0.30.1"] below [fetch]'
    assert said in capsys.readouterr().out
    assert tried(capsys, url, "--set", 'fetch.allow_addresses=["127.0.30.0/24"]')["status"] == 200


def test_a_page_of_a_crawl(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings and seeds of a tree count, and nothing of it is changed; --stored reads the page from it."""
    root, home = tmp_path / "tree", web.url("127.0.30.1")
    settings = {"crawl.scope": "host", "crawl.max_depth": "0", "crawl.deny": '["/skip/"]'}
    assert crawl(root, "--quiet", seeds=[home], settings=settings).code == 0
    before, asked = contents(root), web.count()
    stored = tried(capsys, home, "--root", str(root), "--stored")
    assert web.count() == asked
    assert stored["follow"] == []
    assert [each["rule"] for each in stored["cut"]].count("max_depth = 0") == 2, "it may follow nothing at all"
    assert (
        tried(capsys, home, "--root", str(root)) | {"elapsed": stored["elapsed"], "headers": stored["headers"]}
        == stored
    )
    assert [each.path for each in web.requests()[asked:]] == ["/"]  # the tree has robots.txt
    assert contents(root) == before
    assert cli.main(["try", f"{home}skip/x", "--root", str(root)]) == 1
    assert 'scope     outside: crawl.deny = "/skip/"; a crawl would not ask for it' in capsys.readouterr().out
    assert cli.main(["try", f"{home}nothing?a=1&b=2", "--root", str(root), "--stored"]) == 1, "the tree can be used"
    said = capsys.readouterr().err
    assert f"{home}nothing?a=1&b=2: the tree has no page of it; to see why:" in said
    assert f"'{home}nothing?a=1&b=2'" in said, "it can be pasted into a shell"


WRITTEN = """\
[fetch]
allow_addresses = ['127.0.0.0/8']
[politeness]
delay = 0
[[site]]
hosts  = ["127.0.30.1:PORT"]
follow = ["css:a[href='/a']"]
"""


def test_a_crawl_that_has_not_begun(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings and seeds that lie in a directory count, as they would for the crawl that makes its tree there."""
    (tmp_path / "crawl.toml").write_text(WRITTEN.replace("PORT", str(web.port)))
    home = web.url("127.0.30.1")
    before = contents(tmp_path)
    found = tried(capsys, home, "--root", str(tmp_path))
    assert (found["rules"], found["refused"], found["follow"]) == (
        f"[[site]] 1 (127.0.30.1:{web.port})",
        None,
        [f"{home}a"],
    )
    assert contents(tmp_path) == before
    (tmp_path / "seeds.txt").write_text("http://b.invalid/\n")
    assert tried(capsys, home, "--root", str(tmp_path))["refused"] == 'scope = "domain"'
    assert cli.main(["try", home, "--root", str(tmp_path), "--stored"]) == 2
    assert "--stored reads a page of a tree: give --root DIR of a crawl that has begun" in capsys.readouterr().err
    (tmp_path / "crawl.toml").write_text("[fetch]\naccept_link = []\n")
    assert cli.main(["try", home, "--root", str(tmp_path)]) == 2
    assert f"{tmp_path}/crawl.toml: fetch.accept_link: unknown setting" in capsys.readouterr().err


def test_a_list_that_is_missing(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No machine begins without the list that a template names: before the tree is made, and later, it is said."""
    home = web.url("127.0.30.1")
    table = f'[[site]]\nhosts = ["127.0.30.1"]\nseeds = "{home}{{classes.txt}}"\n{END}\n'
    (tmp_path / "crawl.toml").write_text(table)
    for _ in range(2):
        assert cli.main(["try", f"{home}a", "--root", str(tmp_path), *LOCAL]) == 0
        said = capsys.readouterr()
        assert "title     A\n" in said.out
        assert said.err == (
            f"a crawl would not begin: {tmp_path}/crawl.toml: [[site]] seeds: {{classes.txt}}: {tmp_path}/classes.txt"
            " does not exist; write it there, one value a line\n"
        )
        assert cli.main(["crawl", "--root", str(tmp_path)]) == 2
        assert "classes.txt does not exist" in capsys.readouterr().err
    (tmp_path / "classes.txt").write_text("a\n")
    assert cli.main(["try", f"{home}a", "--root", str(tmp_path), *LOCAL]) == 0
    assert capsys.readouterr().err == ""


ENDLESS = """\
import re
from fscrawl.site import Site

class Endless(Site):
    hosts = ["127.0.30.1"]

    def METHOD(self, page):
"""


@pytest.mark.parametrize(
    ("method", "line"), [("follow", "while True: pass"), ("expect", "re.search('(?:a+)+$', 60 * 'a' + '!')")]
)
def test_rules_that_never_end(
    web: Web,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    line: str,
) -> None:
    """They are stopped as in a crawl, and shown as the failure that a crawl would record."""
    monkeypatch.setattr(parsing, "_LIMIT_S", 0.1)
    file = tmp_path / "site.py"
    file.write_text(ENDLESS.replace("METHOD", method) + f"        {line}\n")
    assert cli.main(["try", web.url("127.0.30.1"), "--site", str(file), *LOCAL]) == 1
    said = capsys.readouterr().out
    assert "failed    parse: reading it by the rules of its site takes more than" in said


@pytest.mark.gate
@pytest.mark.parametrize("line", ["while True: pass", "re.search('(?:a+)+$', 60 * 'a' + '!')"])
def test_values_that_never_come(
    web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Fields and items are ended, too; the page is shown, and the line of the file is named."""
    monkeypatch.setattr(attempt, "_MOST_FIELDS_S", 0.3)
    monkeypatch.chdir(tmp_path)
    file = Path("site.py")
    methods = "".join(f"    def {name}(self, page):\n        {line}\n" for name in ("fields", "items"))
    head = ENDLESS.partition("    def METHOD")[0]
    file.write_text(f"{head}    columns = {{'a': 'string'}}\n    item_columns = {{'b': 'string'}}\n{methods}")
    assert cli.main(["try", web.url("127.0.30.1"), "--site", str(file), *LOCAL]) == 0
    said = capsys.readouterr().out
    assert "site.py:10: fields: TimeoutError: it has not ended after 0.3 s" in said
    assert "site.py:12: items: TimeoutError: it has not ended after 0.3 s" in said


OPENS = """\
from fscrawl.site import Request, Site

class Members(Site):
    hosts = ["127.0.30.1"]

    def open_session(self, session, send):
        send("/start")
        send(Request("/login", form={"password": "secret"}))
"""


def test_what_opens_a_session(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each request of `open_session` is shown with what came, and without what it sent."""
    (tmp_path / "site.py").write_text(OPENS)
    home = web.url("127.0.30.1")
    cli.main(["try", f"GET {home} (session me)", "--site", str(tmp_path / "site.py"), *LOCAL])
    said = capsys.readouterr().out
    assert f"session   GET {home}start: 404\nsession   POST {home}login: 404\n" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.example/x"], "a.example/x: not an http or https URL; write https://a.example/x"),
        (["http://a.example/", "--stored"], "--stored reads a page of a tree: give --root DIR"),
        (["http://a.example/", "--set", "crawl.scop=any"], "crawl.scop: unknown setting; did you mean crawl.scope?"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """What cannot be tried is said in one line."""
    assert cli.main(["try", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
