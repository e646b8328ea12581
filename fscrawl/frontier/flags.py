"""Request flags: what is special about a URL that is to be fetched. Pure.

A URL keeps its flags on its whole way: through logs, the frontier's queues, and tasks. Logs and queues hold them as a
word without a blank, which is part of the tree's format; most URLs have none, and then there is no word:

    sitemap, sitemap-part   sitemap      robots.txt names this sitemap, or such a sitemap names it
    again=<failed_at>       retry_of     it failed then, and a user asks for another try
    refresh                 refresh      it is stored, and is to be fetched again. With `redirects`: since a log-in, to
                                         which it redirected, has led back to it
    label=<label>           label        the task that it belongs to (see `fscrawl.labels`), percent-encoded
    redirects=<n>           redirects    so many redirects in a row have led to it
    gave-up=<class and why> given_up     its host was given up: do not ask it, but write the failure down. The class of
                                         its last failure, and behind a blank its message; percent-encoded. This word
                                         never leaves the machine

Several are joined by commas, in this order: gave-up, again, refresh, label, redirects; sitemap or sitemap-part comes
last. A failed sitemap is still a sitemap.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from fscrawl.labels import escaped, unescaped

SITEMAP, SITEMAP_PART = "sitemap", "sitemap-part"  # values of `Flags.sitemap`


class Flags(msgspec.Struct, frozen=True):
    """The flags of one URL. `NO_FLAGS` is the only one without any, so that `is` is enough to compare with it."""

    sitemap: str = ""
    retry_of: str = ""
    refresh: bool = False
    given_up: str = ""
    label: str = ""
    redirects: int = 0

    @property
    def wanted_again(self) -> bool:
        """It is to be fetched although it was seen before."""
        return self.refresh or bool(self.retry_of)

    @property
    def led_back(self) -> bool:
        """It is a redirect, and has led to redirects that led back to it."""
        return self.refresh and self.redirects > 0

    @property
    def is_special(self) -> bool:
        """Something is said of it for which a worker must look into the tree first."""
        return bool(self.sitemap or self.retry_of or self.refresh or self.given_up)

    def with_label(self, label: str) -> Flags:
        """Give the flags of the same URL as part of another task."""
        return self if label == self.label else parse_flags(format_flags(replace(self, label=label)))

    def with_host_given_up(self, class_: str) -> Flags:
        """Give the flags of a URL whose host was given up with failures of `class_`, and perhaps a message."""
        return Flags(self.sitemap, self.retry_of, given_up=class_, label=self.label)

    def to_tell(self) -> Flags:
        """Give the flags of a stored page of which only the links are to be told: all else has been done."""
        return flags_of(self.sitemap, label=self.label, redirects=self.redirects)

    def __reduce__(self) -> tuple[object, tuple[str]] | str:
        """Pickle shortly, and so that `NO_FLAGS` is the same object in every process."""
        return "NO_FLAGS" if self is NO_FLAGS else (parse_flags, (format_flags(self),))


NO_FLAGS = Flags()
REFRESH = Flags(refresh=True)
_WHOLE_WORDS = {
    "": NO_FLAGS,
    SITEMAP: Flags(sitemap=SITEMAP),
    SITEMAP_PART: Flags(sitemap=SITEMAP_PART),
    "refresh": REFRESH,
}
_MOST_LABELS = 10_000  # whose flags are kept: most lines have the same few
_MOST_DIGITS = 3


def flags_of(sitemap: str = "", retry_of: str = "", label: str = "", redirects: int = 0) -> Flags:
    """Give the flags with these values; `NO_FLAGS` if there are none."""
    if not (sitemap or retry_of or redirects):
        return labelled(label)
    return Flags(sitemap, retry_of, label=label, redirects=redirects)


@lru_cache(_MOST_LABELS)
def labelled(label: str) -> Flags:
    """Give the flags of a URL of which only its label is said; `NO_FLAGS` without one."""
    return Flags(label=label) if label else NO_FLAGS


def parse_flags(word: str) -> Flags:
    """Read the word that stands in a line. What this version does not know is left out.

    >>> parse_flags("again=2026-01-02T03:04:05.678Z,sitemap")
    Flags(sitemap='sitemap', retry_of='2026-01-02T03:04:05.678Z', refresh=False, given_up='', label='', redirects=0)
    >>> parse_flags("") is NO_FLAGS
    True
    """
    whole = _WHOLE_WORDS.get(word)
    return _parsed(word) if whole is None else whole


@lru_cache(_MOST_LABELS)
def _parsed(word: str) -> Flags:
    last = word.rpartition(",")[2]
    sitemap = last if last in (SITEMAP, SITEMAP_PART) else ""
    values = {name: value for name, _, value in (part.partition("=") for part in word.split(","))}
    retry_of = values.get("again", "")
    given_up = unquote(values.get("gave-up", ""))
    label = unescaped(values.get("label", ""))
    redirects = _number(values.get("redirects", ""))
    refresh = word.startswith(("refresh,label=", "refresh,redirects="))
    if retry_of or given_up or refresh:
        return Flags(sitemap, retry_of, refresh, given_up, label, redirects)
    return flags_of(sitemap, label=label, redirects=redirects)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0


def format_flags(flags: Flags) -> str:
    """Give the word that stands in a line, "" for no flags.

    >>> format_flags(Flags(SITEMAP_PART, retry_of="2026-01-02T03:04:05.678Z"))
    'again=2026-01-02T03:04:05.678Z,sitemap-part'
    >>> format_flags(labelled("day 1"))
    'label=day%201'
    """
    words = (
        f"gave-up={quote(flags.given_up, safe='', errors='replace')}" if flags.given_up else "",
        f"again={flags.retry_of}" if flags.retry_of else "",
        "refresh" if flags.refresh else "",
        f"label={escaped(flags.label)}" if flags.label else "",
        f"redirects={flags.redirects}" if flags.redirects else "",
        flags.sitemap,
    )
    return ",".join(filter(None, words))
