"""What is wrong with a record that can be read."""

import pytest
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.request import Request, spelling
from fscrawl.storage import flaws
from fscrawl.storage.records import ErrorRecord, PageRecord

URL = "http://a.example/b"
WHEN = "2026-11-21T10:00:00.000Z"
PAGE = PageRecord(URL, urls.key(URL), 1, "", WHEN, "m", 200, {}, 0, "", 0.5, ())
FAILURE = ErrorRecord(URL, urls.key(URL), 1, "", WHEN, "m", "dns", "not found", 2)


def flaw(record, url=URL):
    return flaws.flaw(record, urls.host(url), urls.key(url))


def page_of(url):
    return replace(PAGE, url=url, key=urls.key(url))


def test_right_records():
    """A record as crawls write it has no flaw, and neither has one of a request."""
    request = spelling(Request(URL, form={"q": "a b"}))
    assert flaw(PAGE) == flaw(FAILURE) == flaw(page_of(request), request) == ""
    checked = replace(PAGE, checked_at=WHEN, checked_status=304, depth=2**31 - 1, bytes=10**15 - 1)
    assert flaw(PageRecord.from_json(checked.to_json())) == ""


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (PAGE, {"fetched_at": "yesterday"}),
        (PAGE, {"fetched_at": "x" * 99}),
        (PAGE, {"checked_at": ""}),
        (FAILURE, {"failed_at": "9999-12-31T23:59:59-01:00"}),
    ],
)
def test_wrong_times(record, fields):
    """A time that is none is named, and shortened."""
    [(name, value)] = fields.items()
    found = flaw(replace(record, **fields))
    assert found.startswith(f"{name} is {repr(value)[:60]}")
    assert len(found) < 130


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (PAGE, {"depth": -1}),
        (PAGE, {"status": 2**31}),
        (PAGE, {"checked_status": -1}),
        (PAGE, {"bytes": 10**15}),
        (PAGE, {"elapsed": 1e300}),
        (FAILURE, {"failed_at": "2026-11-21 10:00:00"}),
        (FAILURE, {"failed_at": ""}),
        (PAGE, {"referrer": "a b"}),
        (PAGE, {"referrer": "-"}),
        (FAILURE, {"attempts": -2}),
    ],
)
def test_what_no_table_and_no_log_can_hold(record, fields):
    """A record with such a value is none."""
    [name] = fields
    with pytest.raises(RecordError, match=rf"\$\.{name}"):
        type(record).from_json(replace(record, **fields).to_json())


@pytest.mark.parametrize("url", ["http://a.example/c", "http://b.example/b", "javascript:alert(1)", "", "http://["])
def test_other_urls(url):
    """The record of another URL, or of something that is none, is told by its URL."""
    assert flaw(replace(PAGE, url=url)) == f"its URL is {url}, which has another file"


def test_other_keys():
    """A record whose key is not that of its file is told by its key."""
    assert flaw(replace(PAGE, key="0" * 24)) == f"its key is '{'0' * 24}', which has another file"


def test_no_request():
    """What stands behind # in a URL must be a request."""
    url = f"{URL}#top"
    assert flaw(page_of(url), url) == f"its URL is {url}, which spells no request"


@pytest.mark.parametrize(
    "url", ["http://a.example:80/b", "http://A.example/b", "http://a.example/x/../b", "gopher://a/"]
)
def test_urls_that_are_not_normal(url):
    """A URL in another form is told even where the file has its name."""
    assert flaw(page_of(url), url) == f"its URL is {url}, which is not in its normal form"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (WHEN, True),
        ("2026-11-21T10:00:00.123456+05:30", True),
        ("2026-11-21", True),
        ("", False),
        ("10:00", False),
        ("9999-12-31T23:59:59-01:00", False),
    ],
)
def test_is_time(text, right):
    """A time is one that can be told in UTC."""
    assert flaws.is_time(text) == right
