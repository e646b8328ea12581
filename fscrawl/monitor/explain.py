"""What a tree knows about one URL, and why it is not stored: the answer to "why is this page missing?".

Vocabulary:
  asked      what the user entered: a URL, a request as in `seeds.txt` or in its spelling, or the 24 digits of a key
  inlink     a stored page that links to the URL
  line       a URL's line in a log: who discovered it, at which depth, on which page; or in `seeds.txt`
  mark       a line of a log: the page was stored and its links stand in logs, or it failed
  reason     why a URL is not stored, or not yet: a name for programs, a sentence for people, and what to do
  waiting    a URL that has a line, and is neither stored nor failed: it will be fetched when its turn comes

Promise: it only reads. It says so if the data cannot show it. It reads only link files with the right name, unless
`inlinks` asks for all of them. `noindex` is no reason: such pages are stored, and only the export leaves them out.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

import msgspec
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config.seeds import line_of, read_seed, written_request
from fscrawl.config.settings import Settings
from fscrawl.errors import RecordError, UsageError
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.outside import AllLines
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.flags import format_flags, labelled, parse_flags
from fscrawl.frontier.host_figures import SLOW_S, Cause
from fscrawl.frontier.scope import BAD_PORT, TRAP, WHY_TRAP, Scope
from fscrawl.hostnames import candidates
from fscrawl.http.answers import HELP
from fscrawl.monitor.advice import to_resume
from fscrawl.monitor.snapshot import MachineStatus, Observer, Snapshot
from fscrawl.politeness.robots import Rules
from fscrawl.request import Request, body_text, is_spelling, read, route_of, spelling, url_of
from fscrawl.sites.rules import Sites, near_to
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS, LINKS, PAGE_DIRECTORIES, is_key
from fscrawl.storage.records import ErrorRecord, PageRecord, Version
from fscrawl.store import PAUSE, STOP, Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command, path_word
from fscrawl.util.parallel import READERS, in_turn_if_slow
from fscrawl.util.progress import SILENT, ProgressLine

# -- who names a URL: link files


class Inlink(msgspec.Struct, frozen=True, order=True):
    """A stored page that links to a URL.

    `how`: "link", "nofollow", "redirect", "sitemap" or "unfollowed"; `depth`: of the URL by this link.
    """

    url: str
    how: str
    depth: int


def host_of(tree: Tree, key: str, directory: str, first: str = "") -> str | None:
    """Find the host that has a file with this key in `directory`, `first` before the others; None if there is none."""

    def has(host: str) -> bool:
        return tree.files.exists(tree.tree_path(directory, host, key))

    if first and has(first):
        return first
    hosts = [host for host in sorted(tree.hosts(directory)) if host != first]
    with contextlib.closing(in_turn_if_slow(has, hosts, READERS)) as there:
        return next(compress(hosts, there), None)


def record_of(tree: Tree, key: str, first: str = "") -> PageRecord | None:
    """Find the record of a key, on `first` or another host; None if there is none or it is torn."""
    host = host_of(tree, key, LINKS, first)
    return None if host is None else record_at(tree, host, key)


def record_at(tree: Tree, host: str, key: str) -> PageRecord | None:
    """Read the record of a page whose host is known; None if there is none or it is torn."""
    return _record(tree.files.read_or_torn(tree.tree_path(LINKS, host, key)))


def _record(data: bytes | None) -> PageRecord | None:
    try:
        return PageRecord.from_json(data or b"")
    except RecordError:
        return None


def inlinks(tree: Tree, url: str, line: ProgressLine = SILENT) -> Iterator[Inlink]:
    """Give the stored pages that link to a URL (a normal form), from all link files. `line`: shows how far it is.

    Torn records are skipped: the audit reports them.
    """
    quoted = f'"{url}"'.encode()  # a normal form is ASCII, and JSON escapes none of its characters
    names: list[tuple[str, str]] = []
    line.begin("listing records")
    for host in sorted(tree.hosts(LINKS)):
        names += [(host, key) for key in tree.keys(LINKS, host)]
        line.reach(len(names))

    def read(name: tuple[str, str]) -> PageRecord | None:
        data = tree.files.read_or_torn(tree.tree_path(LINKS, *name))
        return _record(data) if data is not None and quoted in data else None  # most need no parsing

    line.begin("reading records", len(names))
    for record in in_turn_if_slow(read, names, READERS):
        line.advance()
        how = None if record is None or record.url == url else record.names(url)
        if record is not None and how is not None:
            yield Inlink(record.url, how, record.depth_of_links)


# -- who names a URL: lines of logs

_MOST_LINES = 100


class Line(msgspec.Struct, frozen=True):
    """A line that found a URL: in the log of `machine`, or in `seeds.txt` (then `machine` is "").

    found_on    URL of the page with key `referrer`
    source      "log", "seeds"
    """

    machine: str
    depth: int
    referrer: str
    mark: str = ""
    found_on: str | None = None
    source: str = "log"


class Mark(msgspec.Struct, frozen=True):
    """What the log of `machine` says has become of a URL: it is done, or failed at `failed_at`.

    depth     at which it was found
    counts    its links were chosen by rules that cover the present ones; so machines do nothing more for the URL
    """

    machine: str
    depth: int
    failed_at: str = ""
    counts: bool = False


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


# -- the facts


class Reason(msgspec.Struct, frozen=True):
    """Why a URL is not stored: `name` for programs, `text` and `advice` ("" for none) for people."""

    name: str
    text: str
    advice: str = ""


class Hop(msgspec.Struct, frozen=True):
    """One step of a chain of redirects; `status` is None if the page is not stored."""

    url: str
    status: int | None


class Look(msgspec.Struct, frozen=True):
    """One version of a URL, in short.

    `at`: when it was fetched, or checked if a refresh kept the page; None: it says that the page was removed.
    `status`: of the answer; 0: there was none. `what`: "stored", "checked", "failed" or "removed".
    """

    number: int
    what: str
    at: str | None
    status: int | None
    bytes: int
    sha256: str
    machine: str
    title: str | None = None
    message: str = ""

    @classmethod
    def of(cls, version: Version) -> Look:
        number, record, machine = version
        if record is None:
            return cls(number, "removed", None, None, 0, "", machine)
        if isinstance(record, ErrorRecord):
            message = f"{record.class_}: {record.message}"
            return cls(number, "failed", record.failed_at, record.status or 0, 0, "", machine, None, message)
        what, status = ("checked", record.checked_status) if record.checked_at else ("stored", record.status)
        return cls(number, what, record.looked_at, status, record.bytes, record.sha256, machine, record.title)


class Explanation(msgspec.Struct):
    """What is known about a URL, or a request in its spelling.

    `files`: tree path → bytes. `inlinks` and `versions` are None unless they were asked for.
    `holder`: the machine with the lease of its shard, "" if there is none; `holder_state`: "alive", "left", "dead", "".
    """

    asked: str
    url: str | None = None
    key: str = ""
    host: str = ""
    shard: int = -1
    files: dict[str, int] = msgspec.field(default_factory=dict)
    page: PageRecord | None = None
    error: ErrorRecord | None = None
    redirects: list[Hop] = msgspec.field(default_factory=list)
    found_on: str | None = None
    inlinks: list[Inlink] | None = None
    versions: list[Look] | None = None
    lines: list[Line] = msgspec.field(default_factory=list)
    marks: list[Mark] = msgspec.field(default_factory=list)
    holder: str = ""
    holder_state: str = ""
    reasons: list[Reason] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def request(self) -> Request | None:
        """What is asked for beside the URL; None for a plain GET."""
        return read(self.url) if self.url is not None and "#" in self.url and is_spelling(self.url) else None

    @property
    def stored(self) -> bool:
        return self.page is not None

    def as_json(self) -> dict[str, Any]:
        """Give all of it as JSON values; of the links in the record only their number."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        record = facts.pop("page")
        facts["record"] = record and _without_links(record)
        facts["request"] = None if self.request is None else _as_json(self.request)
        facts["stored"] = self.stored
        return facts


def _as_json(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "type": request.type_ or None,
        "body": body_text(request) or None,
        "headers": dict(request.headers),
        "session": request.session or None,
        "fragment": request.fragment or None,
    }


def _without_links(record: dict[str, Any]) -> dict[str, Any]:
    lists = ("links", "nofollow", "sitemaps")
    return {name: len(value) if name in lists else value for name, value in record.items()}


# -- asking the tree

_RESTS = (Cause.RETRY_AFTER, Cause.COSTLY, Cause.FAILING, Cause.TOLD)

_RULES = (BAD_PORT, TRAP, "scope", "allow", "deny", "max_depth", "max_hosts_per_domain")
_MOST_HOPS = 20  # as browsers do
_MOST_REQUESTS = 5  # for one URL; a site may have thousands of sessions


def explain(
    tree: Tree,
    settings: Settings,
    seeds: Mapping[str, str],
    asked: str,
    *,
    all_inlinks: bool = False,
    versions: bool = False,
    version: int | None = None,
    line: ProgressLine = SILENT,
) -> Explanation:
    """Look up a URL or a key in an open tree; TreeError if the tree cannot be read.

    `settings`, `seeds`: of the tree; seeds are normal forms, with their labels. `all_inlinks`: read all link
    files. `versions`: list them. `version`: the page as it was then; UsageError if it has none of this number.
    `line`: shows how far it is.
    """
    if not versions and version is None:
        return _Inquiry(tree, settings, seeds, asked).run(line, all_inlinks=all_inlinks)
    tree.check_keeps_versions("--versions" if version is None else "--version")
    found = _Inquiry(tree, settings, seeds, asked).run(line, all_inlinks=all_inlinks and version is None)
    looks = [Look.of(each) for each in tree.versions(found.host, found.key)] if found.host else []
    if version is not None:
        if not any(look.number == version and look.what != "removed" for look in looks):
            raise UsageError(f"--version {version}: there is none of this number; to see which:  --versions")
        view = tree.showing(found.host, found.key, version)
        found = _Inquiry(view, settings, seeds, asked).run(line, all_inlinks=all_inlinks)
    found.versions = looks if versions else None
    return found


class _Inquiry:
    def __init__(self, tree: Tree, settings: Settings, seeds: Mapping[str, str], asked: str) -> None:
        self._tree = tree
        self._machinery = Machinery(tree)
        self._settings = settings
        self._seeds = seeds
        self._near = near_to(frozenset(seeds), settings.rules)
        self._own = LinkRules.of(settings, self._near)
        self._it = Explanation(asked)
        self._snapshot: Snapshot

    def run(self, line: ProgressLine, *, all_inlinks: bool) -> Explanation:
        it = self._it
        line.begin("looking for its files and lines", unit="")
        self._name()
        if not it.key:
            return it
        self._read_files()
        if it.url is None:
            it.reasons.append(Reason("unknown-key", "no file, no line of a log and no seed has this key"))
            return it
        if all_inlinks:
            it.inlinks = sorted(inlinks(self._tree, it.url, line))
            line.begin("reading logs", unit="")
        self._find_source()
        if it.page is not None:
            it.redirects = list(self._chain(it.page))
            return it
        self._snapshot = Observer(self._tree, lambda: self._settings).look()
        self._find_holder()
        it.reasons += self._reasons(it.url)
        return it

    # -- what it is called

    def _name(self) -> None:
        it = self._it
        if is_key(it.asked):
            it.key = it.asked
            self._find_url()
            return
        it.url, it.asked = self._asked_for(), urls.without_login(it.asked)
        is_seed = it.url is None or "#" in it.url or it.url in self._seeds  # a request is what somebody has written
        if it.url is not None and not is_seed:
            spelled = urls.normalise(it.url, None, self._settings.spelling)
            if spelled != it.url:
                it.url = spelled
                it.notes.append("links are spelled so by the settings of the crawl (crawl.drop_query)")
        if it.url is not None:
            it.key, it.host = urls.key(it.url), urls.host(it.url)

    def _asked_for(self) -> str | None:
        """Give the URL that was asked for, or the spelling of the request; None, and the reason, if it is neither."""
        asked = self._it.asked
        try:
            found = written_request(asked.strip()) or self._route() or urls.normalise(asked) or self._meant()
            return found or read_seed(asked)
        except ValueError as error:
            self._it.reasons.append(Reason("no-url", str(error), "give the complete URL, like https://example.org/"))
            return None

    def _route(self) -> str | None:
        """Give the request for a page behind `#/` whose address was asked for, if there is one."""
        url, fragment = urls.normalise(self._it.asked), route_of(self._it.asked)
        if url is None or not fragment:
            return None
        route = Request(url, fragment=fragment)
        if self._has_file(spelling(route)):
            return spelling(route)
        self._it.notes.append(f"what stands behind # does not count; for a page behind it: GET {route.address}")
        return None

    def _meant(self) -> str | None:
        """Give the URL that was asked for without its scheme: the one that has files, else with https."""
        spellings = candidates(self._it.asked)
        return next(filter(self._has_file, spellings), spellings[0] if spellings else None)

    def _has_file(self, url: str, directories: Iterable[str] = (LINKS, ERRS)) -> bool:
        host, key = urls.host(url), urls.key(url)
        return any(self._tree.files.exists(self._tree.tree_path(directory, host, key)) for directory in directories)

    def _find_url(self) -> None:
        """Find the URL of a key: a file name gives the host, and a log or the seeds have the URL."""
        it = self._it
        it.host = next(filter(None, (host_of(self._tree, it.key, directory) for directory in (LINKS, ERRS))), "")
        if it.host:
            return  # its record says the rest
        it.url = next((url for url in self._seeds if urls.key(url) == it.key), None)
        it.url = it.url or Mentions(self._tree, self._own, it.key, None, None).url
        it.host = urls.host(it.url) if it.url is not None else ""

    # -- what is stored

    def _read_files(self) -> None:
        it = self._it
        if not it.host:
            return
        it.shard = self._tree.record.shard_of(it.host, it.key)
        for path in self._tree.bodies(it.host, it.key):
            it.files[path] = self._tree.files.size(path)
        for directory in (LINKS, ERRS):
            path = self._tree.tree_path(directory, it.host, it.key)
            try:
                data = self._tree.files.read(path)
                if data is None:
                    continue
                it.files[path] = len(data)
                if directory == LINKS:
                    it.page = PageRecord.from_json(data)
                else:
                    it.error = ErrorRecord.from_json(data)
            except RecordError as error:
                advice = f"{command('audit', self._tree.root)} --repair"
                it.reasons.append(Reason("torn", f"{path} cannot be read: {error}", advice))
        record = it.page or it.error
        if record is not None:
            it.url = record.url if it.url is None else it.url
            if wrong := flaw(record, it.host, it.key):
                more = f"to look for all such records:  {command('audit', self._tree.root)}"
                it.notes.append(f"its record is wrong: {wrong}; a merge leaves it out; {more}")
        if it.page is not None and it.page.sha256:
            self._compare_body(it.page)

    def _compare_body(self, page: PageRecord) -> None:
        """Say so if the body is not there, or is not as long as the record says; its bytes are not read."""
        bytes_ = self._it.files.get(self._tree.body_path(self._it.host, self._it.key, page.file))
        if bytes_ == page.bytes:
            return
        wrong = (
            "is missing" if bytes_ is None else f"has {number_of(bytes_, 'byte')}, but the record says {page.bytes:,}"
        )
        self._it.notes.append(f"its body {wrong}; to fetch it again:  {command('audit', self._tree.root)} --repair")

    def _chain(self, page: PageRecord) -> Iterator[Hop]:
        """Go along redirects as far as they are stored, once along a loop."""
        seen = {page.url}
        ahead = page.redirect
        while ahead is not None and len(seen) < _MOST_HOPS:
            stored = record_at(self._tree, urls.host(ahead), urls.key(ahead)) if urls.normalise(ahead) else None
            yield Hop(ahead, stored.status if stored else None)
            if ahead in seen:
                return
            seen.add(ahead)
            ahead = stored.redirect if stored else None

    def _find_source(self) -> None:
        """Find where the URL was discovered, by its record or by its lines."""
        it = self._it
        record = it.page or it.error
        if it.page is None:
            self._read_lines()
        if record is not None:
            it.found_on = self._url_of(record.referrer)

    def _url_of(self, referrer: str) -> str | None:
        found = record_of(self._tree, referrer, self._it.host) if is_key(referrer) else None
        return found.url if found else None

    # -- who discovered it

    def _read_lines(self) -> None:
        it = self._it
        if it.url is not None and it.url in self._seeds:
            mark = format_flags(labelled(self._seeds[it.url]))
            it.lines.append(Line("", 0, "", mark, source="seeds"))
        mentions = Mentions(self._tree, self._own, it.key, it.url, it.shard)
        found_on = {referrer: self._url_of(referrer) for referrer in {line.referrer for line in mentions.lines}}
        it.lines += [replace(line, found_on=found_on[line.referrer]) for line in mentions.lines]
        it.marks = mentions.marks
        self._note_requests(mentions.requests)

    def _note_requests(self, requests: set[str]) -> None:
        """Say that a URL which has no file itself is part of requests: with a session it is another page."""
        if self._it.files or self._it.url is None or "#" in self._it.url:
            return
        of_seeds = {seed for seed in self._seeds if seed.startswith(f"{self._it.url}#")}
        stored = {each for each in requests | of_seeds if self._has_file(each, [LINKS])}
        known = [*sorted(stored), *sorted((requests | of_seeds) - stored)]
        for each in known[:_MOST_REQUESTS]:
            how = "is stored" if each in stored else "is known"
            shows = f"{command('show', self._tree.root)} {shlex.quote(line_of(each))}"
            self._it.notes.append(f"a request for this URL {how}; to see it:  {shows}")
        if len(known) > _MOST_REQUESTS:
            self._it.notes.append("there are more requests for this URL")

    # -- who has it

    def _find_holder(self) -> None:
        it, states = self._it, {machine.name: machine.state for machine in self._snapshot.machines}
        epochs = [epoch for shard, epoch in self._machinery.leases() if shard == it.shard]
        if epochs:
            it.holder = self._machinery.lease(it.shard, max(epochs)).holder
            it.holder_state = states.get(it.holder, "dead")

    # -- why it is not stored

    def _reasons(self, url: str) -> Iterator[Reason]:
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
        rule = None if is_seed else Scope(crawl, self._near).explain(url)
        if urls.bad_port(url) is not None:
            yield Reason(BAD_PORT, f"port {urls.bad_port(url)} is of another protocol than HTTP, and never asked")
        elif rule == TRAP:
            yield Reason(TRAP, f"{WHY_TRAP}: sites that make up paths do so without end")
        elif rule is not None:
            name = rule.partition(" ")[0]
            advice = f"edit crawl.{name} in {self._tree.root}/crawl.toml"
            if name == "scope" and not self._near:
                advice = "no seed is known: if a site file gives the seeds, add --site FILE"
            yield Reason(name, f"crawl.{rule}: it is outside the scope", advice)
        yield from self._stopped_tasks()
        yield from self._robots(url)
        depths = [line.depth for line in self._it.lines] or [link.depth for link in self._it.inlinks or ()]
        if crawl.max_depth is not None and depths and min(depths) > crawl.max_depth:
            what = f"it is {number_of(min(depths), 'link')} away from a seed"
            yield self._reached("max_depth", crawl.max_depth, what)
        yield from self._counts(url)

    def _stopped_tasks(self) -> Iterator[Reason]:
        """Give the tasks for which it waits, if all of them are stopped."""
        labels = {parse_flags(line.mark).label for line in self._it.lines}
        if labels and labels <= set(self._settings.crawl.stopped_labels):
            text = f"crawl.stopped_labels: what has the label {', '.join(sorted(labels))} is not fetched"
            yield Reason("stopped_labels", text, f"take it out of crawl.stopped_labels in {self._tree.root}/crawl.toml")

    def _counts(self, url: str) -> Iterator[Reason]:
        crawl, tree, host = self._settings.crawl, self._tree, self._it.host
        if crawl.max_pages_per_host is not None and tree.page_count(host) >= crawl.max_pages_per_host:
            what = f"{urls.shown_host(host)} has that many"
            yield self._reached("max_pages_per_host", crawl.max_pages_per_host, what)
        if crawl.max_pages is not None and tree.all_pages() >= crawl.max_pages:
            yield self._reached("max_pages", crawl.max_pages, "the tree has that many")
        hosts = {each for directory in PAGE_DIRECTORIES for each in tree.hosts(directory)}
        site = urls.site(urls.hostname(url))
        of_site = sum(urls.site(urls.without_port(each)) == site for each in hosts)
        if host not in hosts and of_site >= crawl.max_hosts_per_domain:
            what = f"{site} has {number_of(of_site, 'host')}"
            yield self._reached("max_hosts_per_domain", crawl.max_hosts_per_domain, what)

    def _reached(self, name: str, limit: int, what: str) -> Reason:
        root = self._tree.root
        advice = f"raise crawl.{name} in {root}/crawl.toml; then a crawl fetches it:  {command('crawl', root)}"
        return Reason(name, f"crawl.{name} = {limit}: {what}", advice)

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
        root, all_lines = self._tree.root, AllLines(self._tree)
        rules = None if all_lines.generation is None else all_lines.generation.links
        wanted = {urls.key(link.url): link for link in followed}
        lines = (line for _, line in all_lines.lines())
        told = {line.key for line in lines if isinstance(line, Told) and not line.failed_at and line.key in wanted}
        read = [wanted[key] for key in wanted if key in told]
        advice = f"the next crawl reads the page's record again:  {command('crawl', root)}"
        if read and rules is not None:
            if rules.covers(self._own):
                text = "a page links to it, and is marked as done, but no log has the link"
                return Reason("lost", text, f"{command('audit', root)} --repair")
            for link in read:
                rule = rules.scope().explain(url)
                if rules.max_depth is not None and link.depth > rules.max_depth:
                    rule = f"max_depth = {rules.max_depth}"
                if rule is not None:
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
