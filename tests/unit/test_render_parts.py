"""The pure parts of rendering: what a record says of it, shadow roots, empty pages, resources that may be kept."""

from __future__ import annotations

import msgspec
import pytest

from fscrawl.config.settings import parse
from fscrawl.errors import SettingsError
from fscrawl.handlers.page_network import ResourceCache, fresh_for_s
from fscrawl.handlers.rendering import of_both
from fscrawl.http.answers import Fetched
from fscrawl.http.cookies import Jar
from fscrawl.parse.links import ParsedPage
from fscrawl.parse.text import is_empty
from fscrawl.storage.layout import page_file_of
from fscrawl.storage.records import RenderRecord


def always(_link: str) -> bool:
    return True


WORDS = "A page that a person wrote has some text, even if it is short. " * 5


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        {},
        {"why": "host"},
        {"why": 1, "ended": "done"},
        {"why": "host", "ended": "done", "seconds": -1},
        {"why": "host", "ended": "done", "bytes": True},
        {"why": "host", "ended": "done", "requests": {"a": "1"}},
        {"why": "host", "ended": "done", "errors": "x"},
        {"why": "host", "ended": "done", "errors": [1]},
    ],
)
def test_what_is_no_render_record(values: object) -> None:
    """What has other types than a machine writes is not taken for a rendering."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, RenderRecord)


def test_unknown_fields_are_ignored() -> None:
    """A newer program may say more."""
    assert msgspec.convert({"why": "host", "ended": "done", "more": 1}, RenderRecord) == RenderRecord("host", "done")


@pytest.mark.parametrize(
    ("html", "empty"),
    [
        ("<div id=root></div><script src=/a.js></script>", True),
        ("<noscript>Please enable JavaScript.</noscript><SCRIPT>start()</SCRIPT>", True),
        (f"<p>{WORDS}</p><script src=/count.js></script>", False),
        ("<p>no script", False),
        ("<script></script>" + " " * 2_000_000, False),
        ("<script></script>" + "<a class=b href=/c>d</a>" * 9, True),
        ("<script></script>" + "<a class=b href=/c>d</a>" * 10, False),
        ("<meta http-equiv='Refresh' content='0;url=/b'><script>location = '/b'</script>", False),
        ("<noscript><meta http-equiv=refresh content='0;url=/b'></noscript><script></script>", True),
        ("<noscript></noscript><meta http-equiv=refresh content='0;url=/b'><script></script>", False),
    ],
)
def test_empty_pages(html: str, empty: bool) -> None:
    """A page is empty if it has a script, few links and little text, leads nowhere else, and is not huge."""
    assert is_empty(html.encode(), "utf-8", "text/html") is empty


def _answer(status: int = 200, **headers: str) -> Fetched:
    return Fetched(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"x", 0.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (_answer(), 0.0),
        (_answer(404, cache_control="max-age=60"), 0.0),
        (_answer(cache_control="max-age=60, s-maxage=10"), 10.0),
        (_answer(cache_control="no-store, max-age=60"), 0.0),
        (_answer(cache_control="max-age=60", set_cookie="a=1"), 0.0),
        (_answer(cache_control="max-age=60", vary="Accept-Encoding"), 60.0),
        (_answer(cache_control="max-age=60", vary="Cookie"), 0.0),
        (_answer(cache_control="max-age=60", age="45"), 15.0),
        (_answer(cache_control="max-age=60", age="100"), 0.0),
        (_answer(cache_control="max-age=60", age="-1"), 60.0),
        (_answer(expires="Thu, 01 Jan 1970 00:02:00 GMT"), 20.0),
        (_answer(expires="0"), 0.0),
        (_answer(last_modified="Thu, 01 Jan 1970 00:00:00 GMT"), 10.0),
    ],
)
def test_what_may_be_kept(answer: Fetched, seconds: float) -> None:
    """The cautious half of RFC 9111, at a hundred seconds past 1970."""
    assert fresh_for_s(answer, 100.0) == seconds


def test_resources_are_kept_while_they_are_fresh() -> None:
    """What may be used again is given until its time is over; what is too large is not kept."""
    cache = ResourceCache()
    cache.put("http://a.example/a.js", _answer(cache_control="max-age=60"), 0.0)
    large = Fetched(200, {"cache-control": "max-age=60"}, bytes(5_000_000), 0.0, 0.0)
    cache.put("http://a.example/large.js", large, 0.0)
    assert cache.get("http://a.example/a.js", 59.0) is not None
    assert cache.get("http://a.example/a.js", 60.0) is None
    assert cache.get("http://a.example/large.js", 1.0) is None


def test_links_of_both() -> None:
    """The DOM says what a page is; links are of the response, of the DOM, and of where its scripts wanted to go."""
    url = "http://a.example/"
    before = ParsedPage(
        "latin1", "declared", "before", (f"{url}1", f"{url}2"), (f"{url}3",), f"{url}c", (), truncated=False
    )
    after = ParsedPage("utf-8", "declared", "after", (f"{url}2", f"{url}3", url), (), None, (), truncated=True)
    both = of_both(before, after, [f"{url}4", url], url, always)
    assert (both.encoding, both.title, both.canonical, both.truncated) == ("latin1", "after", f"{url}c", True)
    assert both.links == (f"{url}1", f"{url}2", f"{url}3", f"{url}4")
    assert both.nofollow == ()


def test_a_page_that_lets_no_robot_follow_goes_nowhere() -> None:
    """Where scripts want to go is a link like others."""
    page = ParsedPage("utf-8", "declared", None, (), (), None, ("nofollow",), truncated=False)
    assert of_both(page, page, ["http://a.example/4"], "http://a.example/", always).links == ()


def test_cookies_of_a_site() -> None:
    """A browser gets the cookies of the page's site that have not expired."""
    jar = Jar()
    jar.learn("https://www.a.example/", ["a=1; Domain=a.example", "b=2; Secure", "c=3; Max-Age=10"], 0.0)
    jar.learn("http://b.example/", ["d=4"], 0.0)
    assert sorted(each.name for each in jar.of_site("a.example", 5.0)) == ["a", "b", "c"]
    assert sorted(each.name for each in jar.of_site("a.example", 50.0)) == ["a", "b"]
    assert jar.of_site("c.example", 5.0) == ()


def test_a_dom_is_a_file_of_htmls_only() -> None:
    """In any other directory its name belongs to nothing."""
    name = f"{'a' * 24}.dom.html"
    assert page_file_of("htmls", name) == ("a" * 24, "dom.html")
    assert page_file_of("files", name) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('wait = "soon"', 'must be "load", "idle", seconds such as "8s", or a selector such as "css:#items li"'),
        ('wait = "css:a["', "must be css: and a selector; its brackets or quotes do not match"),
        ('wait = "css:a::text"', "must be css: and a selector of elements"),
        ('hosts = ["http://a.example/"]', "'http://a.example/' is neither"),
        ('block = ["pictures"]', "must be"),
    ],
)
def test_wrong_settings(line: str, said: str) -> None:
    """Each is one line that says what would be right."""
    with pytest.raises(SettingsError) as wrong:
        parse(f"[render]\n{line}")
    assert said in str(wrong.value)
