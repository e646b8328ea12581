"""The files of the tree as bytes."""

import json
import subprocess
import sys

import msgspec
import pytest

from fscrawl.errors import RecordError
from fscrawl.storage.records import (
    WITHHELD,
    ErrorRecord,
    PageRecord,
    RobotsRecord,
    TreeRecord,
    new_machinery,
    timestamp,
)

PAGE = PageRecord(
    url="http://a.example/",
    key="0" * 24,
    depth=0,
    referrer="",
    fetched_at="2024-01-01T00:00:00.000Z",
    machine="m-1-a",
    status=200,
    headers={"content-type": "text/html"},
    bytes=5,
    sha256="ab",
    elapsed=0.25,
    links=("http://a.example/b", "http://a.example/c"),
)
TREE = TreeRecord(format=3, machinery="0" * 32, crawl="c", created_at="t", shards=512, partition="host")


def page_file(**changes):
    return json.dumps(json.loads(PAGE.to_json()) | changes).encode()


def test_file():
    """A file is one line of UTF-8 JSON in the fields' order; what is None is left out."""
    robots = RobotsRecord("http://a.example/robots.txt", "t", 200, "é\n")
    assert robots.to_json() == (
        '{"url":"http://a.example/robots.txt","fetched_at":"t","status":200,"text":"é\\n"}\n'.encode()
    )
    assert b"title" not in PAGE.to_json()


@pytest.mark.parametrize("file", ["", "../x", "a/b", "PDF", "pdf\n", "tar.gz", "extension"])
def test_extension_in_a_record(file):
    """A record whose body's file could not be called that is torn; any other extension may come."""
    with pytest.raises(RecordError, match="file"):
        PageRecord.from_json(page_file(file=file))
    assert PageRecord.from_json(page_file(file="xyz9")).file == "xyz9"
    assert PageRecord.from_json(page_file()).file is None


def test_class_field():
    """A field named for a Python keyword has its plain name in the file."""
    error = ErrorRecord("http://a.example/", "0", 0, "", "t", "m", "timeout", "no answer", 3)
    assert json.loads(error.to_json())["class"] == "timeout"
    assert ErrorRecord.from_json(error.to_json()) == error


@pytest.mark.parametrize("name", sorted(WITHHELD))
def test_sessions_and_logins_are_withheld(name):
    """A record has the names of headers that may hold a session or a login, and not their values."""
    headers = {"content-type": "text/html", name: "id=hunter2"}
    error = ErrorRecord("http://a.example/", "0", 0, "", "t", "m", "http-4xx", "no", 1, 401, headers)
    for record in (msgspec.structs.replace(PAGE, headers=headers), error):
        assert record.headers == {"content-type": "text/html", name: ""}
        assert b"hunter2" not in record.to_json()
    assert headers[name] == "id=hunter2"


def test_values_of_sessions_are_not_read():
    """Somebody's record may have the values; they are not read."""
    assert PageRecord.from_json(page_file(headers={"set-cookie": "id=hunter2"})).headers == {"set-cookie": ""}


def test_lists_come_back_as_tuples():
    """Links are read back as they were: an immutable sequence in page order."""
    page = msgspec.structs.replace(PAGE, nofollow=(), robots=("noindex",))
    assert PageRecord.from_json(page.to_json()) == page


def test_unknown_fields():
    """Fields of a newer program are ignored."""
    assert PageRecord.from_json(page_file(colour="red", more={"a": [1]})) == PAGE


@pytest.mark.parametrize("name", [f.name for f in msgspec.structs.fields(PageRecord) if f.required])
def test_missing_field(name):
    """A missing field is named."""
    values = json.loads(PAGE.to_json())
    del values[name]
    with pytest.raises(RecordError, match=f"missing required field `{name}`"):
        PageRecord.from_json(json.dumps(values).encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", 1),
        ("depth", "0"),
        ("depth", True),
        ("depth", 0.0),
        ("elapsed", False),
        ("headers", []),
        ("headers", {"a": 1}),
        ("links", "http://a.example/"),
        ("links", [1]),
        ("title", 1),
    ],
)
def test_wrong_type(name, value):
    """A field of the wrong type is named."""
    with pytest.raises(RecordError, match=rf"Expected .*, got .* - at `\$\.{name}"):
        PageRecord.from_json(page_file(**{name: value}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0" * 64,
        b"\xff\xfe",
        b"\xc3(",
        b"{'url': 1}",
        PAGE.to_json()[:-2],
        PAGE.to_json() + b"{}",
        PAGE.to_json().replace(b'"depth":0', b'"more":' + b"[" * 100_000),
    ],
)
def test_not_json(data):
    """Bytes that are no JSON, or nested or numbered beyond reason, are a RecordError."""
    with pytest.raises(RecordError, match="not JSON"):
        PageRecord.from_json(data)


@pytest.mark.parametrize("data", [b"null", b"[]", b"1", b'"text"', b'{"format":' * 100_000])
def test_not_an_object(data):
    """JSON that is no object is a RecordError."""
    with pytest.raises(RecordError, match=r"^Expected"):
        TreeRecord.from_json(data)


def test_whole_elapsed():
    """A number of whole seconds is a number of seconds."""
    assert PageRecord.from_json(page_file(elapsed=2)).elapsed == 2


def test_torn_newline():
    """A file that lacks nothing but its last newline says what it should."""
    assert TreeRecord.from_json(TREE.to_json()[:-1]) == TREE


def test_lone_surrogate():
    """What UTF-8 cannot hold is written as a question mark."""
    page = PageRecord.from_json(msgspec.structs.replace(PAGE, title="a\ud800b").to_json())
    assert page.title == "a?b"


def test_more_values_than_a_record_has():
    """A large file of small values, which would take twenty times as much memory, is not parsed."""
    with pytest.raises(RecordError, match="more values than a record can have"):
        PageRecord.from_json(PAGE.to_json().replace(b'"links":[', b'"links":[' + b'"",' * 1_100_000))


def test_large_record():
    """A record with as many links as one can have, and with quotes and backslashes in them, is read."""
    links = tuple(f'http://a.example/?{number}\\"{{[' for number in range(100_000))
    page = msgspec.structs.replace(PAGE, links=links)
    assert len(page.to_json()) > 2_000_000
    assert PageRecord.from_json(page.to_json()) == page


@pytest.mark.parametrize("title", [b"a\\ud800b", b"a\xed\xa0\x80b"])
def test_halves_that_somebody_has_written(title):
    """A file with half of a surrogate pair is torn: no machine writes one."""
    with pytest.raises(RecordError, match="not JSON"):
        PageRecord.from_json(msgspec.structs.replace(PAGE, title="T1T").to_json().replace(b"T1T", title))


def test_timestamp():
    """Times are RFC 3339 in UTC, in milliseconds, cut and not rounded."""
    assert timestamp(1_700_000_000.1239) == "2023-11-14T22:13:20.123Z"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_no_number_of_json(number):
    """What Python takes for a number and JSON does not is a RecordError."""
    with pytest.raises(RecordError, match="not JSON"):
        RobotsRecord.from_json(b'{"url":"u","fetched_at":"t","status":' + number + b',"text":""}')


def test_links_to_follow():
    """Links that a page asks not to be followed are given only where that was asked for."""
    record = msgspec.structs.replace(PAGE, links=("http://a.example/1",), nofollow=("http://a.example/2",))
    assert record.links_to(nofollow=False) == ("http://a.example/1",)
    assert record.links_to(nofollow=True) == ("http://a.example/1", "http://a.example/2")
    assert msgspec.structs.replace(record, nofollow=None).links_to(nofollow=True) == ("http://a.example/1",)


@pytest.mark.parametrize("machinery", ["", "ab", "0" * 33, "G" * 32, "0" * 31 + "\n"])
def test_tree_without_its_machinery(machinery):
    """A tree names its machinery by 32 hex digits."""
    torn = msgspec.structs.replace(TREE, format=3, machinery=machinery)
    with pytest.raises(RecordError, match="machinery"):
        TreeRecord.from_json(torn.to_json())
    assert TreeRecord.from_json(TREE.to_json()) == TREE
    whole = msgspec.structs.replace(torn, machinery=new_machinery())
    assert TreeRecord.from_json(whole.to_json()) == whole


def test_new_machinery():
    """Each name of a machinery is its own."""
    assert len({new_machinery() for _ in range(100)}) == 100


def test_requests_take_the_place_of_links() -> None:
    """What the rules of a site found is followed, unless the page asks robots to follow nothing."""
    page = PageRecord("u", "k", 0, "", "t", "m", 200, {}, 0, "", 0.0, ("a", "b"), requests=("b", "c"), rules="d")
    assert (page.links_to(nofollow=False), page.links_to(nofollow=True)) == (("b", "c"), ("b", "c"))
    assert [page.names(url) for url in "abcd"] == ["unfollowed", "link", "link", None]
    silent = msgspec.structs.replace(page, robots=("nofollow",))
    assert (silent.links_to(nofollow=False), silent.links_to(nofollow=True)) == ((), ("b", "c"))
    assert PageRecord.from_json(page.to_json()) == page
    assert b"requests" not in msgspec.structs.replace(page, requests=None, rules=None).to_json()


_FIRST = """
import os, sys, threading
from fscrawl.storage.records import PageRecord

def read():
    barrier.wait()
    for _ in range(20):
        PageRecord.from_json(data)

data = sys.argv[1].encode()
sys.setswitchinterval(1e-6)
for _ in range(20):
    if not (child := os.fork()):
        barrier = threading.Barrier(8)
        threads = [threading.Thread(target=read) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.gate
def test_the_first_records_are_read_by_many_threads():
    """With msgspec 0.22, a process crashes if two threads are the first to decode a type."""
    record = page_file(encoding="utf-8", encoding_source="declared", title="Page 6", ip="127.0.77.1")
    done = subprocess.run([sys.executable, "-c", _FIRST, record], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
