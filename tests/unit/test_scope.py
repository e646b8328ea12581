"""Which URLs belong to a crawl."""

import subprocess
import sys
import time

import pytest

from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import CrawlSettings
from fscrawl.frontier.scope import BAD_PORT, BAD_REQUEST, Scope

SEEDS = frozenset({"http://www.example.com:8000/", "http://10.0.0.1/"})


def scope(**settings) -> Scope:
    return Scope(CrawlSettings(**settings), SEEDS)


@pytest.mark.parametrize(
    ("mode", "url", "rule"),
    [
        ("host", "https://www.example.com/x", None),
        ("host", "http://example.com/", "scope"),
        ("domain", "http://a.b.example.com/", None),
        ("domain", "http://example.org/", "scope"),
        ("domain", "http://10.0.0.1:8/", None),
        ("domain", "http://10.0.0.2/", "scope"),
        ("any", "http://example.org/", None),
    ],
)
def test_scope(mode, url, rule):
    """A scope holds the seeds' hosts, their domains, or everything; ports and schemes do not count."""
    assert scope(scope=mode).refuses(url) == rule


def test_expressions():
    """A URL must match one of `allow` and none of `deny`; deny is named first."""
    rules = scope(scope="any", allow=("/docs/", "[.]html$"), deny=("[?]", "/old/"))
    asked = ["docs/x", "x.html", "docs/old/", "x?", "x"]
    assert [rules.refuses(f"http://a.example/{path}") for path in asked] == [
        None,
        None,
        "deny",
        "deny",
        "allow",
    ]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/".join("abcdefghij"), None),
        ("/".join(map(str, range(40))), "trap"),
        ("x?" + "/a" * 40, None),
        ("a/a/a/b", None),
        ("a/a/a/a/b", "trap"),
        ("x/a/b/a/b/a/b/a/b/y", "trap"),
        ("x/a/b/c/a/b/c/a/b/c/a/b/c/", "trap"),
        ("x/?q=/a/a/a/a/a/a", None),
        ("2026/11/21/11/21/", None),
    ],
)
def test_traps(path, rule):
    """Paths that go on and on, or repeat themselves, are refused; what a query says does not count."""
    assert scope(scope="any").refuses(f"http://a.example/{path}") == rule


def test_a_long_path_takes_no_time():
    """However a URL of two thousand characters repeats itself, or nearly, it is judged in a moment."""
    rules = scope(scope="any")
    began = time.process_time()
    for part in ("a/", "a/b/", "aa/a/", "a/b/c/d/"):
        for _ in range(100):
            rules.refuses("http://a.example/" + (part * 1000)[:2000] + "x")
    assert time.process_time() - began < 1


def test_explanation():
    """For a person the rule is named with what it says."""
    rules = scope(scope="host", deny=("[?]",), allow=("/a",))
    asked = ["http://other.example/", "http://10.0.0.1/a?", "http://10.0.0.1/b", "http://10.0.0.1/a"]
    assert [rules.explain(url) for url in asked] == ['scope = "host"', 'deny = "[?]"', "allow", None]


@pytest.mark.parametrize("mode", ["any", "host", "domain"])
@pytest.mark.parametrize("host", ["a.example", "[::1]", "127.0.0.1"])
def test_bad_ports(mode, host):
    """No setting permits a port of another protocol; seeds with one are refused with the reason."""
    seed = f"http://{host}/"
    scope = Scope(CrawlSettings(scope=mode, allow=(".",)), frozenset({seed}))
    assert [scope.refuses(f"http://{host}:{port}/") for port in (25, 6667, 8080, 26)] == [
        BAD_PORT,
        BAD_PORT,
        None,
        None,
    ]
    assert scope.refuses(f"{seed}a:25/") is None
    said = []
    assert list(read_seeds(f"http://{host}:25/\n{seed}\n", "seeds.txt", said.append)) == [seed]
    assert said == [
        f"seeds.txt:1:1: port 25 is of another protocol than HTTP, and never asked, skipped: http://{host}:25/"
    ]


def test_requests_are_judged_by_their_url():
    """A request is in the scope if its URL is: what its body and headers hold does not count."""
    rules = scope(scope="any", allow=("/search$",), deny=("secret", "/deny"))
    body = "#method=POST&body=/secret/a/a/a/a/a/"
    asked = ["search", "deny/search", "other", "a/a/a/a/a/search"]
    found = [rules.refuses(f"http://a.example/{path}{body}") for path in asked]
    assert found == [None, "deny", "allow", "trap"]
    assert found == [rules.refuses(f"http://a.example/{path}") for path in asked]
    assert rules.explain(f"http://a.example/deny/search{body}") == 'deny = "/deny"'
    assert scope(scope="host").refuses(f"http://other.example/{body}") == "scope"
    assert rules.refuses(f"http://a.example:25/search{body}") == BAD_PORT


@pytest.mark.parametrize("fragment", ["#", "#top", "#method=BREW", "#method=GET"])
def test_what_spells_no_request(fragment):
    """What looks like a request and is none belongs to no crawl, whatever the settings say."""
    assert scope(scope="any").refuses(f"http://a.example/{fragment}") == BAD_REQUEST


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "http://",
            "//a.example/",
            "http:/a.example/",
            "http://a.example",
            "javascript:alert(1)",
            "file:///x",
        ),
        *("http://a.example/ b", "http://a.example/\r\nX: y", "http://a b/", "http://me:pw@a.example/", "http:///"),
        *(
            "http://a.example\\@b.example/",
            "http://a.example/\u00e9",
            "x://a.example/",
            f"http://a.example/{'x' * 2083}",
        ),
        "javascript:#method=POST&body=x",
    ],
)
def test_what_is_no_url(text):
    """Whatever somebody has written into a record in place of a URL is refused, and nothing is raised."""
    for mode in ("any", "domain", "host"):
        assert scope(scope=mode).refuses(text) == BAD_REQUEST


def test_without_expressions_nothing_is_loaded_for_them():
    """A crawl begins without what compiles expressions if it has none."""
    code = (
        "import sys; from fscrawl.config.settings import CrawlSettings; from fscrawl.frontier.scope import Scope;"
        "Scope(CrawlSettings(), frozenset()); print({'re2'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
