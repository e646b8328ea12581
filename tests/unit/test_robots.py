"""What a robots.txt says to one crawler."""

import pytest

from fscrawl.robots import Rules

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


def test_several_agents_one_group():
    """Consecutive user-agent lines share their rules, and comments and other lines stand in no way."""
    text = "# c\nUser-agent: other # c\nUser-agent: fscrawl\n\nSitemap: http://a.example/s\nDisallow: /a # c\n"
    assert not allowed(text, "/a")
    assert allowed(text, "/b")


def test_wildcards():
    """`*` stands for anything, `$` for the end (RFC 9309 2.2.3)."""
    text = "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*b/\n"
    assert [allowed(text, path) for path in ("/x/y.pdf", "/y.pdfs", "/axxb/c", "/ab")] == [False, True, False, True]


def test_percent_encoding():
    """A rule written as is matches its encoded URL."""
    assert not allowed("User-agent: *\nDisallow: /é\n", "/%C3%A9t%C3%A9")


def test_robots_txt_itself():
    """robots.txt may always be fetched."""
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt")


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


def test_sitemaps():
    """Sitemap lines count wherever they stand, in their order."""
    text = "Sitemap: http://a.example/1\nUser-agent: other\nDisallow: /\nsitemap: /2\n"
    assert Rules(text, AGENT).sitemaps == ("http://a.example/1", "/2")
    assert Rules("", AGENT).sitemaps == ()
