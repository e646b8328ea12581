"""What the report says of a tree, and that nothing from the web gets out of its place in it."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import html5lib
import pytest

from fscrawl import cli, store, urls
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet.leases import Machinery
from fscrawl.monitor import report
from fscrawl.monitor.report import timeline as timeline_module
from fscrawl.monitor.report.timeline import EDGES, timeline_of
from fscrawl.request import Request, spelling
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree
from tests.support.beats import Logs
from tests.support.documents import HOSTILE, tags
from tests.support.trees import Grown


def made(root: Path) -> report.Report:
    """Gather a report as the command does."""
    warned: list[str] = []
    found = report.gather(Tree(root, "observer-1-aa"), warned.append)
    assert warned == []
    return found


def parsed(text: str) -> ET.Element:
    """Read HTML as a browser does; it must be without a parse error."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    document = parser.parse(text)
    assert parser.errors == []
    return document


def told(document: ET.Element) -> str:
    return " ".join("".join(document.itertext()).split())


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    """A tree of three hosts with pages of all kinds, failures, and the log of two machines."""
    tree = Grown(tmp_path / "tree")
    for number in range(6):
        tree.page(f"http://a.example/{number}", b"<title>Same</title>same", depth=number % 3, elapsed=0.5)
    tree.page(
        "http://b.example/", b"<title>B</title><a href=1>x</a><a href=2>y</a>" + b"." * 5000, depth=0, elapsed=2.5
    )
    tree.page("http://b.example/empty", b"", sha256="", elapsed=0.1)
    tree.redirect("http://b.example/old", "http://b.example/", 301)
    tree.redirect("http://b.example/out", "http://c.example/x", 302)
    tree.skipped("http://b.example/x.pdf")
    tree.fail("http://c.example/x")
    for number in range(5):
        tree.fail(f"http://b.example/gone{number}", "timeout", None)
    logs = tree.root / ".fscrawl" / "machines"
    helper = Logs(tmp_path / "other")
    lines = [helper.beat(10 * n, pages=n, bytes=100 * n, errors={"timeout": n}, pending=9) for n in range(1, 7)]
    helper.write("m-1-aa", [*lines, helper.bye(60, pages=8, bytes=700, errors={"timeout": 6})])
    helper.write("m-2-bb", lines[:3])
    for path in helper.path("m-1-aa").parent.iterdir():
        path.rename(logs / path.name)
    return tree


# -- sums


def test_records_are_summed_up(grown: Grown) -> None:
    """Pages, redirects, other types, bytes, depths, statuses, types and links are those of the records."""
    found = made(grown.root)
    sums = found.totals
    assert sums.kinds == {"page": 8, "redirect": 2, "other": 1}
    assert sums.bytes == sum(record.bytes for record in grown.records.values())
    assert sums.links == sum(len(record.links) for record in grown.records.values())
    assert sums.statuses == {200: 9, 301: 1, 302: 1}
    assert sums.types == {"text/html": 10, "application/pdf": 1}
    assert sums.reasons == {"type application/pdf": 1}
    assert sums.depths == {0: 3, 1: 6, 2: 2}
    assert (sums.redirects, sums.elsewhere, sums.targets) == ({301: 1, 302: 1}, 1, {"c.example": 1})
    assert sums.sizes[0] == 1
    assert (sums.first, sums.last) == (
        min(r.fetched_at for r in grown.records.values()),
        max(r.fetched_at for r in grown.records.values()),
    )


def test_hosts_are_summed_up(grown: Grown) -> None:
    """Of each host there is how many pages, bytes and errors it has, and how long it takes to answer."""
    hosts = made(grown.root).totals.hosts
    assert {name: (h.pages, h.errors, h.records) for name, h in hosts.items()} == {
        "a.example": (6, 0, 6),
        "b.example": (2, 5, 5),
        "c.example": (0, 1, 0),
    }
    assert hosts["a.example"].elapsed_s == pytest.approx(3.0)
    assert hosts["b.example"].slowest_s == 2.5


def test_failures_are_summed_up_with_examples(grown: Grown) -> None:
    """Failures are counted by class, with the first three of each."""
    sums = made(grown.root).totals
    assert sums.errors == {"http-4xx": 1, "timeout": 5}
    assert {name: len(shown) for name, shown in sums.examples.items()} == {"http-4xx": 1, "timeout": 3}


def test_duplicates_are_found_by_their_bodies(grown: Grown) -> None:
    """Pages of one body are duplicates of each other, and one of them is named; empty bodies are not."""
    found = made(grown.root)
    assert (found.same_pages, found.same_bodies) == (6, 1)
    [(duplicate, fact)] = found.shown
    assert duplicate.pages == 6
    assert (fact.url in grown.records, fact.title) == (True, "Same")


def test_torn_records_are_warned_of_and_counted(grown: Grown) -> None:
    """A record or a failure that is torn is warned of, counted as unreadable, and the rest is reported."""
    grown.file("links", "http://b.example/").write_bytes(b'{"url":')
    grown.file("errs", "http://c.example/x").write_bytes(b"")
    warned: list[str] = []
    found = report.gather(Tree(grown.root, "o"), warned.append)
    assert (found.totals.unreadable, len(warned)) == (2, 2)
    assert all("fscrawl audit" in text for text in warned)
    assert "2 records could not be read" in report.render(found)


def test_what_goes_away_meanwhile_is_left_out(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that healed, and a duplicate's page that was removed, between listing and reading, are left out."""
    listed = Tree.keys
    page, asked = Tree.page, Counter()

    def keys(self: Tree, room: str, host: str) -> list[str]:
        return [*listed(self, room, host), "f" * 24]

    def gone(self: Tree, host: str, key: str):
        asked[host, key] += 1
        if asked[host, key] > 1:
            raise TreeError("removed")
        return page(self, host, key)

    monkeypatch.setattr(Tree, "keys", keys)
    monkeypatch.setattr(Tree, "page", gone)
    found = made(grown.root)
    assert (found.totals.kinds.total(), found.totals.errors.total(), found.totals.unreadable) == (11, 6, 0)
    assert (found.same_pages, found.shown) == (6, [])
    assert "6 pages share 1 bodies" in report.render(found)


@pytest.mark.parametrize(("faults", "fails"), [(2, False), (3, True)])
def test_a_stale_handle_is_tried_again(grown: Grown, monkeypatch: pytest.MonkeyPatch, faults: int, fails: bool) -> None:
    """A passing fault is tried again twice; then the report ends with it, and so with any other fault at once."""
    page, asked = Tree.page, Counter()

    def stale(self: Tree, host: str, key: str):
        asked[key] += 1
        if asked[key] <= faults:
            raise TreeBusyError("stale")
        return page(self, host, key)

    monkeypatch.setattr(Tree, "page", stale)
    if fails:
        with pytest.raises(TreeBusyError):
            made(grown.root)
    else:
        assert made(grown.root).totals.kinds.total() == 11


# -- over time


def test_a_timeline_is_of_all_machines(grown: Grown) -> None:
    """Curves go from the first hello to the last goodbye, and sum what each machine had by then."""
    timeline = timeline_of(Machinery(Tree(grown.root, "o")))
    assert [machine.name for machine in timeline.machines] == ["m-1-aa", "m-2-bb"]
    assert len(timeline.edges) == EDGES
    assert timeline.edges[-1] - timeline.edges[0] == pytest.approx(60)
    pages = timeline.of("pages")
    assert (pages[0][1], pages[90][1], pages[-1][1]) == (0, pytest.approx(6), pytest.approx(11))
    assert timeline.of("errors")[-1][1] == pytest.approx(9)
    assert timeline.of("pending")[-1][1] == 0
    speed = timeline.speed("pages")
    assert len(speed) == EDGES - 1
    assert speed[30][1] == pytest.approx(0.2)
    assert sum(point.value for point in speed) / 3 == pytest.approx(11)


def test_a_long_log_is_read_at_some_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log of weeks some MiB are read, and the curves are those of the whole log."""
    monkeypatch.setattr(timeline_module, "_SAMPLE_BYTES", 2000)
    logs, beats = Logs(tmp_path / "tree"), 5000
    logs.write("m-1-aa", [logs.beat(60 * n, pages=n, pending=5, state="x" * 300) for n in range(beats)])
    logs.write("m-1-aa", [logs.bye(60 * beats, pages=beats)])
    read, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *args: read.append(pread(*args)) or read[-1])
    timeline = timeline_of(Machinery(Tree(logs.root, "o")))
    assert sum(map(len, read)) < logs.path("m-1-aa").stat().st_size / 2
    pages = timeline.of("pages")
    assert [point.value for point in pages] == pytest.approx([beats * n / (EDGES - 1) for n in range(EDGES)], abs=1)
    assert pages[-1].value == beats
    assert timeline.of("pending")[90].value == 5


# -- the file


def test_the_file_needs_nothing_else(grown: Grown) -> None:
    """The file has no script, no picture, no link to a resource; a policy says so to the browser; ids are unique."""
    text = report.render(made(grown.root))
    document = parsed(text)
    assert not set(tags(document)) & {"script", "img", "link", "iframe", "object", "embed", "base", "form"}
    assert "url(" not in text
    assert "@import" not in text
    policy = next(each for each in document.iter("meta") if each.get("http-equiv"))
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    ids = [each.get("id") for each in document.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    for each in document.iter():
        assert not [name for name in each.attrib if str(name).startswith("on")]


def test_every_section_is_there(grown: Grown) -> None:
    """A crawl of all kinds has all sections, a plot in each where one says more than a table."""
    document = parsed(report.render(made(grown.root)))
    assert [each.text for each in document.iter("h2")] == [
        *("Over time", "Hosts", "Depth", "Answers", "Sizes", "Failures", "Redirects", "Duplicates", "Slow answers"),
        "Machines",
    ]
    assert tags(document)["svg"] == 17
    said = told(document)
    for text in (
        "2 redirects, 1 of them to another host.",
        "5 pages have the body of another page; 6 pages share 1 bodies.",
        "the exchange took longer than",
        "no goodbye",
        "http://b.example/gone",
    ):
        assert text in said


def test_hosts_are_written_as_people_write_them(tmp_path: Path) -> None:
    """A host with a port has its colon, in all tables and plots; of one page there are no "pages"."""
    tree = Grown(tmp_path / "tree")
    for number in range(3):
        tree.page(f"http://127.0.0.1:8614/{number}", b"x", elapsed=1.0)
    tree.redirect("http://127.0.0.1:8614/out", "http://a_b.example:81/")
    text = report.render(made(tree.root))
    assert "127.0.0.1:8614" in text
    assert "127.0.0.1_8614" not in text
    assert "a_b.example:81" in told(parsed(text))
    assert "1 of 1 host" in told(parsed(text))
    assert "1 redirect," in text


def test_a_tree_of_nothing_has_a_report(tmp_path: Path) -> None:
    """A tree without pages, failures and machines makes a file that says so, with no section that is empty."""
    root = tmp_path / "t"
    store.create(root, TreeRecord(2, "c1", "t", 16, "host", "0" * 32), "", "http://a.example/\n")
    document = parsed(report.render(made(root)))
    assert [each.text for each in document.iter("h2")] == []
    assert "Crawl c1" in told(document)


def test_failures_alone_have_a_report(tmp_path: Path) -> None:
    """A crawl that only failed shows its hosts and its errors."""
    tree = Grown(tmp_path / "t")
    tree.fail("http://a.example/")
    document = parsed(report.render(made(tree.root)))
    assert [each.text for each in document.iter("h2")] == ["Hosts", "Failures"]


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_deep_and_wide_crawls_keep_the_report_short(tmp_path: Path, pages: int) -> None:
    """However deep the crawl and however many its hosts and machines' hours, plots and tables have an end."""
    tree = Grown(tmp_path / "t")
    for number in range(40):
        tree.page(f"http://h{number}.example/", depth=number, title="t" * 5000)
        tree.fail(f"http://h{number}.example/x", message="m" * 5000)
    logs = Logs(tmp_path / "o")
    days = (0.001, 0.5, 30)[pages]
    logs.write("m", [logs.beat(days * 86_400 * part, pages=part) for part in (0.5, 1)])
    logs.path("m").rename(tree.root / ".fscrawl" / "machines" / "m.log")
    text = report.render(made(tree.root))
    assert len(text) < 120_000
    assert "deeper: 16" in told(parsed(text))


def test_nothing_hostile_gets_out_of_its_place(grown: Grown) -> None:
    """Titles, hosts, types, header values, classes, messages, reasons and machines of markup are shown as text."""
    clean = tags(parsed(report.render(made(grown.root))))
    shape = {name: clean[name] for name in ("script", "img", "svg", "section", "table", "h2", "html", "title", "meta")}
    hostile = {"title": HOSTILE, "headers": {"content-type": HOSTILE.replace(";", "")}, "fetched_at": HOSTILE}
    for number in range(6):
        grown.page(f"http://a.example/{number}", b"<title>Same</title>same", **hostile)
    grown.redirect("http://b.example/out", f"javascript:{HOSTILE}")
    grown.skipped("http://b.example/x.pdf", f"type {HOSTILE}", headers=hostile["headers"])
    grown.fail("http://c.example/x", HOSTILE, None, message=HOSTILE, machine=HOSTILE)
    grown.fail("http://b.example/gone0", "timeout", None, message=HOSTILE)
    directory = grown.root / "links" / "<b onclick=alert(3)>.example"
    directory.mkdir()
    source = grown.file("links", "http://b.example/").read_bytes()
    bad_url = source.replace(b'"url":"http://b.example/"', b'"url":"javascript:alert(4)//' + b"<script>" + b'"')
    assert bad_url != source
    (directory / f"{'e' * 24}.json").write_bytes(bad_url)
    (directory / f"{'f' * 24}.json").write_bytes(bad_url)
    logs = Logs(grown.root.parent / "third")
    logs.write("m", [logs.bye(30, pages=3, errors={HOSTILE: 2})])
    logs.path("m").rename(grown.root / ".fscrawl" / "machines" / "<script>.log")
    text = report.render(made(grown.root))
    document = parsed(text)
    after = tags(document)
    assert {name: after[name] for name in shape} == {**shape, "title": after["title"]}
    assert not set(text) & {"\x00", "\x1b", "\u202e"}
    for each in document.iter():
        assert not [name for name in each.attrib if str(name).startswith("on")]
    assert {each.get("href", "").split(":")[0] for each in document.iter("a")} == {"http"}
    assert "<script>alert(1)</script>" in told(document)


# -- the command


def run(root: Path, out: Path) -> int:
    return cli.main(["report", "--root", str(root), "--out", str(out)])


@pytest.mark.parametrize(
    "place", ["links/x.html", "htmls/a.example/x", ".fscrawl/x", "crawl.toml", "seeds.txt", "STOP"]
)
def test_the_crawls_own_files_are_no_place(
    grown: Grown, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """No report is written over settings or seeds, nor into the rooms, also through a link; beside them it may lie."""
    (tmp_path / "alias").symlink_to(grown.root)
    (grown.root / ".fscrawl").mkdir(exist_ok=True)
    for root in (grown.root, tmp_path / "alias"):
        before = {path: path.read_bytes() for path in grown.root.rglob("*") if path.is_file()}
        assert run(grown.root, root / place) == 2
        assert "has its own files there" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in grown.root.rglob("*") if path.is_file()} == before
    assert run(grown.root, grown.root / "report.html") == 0


def test_the_command_writes_one_file(grown: Grown, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the file, replaces an older one, says where it is, and changes nothing in the tree."""
    before = {path: path.read_bytes() for path in grown.root.rglob("*") if path.is_file()}
    out = tmp_path / "out" / "report.html"
    out.parent.mkdir()
    for _ in range(2):
        assert run(grown.root, out) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.rpartition(", in ")[0] for line in said] == 2 * [f"{out}: 8 pages of 3 hosts, 6 failures"]
    parsed(out.read_text(encoding="utf-8"))
    assert list(out.parent.iterdir()) == [out]
    (tmp_path / "link").symlink_to(out)
    assert run(grown.root, tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink()
    assert {path: path.read_bytes() for path in grown.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("out", ["", "missing/report.html", "fifo", "link", "a" * 300])
def test_a_place_that_is_none_is_said_before_anything_is_read(
    grown: Grown, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    """A directory, a file in none, what is no file, such as a device, and a name that is too long are one line."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    assert run(grown.root, tmp_path / out) == (75 if len(out) > 255 else 2)
    assert re.match(f"fscrawl: (--out )?{tmp_path / out}: .*\n$", capsys.readouterr().err)
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_every_url_of_the_examples_is_one_of_the_tree(grown: Grown) -> None:
    """Links lead to pages and failures of the tree, and nowhere else."""
    document = parsed(report.render(made(grown.root)))
    assert {each.get("href") for each in document.iter("a")} <= {*grown.records, *grown.failures}
    assert not re.search(r"https?://(?!www\.w3\.org)", report.page.STYLE)
    assert urls.key("http://a.example/0") == grown.records["http://a.example/0"].key


def test_requests_are_no_links(grown: Grown) -> None:
    """A request is shown as people read it, and not as a link, which would send another one."""
    asked = spelling(Request("http://a.example/search", form={"q": "<b>"}))
    grown.page(asked, b"<p>" + b"." * 9000)
    document = parsed(report.render(made(grown.root)))
    assert "POST http://a.example/search q=%3Cb%3E" in told(document)
    assert all("#" not in each.get("href", "") for each in document.iter("a"))
