"""What a dataset is made of, as the user said it."""

from datetime import UTC, datetime

import msgspec
import pytest

from fscrawl.dataset import schema
from fscrawl.dataset.options import FORMATS, Filters, Options, choose, expression, one_of, since, status, tables_as_text
from fscrawl.errors import SettingsError, UsageError
from fscrawl.parse.fields import OF_ITEMS, OF_PAGES
from fscrawl.storage.records import PageRecord

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHANGED = {
    "formats": ("csv",),
    "text": "main",
    "html": False,
    "fields": '[{"hosts": ["*"], "fields": {"x": "css:p"}}]',
    "dedupe": True,
    "noindex": True,
    "hosts": ("a",),
    "status": ("200",),
    "since": "2026-01-01T00:00:00.000Z",
    "include": ("a",),
    "exclude": ("b",),
    "limit": 3,
    "files": True,
    "language": True,
    "site": "0a1b2c3d",
    "versions": "all",
    "changes": True,
}


def page(url="http://a.example/x", status=200, fetched_at="2026-11-01T00:00:00.000Z"):
    return PageRecord(url, "k", 0, "", fetched_at, "m", status, {}, 0, "", 0.0, ())


def includes_failure(filters, url="http://a.example/x", failed_at="2026-11-01T00:00:00.000Z"):
    return filters.includes(url, failed_at)


def test_values():
    """Options come back from JSON as they went in, whatever they are."""
    for options in (Options(), Options(**CHANGED)):
        assert msgspec.json.decode(msgspec.json.encode(options), type=Options) == options


@pytest.mark.parametrize("name", CHANGED)
def test_another_option(name):
    """Each option is held to what the dataset was made with; the same one may be said again."""
    assert {*CHANGED, "since_text"} == set(Options.__struct_fields__)
    with pytest.raises(UsageError, match="--rebuild"):
        choose({name: CHANGED[name]}, Options(), "out")
    kept = Options(**{name: CHANGED[name]})
    assert choose({name: CHANGED[name]}, kept, "out") == kept
    if name == "site":  # the text of the file is not kept
        with pytest.raises(UsageError, match="digest 0a1b2c3d; give it again"):
            choose({}, kept, "out")
    else:
        assert choose({}, kept, "out") == kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01", "2026-11-01T00:00:00.000Z"),
        ("2026-11-01T12:00:00Z", "2026-11-01T12:00:00.000Z"),
        ("2026-11-01T12:00:00+02:00", "2026-11-01T10:00:00.000Z"),
        ("2026-11-01 12:00", "2026-11-01T12:00:00.000Z"),
        ("2026-11-01T12:00:00.5", "2026-11-01T12:00:00.500Z"),
        ("30m", "2026-11-21T11:30:00.000Z"),
        ("12h", "2026-11-21T00:00:00.000Z"),
        ("7d", "2026-11-14T12:00:00.000Z"),
        ("2w", "2026-11-07T12:00:00.000Z"),
    ],
)
def test_since(text, expected):
    """--since takes dates, times in any zone, in UTC without one, and ages."""
    assert since(text, NOW) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "7", "d", "-7d", "7y", "1.5d", "2026-13-01", "999999w", "9999999d", "2026-11-01x"]
)
def test_bad_since(text):
    """Whatever else is given for --since is refused with examples."""
    with pytest.raises(UsageError, match=r"--since .*2026-11-01.*7d"):
        since(text, NOW)


def test_bad_texts():
    """Expressions, choices and statuses are checked, and named with their flag."""
    with pytest.raises(UsageError, match=r"--include \(: not a regular expression"):
        expression("(", "--include")
    with pytest.raises(UsageError, match=r"--exclude .*: not UTF-8"):
        expression("a\udcff", "--exclude")
    assert expression("a+ü", "--include") == "a+ü"
    with pytest.raises(UsageError, match="--format x: must be one of parquet"):
        one_of("x", FORMATS, "--format")
    assert one_of("csv", FORMATS, "--format") == "csv"
    for text in ("", "20", "2000", "6xx", "xxx", "2XX", "200\n", "٢٠٠", "0xx"):
        with pytest.raises(UsageError, match="--status"):
            status(text)
    for text in ("200", "5xx", "199"):
        assert status(text) == text


@pytest.mark.parametrize("name", sorted(OF_PAGES))
def test_taken_names(name):
    """No field may be called like a column."""
    with pytest.raises(SettingsError, match=f"the dataset already has a column {name}"):
        tables_as_text(f"[[site]]\nhosts = ['*']\nfields = {{{name} = 'css:b'}}\n", "crawl.toml")


def test_names_of_columns():
    """A crawl, which does not load the library of the schema, knows the same names."""
    assert frozenset(schema.PAGES.names) == OF_PAGES
    assert frozenset(schema.ITEMS.names) == OF_ITEMS


def test_reads_text():
    """Pages are parsed where anything needs their text."""
    assert Options().reads_text
    assert not Options(text="none").reads_text
    assert not Options(formats=("warc",)).reads_text
    assert Options(formats=("warc", "csv")).reads_text
    assert Options(formats=("warc",), dedupe=True).reads_text
    assert Options(text="none", fields="x").reads_text


def test_no_filter():
    """Without filters everything is taken."""
    filters = Filters(Options())
    assert not filters.reason(page(status=0))
    assert not filters.reason(page(status=999))
    assert includes_failure(filters)
    assert filters.may_include_host("anything")


@pytest.mark.parametrize(
    ("directory", "url"),
    [
        ("a.example", "http://a.example/"),
        ("a.example_81", "http://a.example:81/"),
        ("a_b.example", "http://a_b.example/"),
        ("a_b.example_81", "http://a_b.example:81/"),
        ("a_81", "http://a_81/"),
        ("h-0123456789abcdef0123456789abcdef", "http://[::1]/"),
        ("h-shop.example", "http://h-shop.example/"),
    ],
)
def test_sieve(directory, url):
    """A host directory passes the sieve whenever a page in it can pass the filter."""
    name = url.split("/")[2].rpartition(":81")[0] or url.split("/")[2]
    for glob in (name, name.upper(), "*", f"{name[:2]}*", f"*{name[-3:]}"):
        filters = Filters(Options(hosts=(glob,)))
        assert not filters.reason(page(url)), glob
        assert includes_failure(filters, url), glob
        assert filters.may_include_host(directory), glob


def test_sieve_saves_reading():
    """Directories of other hosts do not pass the sieve."""
    filters = Filters(Options(hosts=("*.example", "b")))
    assert [name for name in ("a.example_80", "b", "c", "a.example.org", "b_1x") if filters.may_include_host(name)] == [
        "a.example_80",
        "b",
    ]


def test_time_filter():
    """The moment itself is since."""
    filters = Filters(Options(since="2026-11-01T00:00:00.000Z"))
    assert not filters.reason(page())
    assert includes_failure(filters)
    assert filters.reason(page(fetched_at="2026-10-31T23:59:59.999Z"))
    assert not includes_failure(filters, failed_at="2026-10-31T23:59:59.999Z")


def test_status_is_whole():
    """A status is compared as a whole, a class by its first digit."""
    assert Filters(Options(status=("200",))).reason(page(status=2001))
    assert not Filters(Options(status=("404", "2xx"))).reason(page(status=299))
    assert Filters(Options(status=("404", "2xx"))).reason(page(status=400))


def test_expressions():
    """Expressions are searched in the whole URL; exclude wins."""
    filters = Filters(Options(include=("x$", "^https:"), exclude=("secret",)))
    found = [filters.reason(page(url)) for url in ("http://a/x", "https://a/", "http://a/y", "https://a/secret")]
    assert found == ["", "", "include", "exclude"]


def test_expressions_that_never_end():
    """A URL for which `re` takes for ever is judged at once."""
    hostile = f"http://a/{'a' * 40}!"
    assert Filters(Options(include=("(a+)+$",))).reason(page(hostile))
    assert not Filters(Options(exclude=("(a+)+$",))).reason(page(hostile))


@pytest.mark.parametrize(
    ("name", "value"), [("formats", ("csv", "warc", "csv")), ("hosts", ("b.example", "a.example"))]
)
def test_the_order_of_values_does_not_matter(name, value):
    """Options that may be repeated are the same in another order, and said twice."""
    kept = Options(formats=("warc", "csv"), hosts=("a.example", "b.example"))
    assert choose({name: value}, kept, "out") == kept
    with pytest.raises(UsageError, match=f"was made with {name}"):
        choose({name: value[1:2]}, kept, "out")
