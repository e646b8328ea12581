"""Targets that read what stands on the tree: records, settings, seeds, and the fleet's files."""

from __future__ import annotations

import json
import random
from collections import Counter

from fscrawl import urls
from fscrawl.config import seeds, settings
from fscrawl.errors import FscrawlError, RecordError
from fscrawl.fleet import beat as beats
from fscrawl.fleet.beat import Beat, line_of, parse_line
from fscrawl.fleet.ending import Told as ToldByBeat
from fscrawl.fleet.ending import all_agree
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Found, Told, encode_block, format_line, parse_lines
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.machinery import Peer
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rules import LinkRules
from fscrawl.fleet.snapshot_file import SnapshotHead, open_snapshot
from fscrawl.fleet.snapshots import write
from fscrawl.frontier.flags import parse_flags
from fscrawl.frontier.queue import Queue, Scratch
from fscrawl.storage import records
from fscrawl.storage.layout import rules_path, snapshot_path
from tests.support.fuzz.names import REFERENCES
from tests.support.fuzz.target import Target, string, words
from tests.support.log_files import LogsInMemory
from tests.support.snapshot_files import FilesInMemory, content


def _records(data: bytes) -> None:
    for kind in (records.PageRecord, records.ErrorRecord, records.TreeRecord, records.RobotsRecord):
        try:
            record = kind.from_json(data)
        except RecordError:
            continue
        again = kind.from_json(record.to_json())
        assert again.to_json() == record.to_json()


def _settings(data: bytes) -> None:
    text = string(data)
    try:
        found = settings.parse(text)
    except FscrawlError as error:
        assert "\n" not in str(error) or "\n" in text  # noqa: PT017
    else:
        assert settings.parse(settings.render(found)) == found
    settings.apply(settings.Settings(), text.split("\n")[:5])


def _rules(data: bytes) -> None:
    settings.parse("[[site]]\nhosts = ['*']\n" + data.decode("utf-8", "replace"))


class _Shared:
    """A tree in memory: the logs of one machine."""

    def __init__(self, log: bytes, piece: int) -> None:
        self._log = log[: log.rfind(b"\n") + 1]
        self._piece = piece

    def machines(self) -> list[str]:
        return ["b"]

    def is_planted(self, machine: str) -> bool:
        return False

    def _read(self, offset: int) -> bytes:
        data = self._log[offset : offset + self._piece]
        end = data.rfind(b"\n") + 1
        return data[:end] if end else self._log[offset : self._log.find(b"\n", offset) + 1]

    def read_newest_heartbeats(self, machine: str, offset: int) -> tuple[bytes, int]:
        data = self._read(offset)
        return data, offset + len(data)


def _pending(data: bytes) -> None:
    """Whatever the frontier may push: a depth, a key or none, a normal form, flags from a word without a blank.

    Some are foreign.
    """
    order = ("breadth", "depth", "random")[data[0] % 3] if data else "breadth"
    queue, scratch, rng = Queue(), Scratch(), random.Random(0)
    pushed: Counter[tuple[object, ...]] = Counter()
    for line in data[1:].split(b"\n")[:200]:
        if line.startswith(b"!"):
            queue.spill(scratch)
        elif line.startswith(b"-") and queue.count:
            pushed[tuple(queue.pop(order, scratch, rng))] -= 1
        else:
            url, _, word = line.decode("utf-8", "replace").partition(" ")
            each = (len(line), "ab" * 12 if word else "", url, parse_flags("".join(word.split())))
            foreign = len(line) % 2 == 1
            queue.push(*each, foreign=foreign)
            pushed[*each, foreign] += 1
    while queue.count:
        pushed[tuple(queue.pop(order, scratch, rng))] -= 1
    assert not any(pushed.values())
    scratch.close()


def _seeds(data: bytes) -> None:
    text = string(data)
    warned: list[str] = []
    found = seeds.read_seeds(text, "seeds.txt", warned.append)
    assert len(found) + len(warned) <= len(text.splitlines())
    assert all(urls.normalise(url) == url for url in list(found)[:20])
    assert all(len(line) < 300 for line in warned)


def _heartbeats(data: bytes) -> None:
    peer = Peer("b", 0.0)
    peer.take(data)
    assert isinstance(peer.last(), Beat)
    for line in beats.parse_lines(data):
        assert parse_line(line_of(line)) is not None
    fleet = Fleet(_Shared(data, 4096), "me", 60.0, 16, gone=lambda hello: hello.pid == 1)
    fleet.observe(1.0)
    fleet.observe(2.0)
    fleet.unwanted(3.0)
    fleet.claimable(range(16), 3.0)
    last = fleet.peers["b"].last()
    assert last.log is None or last.log >= 0
    all_agree(Beat(idle=True), [ToldByBeat(peer.beats, 0, "") for peer in fleet.peers.values()])


def _logs(data: bytes) -> None:
    """Read a log as one that machines follow, and as one of which a taker reads some shards."""
    logs = LogsInMemory({"b": bytearray(data)})
    for shards in (range(1000), {7}):
        reader = LogReader(logs)
        for line in (*reader.read("b", shards), *reader.read_shards("b", shards, 0, len(data))):
            assert line.shard in shards
            assert parse_lines(line.shard, format_line(line)) == [line]
        assert list(reader.read("b", shards, until=len(data))) == []
        assert bool(reader.damaged) == (reader.places.get("b", 0) < len(data))


def _generations(data: bytes) -> None:
    """Read the rules of a generation, and begin the next one."""
    files = FilesInMemory()
    files.there = {rules_path(1): data}
    generations = Generations(files)
    found = generations.newest()
    assert found.number == 1
    links = found.links or _LINKS
    assert links.covers(links)
    links.scope()
    assert generations.begin_next(links, found.refresh_before, found.reason) == found._replace(number=2, links=links)


def _snapshots(data: bytes) -> None:
    """Read a snapshot that somebody may have damaged."""
    files = FilesInMemory()
    files.there[snapshot_path(1, 7, 1, 1)] = data
    try:
        snapshot = open_snapshot(files, 1, 7, 1, 1)
        snapshot.check()
        content(snapshot)
    except RecordError:
        assert data != _SNAPSHOT
    else:
        assert data.rstrip() == _SNAPSHOT.rstrip()


_JSON = words(r"""
{
}
[
]
"
:
,
"a%d":
\\u0000
\\ud800
\\
1e999
-
NaN
null
true
"url":"http://a.example/",
"elapsed":1e999
"headers":{"a":"b"}
{"hello":"b","pid":1}\n
{"bye":true,"finished":true,"consumed":7}\n
{"beat":1,"idle":true,"consumed":7,"sent":0,"shards":0}\n
\n
\r
\x85
\0
%d
""")
_TOML = words(r"""
[crawl]\n
[politeness]\n
[fetch]\n
[fleet]\n
[hosts."*"]\n
[hosts."%d.example"]\n
[hosts.a.b]\n
[[a]]\n
delay =\x20
deny = ["a%d"]\n
max_pages =\x20
shards =\x20
timeout =\x20
beat =\x20
proxies = ["http://a:1"]\n
auth = {"a.example" = "b:c"}\n
headers = {"x" = "y"}\n
allow_addresses = ["10.0.0.0/8"]\n
user_agent = "a"\n
n%d = { css = "a::attr(x)" }\n
n%d = { xpath = "//a[re:test(@x, 'y')]", type = "integer[]" }\n
n%d = { css = "b", regex = "(x)" }\n
a%d = 1\n
a%d.
{
}
[
]
"
'
\"""
'''
=
,
.
-1
nan
inf
1e400
0xffffffffffffffffffffffff
-999999999999999999999999999999999999999999999
2024-01-01T00:00:00Z
true
\\u0000
\\U0010ffff
\n
#
(
)
::text
:not(
:is(
//*
[1]
""")
_TREE = b'{"format":3,"crawl":"c","created_at":"x","shards":512,"partition":"host"}\n'
_PAGE = records.PageRecord(
    "http://a.example/", "ab" * 12, 0, "", "2026-11-21T00:00:00.000Z", "m", 200, {"a": "b"}, 3, "x", 0.5, ("http://b.example/",)
).to_json()  # fmt: skip
_ERROR = records.ErrorRecord("http://a.example/", "ab" * 12, 0, "", "x", "m", "dns", "no", 1, 500, {}).to_json()
_ROBOTS = records.RobotsRecord("http://a.example/robots.txt", "x", 200, "User-agent: *").to_json()
_LINES = words(r"""
3 1 abababababababababababab http://a.example/%d\n
4 0  http://b.example/\n
5 0  http://b.example/ sitemap\n
5 0  http://b.example/ again=2026-11-21T00:00:00.000Z\n
5 0  http://b.example/ again=2026-11-21T00:00:00.000Z,sitemap-part\n
5 0  http://b.example/ a b c\n
%d
\x20
-1\x20
1_0\x20
+3\x20
\n
!\n
-\n
\0
\xff
\xd9\xa1
""")
_BLOCKS = words(r"""
B 4 0 7:4\n
B 4 8 7:4 | 2:8\n
B %d 0 7:%d\n
\x20
|
s\n
u 1 - http://a.example/%d\n
u 1 abababababababababababab http://a.example/ sitemap\n
u 70000 - http://a.example/ again=x\n
t abababababababababababab 1\n
t abababababababababababab 1 ex\n
\0
\xff
""")
_LOG = encode_block({7: [b"u 1 - http://a.example/\n"]}, {2: [b"s\n", b"s\n"]})
_LINKS = LinkRules.of(settings.Settings(), ["http://a.example/"])


def _rules_file() -> bytes:
    files = FilesInMemory()
    Generations(files).begin_next(_LINKS, "2026-11-21T00:00:00Z", "refresh")
    return files.there[rules_path(1)]


def _snapshot() -> bytes:
    files = FilesInMemory()
    lines = [Found(7, 1, "", "http://a.example/"), Told(7, "ab" * 12, 1), Told(7, "cd" * 12, 1, "x")]
    write(files, None, lines, SnapshotHead(1, 7, 1, 1, deep=False, at={"b": 93}))
    return files.there[snapshot_path(1, 7, 1, 1)]


_SNAPSHOT = _snapshot()
_BEATS = b'{"hello":"b","boot":"x","pid":2}\n{"beat":0,"pages":1,"sent":0,"idle":true}\n{"bye":true,"clean":true}\n'

TARGETS = (
    Target("records", _records, _JSON, (_PAGE, _ERROR, _TREE, _ROBOTS)),
    Target("settings", _settings, _TOML, (settings.render(settings.Settings()).encode(),), reach=50_000),
    Target("rules", _rules, _TOML, (b'[site.fields]\nn = { css = "b::text", type = "float" }\n',), reach=20_000),
    Target("pending", _pending, _LINES, options=3),
    Target("seeds", _seeds, (*REFERENCES, b"# c", b"\r\n", b"\x0c"), (b"http://a.example/\n# c\n\nx\n",)),
    Target(
        "heartbeats",
        _heartbeats,
        _JSON,
        (_BEATS, json.dumps({"hello": "b"}).encode() + b"\n" + _BEATS),
        bytes_per_s=100_000,
    ),
    Target("logs", _logs, _BLOCKS, (_LOG,)),
    Target("generations", _generations, _JSON, (_rules_file(),)),
    Target("snapshots", _snapshots, (*_JSON, *_BLOCKS), (_SNAPSHOT,)),
)
