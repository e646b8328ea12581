"""What becomes of a request's method, body, headers and session when it is redirected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.handlers.meaning import redirected
from fscrawl.request import FORM, METHODS, Request, flaw, read, spelling

A, ELSEWHERE, TLS = "http://a.example/s", "http://b.example/t", "https://a.example/t"
HEADERS = (("accept", "text/html"), ("content-language", "de"))


def read_of(spelled: str | None) -> Request:
    assert spelled is not None
    return read(spelled)


def post(method: str = "POST", **more: object) -> str:
    return spelling(Request(A, method, FORM, b"q=1")._replace(**more))


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_post_becomes_a_get(status: int) -> None:
    """301, 302 and 303 after a POST lead to a plain GET of the target."""
    assert redirected(post(), status, "http://a.example/t") == "http://a.example/t"


def test_the_fragment_goes_along() -> None:
    """A server does not see the fragment, so a redirect does not change it, wherever it leads."""
    assert read_of(redirected(spelling(Request(A, fragment="/3")), 301, ELSEWHERE)) == Request(ELSEWHERE, fragment="/3")


@pytest.mark.parametrize("status", [307, 308])
def test_method_and_body_stay(status: int) -> None:
    """307 and 308 ask for the same at the target."""
    assert read_of(redirected(post(), status, ELSEWHERE)) == Request(ELSEWHERE, "POST", FORM, b"q=1")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_body_from_https_to_http(status: int) -> None:
    """What was sent in secret is not sent for all to read, whatever the method and host; without a body nothing is."""
    for target in (A, ELSEWHERE):
        assert redirected(post("PUT", url=TLS), status, target) is None
    assert redirected(spelling(Request(TLS, headers=HEADERS)), status, A) == A
    assert redirected(post(url=TLS), 303, A) == A


def test_other_methods() -> None:
    """A PUT stays one, unless the status is 303."""
    assert read_of(redirected(post("PUT"), 301, A + "/")).method == "PUT"
    assert redirected(post("PUT"), 303, A + "/") == A + "/"


def test_headers_and_session() -> None:
    """They stay on the host that they are for; a GET has no headers of content; another origin learns none."""
    asked = post(headers=HEADERS, session="7")
    kept = Request(A, "POST", FORM, b"q=1", HEADERS, "7")
    assert read_of(redirected(asked, 307, A)) == kept
    assert read_of(redirected(asked, 303, A)) == Request(A, headers=HEADERS[:1], session="7")
    assert read_of(redirected(asked, 307, TLS)) == kept._replace(url=TLS, headers=())
    assert redirected(asked, 303, ELSEWHERE) == ELSEWHERE


@given(
    st.sampled_from(METHODS[1:]),
    st.binary(max_size=20),
    st.sampled_from([(), HEADERS]),
    st.sampled_from(["", "7"]),
    st.sampled_from([301, 302, 303, 307, 308]),
    st.sampled_from([A, ELSEWHERE, TLS]),
)
def test_what_follows_is_a_request(
    method: str, body: bytes, headers: tuple[tuple[str, str], ...], session: str, status: int, target: str
) -> None:
    """Any redirect of any request leads to a request without a flaw; only a GET has lost its body."""
    asked = Request(A, method, FORM if body else "", body, headers, session)
    found = read_of(redirected(spelling(asked), status, target))
    assert not flaw(found)
    assert found.url == target
    assert found.body == (b"" if found.method == "GET" else body)
