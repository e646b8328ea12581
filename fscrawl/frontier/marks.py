"""What is special about a URL that is to be fetched: one word that goes with it through feeds and queues. Pure.

Vocabulary:
  sitemap, sitemap-part   it is a sitemap that robots.txt names, or that such a one names
  again=<failed_at>       it failed then, and somebody asks for another try
  refresh                 it is stored, and to be asked for again
  gave-up=<class>         within a machine only: do not ask the host, which answers nothing, but write that down

again= and gave-up= may be followed by ",sitemap" or ",sitemap-part": a failed sitemap is still one. "" for most URLs.
"""

from __future__ import annotations

SITEMAP, SITEMAP_PART = "sitemap", "sitemap-part"
REFRESH = "refresh"
_AGAIN, _GAVE_UP = "again=", "gave-up="


def sitemap_of(mark: str) -> str:
    """Give "sitemap" or "sitemap-part" if it is one, else "".

    >>> sitemap_of("again=2026-01-02T03:04:05.678Z,sitemap-part"), sitemap_of("refresh")
    ('sitemap-part', '')
    """
    kind = mark.rpartition(",")[2]
    return kind if kind in (SITEMAP, SITEMAP_PART) else ""


def again(failed_at: str, sitemap: str = "") -> str:
    """Give the mark of a URL that is to be tried again. `sitemap`: as `sitemap_of` gives it."""
    return _with(f"{_AGAIN}{failed_at}", sitemap)


def again_of(mark: str) -> str:
    """Give when the URL had failed that is to be tried again, "" if that is not asked.

    >>> again_of(again("2026-01-02T03:04:05.678Z", "sitemap"))
    '2026-01-02T03:04:05.678Z'
    """
    return mark.removeprefix(_AGAIN).partition(",")[0] if mark.startswith(_AGAIN) else ""


def gave_up(class_: str, mark: str) -> str:
    """Give the mark of a URL of a host that was given up with failures of `class_`, from the one that it had."""
    return _with(f"{_GAVE_UP}{class_}", sitemap_of(mark))


def gave_up_of(mark: str) -> str:
    """Give the class of failure with which the host was given up, "" if it was not.

    >>> gave_up_of(gave_up("dns", "sitemap"))
    'dns'
    """
    return mark.removeprefix(_GAVE_UP).partition(",")[0] if mark.startswith(_GAVE_UP) else ""


def is_anew(mark: str) -> bool:
    """Tell whether the URL is wanted although it is known."""
    return mark.startswith(_AGAIN) or mark == REFRESH


def _with(mark: str, sitemap: str) -> str:
    return f"{mark},{sitemap}" if sitemap else mark
