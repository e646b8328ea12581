"""What the logs of the newest generation say of one URL; and whether the links of some pages stand in them."""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl import urls
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.outside import AllLines
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.flags import format_flags
from fscrawl.monitor.explain.facts import Line, Mark
from fscrawl.store import Tree

_MOST_LINES = 100


class Mentions:
    """All lines in which logs mention one URL.

    url      its normal form; None if no line has it
    lines    who discovered it; a hundred at most
    marks    who says that it is done, or that it failed; a hundred at most
    requests of a plain URL: lines that have it as part of a request, in its spelling; a hundred at most
    """

    def __init__(self, tree: Tree, own: LinkRules, key: str, url: str | None, shard: int | None) -> None:
        """Read it. `own`: those that the settings ask for. `url`: None if only the key is known; `shard`, too."""
        self.url = url
        self.lines: list[Line] = []
        self.marks: list[Mark] = []
        self.requests: set[str] = set()
        self._begin = f"{url}#" if url is not None and "#" not in url else None
        self._key = key
        all_lines = AllLines(tree, None if shard is None else {shard})
        newest = all_lines.generation
        counts = newest is not None and newest.links is not None and newest.links.covers(own)
        for machine, line in all_lines.lines():
            if isinstance(line, Found):
                self._add(line, machine)
            elif isinstance(line, Told) and line.key == key and len(self.marks) < _MOST_LINES:
                is_valid = counts or bool(line.failed_at)
                self.marks.append(Mark(machine, line.depth, line.failed_at, counts=is_valid))

    def _add(self, found: Found, machine: str) -> None:
        if self.url is None and urls.key(found.url) == self._key:
            self.url = found.url
        if found.url == self.url and len(self.lines) < _MOST_LINES:
            self.lines.append(Line(machine, found.depth, found.referrer, format_flags(found.flags)))
        if self._begin is not None and found.url.startswith(self._begin) and len(self.requests) < _MOST_LINES:
            self.requests.add(found.url)


class ReadLinks:
    """Of which of some pages the links stand in the logs, and by which rules they were chosen (None: by none yet)."""

    def __init__(self, tree: Tree, keys: Iterable[str]) -> None:
        wanted = set(keys)
        all_lines = AllLines(tree)
        self.rules = None if all_lines.generation is None else all_lines.generation.links
        lines = (line for _, line in all_lines.lines())
        self.keys = {line.key for line in lines if isinstance(line, Told) and not line.failed_at and line.key in wanted}


def rule_against(rules: LinkRules, url: str, depth: int) -> str | None:
    """Give the setting by which link rules leave a link out, with its value; None if they do not."""
    if rules.max_depth is not None and depth > rules.max_depth:
        return f"max_depth = {rules.max_depth}"
    return rules.scope().explain(url)
