"""What the logs say of one URL, put together from any number of facts in any order. Pure.

A fact is a line of text. It begins with the URL's fingerprint in 16 hex digits, so that facts that are sorted stand
together by URL. A state is written as one fact, too:

    <fingerprint> u <depth> <referrer or -> <url>[ <word>…]    found: waiting, with all that is needed to fetch it
    <fingerprint> f <depth or -> [ <word>…]                    failed, and nobody asks for another try
    <fingerprint> t <depth or -> <told depth>                  told

    sitemap, sitemap-part     it is one (see `frontier.flags`)
    stored                    its page is stored, so it needs no fetch: its links are told again, from its record, since
                              a shorter way to it was found
    e<failed_at>              it failed at that time
    a<failed_at>              a user asked for another try, because it failed at that time
    l[<label>]                it was found as part of this task, percent-encoded; "l" alone: as part of none. Without
                              such a word it was found as part of none only

Vocabulary:
  known     the least depth of all lines that found the URL
  told      the least depth of all marks of success
  settled   nothing is left to do: told, where depths matter at no greater depth than known; or failed

Rules for what is not told:
  A page that is stored is wanted until it is told. What failed before, and who asked for another try, is over.
  A failure counts unless another try was asked for because of that very failure. So a URL is wanted again as long as
  that is so of all its failures; a failure of another time settles it.
  A user asks because of the latest failure only, so this needs no clock, and no order of the lines.

Promise: facts may come in any order, repeatedly, and put together by way of states. The last two kinds keep no text;
what is lost with it (the URL, its referrer) is needed only when a line comes that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fscrawl import urls
from fscrawl.fleet.lines import Found, Told, is_url, number_of
from fscrawl.frontier.flags import Flags, flags_of
from fscrawl.labels import escaped, unescaped

DIGITS = 16
WAITING, FAILED, TOLD = "u", "f", "t"
KIND_AT = DIGITS + 1  # where the kind stands in a fact

_NONE = "-"
_STORED = "stored"
_MOST_LABELS = 100  # of one URL; more tasks that lead to it are forgotten, the last by name


def fact_of_found(found: Found) -> bytes:
    """Give the fact in a line that says that a URL was found.

    >>> fact_of_found(Found(7, 1, "", "http://example.com/"))
    b'599370d5687c3fd0 u 1 - http://example.com/'
    """
    words = [f"{urls.key(found.url)[:DIGITS]} u {found.depth} {found.referrer or _NONE} {found.url}"]
    if found.flags.sitemap:
        words.append(found.flags.sitemap)
    if found.flags.retry_of:
        words.append(f"a{found.flags.retry_of}")
    if found.flags.label:
        words.append(f"l{escaped(found.flags.label)}")
    return " ".join(words).encode("ascii")


def fact_of_told(told: Told) -> bytes:
    """Give the fact in a told mark.

    >>> fact_of_told(Told(7, "599370d5687c3fd078c314ad", 1))
    b'599370d5687c3fd0 t - 1'
    """
    fact = f"f - e{told.failed_at}" if told.failed_at else f"t - {told.depth}"
    return f"{told.key[:DIGITS]} {fact}".encode("ascii")


def fact_of_entry(fingerprint: int, known: int | None, told: int) -> bytes:
    """Give the fact in what a snapshot keeps of a URL that is told."""
    return f"{fingerprint:016x} t {_NONE if known is None else known} {told}".encode("ascii")


class UrlState:
    """The state of one URL."""

    __slots__ = ("again", "failures", "known", "labels", "sitemap", "stored", "told", "way")

    def __init__(self) -> None:
        self.known: int | None = None
        self.told: int | None = None
        self.stored = False
        self.way: tuple[int, str, str] | None = None  # depth, referrer, URL: the line to keep
        self.sitemap = ""
        self.failures: set[str] = set()
        self.again: set[str] = set()
        self.labels: set[str] = set()  # of the tasks that it was found for; "": for none

    def take(self, fact: bytes) -> None:
        """Put a fact to what is known; ValueError if it is damaged."""
        _, kind, depth, *words = fact.decode("ascii").split(" ")
        known = None if depth == _NONE else number_of(depth)
        if known is not None:
            self.known = known if self.known is None else min(known, self.known)
        if kind == WAITING:
            referrer, url, *words = words
            if known is None or not is_url(url):
                raise ValueError(fact)
            way = (known, referrer, url)
            self.way = way if self.way is None else min(way, self.way)
            self._take_words(words)
            self._take_labels(words)
        elif kind == FAILED:
            self._take_words(words)
        elif kind == TOLD:
            self.stored = True
            told = number_of(words[0])
            self.told = told if self.told is None else min(told, self.told)
        else:
            raise ValueError(fact)

    def _take_words(self, words: list[str]) -> None:
        for word in words:
            if word == _STORED:
                self.stored = True
            elif word.startswith("e"):
                self.failures.add(word[1:])
            elif word.startswith("a"):
                self.again.add(word[1:])
            elif not word.startswith("l"):  # "sitemap" counts more than "sitemap-part"
                self.sitemap = min(word, self.sitemap or word)

    def _take_labels(self, words: list[str]) -> None:
        self.labels.update([unescaped(word[1:]) for word in words if word.startswith("l")] or [""])
        if len(self.labels) > _MOST_LABELS:
            self.labels = set(sorted(self.labels)[:_MOST_LABELS])

    def kind(self, *, deep: bool) -> str | None:
        """Give the kind of fact that keeps this state; None if nothing needs to be kept. `deep`: depths matter."""
        if self.told is not None and (not deep or self.known is None or self.told <= self.known):
            return TOLD
        if not self.stored and not self.failures <= self.again:
            return FAILED
        return WAITING if self.way is not None else None

    def text(self, fingerprint: str, *, deep: bool) -> bytes:
        """Give the fact that keeps this state, if its kind is WAITING or FAILED."""
        depth = _NONE if self.known is None else self.known
        words = [fingerprint, FAILED, str(depth)]
        if self.kind(deep=deep) == WAITING:
            assert self.way is not None
            words = [fingerprint, WAITING, str(depth), *self.way[1:]]
        if self.sitemap:
            words.append(self.sitemap)
        if self.stored:
            words.append(_STORED)
        else:
            words += [f"e{failed_at}" for failed_at in sorted(self.failures)]
            words += [f"a{failed_at}" for failed_at in sorted(self.again)]
        if words[1] == WAITING and self.labels != {""}:
            words += [f"l{escaped(label)}" for label in sorted(self.labels)]
        return " ".join(words).encode("ascii")


def founds_of(shard: int, fact: bytes) -> Iterator[Found]:
    """Give a URL that waits as lines that found it: one for each task, and of these one for each failure because of
    which it is tried again.

    Which of these failures is the latest is seen in the tree only. The lines for the others are spent by then.

    >>> [found.flags.retry_of for found in founds_of(7, b"599370d5687c3fd0 u 1 - http://example.com/ e9 a9")]
    ['9']
    """
    state = UrlState()
    state.take(fact)
    if state.way is None:
        raise ValueError(fact)
    depth, referrer, url = state.way
    found = Found(shard, depth, "" if referrer == _NONE else referrer, url)
    for label in sorted(state.labels):
        if state.again and not state.stored:
            again = (Flags(state.sitemap, retry_of=failed_at, label=label) for failed_at in sorted(state.again))
            yield from (found._replace(flags=flags) for flags in again)
        else:
            yield found._replace(flags=flags_of(state.sitemap, label=label))
