"""`fscrawl pause | resume | stop`: signs in the root. Machines look for them at each heartbeat.

    STOP           all machines finish what is in flight, flush, hand over and exit with 0; no machine starts
    PAUSE          all machines fetch nothing, but stay and keep their leases
    PAUSE.<host>   no machine fetches from this host; with its port (a.example_8080) or without

Signs are empty files. You can also create and remove them by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fscrawl import hostnames
from fscrawl.errors import TreeError
from fscrawl.monitor.advice import host_of
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import PAUSE, STOP, Tree


def pause(tree: Tree, hosts: list[str]) -> list[str]:
    """Pause all machines, or these hosts; return the names of the signs.

    If one is not a host, no sign is made, and a UsageError is raised.
    """
    names = [f"{PAUSE}.{hostnames.option(host).directory}" for host in hosts] or [PAUSE]
    for name in names:
        tree.controls.put_sign(name)
    return names


def resume(tree: Tree, hosts: list[str]) -> list[str]:
    """Remove the signs of these hosts, or those of the whole crawl; return the names of those that were there.

    A host without a port means it with any port, as for `pause`. Without hosts, those that are paused for themselves
    stay so: somebody had a reason. A sign that means no host goes with those of the whole crawl.
    """
    there = tree.controls.signs()
    if not hosts:
        names = sorted({PAUSE, STOP} | {sign for sign in there if host_of(sign) is None})
        return [name for name in names if tree.controls.drop_sign(name)]
    wanted = [hostnames.option(host) for host in hosts]
    names = [f"{PAUSE}.{host.directory}" for host in wanted]  # a listing may be old
    names += [sign for sign in sorted(there) if any(host.names(sign.removeprefix(f"{PAUSE}.")) for host in wanted)]
    return [name for name in dict.fromkeys(names) if tree.controls.drop_sign(name)]


def stop(tree: Tree) -> str:
    """Make all machines leave; return the name of the sign."""
    tree.controls.put_sign(STOP)
    return STOP


def created(names: Iterable[str]) -> str:
    """Say which signs were made."""
    return f"created: {', '.join(sorted(names))}"


def removed(tree: Tree, names: Collection[str]) -> tuple[str, list[str]]:
    """Say which signs were removed, and give those that are still there."""
    remaining = sorted(tree.controls.signs() - {*names})  # an old listing may still show a removed sign
    nothing = "nothing was removed" if remaining else "nothing was paused or stopped"
    return f"removed: {', '.join(sorted(names))}" if names else nothing, remaining


def unknown(tree: Tree, hosts: list[str]) -> list[str]:
    """Give a line for each host that the tree does not know, with those that are most like it."""
    try:
        known = {*tree.hosts(LINKS), *tree.hosts(ERRS)}
    except TreeError:  # the signs are there, and that is what was asked for
        return []
    return hostnames.unmatched([hostnames.option(host) for host in hosts], known)
