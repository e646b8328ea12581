"""Sites that are said in Python: what a file may say, and what becomes of its mistakes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from fscrawl.commands.program import read_file
from fscrawl.errors import UsageError
from fscrawl.parse.fields import Column, Extracted
from fscrawl.request import FORM
from fscrawl.site import Answer, NoAnswer, Request, Site, Unexpected, dates
from fscrawl.sites import code
from fscrawl.sites.code import Code, load
from fscrawl.sites.rules import SiteFault, SiteFile, SiteRules, Understood, digest_of

_HEAD = "from fscrawl.site import Request, Seed, Site, Unexpected\n\n\nclass A(Site):\n"
HOSTS = '    hosts = ["a.example"]\n'
URL = "http://a.example/d/"


def file_of(*lines: str, hosts: str = HOSTS) -> SiteFile:
    """Give a site file with one class that has these lines; the first of them is line 6."""
    return SiteFile("site.py", _HEAD + hosts + "".join(f"    {line}\n" for line in lines))


def site_of(*lines: str) -> SiteRules:
    return load(file_of(*lines))[0]


def seeds_of(site: SiteRules) -> Iterator[tuple[str, str]]:
    assert site.code is not None
    return site.code.seeds()


def method(name: str, *body: str) -> list[str]:
    """Give a method of two arguments, or of one for `seeds`; its body begins in line 7."""
    return [f"def {name}(self{'' if name == 'seeds' else ', page'}):", *(f"    {line}" for line in body)]


PAGE = Answer(URL, b'<h1>T</h1><a href="1">x</a><a href="mailto:a@b">y</a>')


def test_a_site_that_says_nothing() -> None:
    """A class without methods gives what a crawl without a file does: the links of its pages."""
    site = site_of("pass")
    assert (site.name, site.hosts, site.columns) == ("class A in site.py", ("a.example",), ())
    understood = site.understand(PAGE)
    assert understood.requests is None
    assert not understood.unexpected + understood.fault
    assert site.values_of(PAGE) == Extracted({}, {}, ())
    assert site.code == Code(file_of("pass"), 0, frozenset())
    site.code.open_session("s", lambda asked: PAGE)


def test_seeds_are_requests() -> None:
    """Seeds are URLs and requests, with a label or without; they are given one by one, so they may be many."""
    site = site_of(
        *method(
            "seeds",
            "yield Seed('http://a.example/x', 'day 1')",
            "while True:",
            "    yield Request('http://a.example/', form={})",
        )
    )
    assert list(islice(seeds_of(site), 3)) == [
        ("http://a.example/x", "day 1"),
        *2 * [(f"http://a.example/#method=POST&type={FORM}", "")],
    ]


@pytest.mark.parametrize("label", ["7", "' x'", "'x' * 101", "None"])
def test_a_label_that_is_none(label: str) -> None:
    """It is named with what would be right."""
    site = site_of(*method("seeds", f"yield Seed('http://a.example/', {label})"))
    with pytest.raises(SiteFault, match=r"seeds: gave the label .*; it must have 1 to 100 printable characters"):
        list(seeds_of(site))


def test_requests_of_a_page() -> None:
    """They may be relative to the page, are given once each, and what is no URL of HTTP is left out."""
    said = "yield from ['1', '1', 'mailto:a@b', page.url, Request('', form={'p': 2})]"
    requests = site_of(*method("follow", said)).understand(PAGE).requests
    assert requests == (f"{URL}1", f"{URL}#method=POST&type={FORM}&body=p=2")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (method("follow", "return 7"), "site.py: follow: gave 7; it must give requests"),
        (method("follow", "yield 7"), "site.py: follow: gave 7; it must give URLs and Requests"),
        (method("follow", "yield '1'", "1 / 0"), "site.py:8: follow: ZeroDivisionError: division by zero"),
        (method("follow", "raise SystemExit"), "site.py:7: follow: SystemExit"),
        (method("follow", "yield Request('1', 'BREW')"), "a request for http://a.example/d/1: its method is 'BREW'"),
        (method("follow", "yield Request('1', body='text')"), "a part of it is of a wrong type"),
        (method("follow", "while True:", "    yield '1'"), "site.py: follow: gave more than 1,000 requests"),
        (method("expect", "page.css('<')"), "site.py:7: expect: ValueError: the selector cannot be read"),
        (method("expect", "return False"), "site.py: expect: gave False; it must raise Unexpected, or nothing"),
        (method("follow", "yield Request('1', body='')"), "a request for http://a.example/d/1: a part of it is of"),
    ],
)
def test_faults_of_a_page(lines: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the file that a page shows is one line with the place, and concerns this page only."""
    monkeypatch.setattr(code, "MAX_LINKS", 1000)
    understood = site_of(*lines).understand(PAGE)
    assert said in understood.fault
    assert "\n" not in understood.fault
    assert understood.requests is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["yield '/x'"], "site.py: seeds: gave '/x'; it must be a complete URL"),
        (["yield Request('http://a.example/', form={'a': 'b' * 9000})"], "its body has 9,002 bytes; at most 8,192"),
        (["return {}"], "it must give requests, as by yield"),
        (["return Seed('http://a.example/', 'x')"], "it must give requests, as by yield"),
        (["return 1 / 0"], "site.py:7: seeds: ZeroDivisionError"),
    ],
)
def test_faults_of_seeds(lines: list[str], said: str) -> None:
    """A mistake in the seeds is one line, too."""
    with pytest.raises(SiteFault) as caught:
        list(seeds_of(site_of(*method("seeds", *lines))))
    assert said in str(caught.value)


def test_a_page_that_is_not_expected() -> None:
    """`expect` says so by an exception, which may ask for a new session."""
    site = site_of(*method("expect", "raise Unexpected('a captcha', renew=True)"))
    assert site.understand(PAGE)[1:3] == ("a captcha", True)
    assert site_of(*method("expect", "raise Unexpected('')")).understand(PAGE).unexpected == "not what was asked for"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def x(:", "site.py:1: SyntaxError: invalid syntax"),
        ("import os\nos.nope", "site.py:2: AttributeError: module 'os' has no attribute 'nope'"),
        ("x = 1\0", "site.py: "),
        ("x = 1", "site.py: it has no site"),
        (file_of("pass", hosts="").text, "site.py: class A: hosts: must be a list of hosts and patterns"),
        (file_of("hosts = ['http://a.example/x']").text, "hosts: http://a.example/x: must be a host or a pattern"),
        (file_of("hosts = [7]").text, "class A: hosts: must be a list of strings"),
        (file_of("colums = {}").text, "class A: colums: did you mean columns?"),
        (file_of("renew_after = 0").text, "class A: renew_after = 0: must be a whole number, 1 or more, or None"),
        (file_of("columns = ['a']").text, "class A: columns: must be a dict"),
        (file_of("def fields(self, page):", "    return {}").text, "class A: fields: it has no columns to fill; write"),
        (file_of("def items(self, page):", "    return []").text, "class A: items: it has no item_columns to fill"),
        (file_of("columns = {'a': 'str'}").text, "class A: columns: {'a': 'str'}: type: must be"),
        (file_of("columns = {'A': 'string'}").text, "class A: columns: {'A': 'string'}: a column's name"),
        (file_of("columns = {'a': 7}").text, "class A: columns: {'a': 7}: type: must be"),
        (
            file_of("columns = {'a': 'string'}", "fields = {'b': 'css:b'}").text,
            "columns: it is for a method fields; here",
        ),
        (file_of("follow = ['a.next']").text, "class A: follow: a.next: must begin with css:"),
        (file_of("headers = {'Host': 'secret'}").text, "class A: headers: Host cannot be set"),
        (file_of("seeds = 'http://me:secret@a.example/'").text, "class A: seeds: must have no user and password"),
        (file_of("def __init__(self):", "    self.x").text, "site.py:7: __init__: AttributeError"),
        ("raise type('E', (Exception,), {})('a\\nb' + 'c' * 999)", "site.py:1: E: a b"),
    ],
)
def test_mistakes_of_a_file(text: str, said: str) -> None:
    """A file with a mistake is refused in one line that names file and line, and what would be right."""
    with pytest.raises(SiteFault) as caught:
        load(SiteFile("site.py", text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_fields_get_the_types_of_their_columns() -> None:
    """Texts are converted as those of rules are; values of the right type stay; what fits nowhere is bad."""
    columns = "{'s': 'string', 'n': 'integer', 'f': 'float', 'b': 'boolean', 't': 'timestamp', 'l': 'integer[]'}"

    def found(values: str) -> Extracted:
        return site_of(f"columns = {columns}", *method("fields", "import datetime as d", f"return {values}")).values_of(
            PAGE
        )

    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    wanted: dict[str, Any] = {"s": "a", "n": 7, "f": 1.5, "b": True, "t": noon, "l": [1, 2]}
    texts = "{'s': 'a', 'n': '7', 'f': '1.5', 'b': 'yes', 't': '2024-01-01T12:00Z', 'l': ['1', 'x', 2]}"
    typed = "{'s': 'a', 'n': 7, 'f': 1.5, 'b': True, 't': d.datetime(2024, 1, 1, 12), 'l': (1, 2)}"
    aware = "{'t': d.datetime(2024, 1, 1, 13, tzinfo=d.timezone(d.timedelta(hours=1)))}"
    assert found(texts).values == found(typed).values == wanted
    assert found(aware).values == {"t": noon}
    wrong = found("{'s': 7, 'n': True, 'f': float('inf'), 'b': 1, 't': 7, 'l': '12'}")
    assert wrong.values == {}
    assert set(wrong.bad) == set("snfbtl")
    assert found("{'s': None, 'n': ' ', 'f': ' 2 '}") == Extracted({"f": 2.0}, {}, tuple("snbtl")), "cells may be empty"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("columns = {'title': 'string'}", "columns: .*: the dataset already has a column title; choose another name"),
        ("item_columns = {'url': 'string'}", "item_columns: .*: the dataset already has a column url"),
    ],
)
def test_columns_that_cannot_be(line: str, said: str) -> None:
    """A file is refused when it is loaded, and not weeks later, when the dataset is made."""
    with pytest.raises(SiteFault, match=said):
        site_of(line)


def test_a_column_of_two_types() -> None:
    """So is one of which two classes say another type."""
    lines = [
        "columns = {'a': 'string'}",
        "",
        "class B(Site):",
        "    hosts = ['b.example']",
        "    columns = {'a': 'float'}",
    ]
    file = SiteFile("site.py", _HEAD + HOSTS + f"    {lines[0]}\n" + "\n".join(lines[1:]))
    with pytest.raises(
        SiteFault,
        match=r"class B in site\.py: fields: a is float, and string in class A in site\.py; a column must have",
    ):
        load(file)


@pytest.mark.parametrize("base", ["Site", "A"])
def test_a_host_of_two_classes(base: str) -> None:
    """The second class would never be asked: it is refused, also if it has the host by inheritance."""
    hosts = "['b.example', 'a.example']" if base == "Site" else "A.hosts"
    file = SiteFile("site.py", f"{_HEAD}{HOSTS}\nclass B({base}):\n    hosts = {hosts}\n")
    with pytest.raises(SiteFault, match=r"class B in site\.py: hosts: a\.example is a host of class A in"):
        load(file)


def test_what_a_file_prints(capfd: pytest.CaptureFixture[str]) -> None:
    """It goes to standard error, wherever its methods run: commands write JSON on standard output."""
    site = site_of("print('loaded')", *method("expect", "print('checked', page.status)"))
    assert not site.understand(PAGE).fault
    assert capfd.readouterr() == ("", "loaded\nchecked 200\n")


def test_half_of_a_character() -> None:
    """Half of a surrogate pair, which no dataset can hold, becomes a question mark."""
    site = site_of(
        'columns = {"a": "string", "b": "string[]"}', *method("fields", r"return {'a': '\ud83d é', 'b': ['\ud800']}")
    )
    assert site.values_of(PAGE).values == {"a": "? é", "b": ["?"]}


def test_faults_of_fields() -> None:
    """A fault in `fields` leaves the row without them, and says why in `bad`; an export goes on."""
    columns = "columns = {'s': 'string'}"
    assert site_of(columns, *method("fields", "return 7")).values_of(PAGE).bad == {
        "s": "site.py: fields: gave 7; it must give a dict"
    }
    assert "ZeroDivisionError" in site_of(columns, *method("fields", "return 1 / 0")).values_of(PAGE).bad["s"]
    assert site_of(columns, *method("fields", "return {'x': 1}")).values_of(PAGE).bad == {"s": "'x' is not in columns"}
    hostile = ["class R:", "    def __repr__(self): 1 / 0", "return R()"]
    assert "gave a R" in site_of(columns, *method("fields", *hostile)).values_of(PAGE).bad["s"]


def test_a_site_can_be_pickled() -> None:
    """Pages are read in other processes, which run the file themselves."""
    site = site_of("pass")
    again = pickle.loads(pickle.dumps(site))
    assert again == site
    assert again.understand(PAGE) == site.understand(PAGE)


def test_reading_a_file(tmp_path: Path) -> None:
    """A file is read whole, and not run; its digest is that of its text."""
    path = tmp_path / "site.py"
    path.write_text("1 / 0")
    assert read_file(path, None) == SiteFile(str(path), "1 / 0")
    assert read_file(path, None).digest == SiteFile("elsewhere", "1 / 0").digest
    with pytest.raises(UsageError, match=r"nothing\.py: cannot be read: no such file"):
        read_file(tmp_path / "nothing.py", None)
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="at most 1,048,576 bytes"):
        read_file(path, None)


def test_the_methods_can_be_tried_alone() -> None:
    """A class of a site file needs no crawl: its methods can be called on a page."""

    class Shop(Site):
        def expect(self, page: Answer) -> None:
            if page.status != 200:
                raise Unexpected("gone")

        def follow(self, page: Answer) -> list[Request | str]:
            return [Request(link) for link in page.links]

    shop = Shop()
    assert shop.follow(PAGE) == [Request(f"{URL}1")]
    with pytest.raises(Unexpected):
        shop.expect(Answer(URL, status=404))
    assert shop.seeds == ()


def test_dates() -> None:
    """Days are given in steps, forwards and backwards; a step of 0 would never end."""
    assert list(dates("2024-12-31", "2025-01-02")) == ["2024-12-31", "2025-01-01", "2025-01-02"]
    with pytest.raises(ValueError, match="must not be 0"):
        list(dates("2024-01-01", "2024-01-02", 0))


def test_what_a_site_is_asked() -> None:
    """A redirect is checked, and leads to its target alone; a site has the digest of its file."""
    site = site_of("renew_after = 7", *method("follow", "yield 'x'"))
    assert site.understand(Answer(URL, status=302, headers={"location": "/y"})) == Understood()
    assert site.code == Code(site.code.file, 0, frozenset({"follow"}), 7)
    assert digest_of([site]) == site.digest
    assert digest_of([]) == ""


def test_a_session_that_cannot_be_opened() -> None:
    """What `send` raises and `Unexpected` go through; all else is a mistake of the file."""

    def send(_: object) -> Answer:
        raise NoAnswer("too slow", "failure")

    opens = "def open_session(self, session, send): "
    with pytest.raises(NoAnswer) as caught:
        site_of(opens + "send('/')").code.open_session("s", send)
    assert caught.value.failure == "failure"
    with pytest.raises(SiteFault, match=r"site\.py:6: open_session: ZeroDivisionError"):
        site_of(opens + "1 / 0").code.open_session("s", send)


def test_a_file_that_cannot_be_loaded_here() -> None:
    """Where a file cannot be loaded that could be elsewhere, each page says so."""
    there = site_of("pass")
    code = Code(SiteFile("site.py", "1 / 0"), 0, frozenset({"expect", "fields"}))
    here = SiteRules("A", there.hosts, columns=(Column("n", "integer"),), code=code)
    assert here.understand(PAGE).fault == "site.py:1: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in here.values_of(PAGE).bad["n"]


def test_values_that_cannot_be_converted() -> None:
    """A value that raises, or is no number that a table can hold, is bad; the other values stay."""
    lines = ["columns = {'n': 'integer', 'l': 'string[]', 's': 'string'}"]
    values = "{'n': 10 ** 5000, 'l': (1 / 0 for _ in 'a'), 's': 'x'}"
    found = site_of(*lines, *method("fields", f"return {values}")).values_of(PAGE)
    assert found.values == {"s": "x"}
    assert set(found.bad) == {"n", "l"}


def test_what_a_table_can_say() -> None:
    """A class says it in the same way, and what it says stands beside its methods."""
    site = site_of(
        "seeds = 'http://a.example/?page={1..2}'",
        "headers = {'X-Key': '$FSCRAWL_KEY'}",
        "follow = ['css:a', 'xpath://i/@x']",
        "expect = ['css:h1', '!re:captcha']",
        "fields = {'n': {'css': 'b', 'type': 'integer'}}",
        "item_columns = {'m': 'string'}",
        *method("items", "yield {'m': page.url}"),
    )
    [seed] = site.seeds
    assert (list(seed.each(str)), dict(site.headers)) == (
        [f"http://a.example/?page={n}" for n in "12"],
        {"X-Key": "$FSCRAWL_KEY"},
    )
    page = Answer(URL, b"<h1>T</h1><a href=1>x</a><i x=2></i><b>7</b>")
    assert site.understand(page) == Understood((f"{URL}1", f"{URL}2"))
    assert site.understand(Answer(URL, b"<h1>captcha")).unexpected == "expect = !re:captcha: it was found"
    assert site.values_of(page).values == {"n": 7}
    assert [item.values for item in site.items_of(page).items] == [{"m": URL}]
    assert [column.name for column in (*site.columns, *site.item_columns)] == ["n", "m"]
    assert pickle.loads(pickle.dumps(site)) == site
