"""Why a URL is not stored, or not yet, by settings, robots.txt, signs and machines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from fscrawl import urls
from fscrawl.config.seeds import line_of, written_request
from fscrawl.config.settings import Settings
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.flags import parse_flags
from fscrawl.frontier.host_figures import SLOW_S, Cause
from fscrawl.frontier.scope import BAD_PORT, TRAP, WHY_TRAP, Scope
from fscrawl.http.answers import HELP
from fscrawl.monitor.explain.facts import Explanation, Mark, Reason
from fscrawl.monitor.explain.inlinks import Inlink
from fscrawl.monitor.explain.mentions import ReadLinks, rule_against
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.resuming import to_resume
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.politeness.robots import Rules
from fscrawl.request import url_of
from fscrawl.sites.rules import Sites, near_to
from fscrawl.storage.layout import PAGE_DIRECTORIES
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command, path_word

_RESTS = (Cause.RETRY_AFTER, Cause.COSTLY, Cause.FAILING, Cause.PROBED, Cause.TOLD)

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d)", re.IGNORECASE)  # a.example:80 has none
_RULES = (BAD_PORT, TRAP, "scope", "allow", "deny", "max_depth", "max_hosts_per_domain")


def why_no_url(text: str) -> str:
    """Say why `urls.normalise` gives nothing for a text.

    >>> why_no_url("example.com/x")
    'it has no scheme; write the full URL: https://example.com/x'
    >>> why_no_url("mailto:me@example.com")
    'its scheme is mailto; only http and https are crawled'
    """
    try:
        written_request(text.strip())
    except ValueError as error:
        return str(error)
    scheme = _SCHEME.match(text.strip())
    if scheme is None and text.strip().startswith("/"):
        return f"it has no host; write the full URL, like https://example.org{text.strip()}"
    if scheme is None:
        return f"it has no scheme; write the full URL: https://{text.strip()}"
    if scheme[1].lower() not in ("http", "https"):
        return f"its scheme is {scheme[1].lower()}; only http and https are crawled"
    if len(text) > urls.MAX_URL_CHARS:
        return f"it is longer than {urls.MAX_URL_CHARS} characters"
    return "it cannot be parsed as a URL (https://url.spec.whatwg.org/)"


class Why:
    """Finds the reasons why one URL is not stored. Other facts go into the `notes` of the explanation."""

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: frozenset[str],
        own: LinkRules,
        it: Explanation,
        snapshot: Snapshot,
    ) -> None:
        self._tree = tree
        self._settings = settings
        self._seeds = seeds
        self._own = own
        self._it = it
        self._snapshot = snapshot

    def reasons(self, url: str) -> Iterator[Reason]:
        it = self._it
        error = it.error
        if error is not None:
            advice = HELP.get(error.class_, "").format(fscrawl=command(), root=path_word(self._tree.root))
            yield Reason("failed", f"{error.class_}: {error.message}", advice)
            if not (error.again or any(parse_flags(line.mark).retry_of == error.failed_at for line in it.lines)):
                return
        limits = list(self._limits(url))
        yield from limits
        yield from self._obstacles()
        mark = None if error is not None else self._final_mark()
        if mark is not None:
            yield self._gone(mark)
        elif (it.lines or error is not None) and not limits:
            yield self._waiting()
        elif not it.lines and error is None:
            yield self._undiscovered(url, left_out=any(limit.name in _RULES for limit in limits))

    def _limits(self, url: str) -> Iterator[Reason]:
        """Give the settings and the line of robots.txt that exclude it."""
        crawl = self._settings.crawl
        is_seed = url in self._seeds  # only robots.txt and limits exclude a seed
        near = near_to(self._seeds, self._settings.rules)
        rule = None if is_seed else Scope(crawl, near).explain(url)
        if urls.bad_port(url) is not None:
            yield Reason(BAD_PORT, f"port {urls.bad_port(url)} is of another protocol than HTTP, and never asked")
        elif rule == TRAP:
            yield Reason(TRAP, f"{WHY_TRAP}: sites that make up paths do so without end")
        elif rule is not None:
            name = rule.partition(" ")[0]
            advice = f"edit crawl.{name} in {self._tree.root}/crawl.toml"
            if name == "scope" and not near:
                advice = "no seed is known: if a site file gives the seeds, add --site FILE"
            yield Reason(name, f"crawl.{rule}: it is outside the scope", advice)
        yield from self._stopped_tasks()
        yield from self._robots(url)
        depths = [line.depth for line in self._it.lines] or [link.depth for link in self._it.inlinks or ()]
        if crawl.max_depth is not None and depths and min(depths) > crawl.max_depth:
            text = f"crawl.max_depth = {crawl.max_depth}: it is {number_of(min(depths), 'link')} away from a seed"
            yield Reason("max_depth", text, self._raise("max_depth"))
        yield from self._counts(url)

    def _stopped_tasks(self) -> Iterator[Reason]:
        """Give the tasks for which it waits, if all of them are stopped."""
        labels = {parse_flags(line.mark).label for line in self._it.lines}
        if labels and labels <= set(self._settings.crawl.stopped_labels):
            text = f"crawl.stopped_labels: what has the label {', '.join(sorted(labels))} is not fetched"
            yield Reason("stopped_labels", text, f"take it out of crawl.stopped_labels in {self._tree.root}/crawl.toml")

    def _counts(self, url: str) -> Iterator[Reason]:
        crawl, tree, host = self._settings.crawl, self._tree, self._it.host
        most = crawl.max_pages_per_host
        if most is not None and tree.page_count(host) >= most:
            text = f"crawl.max_pages_per_host = {most}: {urls.shown_host(host)} has that many"
            yield Reason("max_pages_per_host", text, self._raise("max_pages_per_host"))
        most = crawl.max_pages
        if most is not None and tree.all_pages() >= most:
            text = f"crawl.max_pages = {most}: the tree has that many"
            yield Reason("max_pages", text, self._raise("max_pages"))
        hosts = {each for directory in PAGE_DIRECTORIES for each in tree.hosts(directory)}
        site = urls.site(urls.hostname(url))
        of_site = sum(urls.site(urls.without_port(each)) == site for each in hosts)
        if host not in hosts and of_site >= crawl.max_hosts_per_domain:
            most = crawl.max_hosts_per_domain
            text = f"crawl.max_hosts_per_domain = {most}: {site} has {number_of(of_site, 'host')}"
            yield Reason("max_hosts_per_domain", text, self._raise("max_hosts_per_domain"))

    def _raise(self, name: str) -> str:
        root = self._tree.root
        return f"raise crawl.{name} in {root}/crawl.toml; then a crawl fetches it:  {command('crawl', root)}"

    def _robots(self, url: str) -> Iterator[Reason]:
        politeness = self._settings.politeness
        if not politeness.robots:
            self._it.notes.append("politeness.robots = false: robots.txt is not fetched")
            return
        stored = self._tree.robots(self._it.host)
        if stored is None:
            self._it.notes.append("robots.txt of its host has not been fetched yet")
            return
        text = stored.text if 200 <= stored.status < 300 else ""  # RFC 9309 2.3.1.3
        line = Rules(text, politeness.user_agent).forbidding_line(url_of(url))
        if line is None:
            self._it.notes.append(f"robots.txt (fetched {stored.fetched_at}) allows it")
        else:
            yield Reason("robots", f"robots.txt (fetched {stored.fetched_at}) does not allow it: {line}")

    def _obstacles(self) -> Iterator[Reason]:
        """Give what prevents fetching from its host now."""
        host, root = self._it.host, self._tree.root
        signs = set(self._snapshot.signs)
        if STOP in signs:
            yield Reason("stopped", f"{STOP} is in the root: no machine may run", to_resume(root))
        if PAUSE in signs:
            yield Reason("paused", f"{PAUSE} is in the root: nothing is fetched", to_resume(root))
        for name in sorted(signs & {f"{PAUSE}.{host}", f"{PAUSE}.{urls.without_port(host)}"}):
            shown = urls.shown_host(name.removeprefix(f"{PAUSE}."))
            yield Reason("paused", f"{name} is in the root", to_resume(root, shown))
        for machine in self._snapshot.alive():
            yield from _troubles(machine, host)

    def _waiting(self) -> Reason:
        it = self._it
        state = {
            "": f"no machine has held shard {it.shard} yet",
            "alive": f"{it.holder} holds shard {it.shard} and is alive",
            "left": f"{it.holder}, which held shard {it.shard}, has left",
            "dead": f"{it.holder}, which holds shard {it.shard}, is dead; another machine will take it over",
        }[it.holder_state]
        doing = next((machine.doing for machine in self._snapshot.alive() if machine.name == it.holder), "")
        if doing not in ("", "idle"):
            state += f" ({doing})"
        advice = (
            ""
            if self._snapshot.alive()
            else f"no machine is running; to start one:  {command('crawl', self._tree.root)}"
        )
        waits = "it waits for its turn" if self._snapshot.alive() else "it is pending, and no machine is running"
        return Reason("waiting", f"{waits}: {state}", advice)

    def _final_mark(self) -> Mark | None:
        """Give a mark by which machines do nothing more for the URL; None if there is none."""
        known = min((line.depth for line in self._it.lines), default=None)
        again = {parse_flags(line.mark).retry_of for line in self._it.lines}
        deep = self._settings.crawl.max_depth is not None
        for mark in self._it.marks:
            if mark.failed_at:
                if mark.failed_at not in again:
                    return mark
            elif mark.counts and not (deep and known is not None and mark.depth > known):
                return mark
        return None

    def _gone(self, mark: Mark) -> Reason:
        what = f"it failed at {mark.failed_at}" if mark.failed_at else "it was stored"
        gone = "its record is gone; machines do not fetch it again by themselves"
        text = f"{what}, as the log of {mark.machine} says, and {gone}"
        return Reason("gone", text, f"{command('audit', self._tree.root)} --repair")

    def _undiscovered(self, url: str, *, left_out: bool) -> Reason:
        """Say why no log has the URL. `left_out`: a setting that was named keeps it out."""
        it, root = self._it, self._tree.root
        if it.inlinks is None:
            more = "--inlinks reads all link files, and also finds links that are not followed"
            return Reason("not-discovered", "no machine has discovered it: it has no line in a log", more)
        follows_all = self._settings.crawl.follow_nofollow
        unfollowed = [link for link in it.inlinks if link.how == "unfollowed"]
        followed = [link for link in it.inlinks if link not in unfollowed and (follows_all or link.how != "nofollow")]
        if not it.inlinks:
            quoted = shlex.quote(line_of(url))  # the user may paste it, and it may contain a quote
            advice = f"to fetch it, add it to the seeds:  echo {quoted} >> {path_word(root / 'seeds.txt')}"
            return Reason("not-linked", "no stored page links to it", advice)
        if not followed and unfollowed:
            return self._unfollowed(unfollowed[0])
        if not followed:
            return Reason("nofollow", "all links to it are marked nofollow, and such links are not followed")
        if left_out:
            return Reason("left-out", "pages link to it, and no log has it, because of the setting above")
        return self._not_in_a_log(url, followed)

    def _unfollowed(self, link: Inlink) -> Reason:
        """Say which rules do not follow a link. They may have been edited since: then a crawl reads the page again."""
        site = Sites(self._settings.rules).of(link.url)
        which = site.name if site is not None else "the site file, or a [[site]] that is gone"
        text = f"{link.url} links to it, and is cut by {which}: its rules follow other links"
        return Reason("not-followed", text, f"edit follow in {self._tree.root}/crawl.toml")

    def _not_in_a_log(self, url: str, followed: list[Inlink]) -> Reason:
        """Say why no log has a URL to which pages link."""
        root = self._tree.root
        read = ReadLinks(self._tree, (urls.key(link.url) for link in followed))
        if read.keys and read.rules is not None and read.rules.covers(self._own):
            text = "a page links to it, and is marked as done, but no log has the link"
            return Reason("lost", text, f"{command('audit', root)} --repair")
        advice = f"the next crawl reads the page's record again:  {command('crawl', root)}"
        for link in followed:
            if read.rules is None or urls.key(link.url) not in read.keys:
                continue
            if (rule := rule_against(read.rules, url, link.depth)) is not None:
                text = f"{link.url} links to it, and its links were read when it was outside: crawl.{rule}"
                return Reason("links-read-by-other-rules", text, advice)
        return Reason("links-not-read-yet", "pages link to it, and their links are not read (again) yet", advice)


def _troubles(machine: MachineStatus, host: str) -> Iterator[Reason]:
    """Give what a machine says about a host."""
    figure, shown = machine.status.hosts.get(host), urls.shown_host(host)
    if figure is not None and figure.cause in _RESTS:
        yield Reason(
            "resting",
            f"{machine.name} pauses {shown} for {figure.wait_s:g} s more, because the host asked for it, failed, or"
            " takes much of the processor",
        )
    if figure is not None and figure.failures:
        yield Reason("failing", f"{shown} has failed {figure.failures} times in a row, according to {machine.name}")
    if figure is not None and figure.latency_s >= SLOW_S:
        yield Reason("slow", f"{shown} takes {figure.latency_s:g} s to answer, according to {machine.name}")
