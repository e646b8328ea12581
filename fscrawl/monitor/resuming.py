"""How to go on after `pause` and `stop`: the commands that take the signs away. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

from fscrawl import hostnames, urls
from fscrawl.store import PAUSE, STOP
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
    """Yield the lines that say how to go on: with the whole crawl, and with hosts that are paused for themselves.

    A last line names signs that somebody has made by hand in a form that machines do not know.
    """
    if PAUSE in signs or STOP in signs:
        yield f"to go on:  {to_resume(root)}"
    hosts = [host for sign in sorted(signs) if (host := host_of(sign)) is not None]
    if hosts:
        more = len(hosts) - _MOST_HOSTS
        yield f"to go on there:  {to_resume(root, *hosts[:_MOST_HOSTS])}" + (f"  # and {more} more" if more > 0 else "")
    odd = [sign for sign in sorted(signs) if sign not in (PAUSE, STOP) and host_of(sign) is None]
    if odd:
        names = ", ".join(odd[:_MOST_HOSTS]) + (f" and {len(odd) - _MOST_HOSTS} more" if len(odd) > _MOST_HOSTS else "")
        yield f"not the name of a host, and pauses nothing: {names}; use  {command('pause', root)} --host HOST"
