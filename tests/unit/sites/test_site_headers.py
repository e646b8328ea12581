"""Which headers of a [[site]] go to which server."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fscrawl.config.credentials import Variables
from fscrawl.http.outgoing import SiteHeaders
from fscrawl.sites.code import load
from fscrawl.sites.rules import SiteFile, SiteRules

HEADERS = {"X-Key": "key $FSCRAWL_KEY", "Accept-Language": "en", "X-Price": "$$5"}
PLAIN = {"Accept-Language": "en", "X-Price": "$5"}
ALL = {"X-Key": "key s3cret", **PLAIN}


@pytest.mark.parametrize(
    ("hosts", "url", "sent"),
    [
        ("a.example", "https://a.example/", ALL),
        ("a.example", "http://a.example/", PLAIN),
        ("a.example", "https://a.example:8443/", {}),
        ("a.example", "http://a.example:443/", {}),
        ("*.example", "https://a.example/", ALL),
        ("*.example", "http://a.example:8080/", {}),
        ("a.example:80", "http://a.example/", ALL),
        ("a.example:80", "https://a.example/", {}),
        ("a.example:8080", "http://a.example:8080/", ALL),
        ("*.example:8080", "http://a.example:8080/", ALL),
        ("127.0.0.1", "http://127.0.0.1:8080/", ALL),
        ("[::1]", "http://[::1]:8080/", ALL),
        ("*", "http://127.0.0.1:8080/", {}),
        ("*", "http://127.0.0.1/", PLAIN),
        ("b.example", "https://a.example/", {}),
    ],
)
def test_servers(hosts: str, url: str, sent: dict[str, str]) -> None:
    """Secrets go by https to the default port, or to a server that the table names; the others by http, too."""
    headers = SiteHeaders([SiteRules("one", (hosts,), HEADERS)], Variables({"FSCRAWL_KEY": "s3cret"}))
    assert headers.of(url) == sent


def test_one_of_several_patterns() -> None:
    """The pattern that names the server counts, whatever the others mean."""
    site = SiteRules("one", ("*.example", "a.example:8080"), HEADERS)
    headers = SiteHeaders([site], Variables({"FSCRAWL_KEY": "s3cret"}))
    assert headers.of("http://a.example:8080/") == ALL
    assert headers.of("http://b.example:8080/") == {}
    assert not SiteHeaders([SiteRules("one", ("a.example",))], Variables({}))


def test_a_class_without_headers() -> None:
    """A class without headers leaves those of a table to its hosts; one that has some takes their place."""
    code = load(SiteFile("site.py", "from fscrawl.site import Site\nclass A(Site):\n    hosts = ['a.example']\n"))
    own = replace(code[0], headers={"X-Own": "1"})
    table = SiteRules("one", ("a.example",), {"X-Key": "2"})
    for first, sent in ((code[0], {"X-Key": "2"}), (own, {"X-Own": "1"})):
        assert SiteHeaders([first, table], Variables({})).of("https://a.example/") == sent
