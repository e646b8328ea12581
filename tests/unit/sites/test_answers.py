"""Answers as sites see them, and what selectors find in them."""

import pickle
import re

import pytest

from fscrawl.parse import selectors
from fscrawl.parse.selectors import json_path
from fscrawl.request import Request
from fscrawl.sites.read import read_expected, read_follow
from fscrawl.sites.site import Answer
from fscrawl.urls import Joiner, Spelling

URL = "http://a.example/x/"
HTML = b"""<title>T</title><base href="/base/"><p class=n>1</p><p class=n>2</p>
<a class=next href="n?a=1&amp;b=2">next</a> <a class=off>off</a> <i> </i>"""
JSON = b'{"id": [7, "a/b", null, true, {"x": 1}], "url": " /u "}'


def page(body: bytes, **more: object) -> Answer:
    return Answer(URL, body, **more)


def test_parts() -> None:
    """A page has its request, its text, its links, and what selectors find."""
    seen = Answer(Request(URL, "POST"), HTML, status=201, headers={"content-type": "text/html; charset=latin1"})
    assert (seen.url, seen.request.method, seen.status, seen.encoding) == (URL, "POST", 201, "windows-1252")
    assert (seen.css(".n"), seen.xpath("//p/text()"), seen.css("a::attr(href)")[0]) == (["1", "2"],) * 2 + (
        "n?a=1&b=2",
    )
    assert seen.links == ("http://a.example/base/n?a=1&b=2",)
    assert seen.text.startswith("<title>")
    assert page("é".encode("utf-16"), encoding="utf-16le").text == "é"
    assert Answer(f"{URL}#method=POST").request.method == "POST"
    assert page(b"<a href=/a?q=1>", joiner=Joiner(Spelling(True))).links == ("http://a.example/a",)


def test_json() -> None:
    """A page that is JSON gives its document, and what a path finds in it; another one is a ValueError."""
    assert page(JSON).json()["url"] == " /u "
    assert page(JSON).json("$.id[0]") == [7]
    for body in (b"<p>", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"JSON|Expecting"):
            page(body).json()


LINES = b'{"id": 7, "u": "/a"}\r\n\n {"id": "b\xe2\x80\xa8c", "u": "/b"}\n'


def test_lines_of_json() -> None:
    """If each line is JSON, a path looks into each; what has one value only is that value, whatever its lines."""
    seen = page(LINES)
    assert seen.json("$.u") == ["/a", "/b"]
    assert [each["id"] for each in seen.json("$")] == [7, "b\u2028c"]
    with pytest.raises(ValueError, match=r'the body has several lines of JSON; json\("\$"\) gives a list of them'):
        seen.json()
    assert page(b'{"id": 7}\n').json() == page(b'{\n"id":\n7}').json() == {"id": 7}
    assert list(read_follow("json:$.u").references(seen)) == ["/a", "/b"]
    assert read_expected("!json:$.u").flaw(seen) == "expect = !json:$.u: it was found"
    assert list(json_path("$.id").texts(seen.document)) == ["7", "b\u2028c"]
    parts = json_path("$").parts(seen.document, seen.document.budget())
    assert [list(json_path("$.u").texts(part)) for part in parts] == [["/a"], ["/b"]]


@pytest.mark.parametrize("body", [b'{"id": 7}\n<p>', b'{"id": 7} {"id": 8}', b"\n\n", b'{"id": 7}\n{"id": 8'])
def test_lines_that_are_no_json(body: bytes) -> None:
    """A page with a line that is no JSON is none: half of its lines would look like all of them."""
    with pytest.raises(ValueError, match="the body is no JSON"):
        page(body).json("$")
    assert list(read_follow("json:$.id").references(page(body))) == []
    assert list(json_path("$.id").texts(page(body).document)) == []


def test_too_many_lines_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are bounded even if a path finds nothing in them: to look takes time."""
    monkeypatch.setattr(selectors, "_MOST_VALUES", 2)
    assert json_path("$.a").values(*[[]] * 2) == []
    said = read_expected("json:$.a").flaw(page(b"[]\n" * 3))
    assert said == "expect = json:$.a: ValueError: the page has more than 2 lines of JSON"


HALF = rb'{"id": ["a", "\ud83d", "b"], "note": "cut \uD83D", "smile": "\ud83d\ude00"}'


def test_half_of_a_character() -> None:
    """A server that cuts texts may cut an emoji in the middle: no URL and no dataset could hold that half."""
    seen = page(HALF)
    assert seen.json() == {"id": ["a", "?", "b"], "note": "cut ?", "smile": "😀"}
    assert list(read_follow("json:$.id[*]").references(seen)) == ["a", "?", "b"]
    assert list(json_path("$.note").texts(seen.document)) == ["cut ?"]


def test_deep_json() -> None:
    """A thread of comments may nest far: paths look into all of it; what is deeper still is said in one line."""
    seen, deeper = (page(b'{"u":"/a","c":[' * n + b'{"u":"/b"}' + b"]}" * n) for n in (190, 210))
    assert list(read_follow("json:$..u").references(seen)) == ["/a"] * 190 + ["/b"]
    said = read_expected("json:$..u").flaw(deeper)
    assert said == "expect = json:$..u: ValueError: the document is nested more than 400 levels deep"


def test_json_with_a_wrong_byte() -> None:
    """A byte that is not UTF-8 spoils one text, and nothing else."""
    seen = page(b'{"a": "caf\xe9", "b": "x"}', encoding="utf-8")
    assert [list(json_path(path).texts(seen.document)) for path in ("$.a", "$.b")] == [["caf\ufffd"], ["x"]]


def test_routes() -> None:
    """In a page whose scripts have run, links to its host behind `#/` count; elsewhere `#` is a place in it."""
    body = b"<a href='#/a'><a href=/b><a href='http://c.example/#/d'><a href=#top>"
    references = ["#/a", "/b", "http://c.example/#/d", "#top"]
    plain, rendered = (Answer("http://a.example/", body, with_routes=each) for each in (False, True))
    both = ("http://a.example/b", "http://c.example/")
    assert plain.links == plain.join(references) == rendered.join(references) == plain.join_all(references)[0] == both
    assert rendered.links == (*both, "http://a.example/#/a")
    assert rendered.join_all(references) == ((*both, "http://a.example/#method=GET&fragment=/a"), False)
    assert [rendered.route("#/a", url) for url in (rendered.url, "http://c.example/")] == ["/a", ""]
    assert plain.route("#/a", plain.url) == ""


def test_joined_references() -> None:
    """References are joined to the page's base, and what is no URL is left out."""
    assert page(HTML).join(["a", "mailto:x", "a#b", ""]) == ("http://a.example/base/a", "http://a.example/base/")
    assert page(JSON).join(["a", URL]) == (URL + "a",)
    assert page(b"<p title='<base'>").join(["a"]) == (URL + "a",)


@pytest.mark.parametrize(
    ("text", "body", "found"),
    [
        ("css:a.next", HTML, ["n?a=1&b=2"]),
        ("css:a", HTML, ["n?a=1&b=2"]),
        ("css:a::attr(class)", HTML, ["next", "off"]),
        ("css:p::text", HTML, ["1", "2"]),
        ("xpath://a", HTML, ["n?a=1&b=2"]),
        ("xpath://a/@class", HTML, ["next", "off"]),
        ("xpath:count(//a)", HTML, ["2"]),
        ('re:n[?][^"]+', HTML, ["n?a=1&b=2"]),
        ('re:href="(/[a-z]+)', HTML, ["/base"]),
        ("re:(x)?$", HTML, []),
        ("json:$.url", JSON, ["/u"]),
        ("json:$.id[*]", JSON, ["7", "a/b", "true"]),
        ("json:$.id", HTML, []),
    ],
)
def test_follow(text: str, body: bytes, found: list[str]) -> None:
    """An entry of `follow` finds these references, also after it was sent to another process."""
    follow = pickle.loads(pickle.dumps(read_follow(text)))
    assert list(follow.references(page(body))) == found


def test_ampersands_of_other_types() -> None:
    """In what is no HTML, &amp; means what it says."""
    follow = read_follow("re:a=[^ ]+")
    assert list(follow.references(page(b"a=1&amp;b", headers={"content-type": "text/plain"}))) == ["a=1&amp;b"]


@pytest.mark.parametrize(
    ("text", "body", "flaw"),
    [
        ("css:a.next", HTML, ""),
        ("css:i", HTML, ""),
        ("css:i::text", HTML, "was not found"),
        ("css:p::text", HTML, ""),
        ("!css:a.next", HTML, "was found"),
        ("xpath://a", HTML, ""),
        ("xpath:count(//a) = 3", HTML, "was not found"),
        ("xpath:number(//nothing)", HTML, "was not found"),
        ("!re:captcha", HTML, ""),
        ("!re:captcha", b"captcha", "was found"),
        ("json:$.id[?@ == 7]", JSON, ""),
        ("json:$.missing", JSON, "was not found"),
        ("json:$.id", HTML, "was not found"),
    ],
)
def test_expect(text: str, body: bytes, flaw: str) -> None:
    """An entry of `expect` says what is wrong with a page."""
    said = read_expected(text).flaw(page(body))
    assert said == (f"expect = {text}: it {flaw}" if flaw else "")


def test_redirects() -> None:
    """A redirect is unexpected if its target matches."""
    rule = read_expected("!redirect:/login\\b")
    assert rule.flaw("http://a.example/login?a") == (
        "expect = !redirect:/login\\b: it redirects to http://a.example/login?a"
    )
    assert rule.flaw("http://a.example/logins") == ""


def test_a_matcher_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it takes too much to look for something on a page, the page is unexpected."""
    monkeypatch.setattr(selectors, "_MOST_VALUES", 2)
    with pytest.raises(ValueError, match="more than 2 values"):
        json_path("$.id[*]").values({"id": [1, 2, 3]})
    said = read_expected("!json:$.id[*]").flaw(page(JSON))
    assert said == "expect = !json:$.id[*]: ValueError: the path finds more than 2 values"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.next", 'must begin with css:, xpath:, json: or re:, for example "css:a.next"'),
        ("ccs:a", "did you mean css:?"),
        ("css: ", 'behind css: there must be a CSS selector, for example "css:a.next"'),
        ("css:a[", "must be a CSS selector: its brackets or quotes do not match"),
        ("xpath://a[", "must be an XPath 1.0 expression: "),
        ("re:(", "must be a regular expression: missing )"),
        ("re:\b", "between double quotes \\b is a backspace"),
        ("json:$.a[", "must be a JSON path: unexpected end of query"),
        ("json:a", "must be a JSON path: a path begins with $"),
        ("json:$[?" + "(" * 5000 + "@.a" + ")" * 5000 + "]", "must be a JSON path: it is nested too deeply"),
    ],
)
def test_wrong_matchers(text: str, said: str) -> None:
    """What is no matcher is refused with what would be right."""
    with pytest.raises(ValueError, match=re.escape(said)):
        read_follow(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redirect:/login", "a redirect can only be unexpected: write !redirect:, for example !redirect:/login"),
        ("!redirect:", "behind !redirect: there must be a regular expression"),
        ("!redirect:(", "must be a regular expression: missing )"),
        ("!x:", "must begin with css:"),
    ],
)
def test_wrong_expectations(text: str, said: str) -> None:
    """What is no entry of `expect` is refused with what would be right."""
    with pytest.raises(ValueError, match=re.escape(said)):
        read_expected(text)


def test_json_fields() -> None:
    """JSON paths give texts of a page for columns; a page that is no JSON gives none."""
    assert list(json_path("$.id[*]").texts(page(JSON).document)) == ["7", "a/b", "", "true", '{"x": 1}']
    assert list(json_path("$").texts(page(HTML).document)) == []
