"""Heads are read as `http.client` reads them, by other code."""

from __future__ import annotations

import io
import re
import time
from http.client import parse_headers

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.http.answers import TooLargeError
from fscrawl.http.framing import Head, Lines, read_headers, read_plain
from fscrawl.http.outgoing import Outgoing, with_headers, written

PIECES = st.sampled_from(
    [
        "X",
        "x",
        "a-b",
        ":",
        ": ",
        " ",
        "\t",
        "\r\n",
        "\n",
        "From ",
        "1",
        "é",
        "\x0b",
        "\x85",
        "\x1c",
        "\0",
        "y, z",
        "(",
        "\x7f",
    ]
)


def read(text: str) -> tuple[dict[str, str], str]:
    return read_headers(Lines(io.BytesIO(text.encode("latin-1"))))


def texts(text: str) -> dict[str, str]:
    return Head(1, 200, read(text)[0]).texts()


@given(st.lists(PIECES, max_size=24).map("".join))
def test_like_http_client(text: str) -> None:
    """Names, values and their order are the same, and so is where a head ends that has a line which is no header."""
    expected = parse_headers(io.BytesIO(text.encode("latin-1") + b"\r\n\r\n"))
    found, hidden = read(text + "\r\n\r\n")
    values: dict[str, list[str]] = {}
    for name, value in expected.items():
        values.setdefault(name.lower(), []).append(re.sub(r"[ \t]*\r?\n[ \t]+", " ", str(value)).strip(" \t"))
    assert {name: value.split("\n") for name, value in found.items()} == values
    assert bool(expected.get_payload()) <= bool(hidden or "From " in text)


def test_repeated_and_folded() -> None:
    """Repeated values stay lines, without the white space around them; a folded one is one line."""
    assert read("A: 1\r\na:2\r\nB: x\r\n\ty \r\n\r\nD: 4\r\n") == ({"a": "1\n2", "b": "x y"}, "")


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"caf\xc3\xa9", "café"), (b"caf\xe9", "café"), (b"\xc4\xe3\x81", "Äã\x81"), (b"\xc3\xa9\xe9", "Ã©é")],
)
def test_beyond_ascii(raw: bytes, text: str) -> None:
    """A value in UTF-8 is taken for that, any other one for Latin-1, as a whole."""
    assert texts(f"A: {raw.decode('latin-1')}\r\n\r\n") == {"a": text}


@pytest.mark.parametrize(("line", "number"), [("A: 1\r\n", 20_000), ("A: 1\r\n", 200), (f"A: {'x' * 200_000}\r\n", 1)])
def test_many_and_long_lines(line: str, number: int) -> None:
    """A head may have any number of lines, and lines of any length, within a bound of its bytes; it is read quickly."""
    began_s = time.thread_time()
    assert len(read(line * number + "\r\n")[0]["a"].split("\n")) == number
    assert time.thread_time() - began_s < 0.5
    with pytest.raises(TooLargeError):
        read(line * (262_144 // len(line)) + line[: 262_144 % len(line)] + "\r\n")


def buffered(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]


@given(
    st.lists(PIECES, max_size=24).map("".join), st.sampled_from(["HTTP/1.1 200 OK", "HTTP/1.1 404", "HTTP/1.1 299 "])
)
def test_a_plain_head_is_read_at_once(lines: str, status: str) -> None:
    """What is read at once is what is read line by line, up to the same byte; nothing is read if it is not plain."""
    data = f"{status}\r\nA: b\r\n{lines}\r\n\r\nbody".encode("latin-1")
    file = buffered(data)
    found = read_plain(file)
    if found is None:
        assert file.read() == data
        return
    assert found.status == int(status.split(" ")[1])
    by_line = buffered(data)
    by_line.readline()
    assert (found.raw, "") == read_headers(Lines(by_line))
    assert file.read() == by_line.read()


@pytest.mark.parametrize(
    ("head", "is_plain"),
    [
        ("HTTP/1.1 200 OK\r\nA: 1\r\na:2\r\n\r\n", True),
        ("HTTP/1.1 200 OK\r\n\r\n", False),
        ("HTTP/1.1 200 OK\r\nA: 1\r\n", False),  # more may come
        ("HTTP/1.1 200 OK\nA: 1\n\n", False),
        ("HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n", False),
        ("HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n", False),
        ("HTTP/1.1 200 OK\r\nA b: 1\r\n\r\n", False),
        ("HTTP/1.1 200 OK\r\n" + "A: 1\r\n" * 100 + "\r\n", True),
        ("HTTP/1.1 103 Early\r\nA: 1\r\n\r\n", False),
        ("HTTP/1.0 200 OK\r\nA: 1\r\n\r\n", False),
        ("HTTP/1.1 2000 OK\r\nA: 1\r\n\r\n", False),
        ("", False),
    ],
)
def test_which_heads_are_plain(head: str, is_plain: bool) -> None:
    """All others are read line by line, which says what is wrong with them."""
    file = buffered(head.encode())
    assert (read_plain(file) is not None) is is_plain
    assert file.read() == (b"" if is_plain else head.encode())


def test_request() -> None:
    """A request has one Host, its headers in order, and its body behind an empty line."""
    headers = with_headers({}, {"X": "1", "Y": b"\xc3\xa9"})
    asked = Outgoing("http://a.example:8080/a?b", "POST", headers, written(headers), b"body")
    sent = asked.to_bytes("/a?b", b"Z: 2\r\n")
    assert sent == b"POST /a?b HTTP/1.1\r\nHost: a.example:8080\r\nX: 1\r\nY: \xc3\xa9\r\nZ: 2\r\n\r\nbody"
    headers = with_headers({}, {"host": "b"})
    sent = Outgoing("http://a.example/", "GET", headers, written(headers), b"").to_bytes("/")
    assert sent == b"GET / HTTP/1.1\r\nhost: b\r\n\r\n"


@pytest.mark.parametrize(("name", "value"), [("X\r\nY", "1"), ("", "1"), (" X", "1"), ("X", "1\nY: 2"), ("X", b"1\n")])
def test_no_second_header(name: str, value: str | bytes) -> None:
    """A header cannot bring another one along."""
    with pytest.raises(ValueError, match="cannot be sent"):
        written({name.lower(): (name, value)})


def test_blanks_cost_no_time() -> None:
    """A head with as many blanks as it may have is read at once: its reader would hold up all threads."""
    blanks = " \t" * 25_000
    began_s = time.thread_time()
    head, _ = read("".join(f"{name}: a{blanks}b\r\n" for name in "ABC") + f"D: a\r\n{blanks}\r\n b{blanks}\r\n\r\n")
    assert time.thread_time() - began_s < 0.5
    assert head["a"] == f"a{blanks}b"
    assert head["d"] == "a  b"


def test_folded_lines_cost_no_time() -> None:
    """So is one whose value goes on in as many lines as it may have."""
    began_s = time.thread_time()
    head, _ = read("A: a\r\n" + " \n" * 120_000 + " b\r\n\r\n")
    assert time.thread_time() - began_s < 0.5
    assert head["a"].split() == ["a", "b"]
