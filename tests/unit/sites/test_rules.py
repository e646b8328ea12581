"""[[site]] tables: what they say of pages, and what is said of wrong ones."""

import pickle

import pytest

from fscrawl.config.settings import Settings, apply, parse, render
from fscrawl.errors import SettingsError
from fscrawl.parse.fields import Extracted, Items
from fscrawl.sites.rules import NO_SITES, SiteRules, Sites, Understood, by_present_rules, files, near_to, origins
from fscrawl.sites.site import Answer
from fscrawl.storage.records import PageRecord

URL = "http://a.example/"
TABLE = """\
[[site]]
hosts = ["a.example", "*.b.example:8080", "Bücher.example"]
seeds = ["http://a.example/{names.txt}"]
follow = ["css:a.next", "json:$.id"]
expect = ["css:a", "!redirect:/login"]
headers = {Authorization = "Bearer $FSCRAWL_TOKEN", X-Requested-With = "XMLHttpRequest"}
[site.fields]
heading = "css:h1"
price = {css = ".price", type = "float"}
[[site]]
hosts = ["*"]
"""


def sites(text: str) -> tuple[SiteRules, ...]:
    return parse(text).sites


def site(*lines: str) -> SiteRules:
    return sites("\n".join(['[[site]]\nhosts = ["a.example"]', *lines]))[0]


@pytest.mark.parametrize(
    ("expect", "body", "is_good"),
    [
        ("!json:$.error", '{"error": "busy"}', False),
        ("!json:$.error", '{"error": null}', False),
        ('!re:"error":\\s*"', '{"error": "busy"}', False),
        ('!re:"error":\\s*"', '{"error": null}', True),
        ("!json:$.errors[0]", '{"errors": []}', True),
        ("!json:$.errors[0]", '{"errors": [{"message": "busy"}]}', False),
        ("json:$.result[0]", '{"result": []}', False),
        ("json:$.result[0]", '{"result": [1]}', True),
    ],
)
def test_answers_that_say_no(expect: str, body: str, is_good: bool) -> None:
    """What the guide of JSON interfaces says of errors with status 200, of null and of empty lists."""
    rules = site(f"expect = ['{expect}']")
    assert (rules.understand(Answer(URL, body.encode())).unexpected == "") is is_good


def test_all_keys() -> None:
    """A table is read in all its parts, can be pickled, and is written again as it means."""
    one, two = sites(TABLE)
    assert one.hosts == ("a.example", "*.b.example:8080", "xn--bcher-kva.example")
    assert (len(one.seeds), len(one.follow or ()), len(one.expect), len(one.headers)) == (1, 2, 2, 2)
    assert [column.name for column in one.columns] == ["heading", "price"]
    assert (two.follow, two.digest, two.columns) == (None, "", ())
    assert pickle.loads(pickle.dumps(one)) == one
    chosen = parse(TABLE)
    assert parse(render(chosen)) == chosen
    assert "FSCRAWL_TOKEN" not in render(chosen, secrets=False)
    assert "# headers =  (it had a value" in render(chosen, secrets=False)
    assert (files(chosen.rules), origins(chosen.rules)) == (("names.txt",), {URL})
    assert near_to(frozenset({"http://c.example/"}), chosen.rules) == {URL, "http://c.example/"}


def test_the_first_table_counts() -> None:
    """For each URL the first table counts that has its host; only those that say something of pages read them."""
    one, two = sites(TABLE)
    of = Sites((one, two))
    assert [of.of(url) for url in (URL, "http://x.b.example:8080/", "http://x.b.example/")] == [one, one, two]
    assert (of.of(URL), of.reader_of("http://x.example/")) == (one, None)
    reader = of.reader_of(URL)
    assert (reader.digest, reader.follow, reader.expect) == (one.digest, one.follow, one.expect)
    assert len(pickle.dumps(reader)) < len(pickle.dumps(one)) / 2
    assert (bool(of), bool(NO_SITES), NO_SITES.of(URL), NO_SITES.digest) == (True, False, None, "")
    assert Sites((two,)).digest == ""


def test_digests() -> None:
    """The digest changes with what decides about pages, and with nothing else."""
    plain = site("follow = []")
    assert plain.digest != site("follow = ['css:a']").digest != site("expect = ['css:a']").digest
    assert plain.digest == site("follow = []", "headers = {a = 'b'}").digest
    assert Sites((plain,)).digest != Sites(sites("[[site]]\nhosts = ['b.example']\nfollow = []")).digest


def test_understanding() -> None:
    """A page gets what its table says: what to follow, or why it is unexpected."""
    rules = site("follow = ['css:a', 'xpath://b/@x']", "expect = ['!redirect:/login', 'css:a']")
    assert rules.understand(Answer(URL, b"<a href=x>")).requests == (URL + "x",)
    assert rules.understand(Answer(URL, b"<p>")).unexpected == "expect = css:a: it was not found"
    assert site("expect = ['css:a']").understand(Answer(URL, b"<a>"))[:2] == (None, "")
    for target, said in (("/login", f"it redirects to {URL}login"), ("http://[", ""), ("/x", "")):
        redirect = Answer(URL, status=302, headers={"location": target})
        assert rules.understand(redirect).unexpected.endswith(said)
        assert bool(rules.understand(redirect).unexpected) is bool(said)


def test_a_selector_that_fails_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before an error is followed."""
    monkeypatch.setattr("fscrawl.parse.selectors._MOST_VALUES", 1)
    page = Answer(URL, b'{"a": [1, 2], "b": "x"}')
    assert site("follow = ['json:$.a[*]', 'json:$.b']").understand(page).requests == (URL + "x",)


def test_more_to_follow_than_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known, as it is of a page's own links."""
    rules = site("follow = ['json:$[*]']")
    assert not rules.understand(Answer(URL, b'["a", "b"]')).truncated
    monkeypatch.setattr("fscrawl.parse.links.MAX_LINKS", 1)
    assert rules.understand(Answer(URL, b'["a", "b"]')) == Understood((URL + "a",), truncated=True)


def test_fields() -> None:
    """A table gives the values of its columns; one without fields gives none."""
    rules = site("[site.fields]", "n = {css = 'b', type = 'integer[]'}", "t = 'json:$.t'", "x = 'xpath://i'")
    assert rules.values_of(Answer(URL, b"<b>1</b><b>2</b><i>y</i>")).values == {"n": [1, 2], "x": "y"}
    assert rules.values_of(Answer(URL, b'{"t": 5}')).values == {"t": "5"}
    assert site().values_of(Answer(URL, b"<b>")) == Extracted({}, {}, ())
    assert site().items_of(Answer(URL, b"<b>")) == Items()


RECORD = PageRecord(URL, "k", 0, "", "t", "m", 200, {}, 1, "s", 0.1, ("http://a.example/l",), requests=(), rules="old")


def test_records_under_other_rules() -> None:
    """A record tells what the present rules say; if they are others, the body must be read, if there is one."""
    rules = Sites((site("follow = []"),))
    digest = rules.of(URL).digest
    present = PageRecord.from_json(RECORD.to_json())
    assert by_present_rules(present, rules) is None
    assert by_present_rules(present, NO_SITES).links_to(nofollow=False) == RECORD.links
    redirect = PageRecord(URL, "k", 0, "", "t", "m", 302, {}, 0, "", 0.1, ("http://a.example/l",))
    assert by_present_rules(redirect, rules).rules == digest
    assert by_present_rules(redirect, NO_SITES) is redirect


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[site]\nhosts = ['a.example']", "[site]: write it with double brackets, [[site]]"),
        ("site = 1", "[site]: "),
        ("[[site]]", "[[site]] 1: hosts: "),
        ("[[site]]\nhosts = ['http://a.example/']", "[[site]] 1 (http://a.example/): hosts: http://a.example/: "),
        ("[[site]]\nhosts = [1]", "[[site]] 1: hosts: "),
        (
            "[[site]]\nhosts = ['a', 'b']\n[[site]]\nhosts = ['c', 'b']",
            "[[site]] 2 (c): hosts: b is a host of [[site]] 1 (a), too",
        ),
        ("+folow = 1", "[[site]] 1 (a.example): unknown key folow; did you mean follow?"),
        ("+x = 1", "unknown key x; the keys are hosts, headers, seeds, "),
        ("+follow = ['css:a', 'css:']", "[[site]] 1 (a.example): follow: css:: "),
        ("+expect = 1", "[[site]] 1 (a.example): expect: "),
        ("+[[Site]]", "did you mean [[site]]?"),
        ("+seeds = ['http://a.example/{1..}']", "[[site]] 1 (a.example): seeds: http://a.example/{1..}: "),
        ("+seeds = ['http://a.example/{1..100000000}']", "http://a.example/{1..100000000}); at most 10,000,000"),
        ("+headers = {a = 'secret\\u000a'}".replace("'", '"'), "[[site]] 1 (a.example): headers: "),
        ("+headers = {a = 1}", "[[site]] 1 (a.example): headers: "),
        ("+headers = 1", "[[site]] 1 (a.example): headers: "),
        ("+headers = {Host = 'secret'}", "headers: Host cannot be set"),
        ("+fields = 1", "[[site]] 1 (a.example): fields: "),
        ("+[site.fields]\nx = 'h1'", "[[site]] 1 (a.example): fields: x: "),
        ("+[site.fields]\nx = {css = 'a['}", '[[site]] 1 (a.example): fields: x: css = "a[": '),
    ],
)
def test_wrong_tables(text: str, said: str) -> None:
    """What is wrong is said in one line with its place and the table; headers are not shown."""
    full = f'[[site]]\nhosts = ["a.example"]\n{text[1:]}' if text.startswith("+") else text
    with pytest.raises(SettingsError) as caught:
        parse(full)
    assert said in str(caught.value)
    assert str(caught.value).startswith("crawl.toml:")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("assignment", ["site=1", "sites=[]", "[[site]].hosts=a", "site.hosts=a.example"])
def test_not_by_set(assignment: str) -> None:
    """`--set` cannot set tables: they must be written into the file."""
    with pytest.raises(SettingsError, match=r"\[\[site\]\] tables must be written into crawl.toml"):
        apply(Settings(), [assignment])
