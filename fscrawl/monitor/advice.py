"""Lines that several commands print, in the same words: how to go on after `pause` and `stop`, and what is not stored.

Pure.
"""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from fscrawl import hostnames, urls
from fscrawl.fleet.status_file import LIKE_HTML, NotStored
from fscrawl.request import shown
from fscrawl.store import PAUSE, STOP
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command

_MOST_HOSTS = 10  # in a line


def host_of(sign: str) -> str | None:
    """Give the host that a sign pauses, as people write it. None of a sign for all hosts, or one that means no host.

    >>> host_of("PAUSE.a.example_8080"), host_of("PAUSE"), host_of("PAUSE.a b")
    ('a.example:8080', None, None)
    """
    directory = sign.removeprefix(f"{PAUSE}.")
    if directory == sign:
        return None
    host = urls.shown_host(directory)
    try:
        return host if hostnames.read(host).names(directory) else None
    except ValueError:
        return None


def to_resume(root: str | Path, *hosts: str) -> str:
    """Give the command that resumes these hosts; without any, the whole crawl."""
    words = (f"{'=' if host.startswith('-') else ' '}{shlex.quote(host)}" for host in hosts)
    return command("resume", root) + "".join(f" --host{word}" for word in words)


def to_go_on(root: str | Path, signs: Collection[str]) -> Iterator[str]:
    """Yield the lines that say how to go on: with the whole crawl, and with hosts that are paused for themselves."""
    if PAUSE in signs or STOP in signs:
        yield f"to go on:  {to_resume(root)}"
    hosts = [host for sign in sorted(signs) if (host := host_of(sign)) is not None]
    if hosts:
        more = len(hosts) - _MOST_HOSTS
        yield f"to go on there:  {to_resume(root, *hosts[:_MOST_HOSTS])}" + (f"  # and {more} more" if more > 0 else "")


# -- what is not stored

_TYPE = "type "
_SHOWN_TYPES = 5
_SETTINGS = frozenset({"scope", "allow", "deny", "max_depth", "max_hosts_per_domain", "max_pages_per_host"})
_SHOWN = 3  # seeds and hosts
_RENDER = "for a browser, add its host to render.hosts in crawl.toml, then crawl with --refresh 0s"


def not_stored_lines(found: NotStored) -> Iterator[tuple[str, str]]:
    """Yield the lines, each with its label."""
    types = _types(found.types)
    if types:
        few = [f"{number:,} {name}" for name, number in types.most_common(_SHOWN_TYPES)]
        like_html = _like_html(found.types)
        more = [f"{number_of(len(types) - _SHOWN_TYPES, 'more type')}"] if len(types) > _SHOWN_TYPES else []
        text = f"{types.total():,}: {', '.join([*few, *more])}"
        text += f"; {like_html:,} began like HTML" if like_html > 0 else ""
        yield "other types", f"{text}; to store a type, add it to fetch.accept, then crawl with --refresh 0s"
    if found.left_out:
        yield (
            "not followed",
            ", ".join(
                f"{'about ' if found.left_out.is_about(name) else ''}{number_of(number, 'link')} {_by(name)}"
                for name, number in sorted(found.left_out.items())
            ),
        )
    for seed, each in itertools.islice(found.seeds.items(), _SHOWN):
        if each.how == "scripts":
            yield "seed astray", f"{shown(seed)} has scripts and hardly any text; {_RENDER}"
            continue
        leads = "redirects" if each.how == "redirects" else "leads only"
        advice = f": edit crawl.{each.rule}" if each.rule in _SETTINGS else ""
        advice = ": make that a seed, or edit crawl.scope" if each.rule == "scope" else advice
        yield "seed astray", f"{shown(seed)} {leads} to {each.target}, which is left out by {each.rule}{advice}"
    if len(found.seeds) > _SHOWN:
        yield "seed astray", f"and more: {number_of(len(found.seeds) - _SHOWN, 'seed')}"
    latest = list(found.hosts.items())[: -_SHOWN - 1 : -1]
    if latest:
        yield "given up", "; ".join(f"{urls.shown_host(host)}: {why}" for host, why in latest)


def not_stored_as_json(found: NotStored) -> dict[str, Any]:
    """Give the same for programs."""
    return {
        "other_types": dict(_types(found.types)),
        "like_html": _like_html(found.types),
        "left_out": dict(found.left_out),
        "seeds_astray": {shown(seed): each._asdict() for seed, each in found.seeds.items()},
        "given_up": dict(found.hosts),
    }


def _types(counted: Counter[str]) -> Counter[str]:
    """Give the media types; sitemaps are no answers that anybody would miss."""
    types: Counter[str] = Counter()
    for name, number in counted.items():
        if name.startswith(_TYPE):
            types[name.removeprefix(_TYPE).removesuffix(LIKE_HTML) or "(none)"] += number
    return +types


def _like_html(counted: Counter[str]) -> int:
    return sum(number for name, number in counted.items() if name.endswith(LIKE_HTML))


def _by(rule: str) -> str:
    return "outside crawl.scope" if rule == "scope" else f"by crawl.{rule}" if rule in _SETTINGS else f"by {rule}"
