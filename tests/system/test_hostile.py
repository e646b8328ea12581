"""A crawl of a web that means harm: it ends by itself, says of each page what came of it, and harms nobody."""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import webencodings

from fscrawl import urls
from fscrawl.handlers.meaning import MOST_REDIRECTS
from fscrawl.handlers.records import MAX_HEADERS_CHARS
from fscrawl.http.answers import MAX_MESSAGE_CHARS
from fscrawl.parse.directives import MAX_DIRECTIVES
from fscrawl.parse.links import MAX_TITLE_CHARS
from fscrawl.storage.records import ErrorRecord, PageRecord, RobotsRecord
from tests.support.crawling import Done, Running, check_tree, command, errors, pages, unmeasured
from tests.support.datasets import merge
from tests.support.hostile.answers import refused_targets
from tests.support.hostile.cases import ALLOWED, CASES, PAGES_PER_HOST, RESOLVER
from tests.support.hostile.contents import LABELS, encoded_title
from tests.support.hostile.expected import EXPECTED
from tests.support.hostile.sites import TARGETS
from tests.support.hostile.tricks import BAD_PORTS, LONG_REFERENCES, busy_pages
from tests.support.hostile.web import Hostile
from tests.support.memory_use import Memory

MAX_BYTES = 1_048_576
RECORD_BYTES = 4_000_000  # 50,000 addresses of a sitemap and the largest head stay below
MEMORY_BYTES = 400_000_000
DEADLINE_S = 300.0  # what reads large pages has the lowest priority: on a busy computer, it gets what others leave over
SETTINGS = {
    "fetch.allow_addresses": ALLOWED,
    "fetch.max_bytes": MAX_BYTES,
    "fetch.timeout": 3,
    "fetch.retries": 1,
    "crawl.max_pages_per_host": PAGES_PER_HOST,
    "crawl.max_hosts_per_domain": 20,
    "crawl.max_depth": 80,
    "crawl.deny": '["/denied/"]',
    "politeness.max_rest": 2,
    "politeness.max_delay": 2,
}

pytestmark = pytest.mark.timeout(DEADLINE_S + 60)

# Known defects, each with a test of its own below.
APART = ("/page/far-base", "/behind-robots/10-mb")
CUT_BY = (
    "bad-port",
    "deny",
    "length",
    "max_depth",
    "max_hosts_per_domain",
    "max_pages_per_host",
    "trap",
)


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl that is over. `urls`: of each case, by path; `asked`, `trapped` as of `Hostile`."""

    root: Path
    done: Done
    memory: Memory
    urls: dict[str, str]
    asked: list[tuple[str, str]]
    trapped: list[str]
    pages: dict[str, PageRecord]
    errors: dict[str, ErrorRecord]

    def outcome(self, path: str) -> str:
        url = self.urls[path]
        page, error = self.pages.get(url), self.errors.get(url)
        assert page is None or error is None, f"stored and failed: {path}"
        if error is not None:
            return f"error {error.class_}"
        if page is None:
            return "nothing"
        return f"skipped {page.skipped}" if page.skipped else "redirect" if page.redirect else "stored"


def crawl(place: Path, *paths: str, **settings: object) -> Crawled:
    """Crawl the cases, or those named, at `place`/tree."""
    (place / "names").mkdir()
    (place / "names" / "sitecustomize.py").write_text(RESOLVER)
    env = {**unmeasured(), "PYTHONPATH": str(place / "names")}
    root = place / "tree"
    with Hostile() as web:
        seeds = [web.url(path) for path in paths] or [web.index()]
        words = command(root, "--verbose", seeds=seeds, settings={**SETTINGS, **settings})
        with Running(words, env=env) as running, Memory(running.process.pid) as memory:
            done = running.wait(DEADLINE_S)
        addresses = {path: web.url(path) for path in CASES}
    return Crawled(root, done, memory, addresses, web.asked, web.trapped, pages(root), errors(root))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    found = crawl(tmp_path_factory.mktemp("hostile"))
    assert found.done.code == 0, found.done
    return found


# -- all cases, in one crawl


def test_table_is_complete() -> None:
    """The table has every case of the fixture, and no other."""
    assert set(EXPECTED) | set(APART) == set(CASES)


def test_it_ends(crawled: Crawled) -> None:
    """The crawl ends by itself, with nothing pending, and its processes with it."""
    assert crawled.done.out.startswith("finished: ")
    assert ", 0 URLs pending\n" in crawled.done.out


def test_outcomes(crawled: Crawled) -> None:
    """Of each page there is a record that says what came of it."""
    assert {path: crawled.outcome(path) for path in EXPECTED} == EXPECTED


def test_no_defect(crawled: Crawled) -> None:
    """No page met a defect of the crawler, and none killed a worker."""
    assert not {e.url: e.message for e in crawled.errors.values() if e.class_ in ("internal", "worker-died")}


def test_tree_is_whole(crawled: Crawled) -> None:
    """Everything in the tree is whole, and where it belongs."""
    check_tree(crawled.root)


def test_audit(crawled: Crawled) -> None:
    """The audit finds nothing wrong."""
    audit = run_audit(crawled.root)
    assert audit.code == 0, audit


def run_audit(root: Path) -> Done:
    with Running([sys.executable, "-m", "fscrawl", "audit", "--root", str(root)]) as running:
        return running.wait()


_HOST = r"[a-z0-9_-][a-z0-9._-]{0,199}"
_DIRECTORIES = re.compile(
    rf"htmls/{_HOST}/[0-9a-f]{{24}}\.html|(?:links|errs)/{_HOST}/[0-9a-f]{{24}}\.json|crawl\.toml|seeds\.txt"
    rf"|\.fscrawl/(?:README|tree\.json|settings\.toml|machines/[\w.-]+\.(?:log|status\.json)|leases/[0-9]+\.[0-9]+"
    rf"|generations/[0-9]+/(?:rules\.json|log/[\w.-]+\.log|snap/[0-9]+\.[0-9]+\.[0-9]+)|robots/{_HOST}\.json)"
)


def test_nothing_is_written_elsewhere(crawled: Crawled) -> None:
    """Every file is in the directory, and has the name, that the tree's format gives it; beside the tree is nothing."""
    there = [path for path in crawled.root.rglob("*") if not path.is_dir()]
    assert [path for path in there if not _DIRECTORIES.fullmatch(path.relative_to(crawled.root).as_posix())] == []
    assert [path for path in crawled.root.rglob("*") if path.is_symlink()] == []
    assert sorted(path.name for path in crawled.root.parent.iterdir()) == ["names", "tree"]


def test_files_are_within_limits(crawled: Crawled) -> None:
    """No body is over fetch.max_bytes, no record larger than what a head and 50,000 links come to."""
    sizes = {path: path.stat().st_size for path in crawled.root.rglob("*") if path.is_file()}
    assert [path for path, size in sizes.items() if path.suffix == ".html" and size > MAX_BYTES] == []
    assert [path for path, size in sizes.items() if path.suffix == ".json" and size > RECORD_BYTES] == []
    robots = [RobotsRecord.from_json(path.read_bytes()) for path in (crawled.root / ".fscrawl/robots").iterdir()]
    assert max(len(record.text) for record in robots) <= 512_000


def test_refused_addresses(crawled: Crawled) -> None:
    """What leads to an address that is not permitted, however written, is a failure, and nobody connects to it."""
    port = int(crawled.urls["/type/html"].rpartition(":")[2].partition("/")[0])
    targets = [urls.normalise(target) for target in refused_targets(port).values()]
    targets += [f"http://127.0.0.2:{port}{path}" for path in TARGETS[1:]]
    found = {url: crawled.errors[url].class_ if url in crawled.errors else "no failure" for url in targets if url}
    assert len(found) == len(targets)
    assert set(found.values()) == {"blocked-address"}, found
    assert crawled.trapped == []


def test_what_limits_cut_is_said(crawled: Crawled) -> None:
    """The summary says how many links each limit left out."""
    line = next(line for line in crawled.done.out.split("\n") if line.startswith("not followed "))
    found = re.findall(r"([\d,]+) links? (?:by|outside) (?:crawl[.])?([\w-]+)", line)
    assert tuple(name for _, name in found) == CUT_BY, line
    assert all(int(number.replace(",", "")) for number, _ in found)
    denied = next(int(number.replace(",", "")) for number, name in found if name == "deny")
    assert 46_000 < denied < 54_000  # of 50,000 URLs: "about", within four standard errors


def test_records_are_bounded(crawled: Crawled) -> None:
    """No message, head or title is kept whole that a server made long; what was left out is counted."""
    assert max(len(error.message) for error in crawled.errors.values()) <= MAX_MESSAGE_CHARS
    for page in crawled.pages.values():
        assert sum(len(name) + len(value) for name, value in page.headers.items()) <= MAX_HEADERS_CHARS
        assert len(page.title or "") <= MAX_TITLE_CHARS
        assert len(page.robots or ()) <= MAX_DIRECTIVES
    too_long = {path: crawled.pages[crawled.urls[path]].too_long for path in EXPECTED if path.startswith("/keep/r")}
    assert too_long == {"/keep/references": LONG_REFERENCES}


def test_busy_pages_keep_their_links(crawled: Crawled) -> None:
    """A page that is made to keep the parser busy loses tags, but neither its first link nor its last."""
    for path in busy_pages():
        page = crawled.pages[crawled.urls[path]]
        assert f"{urls.origin(page.url)}/page/leaf" in page.links, path


def test_secrets_are_not_kept(crawled: Crawled) -> None:
    """No record, log or dataset has the value of a cookie or of a login that a server sent."""
    holders = [path for path in crawled.root.rglob("*") if path.is_file() and b"secret-" in path.read_bytes()]
    assert holders == []


def test_bad_ports(crawled: Crawled) -> None:
    """No link, no redirect and no robots.txt leads to a port of another protocol."""
    bad = tuple(f"http://127.1.12.5:{port}/" for port in BAD_PORTS)
    assert [url for url in (*crawled.pages, *crawled.errors) if url.startswith(bad)] == []
    assert crawled.pages[crawled.urls["/port/location"]].redirect == "http://127.1.12.5:25/"


def test_traps_are_left(crawled: Crawled) -> None:
    """Of a site without end no more pages are stored than the limits allow."""
    stored = [url for url, page in crawled.pages.items() if page.sha256]
    hosts = {urls.host(url): 0 for url in stored}
    for url in stored:
        hosts[urls.host(url)] += 1
    assert max(hosts.values()) == PAGES_PER_HOST
    assert sum(".wild.test" in name for name in hosts) == 20
    assert max(page.depth for page in crawled.pages.values()) == 80
    deep = [path for path in map(urls_path, stored) if path.startswith("/deep-")]
    assert max(path.count("/") for path in deep) == 32
    assert {"/deep-a/a/a/a/", "/deep-xy/x/y/x/y/x/y/"} <= set(deep)
    assert max(path.count("/") for path in deep if path.startswith("/deep-a/")) == 5


def urls_path(url: str) -> str:
    return url.removeprefix(urls.origin(url))


def test_indexes_of_indexes(crawled: Crawled) -> None:
    """A sitemap index that an index names is not followed further."""
    asked = {path for _, path in crawled.asked if path.startswith("/sitemap/index/")}
    assert asked == {"/sitemap/index/0", "/sitemap/index/1", "/sitemap/index/2"}


def test_nothing_is_asked_for_twice(crawled: Crawled) -> None:
    """A page is asked for once, or as often as passing failures allow."""
    tries = {path: 0 for _, path in crawled.asked}
    for _, path in crawled.asked:
        tries[path] += 1
    # of many hosts; and redirects that are followed
    several = ("/robots.txt", "/robots.txt?again", "/sitemap/loop", "/page/leaf")
    assert {path: n for path, n in tries.items() if n > 2 and path not in several} == {}


def test_links_are_clean(crawled: Crawled) -> None:
    """A stored link is printable ASCII, http(s), and in its normal form, whatever the page had."""
    links = [link for page in crawled.pages.values() for link in page.links]
    assert [link for link in links if urls.normalise(link) != link or not (link.isascii() and link.isprintable())] == []


def test_odd_links(crawled: Crawled) -> None:
    """Dot segments end at the host's root, an encoded slash is no slash, and what is no page is no link."""
    page = crawled.pages[crawled.urls["/page/links"]]
    origin = urls.origin(page.url)
    wanted = ("/etc/passwd", "/etc/shadow", "/windows/system.ini", "/%1B[31mred", "/%E2%80%AEgnp.exe", "/abc")
    assert {origin + path for path in wanted} <= set(page.links)
    assert f"{origin}/page/..%2f..%2f..%2fetc/passwd" in page.links
    assert "http://xn--pple-43d.test/" in page.links
    assert not [link for link in page.links if "@" in link or len(link) > urls.MAX_URL_CHARS]


@pytest.mark.parametrize("how", ["header", "meta"])
def test_encodings(crawled: Crawled, how: str) -> None:
    """A page is read in the encoding that a label of the standard means, told by the header or by the page."""
    found, wanted = {}, {}
    for label in LABELS:
        page = crawled.pages[crawled.urls[f"/{how}/{label}"]]
        found[label] = page.encoding, page.title
        wanted[label] = expected_encoding(label, how)
    assert found == wanted


def expected_encoding(label: str, how: str) -> tuple[str, str | None]:
    name = webencodings.lookup(label).name
    if name == "replacement":  # not to be read, by the standard: it hides markup
        return name, None
    if how == "meta":  # what could be read is neither
        name = {"x-user-defined": "windows-1252", "utf-16le": "utf-8", "utf-16be": "utf-8"}.get(name, name)
    return name, encoded_title(label)


def test_output_is_clean(crawled: Crawled) -> None:
    """What the crawl prints, a line for each URL, has no control character but the newline."""
    text = crawled.done.out + crawled.done.err
    assert crawled.done.err.count("\n") > len(EXPECTED)
    assert {c for c in text if not c.isprintable()} == {"\n"}


def test_memory(crawled: Crawled) -> None:
    """All processes together never hold more than 400 MB."""
    assert 0 < crawled.memory.peak <= MEMORY_BYTES, crawled.memory.at_the_peak


def test_dataset(crawled: Crawled, tmp_path: Path) -> None:
    """The tree can be exported, and no cell of a CSV file begins a formula or holds a control character."""
    done = merge(crawled.root, tmp_path / "dataset", "--format", "csv", "--format", "parquet")
    assert done.code == 0, done
    assert {c for c in done.out + done.err if not c.isprintable()} <= {"\n"}
    files = sorted((tmp_path / "dataset").rglob("*.csv"))
    assert files
    csv.field_size_limit(10 * MAX_BYTES)
    for path in files:
        with path.open(newline="", encoding="utf-8") as lines:
            for row in csv.reader(lines):
                bad = [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r")) or "\x1b" in cell]
                assert not bad, (path.name, [cell[:80] for cell in bad])


# -- cases that want settings of their own


def test_chain_of_redirects(tmp_path: Path) -> None:
    """An endless chain of redirects ends after twenty of them, each a record, and with one failure."""
    found = crawl(tmp_path, "/redirect/endless/0")
    assert found.done.out.startswith("finished: "), found.done
    assert sorted(page.depth for page in found.pages.values()) == list(range(MOST_REDIRECTS))
    assert [(error.depth, error.class_) for error in found.errors.values()] == [(MOST_REDIRECTS, "redirects")]
    assert run_audit(found.root).code == 0


@pytest.mark.proof
def test_million_links(tmp_path: Path) -> None:
    """Of a page with a million links the record has the first 100,000, and says that there are more."""
    found = crawl(tmp_path, "/page/million-links", **{"fetch.max_bytes": 25_000_000})
    assert found.done.code == 0, found.done
    page = found.pages[found.urls["/page/million-links"]]
    assert (len(page.links), page.truncated) == (100_000, True)
    left_out = re.search(r"not followed  about ([\d,]+) links by crawl.deny", found.done.out)
    assert left_out is not None, found.done.out
    assert 95_000 < int(left_out[1].replace(",", "")) < 105_000
    assert run_audit(found.root).code == 0


def test_far_base(tmp_path: Path) -> None:
    """Short references under a long base do not make a record of a hundred megabytes."""
    found = crawl(tmp_path, "/page/far-base")
    sizes = [path.stat().st_size for path in (found.root / "links").rglob("*.json")]
    assert max(sizes) <= 20 * MAX_BYTES
    assert found.memory.peak <= MEMORY_BYTES


def test_large_robots_txt(tmp_path: Path) -> None:
    """Of a robots.txt of 10 MB the first 500 KiB count (RFC 9309 2.5)."""
    assert crawl(tmp_path, "/behind-robots/10-mb").outcome("/behind-robots/10-mb") == "error robots"
