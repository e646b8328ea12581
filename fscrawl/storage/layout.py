"""Where everything in a tree is: the names of its directories and files, and the paths that are made of them. Pure.

Vocabulary:
  room        one of the tree's directories: htmls, links, errs, and those in .fscrawl
  host        the name of a host's directory (`urls.host`)
  key         the name of a URL's files, without the suffix (`urls.key`)
  fan-out     0, or 1 for a directory that is named by the first two digits of the key
  path        where a file is, relative to the tree's root: "links/a.example/0a/0a1b….json"

Promise: nothing else in fscrawl spells these names, or takes such a path apart. No name is longer than 200 bytes,
whatever hosts and machines are called. Most file systems take 255.
"""

from __future__ import annotations

import re

LONGEST_NAME_BYTES = 200

SETTINGS = "crawl.toml"
SEEDS = "seeds.txt"
PAUSE = "PAUSE"
STOP = "STOP"
SIGNS = (PAUSE, STOP)  # and PAUSE.<host>
CREATION = ".creation"  # followed by a number: which machine makes the tree (see `creation`)

HTMLS = "htmls"
LINKS = "links"
ERRS = "errs"
PAGE_ROOMS = (HTMLS, LINKS, ERRS)  # read in this order: a page that is stored meanwhile has its body first

MACHINERY = ".fscrawl"
MACHINES = f"{MACHINERY}/machines"
LEASES = f"{MACHINERY}/leases"
FEED = f"{MACHINERY}/feed"
ROBOTS = f"{MACHINERY}/robots"
MACHINERY_ROOMS = (MACHINERY, MACHINES, LEASES, FEED, ROBOTS)
ROOMS = (*PAGE_ROOMS, *MACHINERY_ROOMS)

TREE_RECORD = f"{MACHINERY}/tree.json"
README = f"{MACHINERY}/README"
PROBE = "probe-"  # followed by a machine: its directory in `.fscrawl` while it tries the file system out

TORN = ".torn"  # the last suffix of a record that a repair has set aside
KEY_PATTERN = "[0-9a-f]{24}"
FILE_PATTERNS = {
    MACHINES: re.compile(r"[^.].*\.log\Z"),
    LEASES: re.compile(r"\d+\.\d+\Z"),
    FEED: re.compile(r"[^.].*\.log\Z"),
    ROBOTS: re.compile(r"[^.].*\.json\Z"),
}
_LOG = ".log"
_HOST_BEGINS = 150  # letters that tell hosts apart well enough for a file that is there for a moment
_KEY = re.compile(rf"{KEY_PATTERN}\Z")
_PAGE_FILE = re.compile(rf"({KEY_PATTERN})\.(?:html|json)\Z")
_FAN_OUT = re.compile(r"[0-9a-f]{2}\Z")


def is_key(text: str) -> bool:
    """Tell whether a text is the key of some URL.

    >>> is_key("599370d5687c3fd078c314ad"), is_key("http://a.example/")
    (True, False)
    """
    return _KEY.match(text) is not None


def is_fan_out(name: str) -> bool:
    """Tell whether a directory in a host's directory is one that a fan-out makes."""
    return _FAN_OUT.match(name) is not None


# -- the files of a page


def suffix_of(room: str) -> str:
    return ".html" if room == HTMLS else ".json"


def page_directory(room: str, host: str, key: str, fanout: int) -> str:
    """Give the path of the directory that holds a page's file in `room`."""
    return f"{room}/{host}/{key[:2]}" if fanout else f"{room}/{host}"


def page_path(room: str, host: str, key: str, fanout: int) -> str:
    """Give the path of a page's file in `room`.

    >>> page_path("htmls", "a.example", "599370d5687c3fd078c314ad", 1)
    'htmls/a.example/59/599370d5687c3fd078c314ad.html'
    """
    suffix = ".html" if room == HTMLS else ".json"
    return f"{room}/{host}/{key[:2]}/{key}{suffix}" if fanout else f"{room}/{host}/{key}{suffix}"


def key_of(name: str) -> str | None:
    """Give the key of a page's file, in any of the three rooms; None if it is another file.

    >>> key_of("599370d5687c3fd078c314ad.html"), key_of("notes.html")
    ('599370d5687c3fd078c314ad', None)
    """
    match = _PAGE_FILE.match(name)
    return None if match is None else match[1]


def key_before(name: str, suffix: str) -> str | None:
    """Give the key of a file `<key><suffix>`; None if it is another file.

    >>> key_before("599370d5687c3fd078c314ad.json.torn", ".json.torn")
    '599370d5687c3fd078c314ad'
    """
    key = name.removesuffix(suffix)
    return key if key != name and is_key(key) else None


# -- the files of the machinery


def robots_path(host: str) -> str:
    return f"{ROBOTS}/{host}.json"


def heartbeat_path(machine: str) -> str:
    return f"{MACHINES}/{machine}{_LOG}"


def machine_of(name: str) -> str | None:
    """Give the machine of a heartbeat log; None if the file is none."""
    return name.removesuffix(_LOG) if name.endswith(_LOG) and not name.startswith(".") else None


def feed_path(machine: str, segment: int) -> str:
    return f"{FEED}/{machine}{f'.{segment}' if segment else ''}{_LOG}"


def feed_of(name: str) -> tuple[str, int] | None:
    """Give the machine and the segment of a feed's file; None if the file is none.

    >>> feed_of("host-7-ab12.log"), feed_of("host-7-ab12.3.log"), feed_of("notes.txt")
    (('host-7-ab12', 0), ('host-7-ab12', 3), None)
    """
    machine, _, number = name.removesuffix(_LOG).partition(".")
    if not name.endswith(_LOG) or not machine or (number and not number.isdecimal()):
        return None
    return machine, int(number or 0)


def lease_path(shard: int, epoch: int) -> str:
    return f"{LEASES}/{shard}.{epoch}"


def lease_of(name: str) -> tuple[int, int] | None:
    """Give the shard and the epoch of a lease; None if the file is none.

    >>> lease_of("12.3"), lease_of(".12.3.host-7-ab12.31-0.tmp")
    ((12, 3), None)
    """
    shard, _, epoch = name.partition(".")
    return (int(shard), int(epoch)) if shard.isdecimal() and epoch.isdecimal() else None


def making_path(directory: str) -> str:
    """Give the file that a machine takes while it makes a directory that others may be making, too.

    It is called like a temporary of nobody, so readers ignore it.

    >>> making_path("htmls/a.example")
    'htmls/.a.example.making.0-0.tmp'
    """
    parent, _, name = directory.rpartition("/")
    return f"{parent}/.{name[:_HOST_BEGINS]}.making.0-0.tmp"


def probe_path(machine: str) -> str:
    return f"{MACHINERY}/{PROBE}{machine}"
