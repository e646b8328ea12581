"""What a tree knows about one URL, and why it is not stored: the answer to "why is this page missing?".

Vocabulary:
  asked      what the user entered: a URL, a request as in `seeds.txt` or in its spelling, or the 24 digits of a key
  line       a URL's line in a log: who discovered it, at which depth, on which page; or in `seeds.txt`
  mark       a line of a log: the page was stored and its links stand in logs, or it failed
  reason     why a URL is not stored, or not yet: a name for programs, a sentence for people, and what to do
  waiting    a URL that has a line, and is neither stored nor failed: it will be fetched when its turn comes

Promise: it only reads. It says so if the data cannot show it. It reads only link files with the right name, unless
`inlinks` asks for all of them. `noindex` is no reason: such pages are stored, and only the export leaves them out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from fscrawl import urls
from fscrawl.config.seeds import line_of, written_request
from fscrawl.config.settings import Settings
from fscrawl.errors import RecordError
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.flags import format_flags, labelled
from fscrawl.hostnames import candidates
from fscrawl.monitor.explain.facts import Explanation, Hop, Line, Reason
from fscrawl.monitor.explain.inlinks import host_of, inlinks, record_at, record_of, tree_path_of
from fscrawl.monitor.explain.mentions import Mentions
from fscrawl.monitor.explain.why import Why, why_no_url
from fscrawl.monitor.snapshot import Observer
from fscrawl.request import Request, route_of, spelling
from fscrawl.sites.rules import near_to
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS, LINKS, is_key
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.progress import SILENT, ProgressLine

__all__ = ["Explanation", "explain"]

_MOST_HOPS = 20  # as browsers do
_MOST_REQUESTS = 5  # for one URL; a site may have thousands of sessions


def explain(
    tree: Tree,
    settings: Settings,
    seeds: Mapping[str, str],
    asked: str,
    *,
    all_inlinks: bool = False,
    line: ProgressLine = SILENT,
) -> Explanation:
    """Look up a URL or a key in an open tree; TreeError if the tree cannot be read.

    `settings`, `seeds`: of the tree; seeds are normal forms, with their labels. `all_inlinks`: read all link
    files. `line`: shows how far it is.
    """
    return _Inquiry(tree, settings, seeds, asked).run(line, all_inlinks=all_inlinks)


class _Inquiry:
    def __init__(self, tree: Tree, settings: Settings, seeds: Mapping[str, str], asked: str) -> None:
        self._tree = tree
        self._machinery = Machinery(tree)
        self._settings = settings
        self._seeds = frozenset(seeds)
        self._labels = seeds
        self._own = LinkRules.of(settings, near_to(self._seeds, settings.rules))
        self._it = Explanation(asked)

    def run(self, line: ProgressLine, *, all_inlinks: bool) -> Explanation:
        it = self._it
        line.begin("looking for its files and lines", unit="")
        self._name()
        if not it.key:
            it.reasons.append(Reason("no-url", why_no_url(it.asked)))
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
        snapshot = Observer(self._tree, lambda: self._settings).look()
        self._find_holder({machine.name: machine.state for machine in snapshot.machines})
        it.reasons += Why(self._tree, self._settings, self._seeds, self._own, it, snapshot).reasons(it.url)
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
        if it.url is not None and self._settings.crawl.drop_query and not is_seed:
            bare = urls.normalise(it.url, None, self._settings.spelling)
            if bare != it.url:
                it.url = bare
                it.notes.append("crawl.drop_query is set, so the query is not part of the URL")
        if it.url is not None:
            it.key, it.host = urls.key(it.url), urls.host(it.url)

    def _asked_for(self) -> str | None:
        """Give the URL that was asked for, or the spelling of the request."""
        try:
            asked = written_request(self._it.asked.strip()) or self._route()
            return asked or urls.normalise(self._it.asked) or self._meant()
        except ValueError:
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

    def _has_file(self, url: str) -> bool:
        return self._is_stored(url) or self._tree.files.exists(self._path(ERRS, url))

    def _is_stored(self, url: str) -> bool:
        return self._tree.files.exists(self._path(LINKS, url))

    def _path(self, directory: str, url: str) -> str:
        return tree_path_of(self._tree, directory, urls.host(url), urls.key(url))

    def _find_url(self) -> None:
        """Find the URL of a key: a file name gives the host, and a log or the seeds have the URL."""
        it = self._it
        it.host = next(filter(None, (host_of(self._tree, it.key, directory) for directory in (LINKS, ERRS))), "")
        if it.host:
            return  # its record says the rest
        it.url = next((url for url in self._seeds if urls.key(url) == it.key), None)
        it.url = it.url or Mentions(self._tree, self._own, it.key, None, None).url
        it.host = urls.host(it.url) if it.url is not None else ""

    def _shard(self) -> int:
        return self._tree.record.shard_of(self._it.host, self._it.key)

    # -- what is stored

    def _read_files(self) -> None:
        it = self._it
        it.shard = self._shard() if it.host else -1
        for path in self._tree.bodies(it.host, it.key) if it.host else ():
            it.files[path] = self._tree.files.size(path)
        for directory in (LINKS, ERRS) if it.host else ():
            path = tree_path_of(self._tree, directory, it.host, it.key)
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
                self._torn(path, error)
        record = it.page or it.error
        if record is not None:
            it.url = record.url if it.url is None else it.url
            self._note_flaw(flaw(record, it.host, it.key))
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

    def _note_flaw(self, wrong: str) -> None:
        if wrong:
            more = f"to look for all such records:  {command('audit', self._tree.root)}"
            self._it.notes.append(f"its record is wrong: {wrong}; a merge leaves it out; {more}")

    def _torn(self, path: str, error: RecordError) -> None:
        self._it.reasons.append(
            Reason("torn", f"{path} cannot be read: {error}", f"{command('audit', self._tree.root)} --repair")
        )

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
        if it.url in self._seeds:
            mark = format_flags(labelled(self._labels.get(it.url or "", "")))
            it.lines.append(Line("", 0, "", mark, source="seeds"))
        mentions = Mentions(self._tree, self._own, it.key, it.url, it.shard)
        found_on = {referrer: self._url_of(referrer) for referrer in {line.referrer for line in mentions.lines}}
        it.lines += [line._replace(found_on=found_on[line.referrer]) for line in mentions.lines]
        it.marks = mentions.marks
        self._note_requests(mentions.requests)

    def _note_requests(self, requests: set[str]) -> None:
        """Say that a URL which has no file itself is part of requests: with a session it is another page."""
        if self._it.files or self._it.url is None or "#" in self._it.url:
            return
        of_seeds = {seed for seed in self._seeds if seed.startswith(f"{self._it.url}#")}
        stored = set(filter(self._is_stored, requests | of_seeds))
        known = [*sorted(stored), *sorted((requests | of_seeds) - stored)]
        for each in known[:_MOST_REQUESTS]:
            how = "is stored" if each in stored else "is known"
            shows = f"{command('show', self._tree.root)} {shlex.quote(line_of(each))}"
            self._it.notes.append(f"a request for this URL {how}; to see it:  {shows}")
        if len(known) > _MOST_REQUESTS:
            self._it.notes.append("there are more requests for this URL")

    # -- who has it

    def _find_holder(self, states: dict[str, str]) -> None:
        it = self._it
        epochs = [epoch for shard, epoch in self._machinery.leases() if shard == it.shard]
        if epochs:
            it.holder = self._machinery.lease(it.shard, max(epochs)).holder
            it.holder_state = states.get(it.holder, "dead")
