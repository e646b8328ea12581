"""`fscrawl pause | resume | stop`: signs in the root. Machines look for them at each heartbeat.

    STOP           all machines finish what is in flight, flush, hand over and exit with 0; no machine starts
    PAUSE          all machines fetch nothing, but stay and keep their leases
    PAUSE.<host>   no machine fetches from this host; with its port (a.example_8080) or without

Signs are empty files. You can also create and remove them by hand.
"""

from __future__ import annotations

from fscrawl import urls
from fscrawl.errors import UsageError
from fscrawl.store import PAUSE, STOP, Tree


def pause(tree: Tree, hosts: list[str]) -> list[str]:
    """Pause all machines, or these hosts; return the names of the signs.

    If one is not a host, no sign is made, and a UsageError is raised.
    """
    names = [f"{PAUSE}.{directory_of(host)}" for host in hosts] or [PAUSE]
    for name in names:
        tree.controls.put_sign(name)
    return names


def resume(tree: Tree, hosts: list[str]) -> list[str]:
    """Remove the signs of these hosts, or all signs; return the names of those that were there."""
    names = [f"{PAUSE}.{directory_of(host)}" for host in hosts] or sorted(tree.controls.signs() | {PAUSE, STOP})
    return [name for name in names if tree.controls.drop_sign(name)]


def stop(tree: Tree) -> str:
    """Make all machines leave; return the name of the sign."""
    tree.controls.put_sign(STOP)
    return STOP


def directory_of(host: str) -> str:
    """Give the directory of a host as people write it: a name, name:port, or a URL of it.

    >>> directory_of("Example.com"), directory_of("example.com:8080"), directory_of("https://example.com/x")
    ('example.com', 'example.com_8080', 'example.com')
    """
    url = urls.normalise(host if "://" in host else f"http://{host}/")
    if url is None or ("://" not in host and "/" in host):
        raise UsageError(f"--host {host}: must be a host, like example.com or example.com:8080")
    return urls.host(url)
