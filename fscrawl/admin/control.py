"""What steers the machines: the signs of `fscrawl pause | resume | stop`, and the verbs of `dashboard --control`.

    STOP           all machines finish what is in flight, flush, hand over and exit with 0; no machine starts
    PAUSE          all machines fetch nothing, but stay and keep their leases
    PAUSE.<host>   no machine fetches from this host; with its port (a.example_8080) or without

Signs are empty files in the root. Machines look for them at each heartbeat. You can also create and remove them by
hand. A verb of the dashboard takes the bytes of a JSON object, and returns one line that says what was done; UsageError
if the object is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Annotated, TypeVar

import msgspec

from fscrawl import hostnames
from fscrawl.config.seeds import line_of, line_of_seed, read_given, read_seeds
from fscrawl.errors import TreeError, UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.monitor.advice import host_of
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of


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
    """Give a line for each host, or pattern of hosts, that the tree does not know, with those that are most like it."""
    try:
        known = {*tree.hosts(LINKS), *tree.hosts(ERRS)} if hosts else set()
    except TreeError:  # the signs are there, and that is what was asked for
        return []
    return hostnames.unmatched([hostnames.option(host, globs=True) for host in hosts], known)


# -- the verbs of a dashboard

_Texts = Annotated[list[str], msgspec.Meta(min_length=1)]  # a list without any would mean all


class _Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """What a verb takes, and no other field: `{"host": …}` would pause the whole crawl."""


class _Hosts(_Nothing):
    hosts: _Texts = []


class _Failures(_Hosts):
    classes: _Texts = []


class _Seed(_Nothing):
    url: str


T = TypeVar("T")


def _read(given: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(given, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(str(error)) from None


def _pause(tree: Tree, given: bytes) -> str:
    return created(pause(tree, _read(given, _Hosts).hosts))


def _resume(tree: Tree, given: bytes) -> str:
    message, remaining = removed(tree, resume(tree, _read(given, _Hosts).hosts))
    return message + (f"; still there: {', '.join(remaining)}" if remaining else "")


def _stop(tree: Tree, given: bytes) -> str:
    _read(given, _Nothing)
    return created([stop(tree)])


def _retry(tree: Tree, given: bytes) -> str:
    from fscrawl.admin.retry import retry  # noqa: PLC0415 - `pause` and a dashboard that only looks need not load it

    asked = _read(given, _Failures)
    writer = Tree(tree.root, new_machine_id())  # each retry has a log of its own
    put = retry(writer, asked.classes, asked.hosts, lambda _: None)
    if put:
        return f"will be tried again: {number_of(put.total(), 'URL')}"
    return "no other failed URL matches" if put.left_out else "no failed URL matches"


def _seed(tree: Tree, given: bytes) -> str:
    try:
        url, label = read_given(_read(given, _Seed).url)
    except ValueError as error:
        raise UsageError(f"url: {error}; write a complete URL, like https://example.org/") from None
    if url in read_seeds(tree.controls.seeds(), "", lambda _: None):
        return f"already a seed: {line_of(url)}"
    tree.controls.add_seeds([line_of_seed(url, label)])
    return f"added: {line_of(url)}"


VERBS: dict[str, Callable[[Tree, bytes], str]] = {
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
    "retry": _retry,
    "seed": _seed,
}
