"""Which told marks count under other settings."""

import dataclasses
import json

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fscrawl.config.settings import CrawlSettings, PolitenessSettings, Settings
from fscrawl.fleet.terms import Term, Terms
from fscrawl.frontier.scope import Scope
from fscrawl.storage.layout import term_path
from fscrawl.storage.records import TreeRecord
from tests.support.effort import tries

SEEDS = ("http://www.a.example/", "http://b.example:8000/x")
RECORD = TreeRecord(2, "c", "2026-01-01T00:00:00.000Z", 512, "host", "0" * 32)


def term(seeds=SEEDS, generation=0, record=RECORD, **crawl):
    return Term.of(Settings(CrawlSettings(**crawl)), seeds, record, generation)


class Files:
    """The files of a tree in memory, counting what is read and written."""

    def __init__(self):
        self.there, self.reads, self.published = {}, [], []

    def read_or_torn(self, path):
        self.reads.append(path)
        return self.there.get(path)

    def publish(self, path, data):
        self.published.append(path)
        self.there[path] = data


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module", autouse=True)
def _suffixes_are_read():
    term()


# -- covers


@pytest.mark.parametrize(
    ("old", "new", "covers"),
    [
        ({}, {}, True),
        ({"scope": "any"}, {"scope": "domain"}, True),
        ({"scope": "domain"}, {"scope": "host"}, True),
        ({"scope": "host"}, {"scope": "domain"}, False),
        ({"scope": "domain"}, {"scope": "any"}, False),
        ({"seeds": SEEDS}, {"seeds": SEEDS[:1]}, True),
        ({"seeds": SEEDS[:1]}, {"seeds": SEEDS}, False),
        ({"seeds": SEEDS[:1], "scope": "any"}, {"seeds": SEEDS, "scope": "any"}, True),
        ({"seeds": ("http://x.a.example/",)}, {"seeds": ("http://y.a.example/",)}, True),
        ({"seeds": ("http://x.a.example/",)}, {"seeds": ("http://y.a.example/",), "scope": "host"}, True),
        ({}, {"deny": ("x",)}, True),
        ({"deny": ("x",)}, {}, False),
        ({"deny": ("x",)}, {"deny": ("y", "x")}, True),
        ({}, {"allow": ("x",)}, True),
        ({"allow": ("x",)}, {}, False),
        ({"allow": ("x", "y")}, {"allow": ("y",)}, True),
        ({"allow": ("y",)}, {"allow": ("x", "y")}, False),
        ({"max_depth": 5}, {"max_depth": 5}, True),
        ({"max_depth": 5}, {"max_depth": 4}, True),
        ({"max_depth": 4}, {"max_depth": 5}, False),
        ({"max_depth": 5}, {}, False),
        ({}, {"max_depth": 5}, False),
        ({"follow_nofollow": True}, {"follow_nofollow": False}, False),
        ({"follow_nofollow": False}, {"follow_nofollow": True}, False),
        ({"generation": 1}, {"generation": 2}, False),
        ({"generation": 2}, {"generation": 1}, False),
        ({"record": msgspec.structs.replace(RECORD, shards=8)}, {}, False),
        ({"record": msgspec.structs.replace(RECORD, partition="url")}, {}, False),
        ({"record": msgspec.structs.replace(RECORD, machinery="1" * 32)}, {}, False),
        ({"sitemaps": True}, {"sitemaps": False}, True),
        ({"sitemaps": False}, {"sitemaps": True}, False),
        ({"max_pages": 7, "order": "random", "drop_query": True}, {}, True),
    ],
)
def test_covers(old, new, covers):
    """A term covers another if it chose at least the same links, followed at least as deep; else it does not."""
    assert term(**old).covers(term(**new)) == covers


HOSTS = ["a.example", "www.a.example", "b.example", "10.0.0.1", "c.co.uk", "x.c.co.uk", "co.uk"]
crawls = st.builds(
    CrawlSettings,
    scope=st.sampled_from(["host", "domain", "any"]),
    allow=st.lists(st.sampled_from(["/a", "b", "[?]", "^http:"]), max_size=2).map(tuple),
    deny=st.lists(st.sampled_from(["/a", "b", "[?]", "^https:"]), max_size=2).map(tuple),
    max_depth=st.none() | st.integers(0, 3),
    follow_nofollow=st.booleans(),
)
seeds = st.lists(st.sampled_from(HOSTS).map("http://{}/".format), max_size=4)
links = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.lists(st.sampled_from(["a", "b", "c?d"]), max_size=7).map("/".join),
)


@given(crawls, seeds, crawls, seeds, links)
@settings(deadline=None, max_examples=tries(300))
@example(
    CrawlSettings(scope="domain"), ["http://a.example/"], CrawlSettings(scope="host"), ["http://www.a.example/"], ""
)
def test_covered_scopes_are_inside(old, old_seeds, new, new_seeds, link):
    """If a term covers another, each URL in the other's scope is in its own."""
    one, other = term(old_seeds, **_values(old)), term(new_seeds, **_values(new))
    inner, outer = Scope(new, frozenset(new_seeds)), Scope(old, frozenset(old_seeds))
    if one.covers(other) and link and inner.refuses(link) in (None, "allow"):  # sitemaps need not be allowed
        assert outer.refuses(link) in (None, inner.refuses(link))


@given(st.tuples(crawls, seeds), st.tuples(crawls, seeds), st.tuples(crawls, seeds))
@settings(deadline=None, max_examples=tries(150))
def test_covers_is_transitive(one, two, three):
    """A mark that counted under a term counts under what that one covers. So snapshots may be made of others."""
    a, b, c = (term(names, **_values(crawl)) for crawl, names in (one, two, three))
    assert a.covers(a)
    if a.covers(b) and b.covers(c):
        assert a.covers(c)


def _values(crawl):
    return {field.name: getattr(crawl, field.name) for field in dataclasses.fields(crawl)}


# -- the digest and the file


@given(crawls, seeds, st.integers(0, 5))
@settings(deadline=None, max_examples=tries(200))
def test_json(crawl, names, generation):
    """A term is read back equal from its file, and the digest is that of its content."""
    written = term(names, generation, **_values(crawl))
    read = Term.from_json(written.to_json())
    assert (read, read.digest) == (written, written.digest)


def test_digest():
    """The digest is the same for the same settings in another order, and another one if one of them differs."""
    assert term(allow=("x", "y"), deny=("z", "z")).digest == term(SEEDS[::-1], allow=("y", "x"), deny=("z",)).digest
    others = [
        term(),
        term(generation=1),
        term(max_depth=1),
        term(allow=("x",)),
        term(deny=("x",)),
        term(scope="any"),
        term(follow_nofollow=True),
        term(record=msgspec.structs.replace(RECORD, shards=8)),
        term(record=msgspec.structs.replace(RECORD, machinery="1" * 32)),
    ]
    assert len({each.digest for each in others}) == len(others)
    assert term().digest == "f640745acdb1a1b8"  # it stands in the files of trees


def damaged():
    whole = term().to_json()
    yield from (b"", whole[:-1], whole + b"\n", b"{}", b"[]", b"3", b"\xff", b"[" * 100_000)
    values = json.loads(whole)
    for name, wrong in (("mode", 3), ("members", "x"), ("members", [["x"]]), ("shards", True), ("max_depth", "1")):
        yield json.dumps({**values, name: wrong}, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    yield json.dumps({**values, "newer": 1}, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    yield json.dumps({name: values[name] for name in values if name != "deny"}).encode() + b"\n"


@pytest.mark.parametrize("data", list(damaged()))
def test_damaged_files(data):
    """A torn file, another file, or one of a newer program is no term."""
    with pytest.raises(ValueError, match="not a term: "):
        Term.from_json(data)


# -- terms


def test_published_once():
    """The file of the present term is there before it is used, and is written once."""
    files = Files()
    Terms(files, term())
    terms = Terms(files, term())
    terms.use(term(max_depth=1))
    assert files.published == [term_path(term().digest), term_path(term(max_depth=1).digest)]
    assert terms.current == term(max_depth=1)


def test_torn_file_is_replaced():
    """A file that a power loss has torn is written again."""
    files = Files()
    files.there[term_path(term().digest)] = b"{"
    Terms(files, term())
    assert Term.from_json(files.there[term_path(term().digest)]) == term()


def test_known_terms_cost_nothing():
    """A term's file is read once, and that of the present term never for an answer."""
    files = Files()
    Terms(files, term(scope="any"))
    terms = Terms(files, term())
    files.reads.clear()
    assert [terms.covers(each.digest) for each in [term(), term(scope="any"), term(scope="any")]] == [True, True, True]
    assert files.reads == [term_path(term(scope="any").digest)]


def test_answers_are_of_the_present_term():
    """After an edit the answers are those for the new term."""
    terms = Terms(Files(), term())
    terms.use(term(deny=("x",)))
    assert terms.covers(term().digest)
    terms.use(term(scope="any"))
    assert not terms.covers(term().digest)
    assert not terms.covers(term(deny=("x",)).digest)


def test_missing_term():
    """A term whose file is missing or damaged covers nothing; it is asked for again later, and not each time."""
    files, clock = Files(), Clock()
    terms = Terms(files, term(), clock)
    wide = term(scope="any")
    files.there[term_path(wide.digest)] = term().to_json()  # somebody has copied a file
    files.reads.clear()
    assert [terms.covers(wide.digest) for _ in range(3)] == [False] * 3
    files.there[term_path(wide.digest)] = wide.to_json()
    clock.now += 9
    assert not terms.covers(wide.digest)
    assert len(files.reads) == 1
    clock.now += 2
    assert terms.covers(wide.digest)


@pytest.mark.parametrize("digest", ["", "../../crawl", "0123456789ABCDEF", "0" * 17])
def test_no_digest(digest):
    """What is no digest covers nothing, and is looked for nowhere."""
    files = Files()
    terms = Terms(files, term())
    files.reads.clear()
    assert not terms.covers(digest)
    assert files.reads == []


def test_any_number_of_digests(monkeypatch):
    """Damaged logs may name any number of terms: memory is bounded."""
    monkeypatch.setattr("fscrawl.fleet.terms._MOST_MISSING", 10)
    terms = Terms(Files(), term(), Clock())
    assert not any(terms.covers(f"{number:016x}") for number in range(100))
    assert len(terms._missing) <= 10


def test_fields_that_came_later() -> None:
    """Other rules of sites cover nothing. Without any, and with sitemaps, the term is that from before these fields."""
    record = TreeRecord(2, "c", "", 512, "host", "0" * 32)
    plain, ruled, other = (Term.of(Settings(), [], record, 0, sites) for sites in ("", "a", "b"))
    assert b"sites" not in plain.to_json()
    assert b'"sites":"a"' in ruled.to_json()
    assert [ruled.covers(each) for each in (plain, ruled, other)] == [False, True, False]
    assert all(Term.from_json(each.to_json()) == each for each in (plain, ruled))
    assert term(sitemaps=True) == term()
    assert b"sitemaps" not in term().to_json()
    without = Settings(politeness=PolitenessSettings(robots=False))
    assert Term.of(without, SEEDS, RECORD, 0) == term(sitemaps=False), "sitemaps are found through robots.txt"
    assert b'"sitemaps":false' in term(sitemaps=False).to_json()
    assert Term.from_json(term(sitemaps=False).to_json()) == term(sitemaps=False)
    with pytest.raises(ValueError, match="field sites"):
        Term.from_json(ruled.to_json().replace(b'"a"', b"1"))
