"""Requests as people write them on a line, and what is said of those that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.config.seeds import line_of, read_seed, read_seeds, written_request
from fscrawl.request import FORM, JSON, MAX_BODY_BYTES, Request, read, spelling

URL = "http://a.example/s"
BODIES = st.text('ab=&#%{}[]"+: ü\n\t\x00', max_size=30).map(str.encode)
REQUESTS = st.builds(
    Request,
    st.just(URL),
    st.sampled_from(["POST", "PUT"]),
    st.sampled_from([FORM, JSON, "text/plain"]),
    st.one_of(BODIES, st.binary(max_size=20)),
    st.sampled_from([(), (("accept", "text/html"),)]),
    st.sampled_from(["", "7"]),
    st.sampled_from(["", "/item/3", "!%C3%BC"]),
)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (f"POST {URL} q=1&r=2", Request(URL, "POST", FORM, b"q=1&r=2")),
        ("post  HTTP://A.example:80/s#top \t q=1 ", Request(URL, "POST", FORM, b"q=1")),
        (f"POST {URL} q=a b&r=ü\t%41", Request(URL, "POST", FORM, b"q=a+b&r=%C3%BC%09%41")),
        (f'PUT {URL} {{"a b": [1, "ü"]}}', Request(URL, "PUT", JSON, '{"a b": [1, "ü"]}'.encode())),
        (f"PATCH {URL} [1]", Request(URL, "PATCH", JSON, b"[1]")),
        (f"POST {URL}", Request(URL, "POST")),
        (f"GET {URL}", Request(URL)),
        (f"{URL}#method=POST&session=1", Request(URL, "POST", session="1")),
    ],
)
def test_requests(line: str, meant: Request) -> None:
    """A form, JSON, no body, blanks, other alphabets, and spellings."""
    assert written_request(line.strip()) == spelling(meant)
    said: list[str] = []
    assert list(read_seeds(f"  {line} # a comment\n", "seeds.txt", said.append)) == [spelling(meant)]
    assert said == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"POST {URL} {'a' * (MAX_BODY_BYTES + 1)}", "its body has 8,193 bytes; at most 8,192 are allowed"),
        (f"GET {URL} q=1", "a GET has no body"),
        (f"DELETE {URL}", "its method is 'DELETE'; it must be one of GET, POST"),
        (f'POST {URL} {{"page": }}', "its body begins like JSON and is none (Expecting value"),
        (f"POST {URL} {'[' * 100_000}", "its body begins like JSON and is none ("),
        ("POST a.example/s q=1", "behind POST there must be a complete URL; write POST https://example.org/"),
        ("POST http://a.example:25/ q=1", "port 25 is of another protocol than HTTP"),
        (f"PST {URL} q=1", "PST is no method; did you mean POST?"),
        (f"SEND {URL}", "SEND is no method; the methods are GET, POST, PUT, PATCH"),
        (f"{URL}#method=BREW", "what begins at # is not the spelling of a request"),
    ],
)
def test_what_is_none(line: str, said: str) -> None:
    """One line that names the place, what is wrong, and what would be right; the others are read."""
    told: list[str] = []
    assert list(read_seeds(f"{URL}\n{line}\n", "seeds.txt", told.append)) == [URL]
    assert len(told) == 1
    assert told[0].startswith(f"seeds.txt:2:1: {said}")
    assert len(told[0]) < 400


@pytest.mark.parametrize("text", ["hello", "see http://a.example/", "http://a.example/", "POST", "", "a#b c"])
def test_what_is_no_request(text: str) -> None:
    """What does not begin with a method is left to those who read URLs."""
    assert written_request(text) is None


def test_a_login_is_not_shown() -> None:
    """A warning never has the password of a URL."""
    told: list[str] = []
    read_seeds("DELETE http://me:pw@a.example/ x\n", "seeds.txt", told.append)
    assert "pw" not in told[0]


@given(REQUESTS)
def test_lines_are_read_back(request: Request) -> None:
    """Whatever is asked for, it has one line, from which the same request is read."""
    line = line_of(spelling(request))
    told: list[str] = []
    assert list(read_seeds(f"{line}\n", "", told.append)) == [spelling(request)]
    assert told == []


def test_a_line_is_readable() -> None:
    """A form and JSON stand in a line as they are; what a line cannot hold stands there in its spelling."""
    assert line_of(URL) == URL
    assert line_of(spelling(Request(URL, "POST", JSON, b'{"q": 1}'))) == f'POST {URL} {{"q": 1}}'
    with_comment = spelling(Request(URL, "POST", JSON, b'{"q": " #1"}'))
    assert line_of(with_comment) == with_comment
    bad_json = spelling(Request(URL, "POST", JSON, b"{"))
    assert line_of(bad_json) == bad_json


@given(st.text("POSTaeh:/.# {}[]=&", max_size=40))
def test_any_text(text: str) -> None:
    """Whatever stands on a line, it is a request that can be read, or a ValueError."""
    try:
        found = read_seed(text)
    except ValueError:
        return
    assert spelling(read(found)) == found
