"""What `fscrawl show` prints."""

import json
import os
import subprocess
import sys

import pytest

from fscrawl import cli, urls
from fscrawl.request import Request, spelling
from tests.support.explained import MISSING, SEED, ask, line_of, say


def show(tree, capsys, *words):
    code = cli.main(["show", "--root", str(tree.root), *words])
    return code, capsys.readouterr().out


def test_the_command_tells_by_its_exit_code_whether_it_is_stored(tree, capsys):
    """Exit code 0: stored; 1: not."""
    assert show(tree, capsys, SEED)[0] == 0
    assert show(tree, capsys, MISSING)[0] == 1


def test_the_command_shows_all_there_is(tree, capsys):
    """A page's title, headers, checks, directives, files, source and inlinks are lines of their own."""
    facts = {"checked_at": "2026-02-02", "checked_status": 0, "robots": ("noindex",), "skipped": "why", "depth": 1}
    tree.page("http://a.example/b", b"<title>B</title>", referrer=urls.key(SEED), ip="192.0.2.7", **facts)
    code, out = show(tree, capsys, "http://a.example/b", "--inlinks")
    assert code == 0
    for text in ("title     B", "checked   2026-02-02: no answer", "robots    noindex", "no body   why"):
        assert text in out
    assert " from 192.0.2.7\n" in out
    assert f"found on  {SEED}" in out
    assert "inlink    http://a.example/\ninlinks   1 page\n" in out


def test_the_command_shows_why(tree, capsys):
    """What is not stored has its lines of logs, its reasons, and what to do."""
    say(tree, *[line_of(tree, MISSING, mark="sitemap")] * 12, line_of(tree, MISSING, referrer=""))
    with (tree.root / "seeds.txt").open("a") as seeds:
        seeds.write(f"{MISSING}\n")
    code, out = show(tree, capsys, f"{MISSING}#top")
    assert code == 1
    assert f"url       {MISSING}, the normal form of {MISSING}#top" in out
    assert "in seeds.txt" in out
    assert f"discovered by h-9-bb, depth 1, on {SEED}, sitemap" in out
    assert "and 4 more" in out
    assert "it is pending, and no machine is running: " in out
    assert "fscrawl crawl --root" in out


def test_the_command_shows_failures_and_redirects(tree, capsys):
    """A failure and a chain of redirects are shown; a URL that is none has no key."""
    tree.fail(MISSING)
    tree.redirect("http://a.example/1", MISSING)
    assert "failed    http-4xx: it failed" in show(tree, capsys, MISSING)[1]
    assert f"redirect  to {MISSING}: not stored" in show(tree, capsys, "http://a.example/1")[1]
    assert "key" not in show(tree, capsys, "nothing")[1]


def test_what_comes_from_the_web_is_printed_plainly(tree, capsys):
    """Terminal escapes in a title are not printed as they are."""
    tree.page("http://a.example/b", title="\x1b[31mred")
    assert "\x1b" not in show(tree, capsys, "http://a.example/b")[1]


def test_the_command_gives_json(tree, capsys):
    """--json is one object with all of it; of the record the number of links."""
    tree.fail(MISSING)
    code, out = show(tree, capsys, SEED, "--json", "--inlinks")
    facts = json.loads(out)
    assert (code, facts["stored"], facts["record"]["links"], facts["inlinks"]) == (0, True, 2, [])
    facts = json.loads(show(tree, capsys, MISSING, "--json")[1])
    assert (facts["record"], facts["error"]["class"], facts["reasons"][0]["name"]) == (None, "http-4xx", "failed")


def test_it_writes_nothing(tree):
    """Asking leaves no file behind, changed or new."""
    before = {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")}
    ask(tree, MISSING, all_inlinks=True)
    assert {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")} == before


def test_a_rendered_page(tree, capsys):
    """How its scripts were run is shown."""
    tree.rendered("http://a.example/b", b"<h1>none", "<h1>größer".encode(), encoding="windows-1252")
    assert "rendered  done, in 0.5 s\n" in show(tree, capsys, "http://a.example/b")[1]
    found = json.loads(show(tree, capsys, "http://a.example/b", "--json")[1])
    assert found["record"]["rendered"]["ended"] == "done"


@pytest.mark.gate
def test_what_it_loads(tree):
    """To tell of a page, neither what parses pages is loaded nor what only machines need."""
    code = (
        "import sys; from fscrawl import cli; cli.main(sys.argv[1:]);"
        "heavy = {'selectolax', 'lxml', 'multiprocessing', 'rich', 'fscrawl.parse.links', 'fscrawl.parse.fields'};"
        "print(*heavy & {*sys.modules}, file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, "show", "--root", str(tree.root), SEED]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # it loads modules
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=unmeasured)
    assert done.stdout.startswith(f"url       {SEED}\n")
    assert done.stderr == "\n"


def test_a_page_behind_a_hash(tree, capsys):
    """The address of a page behind #/ finds it if it is there; else the page without it, and how to ask for it."""
    url, address = "http://app.example/", "http://app.example/#/item/3"
    tree.page(url)
    assert show(tree, capsys, url)[0] == 0
    assert (
        f"note      what stands behind # does not count; for a page behind it: GET {address}"
        in show(tree, capsys, address)[1]
    )
    tree.page(spelling(Request(url, fragment="/item/3")))
    code, out = show(tree, capsys, address)
    assert code == 0
    assert f"url       {address}" in out
    assert "does not count" not in out


def test_an_encoding_without_a_source(tree, capsys):
    """Where a record does not say how the encoding was found, nothing stands in its place."""
    tree.page("http://a.example/b", b"<p>", encoding="utf-8", encoding_source=None)
    assert "encoding  utf-8\n" in show(tree, capsys, "http://a.example/b")[1]
