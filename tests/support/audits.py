"""Small trees for the audit, and what can be wrong with them."""

import hashlib
import json
from pathlib import Path

from fscrawl import store, urls
from fscrawl.admin.audit import audit
from fscrawl.config.settings import CrawlSettings, FleetSettings, Settings, apply, render
from fscrawl.fleet import heartbeat
from fscrawl.fleet.generations import Generations, UrlLogs
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.outside import AllLines, write_command_log
from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, RobotsRecord, TreeRecord
from fscrawl.store import Tree

SEED = "http://a.example/"
ONE, TWO, MOVED, TYPE, BAD = (f"http://a.example/{name}" for name in ("one", "two", "moved", "type", "bad"))
ELSEWHERE = "http://b.example/x"
WHEN = "2026-01-02T03:04:05.678Z"
SETTINGS = Settings(crawl=CrawlSettings(scope="any"), fleet=FleetSettings(beat=10.0, dead_after=60.0))
SHARDS = 16


class Time:
    """A clock that only sleeping moves; `meanwhile` happens at each sleep."""

    def __init__(self, meanwhile=lambda: None):
        self.now = 0.0
        self.meanwhile = meanwhile

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile()


class Made:
    """A small tree, as machine `m-1-aa` of long ago left it: all that it stored stands in its log."""

    def __init__(self, root, partition="host"):
        self.root = root
        self.known, self.first = {}, set()
        facts = {"crawl": "c1", "created_at": "t", "shards": SHARDS, "partition": partition}
        record = TreeRecord(format=FORMAT, machinery="0" * 32, **facts)
        fixed = [f"fleet.shards={SHARDS}", f"crawl.partition={partition}"]
        store.create(root, record, render(apply(Settings(), ["crawl.scope=any", *fixed])), f"{SEED}\n")
        self.tree = Tree(root, "m-1-aa")
        self.page(SEED, (ONE, TWO, MOVED, TYPE, BAD), depth=0)
        self.page(ONE, (SEED, ELSEWHERE))
        self.page(TWO, ())
        self.page(ELSEWHERE, (), depth=2)
        self.page(MOVED, (SEED,), body=None, redirect=SEED)
        self.page(TYPE, (), body=None, skipped="type application/pdf")
        self.fail(BAD)
        self.tree.put_robots("a.example", RobotsRecord("http://a.example/robots.txt", "t", 200, ""))
        self.log("m-1-aa", {"hello": "m-1-aa"})
        self.tell(machine="m-1-aa")
        size = UrlLogs(self.tree.files, 1).size("m-1-aa")
        self.log("m-1-aa", {"bye": True, "pages": 6, "generation": 1, "log": size})

    def page(self, url, links, *, depth=1, body=b"<p>text", **more):
        data = body or b""
        digest = hashlib.sha256(data).hexdigest() if data else ""
        referrer = urls.key(SEED) if depth else ""
        record = PageRecord(
            url, urls.key(url), depth, referrer, WHEN, "m-1-aa", 200, {}, len(data), digest, 0.1, tuple(links), **more
        )
        self.tree.put_page(urls.host(url), record, body)
        self.known[url] = (depth, "")
        return record

    def fail(self, url):
        record = ErrorRecord(url, urls.key(url), 1, urls.key(SEED), WHEN, "m-1-aa", "timeout", "no answer", 1)
        self.tree.put_error(urls.host(url), record)
        self.known[url] = (1, WHEN)

    def shard(self, url):
        by = urls.key(url) if self.tree.record.partition == "url" else urls.host(url)
        return urls.shard(by, SHARDS)

    def begin(self, settings=SETTINGS):
        """Begin the next generation, with the link rules of these settings."""
        Generations(self.tree.files).begin_next(LinkRules.of(settings, [SEED]), "", "settings")

    def tell(self, machine=""):
        """Let a machine write all pages and failures that were ever made into its log, and then that they are told.

        It works in the newest generation; where there is none, it begins the first.
        """
        tree = Tree(self.root, machine or heartbeat.new_machine_id())
        self.first.add(tree.machine)
        generations = Generations(tree.files)
        if not generations.numbers():
            self.begin()
        writer = LogWriter(UrlLogs(tree.files, generations.newest().number), tree.machine)
        for url, (depth, _) in self.known.items():
            writer.add(Found(self.shard(url), depth, urls.key(SEED) if depth else "", url), own=True)
        for url, (depth, failed_at) in self.known.items():
            writer.add(Told(self.shard(url), urls.key(url), depth, failed_at), own=True)
        writer.flush()
        writer.close()

    def file(self, directory, url):
        return Path(self.tree.path_of(directory, urls.host(url), urls.key(url)))

    def log(self, machine, *lines):
        with (self.root / f".fscrawl/machines/{machine}.log").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def say(self, *found, depth=1):
        """Let a machine write URLs into its log."""
        lines = [Found(self.shard(url), depth, "", url) for url in found]
        self.first.add(machine := heartbeat.new_machine_id())
        write_command_log(Tree(self.root, machine), lines)

    def lines_put_back(self):
        """What audits have written into their logs."""
        return [line for machine, line in AllLines(self.tree).lines() if machine not in self.first]

    def put_back(self):
        return {line.url: (line.depth, line.referrer) for line in self.lines_put_back()}

    def audit(self, *, repair=False, time=None, settings=SETTINGS, seeds=(SEED,), **more):
        """Audit as a machine of its own."""
        time = time or Time()
        machine = heartbeat.new_machine_id()
        return audit(Tree(self.root, machine), settings, seeds, repair=repair, clock=time, sleep=time.sleep, **more)

    def files(self):
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


def torn_record(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes()[:-20])


def torn_head(made):
    made.file("links", ONE).write_bytes(b'{"url":"http://a.exa')


def bad_escape(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes().replace(b'"url":"http:', rb'"url":"\xttp:'))


def other_url(made):
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes()[:-20].replace(b"/one", b"/two"))


def misplaced_host(made):
    path = made.file("links", TWO)
    target = Path(made.tree.path_of("links", "b.example", urls.key(TWO)))
    target.parent.mkdir(exist_ok=True)
    path.rename(target)


def misplaced_copy(made):
    target = Path(made.tree.path_of("links", "b.example", urls.key(TWO)))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(made.file("links", TWO).read_bytes())


def misplaced_key(made):
    path = made.file("links", ELSEWHERE)
    path.write_bytes(path.read_bytes().replace(urls.key(ELSEWHERE).encode(), b"0" * 24))


def halved_url(made):
    """Half of a surrogate pair, by somebody's hand: no UTF-8."""
    path = made.file("links", ONE)
    path.write_bytes(path.read_bytes().replace(b'"url":"http://a.example/one"', rb'"url":"http://a.example/\ud800"'))


def missing_body(made):
    made.file("htmls", TWO).unlink()


def short_body(made):
    made.file("htmls", ONE).write_bytes(b"<p>te")


def flipped_body(made):
    made.file("htmls", ONE).write_bytes(b"<p>tezt")


def unexpected_body(made):
    made.file("htmls", MOVED).parent.mkdir(exist_ok=True)
    made.file("htmls", MOVED).write_bytes(b"of an earlier answer")


def orphan(made):
    made.file("htmls", "http://a.example/orphan").parent.mkdir(exist_ok=True)
    made.file("htmls", "http://a.example/orphan").write_bytes(b"nobody's")


def error_beside(made):
    made.fail(ONE)


def torn_error(made):
    made.file("errs", BAD).write_bytes(b"\0\0\0\0")


def misplaced_error(made):
    target = Path(made.tree.path_of("errs", "b.example", urls.key(BAD)))
    target.parent.mkdir(parents=True)
    made.file("errs", BAD).rename(target)


def torn_robots(made):
    (made.root / ".fscrawl/robots/a.example.json").write_bytes(b"{")


def temporary(made):
    (made.file("links", ONE).parent / f".{urls.key(ONE)}.json.m-1-aa.31-0.tmp").write_bytes(b"{")


def temporary_lease(made):
    (made.root / ".fscrawl/leases/.1.2.m-1-aa.31-0.tmp").write_bytes(b"")


def temporary_settings(made):
    (made.root / ".crawl.toml.m-1-aa.31-0.tmp").write_bytes(b"")


def temporary_tree(made):
    (made.root / ".fscrawl/.tree.json.m-1-aa.31-0.tmp").write_bytes(b"")


def left_probe(made):
    (made.root / ".fscrawl/probe-m-1-aa").mkdir()
    (made.root / ".fscrawl/probe-m-1-aa/page").write_bytes(b"")


def lost(made):
    made.page(TWO, ("http://a.example/lost",))
