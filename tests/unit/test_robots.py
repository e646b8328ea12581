"""What a robots.txt says to one crawler."""

import time

import pytest

from fscrawl.politeness.robots import MAX_BYTES, Rules
from fscrawl.urls import MAX_URL_CHARS

AGENT = "fscrawl/1.0 (+http://a.example/)"


def allowed(text, path="/private/x", agent=AGENT):
    return Rules(text, agent).allows("http://a.example" + path)


@pytest.mark.parametrize(
    "text", ["", "\n", "\ufeff", "Disallow: /", "User-agent: *", "<html>Not found</html>", "\0\xff"]
)
def test_no_rules(text):
    """A file without a group that forbids something forbids nothing."""
    assert allowed(text)


def test_longest_match():
    """The longest rule that matches decides, and allow wins a tie (RFC 9309 2.2.2)."""
    text = "User-agent: *\nDisallow: /private\nAllow: /private/x\nDisallow: /tie\nAllow: /tie\n"
    assert [allowed(text, path) for path in ("/private/x1", "/private/y", "/tie", "/")] == [True, False, True, True]


def test_own_group():
    """A group in our name replaces the one for all, in any case; groups of one name are one (RFC 9309 2.2.1)."""
    text = "User-agent: *\nDisallow: /\n\nUser-agent: FsCrawl\nDisallow: /a\n\nUser-agent: fscrawl\nDisallow: /b\n"
    assert [allowed(text, path) for path in ("/", "/a", "/b")] == [True, False, False]
    assert not allowed(text, "/", "other/1.0")


@pytest.mark.parametrize("name", ["FSCRAWL", "fscrawl/2.0", "fscrawl bot", "fscrawl*", "fscrawl2"])
def test_token(name):
    """A group is named by the product token that its user-agent line begins with."""
    assert not allowed(f"User-agent: *\nAllow: /\nUser-agent: {name}\nDisallow: /\n")


@pytest.mark.parametrize("name", ["fs", "crawl", "fscrawl-images", "Mozilla/5.0 (fscrawl)", "*bot", "", "(x)"])
def test_token_of_another(name):
    """A part of our name, or more than it, is another's name."""
    assert allowed(f"User-agent: x\nAllow: /\nUser-agent: {name}\nDisallow: /\n")


def test_own_group_without_rules():
    """A group in our name that has no rules allows everything, whatever holds for all."""
    assert allowed("User-agent: *\nDisallow: /\n\nUser-agent: fscrawl\n")


def test_empty_rule_ends_agents():
    """A rule without a value is a rule: the next user-agent line begins a new group."""
    assert allowed("User-agent: fscrawl\nDisallow:\nUser-agent: x\nDisallow: /\n")


def test_several_agents_one_group():
    """Consecutive user-agent lines share their rules, and comments and other lines stand in no way."""
    text = "# c\nUser-agent: other # c\nUser-agent: fscrawl\n\nSitemap: http://a.example/s\nDisallow: /a # c\n"
    assert not allowed(text, "/a")
    assert allowed(text, "/b")


def test_wildcards():
    """`*` stands for anything, `$` for the end (RFC 9309 2.2.3)."""
    text = "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*b/\n"
    assert [allowed(text, path) for path in ("/x/y.pdf", "/y.pdfs", "/axxb/c", "/ab")] == [False, True, False, True]


def test_anchor():
    """Only a final `$` is the end; any other is a character, and so is an escaped one."""
    text = "User-agent: *\nDisallow: /a$\nDisallow: /b$c\nDisallow: /d%24\n"
    assert [allowed(text, path) for path in ("/a", "/ab", "/a$", "/b$cd", "/bc", "/d$")] == [
        *(False, True, True, False, True, False)
    ]


def test_wildcard_ends():
    """What stands after the last wildcard ends the path if anchored, and does not overlap what stands before it."""
    text = "User-agent: *\nDisallow: /ab*ba$\nDisallow: /x*\nDisallow: /y*z*z\n"
    assert [allowed(text, path) for path in ("/aba", "/abba", "/abcba", "/abbac", "/x", "/yz", "/yzz")] == [
        *(True, False, False, True, False, True, False)
    ]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3a%2f%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https:%2F/foo.bar", "/foo/bar?baz=https:%2F/foo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7a"),
        ("/%7Ejoe", "/~joe"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
        ("/a b{c}|", "/a%20b%7Bc%7D|"),
        ("/100%", "/100%"),
    ],
)
def test_percent_encoding(pattern, path):
    """A character and its escape match each other: the tables of RFC 9309 2.2.2 and 2.2.3, and what they leave out."""
    assert not allowed(f"User-agent: *\nDisallow: {pattern}\n", path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("/*%2F", "/a/b"), ("/a/b", "/a%2Fb"), ("/*%3F", "/a?b"), ("/%2541", "/%41"), ("/é", "/é")],
)
def test_not_the_same(pattern, path):
    """An escaped `/` or `?` divides nothing, `%25` is the percent sign, and a URL is taken as it stands."""
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", path)


@pytest.mark.parametrize("pattern", ["private", "?x", "$", "http://a.example/private/x", "%2Fprivate"])
def test_no_path(pattern):
    """A rule that begins neither with `/` nor with `*` matches nothing."""
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n")


def test_index_html():
    """Who allows a directory's index.html allows the directory, and nothing else in it."""
    text = "User-agent: *\nDisallow: /\nAllow: /a/index.html\nAllow: /b/index.html$\n"
    paths = ("/a/", "/a/index.html", "/a/x", "/b/")
    assert [allowed(text, path) for path in paths] == [True, True, False, False]


def test_robots_txt_itself():
    """robots.txt may always be fetched."""
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt")
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt?x")
    assert not allowed("User-agent: *\nDisallow: /\n", "/robots.txt.html")


def test_empty_disallow():
    """An empty Disallow forbids nothing."""
    assert allowed("User-agent: *\nDisallow:\n")
    assert allowed("User-agent: *\nDisallow: # all may come\n")


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\rDisallow: /",
        "User-agent: *\r\nDISALLOW : /\r\n",
        "User-agent: *\ndisallow /",
        "User-agent: *\nDissallow: /",
        "User-agent: *\nDiasllow: /",
        "User-agent: *\nDisallaw\t/",
        "User-agent: *\x0cDisallow: /",
        "\ufeffUser-agent: *\n\xa0Disallow:\xa0/",
    ],
)
def test_clumsy_files(text):
    """A rule counts however its line ends, is indented or is misspelt."""
    assert not allowed(text)


@pytest.mark.parametrize("agent", ["", "1bot", "(x)"])
def test_agent_without_token(agent):
    """A crawler whose name begins with no letter is one of all."""
    assert not allowed("User-agent: *\nDisallow: /\n", "/", agent)


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [
        ("", 0.0),
        ("Crawl-delay: 2.5", 2.5),
        ("Crawl-delay: ten", 0.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: nan", 0.0),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 2/1m", 30.0),
        ("Request-rate: 1/1m 0900-1700", 60.0),
        ("Request-rate: 0/10", 0.0),
        ("Crawl-delay: 3\nRequest-rate: 1/10s", 10.0),
        ("Crawl-delay: 30\nRequest-rate: 1/10s", 30.0),
        ("Request-rate: 1/" + "9" * 400, 1e9),
    ],
)
def test_delay(lines, delay_s):
    """The delay is the longer of Crawl-delay and Request-rate, and nonsense is none."""
    assert Rules(f"User-agent: *\n{lines}\n", AGENT).delay_s == delay_s


def test_delay_of_another():
    """What is asked of another crawler is not asked of us."""
    assert Rules("User-agent: other\nCrawl-delay: 5\n", AGENT).delay_s == 0


def test_delay_between_agents():
    """A delay holds for the agents before it; the rules after it hold for them all (RFC 9309 2.2.4)."""
    text = "User-agent: *\nCrawl-delay: 10\nUser-agent: other\nCrawl-delay: 2\nDisallow: /a\nCrawl-delay: 3\n"
    assert Rules(text, AGENT).delay_s == 10
    assert Rules(text, "other").delay_s == 3
    assert not allowed(text, "/a")


def test_delay_of_own_group():
    """What is asked of all is not asked of who has a group."""
    assert Rules("User-agent: fscrawl\nDisallow: /a\nUser-agent: *\nCrawl-delay: 5\n", AGENT).delay_s == 0


def test_forbidding_line():
    """The line that forbids is told as it was written, without its comment; there is none where nothing does."""
    rules = Rules("User-agent: *\n  DISALLOW :/%7ea   # why\nDisallow: /\nAllow: /b\n", AGENT)
    found = [rules.forbidding_line("http://a.example" + path) for path in ("/~a", "/", "/b", "/robots.txt")]
    assert found == ["DISALLOW :/%7ea", "Disallow: /", None, None]


@pytest.mark.gate
@pytest.mark.parametrize(
    "lines",
    [
        "Disallow: /" + "*" * 10_000 + "b",
        "Disallow: /" + "*a" * 250_000 + "b",
        "Disallow: /" + "a*" * 1000 + "b$",
        "Disallow: /b\n" * 40_000,
        "Disallow: *b\n" * 40_000,
        ("Disallow: *" + "a" * 50 + "b" + "a" * 50 + "\n") * 4000,
        "Disallow: /" + "%41" * 170_000,
        "Disallow: /" + "é" * 250_000,
        "Disallow: /?" + "/" * 500_000,
        "Disallow" + " " * 500_000 + "x",
        "\n" * 500_000,
        "User-agent: *\n" * 35_000 + "Disallow: /b",
        "Crawl-delay: 1\n" * 33_000,
    ],
    ids=lambda lines: lines[:15].strip(),
)
def test_hostile_files(lines):
    """The largest file that is read, made to be slow, is parsed and asked in bounded time."""
    began = time.process_time()
    rules = Rules(("User-agent: *\n" + lines)[:MAX_BYTES], AGENT)
    assert rules.allows("http://a.example/" + "a" * (MAX_URL_CHARS - 17))
    assert time.process_time() - began < 5


def test_sitemaps():
    """Sitemap lines count wherever they stand, in their order."""
    text = "Sitemap: http://a.example/1\nUser-agent: other\nDisallow: /\nsitemap: /2\nSitemap:\n"
    assert Rules(text, AGENT).sitemaps == ("http://a.example/1", "/2")
    assert Rules("", AGENT).sitemaps == ()
