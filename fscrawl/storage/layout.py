"""Where everything in a tree is: the names of its directories and files, and the paths that are made of them. Pure.

Vocabulary:
  directory   one of the tree's own: htmls, files, links, errs, and those in .fscrawl
  host        the name of a host's directory (`urls.host`)
  key         the name of a URL's files, without the suffix (`urls.key`)
  file        what a page's record says of its body: "" for HTML, which is in htmls; else its extension in files
  path        where a file is, relative to the tree's root: "links/a.example/0a1b….json"

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
FILES = "files"
LINKS = "links"
ERRS = "errs"
BODY_DIRECTORIES = (HTMLS, FILES)
# Read in this order: a page that is stored meanwhile has its body first.
PAGE_DIRECTORIES = (*BODY_DIRECTORIES, LINKS, ERRS)

MACHINERY = ".fscrawl"
MACHINES = f"{MACHINERY}/machines"
LEASES = f"{MACHINERY}/leases"
GENERATIONS = f"{MACHINERY}/generations"  # with a directory for each
ROBOTS = f"{MACHINERY}/robots"
MACHINERY_DIRECTORIES = (MACHINERY, MACHINES, LEASES, GENERATIONS, ROBOTS)
DIRECTORIES = (*PAGE_DIRECTORIES, *MACHINERY_DIRECTORIES)

TREE_RECORD = f"{MACHINERY}/tree.json"
KEPT_SETTINGS = f"{MACHINERY}/settings.toml"  # a copy of the settings, without secrets, in case they are deleted
README = f"{MACHINERY}/README"
PROBE = "probe-"  # followed by a machine: its directory in `.fscrawl` while it tries the file system out

TORN = ".torn"  # the last suffix of a record that a repair has set aside
KEY_PATTERN = "[0-9a-f]{24}"
PLANTED = ".planted"  # the last suffix of a directory that stood in a file's place
_MACHINE = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
_HOST = "[a-z0-9_-][a-z0-9._-]*"
_NUMBER = "(?:0|[1-9][0-9]{0,14})"  # as machines write them; a longer one was made up
FILE_PATTERNS = {
    MACHINES: re.compile(rf"{_MACHINE}\.(?:log|status\.json)\Z"),
    LEASES: re.compile(rf"{_NUMBER}\.{_NUMBER}\Z"),
    ROBOTS: re.compile(rf"{_HOST}\.json\Z"),
}
RULES, LOG, SNAP = "rules.json", "log", "snap"  # in the directory of a generation
_LOG_SUFFIX = ".log"
_STATUS_SUFFIX = ".status.json"
_HOST_BEGINS = 150  # letters that distinguish hosts well enough for a file that is there for a moment
_A_NUMBER = re.compile(rf"{_NUMBER}\Z")
_A_MACHINE = re.compile(rf"{_MACHINE}\Z")
_A_HOST = re.compile(rf"{_HOST}\Z")
_KEY = re.compile(rf"{KEY_PATTERN}\Z")
PICTURE = "png"  # the extension of a screenshot, in files
DOM = "dom.html"  # the suffix of a rendered page, beside its body
_PAGE_FILE = re.compile(rf"({KEY_PATTERN})\.(dom\.html|[a-z0-9]{{1,8}})\Z")
EXTENSION = r"^[a-z0-9]{1,8}\Z"  # of a body in files


def election_path(number: int) -> str:
    return f"{CREATION}.{number}"


def election_of(name: str) -> int | None:
    """Give the number of an election; None if the file is none.

    >>> election_of(".creation.2"), election_of(".creation.02"), election_of(".creation")
    (2, None, None)
    """
    number = name.removeprefix(f"{CREATION}.")
    return int(number) if number != name and _is_number(number) else None


def is_key(text: str) -> bool:
    """Tell whether a text is the key of some URL.

    >>> is_key("599370d5687c3fd078c314ad"), is_key("http://a.example/")
    (True, False)
    """
    return _KEY.match(text) is not None


def is_host(name: str) -> bool:
    """Tell whether a directory in htmls, files, links or errs may be that of a host.

    >>> is_host("a.example_8080"), is_host(".x"), is_host("a\\nb")
    (True, False, False)
    """
    return _A_HOST.match(name) is not None


# -- the files of a page


def suffix_of(directory: str) -> str:
    """Give the suffix of all files of pages in `directory`; "" if they have several."""
    return {HTMLS: ".html", FILES: ""}.get(directory, ".json")


def page_path(directory: str, host: str, key: str) -> str:
    """Give the path of a page's file in `directory`.

    >>> page_path("htmls", "a.example", "599370d5687c3fd078c314ad")
    'htmls/a.example/599370d5687c3fd078c314ad.html'
    """
    return f"{directory}/{host}/{key}{'.html' if directory == HTMLS else '.json'}"


def body_path(host: str, key: str, file: str) -> str:
    """Give the path of a page's body. `file`: of its record.

    >>> body_path("a.example", "599370d5687c3fd078c314ad", "pdf")
    'files/a.example/599370d5687c3fd078c314ad.pdf'
    >>> body_path("a.example", "599370d5687c3fd078c314ad", "")
    'htmls/a.example/599370d5687c3fd078c314ad.html'
    """
    return f"{FILES}/{host}/{key}.{file}" if file else page_path(HTMLS, host, key)


def dom_path(host: str, key: str) -> str:
    """Give the path of what a page looks like when its scripts have run.

    >>> dom_path("a.example", "599370d5687c3fd078c314ad")
    'htmls/a.example/599370d5687c3fd078c314ad.dom.html'
    """
    return f"{HTMLS}/{host}/{key}.{DOM}"


def page_file_of(directory: str, name: str) -> tuple[str, str] | None:
    """Give the key and the extension of a page's file in `directory`; None if it is another file.

    >>> page_file_of("files", "599370d5687c3fd078c314ad.pdf"), page_file_of("links", "599370d5687c3fd078c314ad.pdf")
    (('599370d5687c3fd078c314ad', 'pdf'), None)
    """
    match = _PAGE_FILE.match(name)
    if match is None or (suffix_of(directory) and not name.endswith(suffix_of(directory))):
        return None
    if match[2] == DOM and directory != HTMLS:
        return None
    return match[1], match[2]


def key_of(name: str) -> str | None:
    """Give the key of a page's file, in any of the directories; None if it is another file.

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


# -- the files of packs: `<directory>/<machine>+<number>/<number of the segment>.…`

_PACK = re.compile(rf"{_MACHINE}\+[0-9a-f]{{8}}\Z")
LINES, INDEX, BODIES = ".jsonl", ".index", ".warc.gz"
_LINES_FILE = re.compile(rf"({_NUMBER})\{LINES}\Z")
_BODIES_FILE = re.compile(rf"{HTMLS}/{_MACHINE}\+[0-9a-f]{{8}}/{_NUMBER}{re.escape(BODIES)}\Z")
_SEGMENT_FILE = re.compile(rf"{_NUMBER}(?:{'|'.join(map(re.escape, (LINES, INDEX, BODIES)))})\Z")


def pack_name(machine: str, number: str) -> str:
    """Give the name of a writer's directory. No host has a plus sign in its name. `number`: 8 hexadecimal digits."""
    return f"{machine}+{number}"


def is_pack(name: str) -> bool:
    """Tell whether a directory in htmls, links or errs may be that of a writer of packs.

    >>> is_pack("host-7-ab12+0a1b2c3d"), is_pack("a.example")
    (True, False)
    """
    return _PACK.match(name) is not None


def segment_path(directory: str, pack: str, segment: int, suffix: str) -> str:
    """Give the path of a writer's file. `suffix`: LINES, INDEX or BODIES.

    >>> segment_path("links", "m-1-ab+0a1b2c3d", 0, LINES)
    'links/m-1-ab+0a1b2c3d/0.jsonl'
    """
    return f"{directory}/{pack}/{segment}{suffix}"


def is_bodies(path: str) -> bool:
    """Tell whether a path is that of a writer's file of bodies.

    >>> is_bodies("htmls/m-1-ab+0a1b2c3d/0.warc.gz"), is_bodies("htmls/../secret.warc.gz")
    (True, False)
    """
    return _BODIES_FILE.match(path) is not None


def segment_of(name: str) -> int | None:
    """Give the number of a segment by the name of its file of lines; None if the file is none.

    >>> segment_of("12.jsonl"), segment_of("12.index")
    (12, None)
    """
    match = _LINES_FILE.match(name)
    return int(match[1]) if match else None


def is_segment(name: str) -> bool:
    """Tell whether a file in a writer's directory is one of a segment.

    >>> [is_segment(name) for name in ("0.warc.gz", "12.jsonl", "12.index", "notes.jsonl")]
    [True, True, True, False]
    """
    return _SEGMENT_FILE.match(name) is not None


def of_page(path: str) -> tuple[str, str, str] | None:
    """Take the path of a page's file apart: directory, host, name; None if it is another file.

    >>> of_page("links/a.example/599370d5687c3fd078c314ad.json")
    ('links', 'a.example', '599370d5687c3fd078c314ad.json')
    >>> of_page("links/m-1-ab+0a1b2c3d/0.jsonl"), of_page(".fscrawl/tree.json")
    (None, None)
    """
    directory, _, rest = path.partition("/")
    host, _, name = rest.partition("/")
    if directory not in PAGE_DIRECTORIES or not name or "/" in name or "+" in host:
        return None
    return directory, host, name


# -- the files of the machinery


def robots_path(host: str) -> str:
    return f"{ROBOTS}/{host}.json"


def heartbeat_path(machine: str) -> str:
    return f"{MACHINES}/{machine}{_LOG_SUFFIX}"


def machine_of(name: str) -> str | None:
    """Give the machine of a heartbeat log, or of a log of URLs; None if the file is none.

    >>> machine_of("host-7-ab12.log"), machine_of("host-7-ab12.status.json"), machine_of("..log")
    ('host-7-ab12', None, None)
    """
    machine = name.removesuffix(_LOG_SUFFIX)
    return machine if machine != name and is_machine(machine) else None


def status_path(machine: str) -> str:
    """Give the path of the file that a machine writes for people."""
    return f"{MACHINES}/{machine}{_STATUS_SUFFIX}"


def status_of(name: str) -> str | None:
    """Give the machine of such a file; None if the file is none.

    >>> status_of("host-7-ab12.status.json"), status_of("host-7-ab12.log")
    ('host-7-ab12', None)
    """
    machine = name.removesuffix(_STATUS_SUFFIX)
    return machine if machine != name and is_machine(machine) else None


def is_machine(name: str) -> bool:
    """Tell whether a text may be the id of a machine.

    >>> is_machine("host-7-ab12"), is_machine(".x"), is_machine("\\udcff")
    (True, False, False)
    """
    return _A_MACHINE.match(name) is not None


def lease_path(shard: int, epoch: int) -> str:
    return f"{LEASES}/{shard}.{epoch}"


def lease_of(name: str) -> tuple[int, int] | None:
    """Give the shard and the epoch of a lease; None if the file is none.

    >>> lease_of("12.3"), lease_of(".12.3.host-7-ab12.5a0c66e2b9f1d374.tmp")
    ((12, 3), None)
    """
    shard, _, epoch = name.partition(".")
    return (int(shard), int(epoch)) if _is_number(shard) and _is_number(epoch) else None


def generation_path(generation: int) -> str:
    return f"{GENERATIONS}/{generation}"


def generation_of(name: str) -> int | None:
    """Give the number of a generation by the name of its directory; None if it is none. The first one is 1.

    >>> generation_of("2"), generation_of("0"), generation_of("2.tmp")
    (2, None, None)
    """
    return (int(name) or None) if _is_number(name) else None


def rules_path(generation: int) -> str:
    """Give the path of the file with a generation's link rules."""
    return f"{generation_path(generation)}/{RULES}"


def log_directory(generation: int) -> str:
    """Give the path of the directory that holds the logs of all machines."""
    return f"{generation_path(generation)}/{LOG}"


def log_path(generation: int, machine: str) -> str:
    """Give the path of a machine's log of URLs.

    >>> log_path(1, "host-7-ab12")
    '.fscrawl/generations/1/log/host-7-ab12.log'
    """
    return f"{log_directory(generation)}/{machine}{_LOG_SUFFIX}"


def snapshot_directory(generation: int) -> str:
    return f"{generation_path(generation)}/{SNAP}"


def snapshot_path(generation: int, shard: int, epoch: int, number: int) -> str:
    """Give the path of a snapshot.

    >>> snapshot_path(1, 12, 3, 1)
    '.fscrawl/generations/1/snap/12.3.1'
    """
    return f"{snapshot_directory(generation)}/{shard}.{epoch}.{number}"


def snapshot_of(name: str) -> tuple[int, int, int] | None:
    """Give the shard, the epoch and the number of a snapshot; None if the file is none.

    >>> snapshot_of("12.3.1"), snapshot_of("12.3"), snapshot_of(".12.3.1.host-7-ab12.5a0c66e2b9f1d374.tmp")
    ((12, 3, 1), None, None)
    """
    numbers = name.split(".")
    if len(numbers) != 3 or not all(map(_is_number, numbers)):
        return None
    shard, epoch, number = map(int, numbers)
    return shard, epoch, number


def _is_number(text: str) -> bool:
    return _A_NUMBER.match(text) is not None


def making_path(directory: str) -> str:
    """Give the file that a machine takes while it makes a directory that others may be making, too.

    It is called like a temporary of nobody, so readers ignore it.

    >>> making_path("htmls/a.example")
    'htmls/.a.example.making.0-0.tmp'
    """
    parent, slash, name = directory.rpartition("/")
    return f"{parent}{slash}.{name[:_HOST_BEGINS]}.making.0-0.tmp"


def probe_path(machine: str) -> str:
    return f"{MACHINERY}/{PROBE}{machine}"
