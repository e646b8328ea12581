"""Requests and their spellings."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.request import (
    FORM,
    JSON,
    MAX_BODY_BYTES,
    MAX_FRAGMENT_CHARS,
    MAX_HEADERS_CHARS,
    MAX_SESSION_CHARS,
    MAX_SPELLING_CHARS,
    METHODS,
    Request,
    body_text,
    flaw,
    is_normal,
    is_spelling,
    read,
    shown,
    spelling,
    url_of,
)

URL = "http://a.example/s?q"
HEADERS = st.lists(st.tuples(st.sampled_from(["accept", "x-a"]), st.text("ab%&=:# ü").map(str.strip)), max_size=3)
REQUESTS = st.builds(
    Request,
    st.just(URL),
    st.sampled_from(METHODS),
    st.sampled_from(["", FORM, JSON, "text/plain; charset=utf-8"]),
    st.binary(max_size=60),
    HEADERS.map(tuple),
    st.text(max_size=20).filter(str.isprintable),
    st.text("/!?a-%20&=~", max_size=20),
)


@given(REQUESTS)
def test_a_spelling_is_read_back(request: Request) -> None:
    """Each request has one spelling of ASCII without blanks, from which it is read."""
    if flaw(request):
        return
    text = spelling(request)
    assert read(text) == request
    assert text.isascii()
    assert text.isprintable()
    assert " " not in text
    assert url_of(text) == URL
    assert urls.host(text) == "a.example"


@given(st.text("ab=&#%method1POST", max_size=40))
def test_only_spellings_are_read(text: str) -> None:
    """What is read has this spelling and no other; anything else is a ValueError."""
    try:
        request = read(f"{URL}#{text}")
    except ValueError:
        return
    assert spelling(request) == f"{URL}#{text}"


def test_a_plain_get_is_its_url() -> None:
    """The spelling of a plain GET is its URL, so its key is the one that it always had."""
    assert spelling(Request(URL)) == URL
    assert read(URL) == Request(URL)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request(URL, "BREW"), "must be one of GET"),
        (Request(URL, "POST", FORM, b"a" * (MAX_BODY_BYTES + 1)), "8,193 bytes; at most 8,192"),
        (Request(URL, "GET", FORM, b"a"), "a GET has no body"),
        (Request(URL, "POST", "form", b"a"), "must be a media type"),
        (Request(URL, session="a" * 201), "at most 200"),
        (Request(URL, session="a\nb"), "printable"),
        (Request(URL, headers=(("a b", "b"),)), "lower case"),
        (Request(URL, headers=(("cookie", "b"),)), "cannot be set"),
        (Request(URL, headers=(("x", "a\r\nb"),)), "one line"),
        (Request(URL, headers=(("x", "a" * 2048),)), "more than 2,048"),
        (Request(URL, fragment="/a b"), "that URLs may have there"),
        (Request(URL, fragment="/" + "a" * MAX_FRAGMENT_CHARS), "at most 2,000"),
    ],
)
def test_flaws(request_: Request, said: str) -> None:
    """What is wrong with a request is said in words; its spelling is not read."""
    assert said in flaw(request_)
    with pytest.raises(ValueError, match="not the spelling"):
        read(spelling(request_))


def test_a_request_without_flaw() -> None:
    """A request with all its parts has no flaw."""
    full = Request(URL, "POST", JSON, b"{}", (("accept", "application/json"),), "s 1", "/item/3")
    assert flaw(full) == ""
    what, how = "method=POST&type=application/json&body=%7B%7D", "header=accept:application/json&session=s%201"
    assert spelling(full) == f"{URL}#{what}&{how}&fragment=/item/3"
    assert full.address == f"{URL}#/item/3"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"form": {"a": "1"}, "json": {"b": 2}}, "form and json"),
        ({"form": {}, "json": []}, "form and json"),
        ({"body": b"a", "form": {"a": "1"}}, "body and form"),
        ({"body": b"a", "json": 0}, "body and json"),
        ({"body": b"a", "form": {"a": "1"}, "json": 0}, "body and form and json"),
    ],
)
def test_a_request_has_one_body(given: dict[str, Any], said: str) -> None:
    """No body is left out in favour of another one: who gives two is told."""
    with pytest.raises(ValueError, match=f"a request has one body; it was given {said}, so leave"):
        Request(URL, **given)


@pytest.mark.parametrize(
    ("given", "method", "body"),
    [
        ({"form": {}}, "POST", b""),
        ({"form": []}, "POST", b""),
        ({"json": {}}, "POST", b"{}"),
        ({"json": 0}, "POST", b"0"),
        ({"form": {}, "method": "PUT"}, "PUT", b""),
        ({"body": b"", "json": None, "form": None}, "GET", b""),
    ],
)
def test_a_form_is_sent_by_post_even_if_it_is_empty(given: dict[str, Any], method: str, body: bytes) -> None:
    """A form or JSON makes the request a POST, whatever it holds; without them and without a body it is a GET."""
    assert Request(URL, **given)[1:4:2] == (method, body)


def test_a_request_can_be_pickled() -> None:
    """Requests cross pipes between processes."""
    request = Request(URL, form=[("a", "1"), ("a", "2")], headers={"Accept": "text/html"}, session="s")
    assert request.headers == (("accept", "text/html"),)
    assert pickle.loads(pickle.dumps(request)) == request
    assert request._replace(method="PUT").method == "PUT"


def test_the_longest_spelling() -> None:
    """The limits of a request keep its spelling within what readers look at."""
    headers = [("x", "\U0001f600")] * (MAX_HEADERS_CHARS // 2)
    url = "http://a.example/" + "a" * (urls.MAX_URL_CHARS - 17)
    kind = "a/" + "#" * 253
    session, fragment = "\U0001f600" * MAX_SESSION_CHARS, "%" * MAX_FRAGMENT_CHARS
    longest = Request(url, "PATCH", kind, bytes(MAX_BODY_BYTES), headers, session, fragment)
    assert flaw(longest) == ""
    assert len(spelling(longest)) < MAX_SPELLING_CHARS
    assert read(spelling(longest)) == longest
    with pytest.raises(ValueError, match="it has 65,537 characters"):
        read("http://a.example/#".ljust(MAX_SPELLING_CHARS + 1, "a"))


def test_a_long_type() -> None:
    """A media type has at most 255 characters."""
    assert "must be a media type" in flaw(Request(URL, "POST", "a/" + "b" * 254, b"a"))


@pytest.mark.parametrize(
    ("text", "spells", "normal"),
    [
        (URL, True, True),
        (f"{URL}#method=POST", True, True),
        ("HTTP://a.example/", True, False),
        ("http://a.example/a b#method=POST", True, False),
        (f"{URL}#top", False, False),
        (f"{URL}#", False, False),
        (f"{URL}#method=GET", False, False),
        (f"{URL}#session=1&method=GET", False, False),
        ("#method=POST", True, False),
    ],
)
def test_what_is_right(text: str, spells: bool, normal: bool) -> None:
    """A spelling is right in its fields; it is normal if its URL is, too."""
    assert is_spelling(text) is spells
    assert is_normal(text) is normal


def test_shown() -> None:
    """People see a request on one line, cut where it is long; what spells no request is left as it is."""
    asked = Request(URL, "POST", JSON, b'{"q":\n"\x1b[31m"}', (("accept", "text/html"),), "s 1")
    assert shown(spelling(asked)) == f'POST {URL} {{"q":%0A"%1B[31m"}} (accept: text/html) (session s 1)'
    assert shown(spelling(Request(URL, "POST", "", b"a" * 300))) == f"POST {URL} {'a' * 200}…"
    assert shown(URL) == URL
    assert shown(f"{URL}#top") == f"{URL}#top"


@given(st.binary(max_size=60))
def test_a_body_is_shown_on_one_line(body: bytes) -> None:
    """Whatever a body holds, what is shown of it can be printed."""
    assert body_text(Request(URL, "POST", "", body)).isprintable()
