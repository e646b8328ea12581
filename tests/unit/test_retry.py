"""Which failures go back to work, and what the command's log then says."""

from pathlib import Path

import msgspec
import pytest

from fscrawl import cli, urls
from fscrawl.admin.retry import retry
from fscrawl.config.settings import END
from fscrawl.errors import TreeError
from fscrawl.fleet import outside
from fscrawl.fleet.generations import Generations, UrlLogs
from fscrawl.fleet.lines import Found
from fscrawl.fleet.machinery import Machinery, Peer
from fscrawl.fleet.outside import AllLines
from fscrawl.frontier.flags import Flags, format_flags
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, TreeRecord, new_machinery
from fscrawl.store import Tree, create
from fscrawl.util.installed import command
from tests.support.generations import begin

SHARDS = 8
MOMENT = "2026-01-02T03:04:05.678Z"
REFERRER = "ab" * 12


def make(root, partition="host"):
    record = TreeRecord(FORMAT, "c", "t", SHARDS, partition, new_machinery())
    create(root, record, f"[crawl]\n{END}\n", "")
    tree = Tree(root, "retry-1-aa")
    begin(tree)
    return tree


@pytest.fixture
def tree(tmp_path):
    return make(tmp_path / "root")


@pytest.fixture
def warned():
    return []


def fail(tree, url, class_="timeout", **changes):
    values = {"depth": 3, "referrer": REFERRER, "failed_at": MOMENT, **changes}
    key = values.pop("key", urls.key(url))
    record = ErrorRecord(url=url, key=key, machine="m", class_=class_, message="", attempts=4, **values)
    tree.put_error(urls.host(url), record)
    return Path(tree.path_of("errs", urls.host(url), key))


def store(tree, url):
    key = urls.key(url)
    tree.put_page(urls.host(url), PageRecord(url, key, 0, "", "t", "m", 200, {}, 0, "", 0.1, (), skipped="x"), None)


def fed(tree):
    """Read the lines that every machine would read."""
    return [line for _, line in AllLines(tree).lines()]


def fed_urls(tree):
    return sorted(found.url for found in fed(tree))


def test_line(tree, warned):
    """A failure is marked, and becomes a line for its shard: depth and referrer as they were, and when it failed."""
    url = "http://a.example/x?y=1"
    before = ErrorRecord.from_json(fail(tree, url).read_bytes())
    assert retry(tree, [], [], warned.append) == {"timeout": 1}
    line = Found(urls.shard("a.example", SHARDS), 3, REFERRER, url, Flags(retry_of=MOMENT))
    assert fed(tree) == [line]
    assert tree.error("a.example", urls.key(url)) == msgspec.structs.replace(before, again=True)
    assert retry(Tree(tree.root, "retry-2-bb"), [], [], warned.append) == {"timeout": 1}
    assert (fed(tree), warned) == ([line, line], [])


def test_without_a_generation(tree, warned):
    """Where no machine has been yet since `.fscrawl` was deleted, the mark alone says it."""
    Generations(tree.files).remove_before(2)
    fail(tree, "http://a.example/x")
    assert retry(tree, [], [], warned.append) == {"timeout": 1}
    assert tree.error("a.example", urls.key("http://a.example/x")).again
    assert Machinery(tree).machines() == []


def test_what_is_not_wanted_is_not_marked(tree, warned):
    """What is marked is of the classes and hosts that were named. Others keep their records."""
    files = [
        fail(tree, "http://a.example/1", "dns"),
        fail(tree, "http://b.example/2"),
        fail(tree, "http://a.example/3"),
    ]
    before = [path.read_bytes() for path in files]
    assert retry(tree, ["timeout"], ["a.example"], warned.append) == {"timeout": 1}
    assert [path.read_bytes() != data for path, data in zip(files, before, strict=True)] == [False, False, True]


@pytest.mark.parametrize(("sitemap", "end"), [("sitemap", ",sitemap"), ("sitemap-part", ",sitemap-part"), ("x y", "")])
def test_line_of_a_sitemap(tree, warned, sitemap, end):
    """A sitemap that failed is tried again as a sitemap."""
    fail(tree, "http://a.example/s.xml", sitemap=sitemap)
    assert retry(tree, [], [], warned.append).total() == 1
    assert [format_flags(found.flags) for found in fed(tree)] == [f"again={MOMENT}{end}"]


def test_line_by_url(tmp_path, warned):
    """With partition = "url" the shard is that of the key."""
    tree = make(tmp_path / "by-url", "url")
    links = [f"http://a.example/{n}" for n in range(9)]
    for url in links:
        fail(tree, url)
    assert retry(tree, [], [], warned.append).total() == 9
    assert {found.url: found.shard for found in fed(tree)} == {url: urls.shard(urls.key(url), SHARDS) for url in links}


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("a.example", 2), ("*.example", 3), ("a.example:8000", 1), ("a.example_8000", 1), ("a", 0), ("[ab].*", 3)],
)
def test_hosts(tree, warned, pattern, count):
    """A host is named with its port, or without; a pattern is a shell's."""
    for url in ("http://a.example/", "http://a.example:8000/", "https://b.example/"):
        fail(tree, url)
    assert retry(tree, [], [pattern], warned.append).total() == count


def test_nothing(tree, warned):
    """Where nothing has failed, nothing is written: neither a log nor heartbeats."""
    assert not retry(tree, [], [], warned.append)
    assert UrlLogs(tree.files, 1).machines() == []
    assert Machinery(tree).machines() == []


def test_stored_pages(tree, warned):
    """A failure beside a stored page is a stale one."""
    fail(tree, "http://a.example/")
    store(tree, "http://a.example/")
    assert not retry(tree, [], [], warned.append)


def test_log(tree, warned):
    """The command leaves heartbeats that say goodbye, and where its log ends: nobody takes it for a machine."""
    fail(tree, "http://a.example/")
    retry(tree, [], [], warned.append)
    logs = Machinery(tree)
    peer = Peer(tree.machine, 0.0)
    peer.take(logs.read_heartbeats(tree.machine, 0))
    last = peer.last()
    assert peer.left
    assert (peer.bye.finished, peer.bye.is_command, last.generation) == (False, True, 1)
    assert last.log == UrlLogs(tree.files, 1).size(tree.machine) > 0
    assert peer.greeting.format == FORMAT


def test_many(tree, warned, monkeypatch):
    """Many failures are written as they are found, and none is lost."""
    monkeypatch.setattr(outside, "_FLUSH_EVERY_BYTES", 200)
    links = [f"http://a.example/{n}" for n in range(10)]
    for url in links:
        fail(tree, url)
    assert retry(tree, [], [], warned.append).total() == 10
    assert fed_urls(tree) == sorted(links)


def test_torn_record(tree, warned):
    """A failure that cannot be read is told of, with what mends it, and the others go back."""
    torn = fail(tree, "http://a.example/1")
    torn.write_bytes(torn.read_bytes()[:30])
    fail(tree, "http://a.example/2")
    assert retry(tree, [], [], warned.append).total() == 1
    assert len(warned) == 1
    assert str(torn) in warned[0]
    assert "--repair" in warned[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"failed_at": "2026-01-02 03:04:05"},
        {"failed_at": "x\n0 0  http://evil.example/"},
        {"failed_at": "gestern früh"},
        {"referrer": "a b"},
        {"referrer": "x\n0 0  http://evil.example/ "},
        {"key": "0a" * 12},
    ],
)
def test_edited_record(tree, warned, changes):
    """What somebody wrote into a record by hand never becomes more than a line, nor another one."""
    path = fail(tree, "http://a.example/1", **changes)
    if "key" in changes:
        path.rename(path.with_name("0b" * 12 + ".json"))
    fail(tree, "http://a.example/2", depth=7)
    assert retry(tree, [], [], warned.append).total() == 1
    assert [(found.url, found.depth) for found in fed(tree)] == [("http://a.example/2", 7)]


def test_url_that_is_none(tree, warned):
    """A record whose URL is no normal form is passed by."""
    fail(tree, "http://a.example/a b")
    assert not retry(tree, [], [], warned.append)


def test_stored_meanwhile(tree, warned, monkeypatch):
    """A failure that heals while the command reads is no failure; a tree that is gone is a TreeError."""
    path = fail(tree, "http://a.example/")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(tree, "keys", lambda *of: [] if of[0] == LINKS else Tree.keys(tree, *of))
        store(tree, "http://a.example/")
        assert not retry(tree, [], [], warned.append)
    assert path.read_bytes() == before
    Path(tree.path_of("links", "a.example", urls.key("http://a.example/"))).unlink()
    monkeypatch.setattr(tree, "error", lambda host, key: Tree.error(tree, host, "0c" * 12))
    assert not retry(tree, [], [], warned.append)

    def gone(host, key):
        raise TreeError("the mount has lost the connection to its server")

    monkeypatch.setattr(tree, "error", gone)
    with pytest.raises(TreeError, match="lost the connection"):
        retry(tree, [], [], warned.append)


def test_robots_are_left_out_unless_they_are_named(tree, warned):
    """What robots.txt does not allow would fail again: it is counted, and put back only if its class is named."""
    fail(tree, "http://a.example/x")
    fail(tree, "http://a.example/private", "robots")
    marked = retry(tree, (), (), warned.append)
    assert (marked, marked.left_out) == ({"timeout": 1}, 1)
    marked = retry(Tree(tree.root, "retry-2-bb"), ("robots",), (), warned.append)
    assert (marked, marked.left_out) == ({"robots": 1}, 0)


@pytest.mark.parametrize(("classes", "lines"), [("timeout", 1), ("timeout,robots", 2)])
def test_the_command_says_what_it_leaves_out(tree, capsys, classes, lines):
    """The command says how many failures by robots.txt there are, and how to try them."""
    for number, class_ in enumerate(classes.split(",")):
        fail(tree, f"http://a.example/{number}", class_)
    assert cli.main(["retry", "--root", str(tree.root)]) == 0
    said = capsys.readouterr().out.splitlines()
    said[-2] = said[-2].rpartition(", in ")[0]
    assert said[-2:] == [
        "will be tried again: 1 URL (1 timeout)",
        f"running machines fetch them; if none is running:  {command()} crawl --root {tree.root}",
    ]
    left_out = "left out: 1 URL that robots.txt does not allow; to ask robots.txt again: "
    assert said[:-2] == [f"{left_out} {command()} retry --root {tree.root} --class robots"][: lines - 1]


def test_the_command_with_nothing_but_robots(tree, capsys):
    """Where there is nothing else to try, that is said."""
    fail(tree, "http://a.example/private", "robots")
    assert cli.main(["retry", "--root", str(tree.root)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no other failed URL matches"
