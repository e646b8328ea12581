"""Pages that may be read by who has no time for unusual ones."""

import pytest

from fscrawl.parse.links import extract
from fscrawl.parse.trees import UnusualPageError
from fscrawl.urls import Joiner

URL = "http://a.example/dir/page.html?q"


@pytest.mark.parametrize(
    "unusual",
    [
        {"body": b"<a href=1>" + b"<div>" * 20_000},
        {"body": b"".join(b"<a href=%d>" % number for number in range(5000))},
        {"body": b"".join(b"<a HREF=%d>" % number for number in range(5000))},
        {"body": b"<a href=1><meta>" + b"<meta>" * 20_000},
        {"body": b"<a href=1>" + b" " * 66_000, "with_routes": True},
        {"body": b"<a href=1>" + b" " * 66_000, "follow": frozenset({"a"})},
        {"body": b"<a href=1>" + b" " * 33_000, "content_type": "text/html; charset=windows-1252"},
        {"body": b"<a href=1>" + b" " * 66_000, "content_type": "application/xhtml+xml"},
        {"body": b"<p><template shadowrootmode=open><a href=1></template>" + b" " * 33_000},
        {"body": b"<a href=1>" + b"<p " + b"a " * 9000 + b">"},
        {"body": b"<a href=1>" + b"<p a='>' " + b"a " * 9000 + b">"},
    ],
)
def test_only_usual_pages(unusual):
    """What takes longer than a usual page of its size is refused, by who has no time for it."""
    with pytest.raises(UnusualPageError):
        extract(url=URL, joiner=Joiner(), only_usual=True, **unusual)
    assert extract(url=URL, joiner=Joiner(), **unusual).links


def test_usual_pages():
    """Other pages are read as ever, up to thousands of references."""
    references = b"".join(b"<p>x<a href=%d>y</a><a href='#%d'>z</a>" % (number, number) for number in range(3000))
    body = b"<title>t</title>" + references + b"<a href=1>x</a>" * 3000 + b"<script>" + b"x " * 30_000 + b"</script>"
    assert extract(body, URL, Joiner(), only_usual=True) == extract(body, URL, Joiner())


@pytest.mark.parametrize(
    "more", [{"with_routes": True}, {"follow": frozenset({"img"})}, {"content_type": "text/html; charset=windows-1252"}]
)
def test_usual_pages_of_which_more_is_asked(more):
    """A page that is not large is a usual one also if it has an encoding of its own, or its site other links."""
    body = b"<img src=\xe9><a href='a#/b'>" + b"x" * 20_000
    assert extract(body, URL, Joiner(), only_usual=True, **more) == extract(body, URL, Joiner(), **more)
