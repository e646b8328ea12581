"""Why a URL is not stored, or not yet: what settings, robots.txt, signs and machines say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.frontier.flags import parse_flags
from fscrawl.frontier.scope import Scope
from fscrawl.monitor.explain.facts import Explanation, Reason
from fscrawl.monitor.snapshot import MachineStatus, Snapshot
from fscrawl.politeness.robots import Rules
from fscrawl.storage.layout import HTMLS, PAGE_ROOMS
from fscrawl.store import PAUSE, STOP, Tree

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d)", re.IGNORECASE)  # of a.example:80 it is none
_PORT = re.compile(r"_(\d+)\Z")


def why_no_url(text: str) -> str:
    """Say why `urls.normalise` gives nothing for a text.

    >>> why_no_url("example.com/x")
    'it has no scheme; write it in full: https://example.com/x'
    >>> why_no_url("mailto:me@example.com")
    'its scheme is mailto: only http and https are crawled'
    """
    scheme = _SCHEME.match(text.strip())
    if scheme is None:
        return f"it has no scheme; write it in full: https://{text.strip()}"
    if scheme[1].lower() not in ("http", "https"):
        return f"its scheme is {scheme[1].lower()}: only http and https are crawled"
    if len(text) > urls.MAX_URL_CHARS:
        return f"it is longer than {urls.MAX_URL_CHARS} characters"
    return "it cannot be parsed as a URL (https://url.spec.whatwg.org/)"


class Why:
    """The reasons for one URL that is not stored. `notes` of the explanation get what is no reason."""

    def __init__(self, tree: Tree, settings: Settings, seeds: frozenset[str], it: Explanation, view: Snapshot) -> None:
        self._tree = tree
        self._settings = settings
        self._seeds = seeds
        self._it = it
        self._view = view

    def reasons(self, url: str) -> Iterator[Reason]:
        it = self._it
        error = it.error
        if error is not None:
            advice = f"fscrawl retry --root {self._tree.root} --class {error.class_}"
            yield Reason("failed", f"{error.class_}: {error.message}", advice)
            if not any(parse_flags(line.mark).retry_of == error.failed_at for line in it.lines):
                return
        yield from self._limits(url)
        yield from self._hindrances()
        if it.lines:
            yield self._waiting()
        else:
            yield self._undiscovered()

    def _limits(self, url: str) -> Iterator[Reason]:
        """Give the settings, and the line of robots.txt, that keep it out."""
        crawl = self._settings.crawl
        is_seed = url in self._seeds  # nothing but robots.txt and limits keeps out what somebody asked for
        rule = None if is_seed else Scope(crawl, self._seeds).explain(url)
        if rule is not None:
            name = rule.partition(" ")[0]
            yield Reason(name, f"crawl.{rule}: it is outside", f"edit crawl.{name} in {self._tree.root}/crawl.toml")
        yield from self._robots(url)
        depths = [line.depth for line in self._it.lines] or [link.depth for link in self._it.inlinks or ()]
        if crawl.max_depth is not None and depths and min(depths) > crawl.max_depth:
            yield Reason("max_depth", f"crawl.max_depth = {crawl.max_depth}: it is {min(depths)} links from a seed")
        yield from self._counts(url)

    def _counts(self, url: str) -> Iterator[Reason]:
        crawl, tree, host = self._settings.crawl, self._tree, self._it.host
        most = crawl.max_pages_per_host
        if most is not None and len(tree.keys(HTMLS, host)) >= most:
            yield Reason("max_pages_per_host", f"crawl.max_pages_per_host = {most}: {host} has as many")
        most = crawl.max_pages
        if most is not None and sum(len(tree.keys(HTMLS, each)) for each in tree.hosts(HTMLS)) >= most:
            yield Reason("max_pages", f"crawl.max_pages = {most}: the tree has as many")
        hosts = {each for room in PAGE_ROOMS for each in tree.hosts(room)}
        site = urls.site(urls.hostname(url))
        of_site = sum(urls.site(_PORT.sub("", each)) == site for each in hosts)
        if host not in hosts and of_site >= crawl.max_hosts_per_domain:
            most = crawl.max_hosts_per_domain
            yield Reason("max_hosts_per_domain", f"crawl.max_hosts_per_domain = {most}: {site} has {of_site}")

    def _robots(self, url: str) -> Iterator[Reason]:
        politeness = self._settings.politeness
        if not politeness.robots:
            self._it.notes.append("politeness.robots = false: robots.txt is not asked for")
            return
        stored = self._tree.robots(self._it.host)
        if stored is None:
            self._it.notes.append("robots.txt of its host is not known yet")
            return
        text = stored.text if 200 <= stored.status < 300 else ""  # RFC 9309 2.3.1.3
        line = Rules(text, politeness.user_agent).forbidding_line(url)
        if line is None:
            self._it.notes.append(f"robots.txt of {stored.fetched_at} allows it")
        else:
            yield Reason("robots", f"robots.txt of {stored.fetched_at} does not allow it: {line}")

    def _hindrances(self) -> Iterator[Reason]:
        """Give what keeps its host from being asked now."""
        host, root = self._it.host, self._tree.root
        signs = set(self._view.signs)
        if STOP in signs:
            yield Reason("stopped", f"{STOP} is in the root: no machine may run", f"fscrawl resume --root {root}")
        if PAUSE in signs:
            yield Reason("paused", f"{PAUSE} is in the root: nothing is fetched", f"fscrawl resume --root {root}")
        for name in sorted(signs & {f"{PAUSE}.{host}", f"{PAUSE}.{urls.without_port(host)}"}):
            told = _PORT.sub(r":\1", name.removeprefix(f"{PAUSE}."))
            yield Reason("paused", f"{name} is in the root", f"fscrawl resume --root {root} --host {told}")
        for machine in self._view.alive():
            yield from _troubles(machine, host)

    def _waiting(self) -> Reason:
        it = self._it
        state = {
            "": f"nobody has held shard {it.shard} yet",
            "alive": f"{it.holder} holds shard {it.shard} and is alive",
            "left": f"{it.holder}, which held shard {it.shard}, has left",
            "dead": f"{it.holder}, which holds shard {it.shard}, is dead; the next to see that takes it over",
        }[it.holder_state]
        doing = next((machine.doing for machine in self._view.alive() if machine.name == it.holder), "")
        if doing not in ("", "idle"):
            state += f" ({doing})"
        advice = "" if self._view.alive() else f"no machine is at work:  fscrawl crawl --root {self._tree.root}"
        return Reason("waiting", f"it waits for its turn: {state}", advice)

    def _undiscovered(self) -> Reason:
        it, root = self._it, self._tree.root
        if it.inlinks is None:
            more = "--inlinks reads all link files, and finds links that are not followed, too"
            return Reason("not-discovered", "no machine has discovered it: it has no line in a feed", more)
        followed = [link for link in it.inlinks if link.how != "nofollow"]
        if not it.inlinks:
            url = shlex.quote(it.url or "")  # it may hold a quote, and is meant to be pasted
            advice = f"to have it fetched, add it:  echo {url} >> {root}/seeds.txt"
            return Reason("not-linked", "no stored page links to it", advice)
        if not followed:
            return Reason("nofollow", "all links to it are marked nofollow, which are not followed")
        return Reason(
            "not-fed",
            "pages link to it, and no feed has it",
            f"if nothing above says why:  fscrawl audit --root {root}",
        )


def _troubles(machine: MachineStatus, host: str) -> Iterator[Reason]:
    """Give what a machine's last beat says of a host."""
    last = machine.last
    rest_s = last.rests.get(host)
    if rest_s is not None:
        yield Reason("resting", f"{machine.name} leaves {host} alone for {rest_s:g} s more: it asked for it, or failed")
    failures = last.failing.get(host)
    if failures is not None:
        yield Reason("failing", f"{host} has failed {failures:g} times in a row, as {machine.name} says")
    slow_s = last.slow.get(host)
    if slow_s is not None:
        yield Reason("slow", f"{host} takes {slow_s:g} s for an answer, as {machine.name} says")
