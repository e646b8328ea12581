"""Request flags: what is special about a URL that is to be fetched. Pure.

A URL keeps its flags on its whole way: through logs, the frontier's queues, and tasks. Logs and queues hold them as a
word without a blank, which is part of the tree's format; most URLs have none, and then there is no word:

    sitemap, sitemap-part   sitemap      robots.txt names this sitemap, or such a sitemap names it
    again=<failed_at>       retry_of     it failed then, and a user asks for another try
    refresh                 refresh      it is stored, and is to be fetched again
    gave-up=<class>         given_up     its host was given up: do not ask it, but write the failure down. This word
                                         never leaves the machine

`gave-up=` may be followed by ",again=<failed_at>", and both by ",sitemap" or ",sitemap-part": a failed sitemap is still
a sitemap.
"""

from __future__ import annotations

from dataclasses import dataclass

SITEMAP, SITEMAP_PART = "sitemap", "sitemap-part"  # values of `Flags.sitemap`


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of one URL. `NO_FLAGS` is the only one without any, so that `is` is enough to compare with it."""

    sitemap: str = ""
    retry_of: str = ""
    refresh: bool = False
    given_up: str = ""

    @property
    def wanted_again(self) -> bool:
        """It is to be fetched although it was seen before."""
        return self.refresh or bool(self.retry_of)

    def with_host_given_up(self, class_: str) -> Flags:
        """Give the flags of a URL whose host was given up with failures of `class_`."""
        return Flags(self.sitemap, self.retry_of, given_up=class_)

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


def parse_flags(word: str) -> Flags:
    """Read the word that stands in a line. What this version does not know is left out.

    >>> parse_flags("again=2026-01-02T03:04:05.678Z,sitemap")
    Flags(sitemap='sitemap', retry_of='2026-01-02T03:04:05.678Z', refresh=False, given_up='')
    >>> parse_flags("") is NO_FLAGS
    True
    """
    whole = _WHOLE_WORDS.get(word)
    if whole is not None:
        return whole
    last = word.rpartition(",")[2]
    sitemap = last if last in (SITEMAP, SITEMAP_PART) else ""
    values = {name: value for name, _, value in (part.partition("=") for part in word.split(","))}
    retry_of, given_up = values.get("again", ""), values.get("gave-up", "")
    if retry_of or given_up:
        return Flags(sitemap, retry_of, given_up=given_up)
    return _WHOLE_WORDS[sitemap]


def format_flags(flags: Flags) -> str:
    """Give the word that stands in a line, "" for no flags.

    >>> format_flags(Flags(SITEMAP_PART, retry_of="2026-01-02T03:04:05.678Z"))
    'again=2026-01-02T03:04:05.678Z,sitemap-part'
    """
    if flags.refresh:
        return "refresh"
    words = (
        f"gave-up={flags.given_up}" if flags.given_up else "",
        f"again={flags.retry_of}" if flags.retry_of else "",
        flags.sitemap,
    )
    return ",".join(filter(None, words))
