"""What a dashboard with `--control` can do: pause, resume, stop and retry as the commands do, and add a seed.

Each function takes a JSON object and returns one line that says what was done. UsageError if the object is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fscrawl.admin import signs
from fscrawl.config.seeds import line_of, line_of_seed, read_given, read_seeds
from fscrawl.errors import UsageError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.http.answers import CLASSES
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of

_MOST_HOSTS = 1000


def pause(tree: Tree, given: dict[str, Any]) -> str:
    _refuse_others(given, "hosts")
    return signs.created(signs.pause(tree, _words(given, "hosts")))


def resume(tree: Tree, given: dict[str, Any]) -> str:
    _refuse_others(given, "hosts")
    message, remaining = signs.removed(tree, signs.resume(tree, _words(given, "hosts")))
    return message + (f"; still there: {', '.join(remaining)}" if remaining else "")


def stop(tree: Tree, given: dict[str, Any]) -> str:
    _refuse_others(given)
    return signs.created([signs.stop(tree)])


def retry(tree: Tree, given: dict[str, Any]) -> str:
    from fscrawl.admin.retry import retry as put_back  # noqa: PLC0415 - a dashboard that only looks need not load it

    _refuse_others(given, "classes", "hosts")
    classes = _words(given, "classes")
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"classes: {name}: must be one of {', '.join(CLASSES)}")
    writer = Tree(tree.root, new_machine_id())  # each retry has a log of its own
    put = put_back(writer, classes, _words(given, "hosts"), lambda _: None)
    if put:
        return f"will be tried again: {number_of(put.total(), 'URL')}"
    return "no other failed URL matches" if put.left_out else "no failed URL matches"


def seed(tree: Tree, given: dict[str, Any]) -> str:
    _refuse_others(given, "url")
    try:
        url, label = read_given(str(given.get("url")))
    except ValueError as error:
        raise UsageError(f"url: {error}; write a complete URL, like https://example.org/") from None
    if url in read_seeds(tree.controls.seeds(), "", lambda _: None):
        return f"already a seed: {line_of(url)}"
    tree.controls.add_seeds([line_of_seed(url, label)])
    return f"added: {line_of(url)}"


VERBS: dict[str, Callable[[Tree, dict[str, Any]], str]] = {
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "retry": retry,
    "seed": seed,
}


def _refuse_others(given: dict[str, Any], *known: str) -> None:
    """Refuse fields that a verb does not have: `{"host": …}` would pause the whole crawl."""
    for name in given:
        if name not in known:
            raise UsageError(f"{name}: unknown; this takes {' and '.join(known) or 'nothing'}")


def _words(given: dict[str, Any], name: str) -> list[str]:
    """Return a list of texts from the object; none if it has no such field. A list without any would mean all."""
    if name not in given:
        return []
    words = given[name]
    if (
        not isinstance(words, list)
        or not 0 < len(words) <= _MOST_HOSTS
        or not all(isinstance(one, str) for one in words)
    ):
        raise UsageError(f"{name}: must be a list of 1 to {_MOST_HOSTS} strings, or be left out")
    return words
