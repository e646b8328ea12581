"""What a site says: one object, whether it was made from a [[site]] table or from a class of a site file. Pure.

Vocabulary:
  SiteRules    a site, as the crawl and the merge ask it
  Understood   what it says of an answer: what to follow, and whether it is what was asked for
  Sites        all sites of a crawl. For each URL the first one counts that has its host; classes come before tables

Promise: a site raises nothing, whatever the page, but where its methods say so. Two sites with the same digest
understand every page in the same way. Sites can be pickled: pages are read in other processes.

A site file is here as text. What runs it is `sites.code`, which loads the parsers: most crawls need neither.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.errors import UsageError
from fscrawl.hostnames import pattern_covers
from fscrawl.parse.headers import is_final, locations
from fscrawl.sites.seeds import MAX_SEEDS, Lists, SeedUrls
from fscrawl.storage.records import PageRecord
from fscrawl.urls import Joiner
from fscrawl.util.lru import Lru
from fscrawl.util.user_text import shown

if TYPE_CHECKING:
    from fscrawl.parse.fields import Column, Extracted, Field, ItemRules, Items
    from fscrawl.parse.selectors import Found
    from fscrawl.sites.code import Code
    from fscrawl.sites.site import Answer


_DIGITS, _FILE_DIGITS = 16, 8
_MOST_ORIGINS = 10_000  # whose site is remembered
_MOST_REFERENCES = 400_000  # of one entry: four times the links that a page may have, since most repeat others


class Understood(NamedTuple):
    """What a site says of an answer.

    requests     spellings to follow instead of the page's links; None: its links
    unexpected   why the page is not what was asked for: its class is `unexpected`, and nothing is stored; "": it is
    renew        its session is at fault, and must be opened anew
    fault        what is wrong with the rules themselves: its class is `site`, and nothing is stored; "": nothing
    truncated    there is more to follow than is kept
    """

    requests: tuple[str, ...] | None = None
    unexpected: str = ""
    renew: bool = False
    fault: str = ""
    truncated: bool = False


class Follow(NamedTuple):
    """An entry of `follow`."""

    text: str
    selector: Found

    def references(self, page: Answer) -> Iterator[str]:
        return (text for each in self.selector.references(page.document) if (text := each.strip()))


class Expected(NamedTuple):
    """An entry of `expect`. `is_there`: whether the selector must find something, or nothing."""

    text: str
    selector: Found
    is_there: bool

    def flaw(self, page: Answer) -> str:
        """Say why a page is unexpected; "" if it is not."""
        try:
            if self.selector.finds(page.document) == self.is_there:
                return ""
        except Exception as error:  # noqa: BLE001 - one page must not stop a crawl
            return f"expect = {shown(self.text)}: {type(error).__name__}: {error}"
        return f"expect = {shown(self.text)}: it " + ("was not found" if self.is_there else "was found")


class NoRedirect(NamedTuple):
    """An entry `!redirect:` of `expect`: no page may redirect to a URL that `pattern` matches."""

    text: str
    pattern: str

    def flaw(self, target: str) -> str:
        """Say why a redirect is unexpected; "" if it is not. `target`: an absolute URL."""
        from fscrawl.util.expressions import compiled  # noqa: PLC0415 - most crawls have none

        return f"expect = {shown(self.text)}: it redirects to {target}" if compiled(self.pattern).search(target) else ""


class SiteRules(msgspec.Struct, frozen=True):
    """One site. What its class does by a method is asked of `code`; the rest are the values here.

    name           "[[site]] 1 (a.example)", or "class Shop in site.py"
    hosts          patterns in the form of normal forms
    headers        of requests, as they are written; the values may be secret
    follow         what to follow instead of a page's links; None: its links
    fields, items  where the values of columns stand
    columns, item_columns    of the dataset, for the values of fields and items
    code           the class of a site file; None: it is a table
    table          as it is written, for whoever writes the file again
    """

    name: str
    hosts: tuple[str, ...]
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    seeds: tuple[SeedUrls, ...] = ()
    follow: tuple[Follow, ...] | None = None
    expect: tuple[Expected | NoRedirect, ...] = ()
    fields: tuple[Field, ...] = ()
    items: ItemRules | None = None
    columns: tuple[Column, ...] = ()
    item_columns: tuple[Column, ...] = ()
    code: Code | None = None
    table: Mapping[str, Any] = msgspec.field(default_factory=dict)
    digest: str = ""  # of all that decides about `understand`, from which it follows; "" if nothing does

    def __post_init__(self) -> None:
        if self.digest:  # a copy, here or in another process: it decides as what it was made from
            return
        digest = "" if self.code is None else self.code.file.digest
        if self.code is None and (self.follow is not None or self.expect):
            follow = None if self.follow is None else [each.text for each in self.follow]
            digest = _digest_of([follow, [each.text for each in self.expect]])
        msgspec.structs.force_setattr(self, "digest", digest)

    def for_pages(self) -> SiteRules:
        """Give the part that reads pages: it is sent to another process with each of them."""
        return replace(self, headers={}, seeds=(), fields=(), items=None, columns=(), item_columns=(), table={})

    # -- what the crawl asks

    def understand(self, page: Answer) -> Understood:
        """Say what to follow, and whether the page is what was asked for."""
        if self.code is not None and "expect" in self.code.methods:
            understood = self.code.expect(page)
        else:
            understood = Understood(unexpected=self._flaw(page))
        if understood.unexpected or understood.fault or not is_final(page.status, page.headers):
            return understood  # the target of a redirect is all that it leads to
        if self.code is not None and "follow" in self.code.methods:
            return self.code.follow(page)
        if self.follow is None:
            return understood
        found, is_cut = page.join_all(list(self._references(page, self.follow)))
        return Understood(found, truncated=is_cut)

    def _flaw(self, page: Answer) -> str:
        if is_final(page.status, page.headers) or not (places := locations(page.headers)):
            flaws = (each.flaw(page) for each in self.expect if isinstance(each, Expected))
        else:
            target = Joiner().join(page.url, places[0]) or places[0]
            flaws = (each.flaw(target) for each in self.expect if isinstance(each, NoRedirect))
        return next(filter(None, flaws), "")

    def _references(self, page: Answer, follow: Sequence[Follow]) -> Iterator[str]:
        for each in follow:
            with contextlib.suppress(Exception):  # one page must not stop a crawl: what was found so far is followed
                yield from islice(each.references(page), _MOST_REFERENCES)

    # -- what the merge asks

    def values_of(self, page: Answer) -> Extracted:
        """Give the values of the page for its row. What is wrong is in `bad`."""
        from fscrawl.parse.fields import extract  # noqa: PLC0415 - as above

        if self.code is not None and "fields" in self.code.methods:
            return self.code.fields(page, self.columns)
        return extract(self.fields, page.document)

    def items_of(self, page: Answer) -> Items:
        """Give the items of the page. What is wrong is in `bad`, or is the fault."""
        from fscrawl.parse.fields import gathered  # noqa: PLC0415 - as above

        if self.code is not None and "items" in self.code.methods:
            return gathered(self.code.items(page, self.item_columns))
        return gathered(iter(()) if self.items is None else self.items.of_page(page.document))


class Sites:
    """All sites of a crawl. They never change. They are false if there are none."""

    def __init__(self, rules: Sequence[SiteRules] = ()) -> None:
        self._rules = tuple(rules)
        self._known: Lru[str, tuple[SiteRules | None]] = Lru(_MOST_ORIGINS)
        self._readers = {id(each): each.for_pages() for each in self._rules}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, url: str) -> SiteRules | None:
        """Give the site of a normal form; None if it has none."""
        origin = urls.origin(url)
        known = self._known.get(origin)
        if known is not None:
            return known[0]
        found = next((each for each in self._rules if any(pattern_covers(host, url) for host in each.hosts)), None)
        self._known.put(origin, (found,))
        return found

    def reader_of(self, url: str) -> SiteRules | None:
        """Give the site of a normal form if it says something of pages; None otherwise."""
        found = self.of(url)
        return self._readers[id(found)] if found is not None and found.digest else None

    @cached_property
    def digest(self) -> str:
        """Of all that decides about what is followed; "" if nothing does."""
        deciding = [[list(each.hosts), each.digest] for each in self._rules]
        return _digest_of(deciding) if any(digest for _, digest in deciding) else ""


NO_SITES = Sites()


def _digest_of(values: Any) -> str:
    return hashlib.sha224(json.dumps(values).encode()).hexdigest()[:_DIGITS]


def by_present_rules(record: PageRecord, sites: Sites) -> PageRecord | None:
    """Give a record as the present sites read it; None if the body must be read once more for that.

    A record without a body, such as a redirect, has nothing that rules could find.
    """
    rules = sites.reader_of(record.url) if sites else None
    digest = None if rules is None else rules.digest
    if record.rules == digest:
        return record
    if digest is not None and record.sha256:
        return None
    return msgspec.structs.replace(record, requests=None, rules=digest)


# -- what several sites say together


def twice(sites: Iterable[SiteRules]) -> str:
    """Say which host is of two sites; "" if there is none.

    >>> twice([SiteRules("one", ("a.example",)), SiteRules("two", ("b.example", "a.example"))])
    'two: hosts: a.example is a host of one, too'
    """
    owners: dict[str, SiteRules] = {}
    for site in sites:
        for host in site.hosts:
            if (before := owners.setdefault(host, site)) is not site:
                return f"{site.name}: hosts: {host} is a host of {before.name}, too"
    return ""


def of_two_types(sites: Iterable[SiteRules]) -> str:
    """Say which column has two types; "" if there is none."""
    types: dict[tuple[str, str], tuple[str, SiteRules]] = {}
    for site in sites:
        for key, columns in (("fields", site.columns), ("items", site.item_columns)):
            for column in columns:
                kind, first = types.setdefault((key, column.name), (column.kind, site))
                if kind != column.kind:
                    problem = f"is {column.kind}, and {kind} in {first.name}; a column must have one type"
                    return f"{site.name}: {key}: {column.name} {problem}"
    return ""


def origins(sites: Sequence[SiteRules]) -> frozenset[str]:
    """Give the roots of the hosts that seeds of sites are on, such as "https://a.example/"."""
    return frozenset(seed.origin for site in sites for seed in site.seeds)


def unruled(sites: Sequence[SiteRules]) -> Iterator[str]:
    """Say which sites have rules that are not for their own seeds, since these are on other hosts, of no site.

    >>> from fscrawl.sites.seeds import read
    >>> list(unruled([SiteRules("[[site]] 1", ("a.example",), seeds=(read("http://www.a.example/x"),), follow=())]))
    ['[[site]] 1: its rules are not for its seeds on http://www.a.example/: hosts does not have this host']
    """
    ruled = Sites(sites)
    for site in sites:
        has_rules = site.digest or site.headers or site.columns or site.item_columns
        found = (seed.origin for seed in site.seeds if has_rules and ruled.of(seed.origin) is None)
        if origin := next(found, ""):
            yield f"{site.name}: its rules are not for its seeds on {origin}: hosts does not have this host"


def near_to(seeds: frozenset[str], sites: Sequence[SiteRules]) -> frozenset[str]:
    """Give URLs of all hosts that count as those of seeds: of seeds.txt, of sites' seeds, and of classes.

    Which seeds the method of a class will give is not known before, so its hosts count.

    >>> near_to(frozenset(), [SiteRules("one", ("a.example",))])
    frozenset()
    """
    named = (urls.normalise(f"http://{host}/") for site in sites if site.code for host in site.hosts if "*" not in host)
    return frozenset({*seeds, *origins(sites), *filter(None, named)}) if sites else seeds


def files(sites: Sequence[SiteRules]) -> tuple[str, ...]:
    """Give the names of the lists that seeds of sites need."""
    return tuple(dict.fromkeys(seed.file for site in sites for seed in site.seeds if seed.file))


def too_many(sites: Sequence[SiteRules], lists: Lists) -> str:
    """Say that sites give too many seeds; "" if they do not. Nothing is made for that.

    >>> from fscrawl.sites.seeds import read
    >>> site = SiteRules("one", ("a.example",), seeds=(read("http://a.example/{1..100000000}"),))
    >>> too_many([site], str).partition(";")[0]
    '[[site]] seeds: they give 100,000,000 URLs (most by http://a.example/{1..100000000})'
    """
    counted = [(seed.count(lists), seed.text) for site in sites for seed in site.seeds]
    total = sum(count for count, _ in counted)
    if total <= MAX_SEEDS:
        return ""
    most = shown(max(counted)[1])
    return f"[[site]] seeds: they give {total:,} URLs (most by {most}); at most {MAX_SEEDS:,} are allowed"


class SiteFault(UsageError):  # noqa: N818 - a fault of the file, and no error of this program
    """A mistake in the site file. The text is one line that names file and line."""


class SiteFile(msgspec.Struct, frozen=True):
    """A site file: the path by which the user names it, and its text as it was read."""

    path: str
    text: str

    @property
    def digest(self) -> str:
        """A short hash of the text. Machines report it, since all must have the same."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:_FILE_DIGITS]


def digest_of(sites: Sequence[SiteRules]) -> str:
    """Give the digest of the site file that some sites are of; "" if there is none."""
    return next((site.digest for site in sites), "")
