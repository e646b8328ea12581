"""Terms: the settings that decide which links of a page are put into logs, and by how many links a page is reached.

A machine that has put the links of a page into its log says so with a told mark, and names the term by which it chose
them. The mark counts for another machine, or after an edit of the settings, if its term covers the present one.

Vocabulary:
  term        scope, follow rules, limit of depth, shards, generation and machinery, in one value
  digest      the first 16 hex digits of SHA-224 of a term's canonical JSON; told marks name a term by it
  covers      term a covers b: of each page, a puts all links into logs that b would, and no later in depth
  generation  a number; what was told in an earlier one does not count (see `generations`)

Promise: `covers` is False wherever it is not certain. Then a page is told once more, from its record; no fetch is made.

What is not part of a term: settings that decide what is stored in a record (`drop_query`, the parser), because links
are told from records; the limits of pages and hosts, because who holds a shard applies them when URLs come in and when
they are handed out.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fscrawl.config.settings import Settings
from fscrawl.frontier.scope import members_of
from fscrawl.storage.layout import TERMS, heartbeat_path, term_path
from fscrawl.storage.records import TreeRecord
from fscrawl.store import TreeFiles
from fscrawl.urls import site

_DIGITS = 16
_DIGEST = re.compile(rf"[0-9a-f]{{{_DIGITS}}}\Z")
_AGAIN_S = 10.0  # after which a file that was missing is looked for again; then after twice as long, and so on
_OLD_S = 14 * 86400.0  # by the times of the share; `show` says why a page was left out from terms that are there
_MOST_MISSING = 10_000  # digests that are remembered as missing: damaged logs may name any number


@dataclass(frozen=True, slots=True)
class Term:
    """The settings by which links are chosen.

    generation       the number of the newest generation; 0 before the first
    mode, members    how near to a seed a URL must be (`crawl.scope`): the hosts or domains; no members for "any"
    allow, deny      the user's expressions
    follow_nofollow, max_depth      as in the settings
    partition, shards      of the tree
    machinery        of the tree: names the `.fscrawl` whose generations these are
    sites            digest of the rules of sites that find links in pages; "" if there are none
    sitemaps         sitemaps that robots.txt names are told as if each were a link of its host's pages
    """

    generation: int
    mode: str
    members: frozenset[str]
    allow: frozenset[str]
    deny: frozenset[str]
    follow_nofollow: bool
    max_depth: int | None
    partition: str
    shards: int
    machinery: str
    sites: str = ""
    sitemaps: bool = True
    digest: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha224(self._canonical()).hexdigest()[:_DIGITS])

    @classmethod
    def of(
        cls,
        settings: Settings,
        seeds: Iterable[str],
        tree: TreeRecord,
        generation: int,
        sites: str = "",
    ) -> Term:
        """Give the term of some settings. `seeds`: normal forms; `sites`: digest of the rules of sites."""
        crawl = settings.crawl
        return cls(
            generation=generation,
            mode=crawl.scope,
            members=members_of(crawl.scope, seeds),
            allow=frozenset(crawl.allow),
            deny=frozenset(crawl.deny),
            follow_nofollow=crawl.follow_nofollow,
            max_depth=crawl.max_depth,
            partition=tree.partition,
            shards=tree.shards,
            machinery=tree.machinery or "",
            sites=sites,
            sitemaps=settings.reads_sitemaps,
        )

    @property
    def is_deep(self) -> bool:
        """Depths matter: there is a limit, so a shorter way to a page may lead to more pages."""
        return self.max_depth is not None

    def covers(self, other: Term) -> bool:
        """Tell whether a page that was told under this term is certainly told under `other`, at the same depth."""
        if self._must_be_same() != other._must_be_same():
            return False
        return self._goes_as_deep_as(other) and self._is_as_wide_as(other)

    def _must_be_same(self) -> tuple[object, ...]:
        return self.generation, self.machinery, self.follow_nofollow, self.partition, self.shards, self.sites

    def _goes_as_deep_as(self, other: Term) -> bool:
        """Tell whether no link was left out for its depth. Without a limit, shorter ways are not kept at all."""
        if self.max_depth is None or other.max_depth is None:
            return self.max_depth is other.max_depth
        return self.max_depth >= other.max_depth

    def _is_as_wide_as(self, other: Term) -> bool:
        """Tell whether every URL in the scope of `other` is certainly in this one, too."""
        return (
            self._is_near_where(other)
            and (not self.allow or (bool(other.allow) and other.allow <= self.allow))
            and self.deny <= other.deny
            and self.sitemaps >= other.sitemaps
        )

    def _is_near_where(self, other: Term) -> bool:
        if self.mode == "any":
            return True
        if self.mode == other.mode:
            return other.members <= self.members
        return self.mode == "domain" and other.mode == "host" and {site(name) for name in other.members} <= self.members

    def to_json(self) -> bytes:
        """Give the bytes of the term's file."""
        return self._canonical() + b"\n"

    def _canonical(self) -> bytes:
        values = {
            "generation": self.generation,
            "mode": self.mode,
            "members": sorted(self.members),
            "allow": sorted(self.allow),
            "deny": sorted(self.deny),
            "follow_nofollow": self.follow_nofollow,
            "max_depth": self.max_depth,
            "partition": self.partition,
            "shards": self.shards,
            "machinery": self.machinery,
            # Without rules of sites, and with sitemaps, the term is the one from before these fields came.
            **({"sites": self.sites} if self.sites else {}),
            **({} if self.sitemaps else {"sitemaps": False}),
        }
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_json(cls, data: bytes) -> Term:
        """Read what `to_json` wrote; ValueError for anything else, also for what a newer program wrote."""
        try:
            values = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a term: {error}") from error
        if not isinstance(values, dict) or values.keys() | _MAY_BE_MISSING != _FITS.keys():
            raise ValueError("not a term: other fields")
        for name, value in values.items():
            if not _FITS[name](value):
                raise ValueError(f"not a term: field {name}")
        fields: dict[str, Any] = {
            name: frozenset(value) if type(value) is list else value for name, value in values.items()
        }
        term = cls(**fields)
        if term.to_json() != data:
            raise ValueError("not a term: not as this program writes it")
        return term


def _is_number(value: Any) -> bool:
    return type(value) is int


def _is_text(value: Any) -> bool:
    return type(value) is str


def _are_texts(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value))


_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("generation", "shards"), _is_number),
    **dict.fromkeys(("mode", "partition", "machinery", "sites"), _is_text),
    **dict.fromkeys(("members", "allow", "deny"), _are_texts),
    **dict.fromkeys(("follow_nofollow", "sitemaps"), lambda value: type(value) is bool),
    "max_depth": lambda value: value is None or _is_number(value),
}

_MAY_BE_MISSING = {"sites", "sitemaps"}


class Terms:
    """The present term of this machine, and which others cover it.

    current             the present term
    sitemaps_were_off   one of the others, whose files were read so far, has none
    """

    def __init__(self, files: TreeFiles, current: Term, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self.sitemaps_were_off = False
        self._answers: dict[str, bool] = {}
        self._missing: dict[str, tuple[float, float]] = {}  # when to ask again, and how long to wait after that
        self.use(current)

    def use(self, term: Term) -> None:
        """Make a term the present one. Its file is there when this returns, so that others can read what it covers."""
        path, data = term_path(term.digest), term.to_json()
        if self._files.read_or_torn(path) != data:  # missing, or torn
            self._files.publish(path, data)
        self.current = term
        self._answers = {term.digest: True}
        self._missing = {}

    def covers(self, digest: str) -> bool:
        """Tell whether the term of a told mark covers the present one; False if its file is missing or damaged.

        A file that was missing is looked for again after some seconds: it may have come meanwhile.
        """
        answer = self._answers.get(digest)
        if answer is None:
            return self._ask(digest)
        return answer

    def _ask(self, digest: str) -> bool:
        ask_at, pause_s = self._missing.get(digest, (0.0, _AGAIN_S))
        if ask_at > self._clock():
            return False
        term = read_term(self._files, digest)
        if term is None:
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[digest] = self._clock() + pause_s, 2 * pause_s
            return False
        self.sitemaps_were_off = self.sitemaps_were_off or not term.sitemaps
        self._answers[digest] = term.covers(self.current)
        return self._answers[digest]


class OldTerms:
    """Removes the files of terms that cannot count any more: one for each `--refresh`, with the hosts of all seeds.

    A term of an earlier generation covers no later one, and generations never go back. A machine that stood still and
    goes on by such a term writes marks that nobody counts, with its file or without. But a term without sitemaps says
    to all later ones that these may never have been read, so it stays (`Terms.sitemaps_were_off`).
    """

    def __init__(self, files: TreeFiles) -> None:
        self._files = files
        self._generations: dict[str, float] = {}  # of the terms that were read, by digest

    def remove(self, current: Term) -> None:
        """Remove what is of an earlier generation than the present term, and weeks old."""
        now = self._files.modified_at(heartbeat_path(self._files.machine))
        for name in self._files.names(TERMS):
            digest, path = name.removesuffix(".json"), f"{TERMS}/{name}"
            if digest == current.digest or self._generation(digest, current) >= current.generation:
                continue
            at = self._files.modified_at(path)
            if now is not None and at is not None and now - at > _OLD_S:
                self._files.remove(path)

    def _generation(self, digest: str, current: Term) -> float:
        """Give the generation of a term; infinity if it must stay, or cannot be read: a newer program may do that."""
        if digest not in self._generations:
            term = read_term(self._files, digest)
            may_go = term is not None and term.machinery == current.machinery and term.sitemaps
            self._generations[digest] = term.generation if term is not None and may_go else float("inf")
        return self._generations[digest]


class ReadOnlyTerms:
    """The terms behind digests, for a process that writes nothing.

    current    the present term, as far as this process knows
    """

    def __init__(self, files: TreeFiles, current: Term) -> None:
        self.current = current
        self._files = files
        self._terms: dict[str, Term | None] = {current.digest: current}

    def get(self, digest: str) -> Term | None:
        """Give the term of a told mark; None if its file is missing or damaged."""
        if digest not in self._terms:
            if len(self._terms) >= _MOST_MISSING:
                self._terms = {self.current.digest: self.current}
            self._terms[digest] = read_term(self._files, digest)
        return self._terms[digest]

    def covers(self, digest: str) -> bool:
        """Tell whether the term of a told mark covers the present one; False if its file is missing or damaged."""
        term = self.get(digest)
        return term is not None and term.covers(self.current)


def read_term(files: TreeFiles, digest: str) -> Term | None:
    """Read a term's file; None if it is missing, or is not that of the term that its name says."""
    if not _DIGEST.match(digest):
        return None
    try:
        term = Term.from_json(files.read_or_torn(term_path(digest)) or b"")
    except ValueError:
        return None
    return term if term.digest == digest else None
