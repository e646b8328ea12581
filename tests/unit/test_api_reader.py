"""`fscrawl.open`: a tree is read from Python."""

import pickle
import re
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import fscrawl
from tests.support.read_trees import HOME, grown_in
from tests.support.trees import BEGAN_S, Grown


@pytest.fixture
def grown(tmp_path):
    return grown_in(tmp_path / "tree")


def urls(pages):
    return [page.url for page in pages]


# -- opening


def test_what_is_no_tree(tmp_path):
    """A directory that is missing, or is no tree, is one error that says so."""
    for root in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(fscrawl.FscrawlError, match=f"{root}: there is no crawl here"):
            fscrawl.open(root)
    with pytest.raises(fscrawl.FscrawlError, match="root=3: must be the path of a directory"):
        fscrawl.open(3)
    with pytest.raises(fscrawl.FscrawlError, match="root is empty; name a directory"):
        fscrawl.open("")


def test_a_newer_tree(grown):
    """A tree of a newer format is refused, with what to do."""
    path = grown.root / ".fscrawl/tree.json"
    path.write_bytes(path.read_bytes().replace(b'"format":3', b'"format":4'))
    with pytest.raises(fscrawl.FscrawlError, match="the tree has format 4; this fscrawl works with format 3"):
        fscrawl.open(grown.root)


def snapshot(root: Path):
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*")}


def test_reading_changes_nothing(grown):
    """Whatever is asked of a tree, no file and no directory of it is made, changed or removed."""
    before = snapshot(grown.root)
    crawl = fscrawl.open(str(grown.root))
    for page in crawl:
        assert page.fields == {}
        assert page.text is not None
    assert len(list(crawl.failures())) == 2
    assert crawl.status().state == "new"
    assert len(list(crawl.links())) == 2
    assert crawl.to_arrow().num_rows == len(crawl) == 4
    assert len(list(crawl.records())) == 6
    assert crawl.page(HOME) is not None
    assert snapshot(grown.root) == before


# -- pages


def test_the_attributes_of_a_page(grown):
    """A page has what its record and its body say."""
    page = fscrawl.open(grown.root).page(HOME)
    record = grown.records[HOME]
    assert (page.url, page.key, page.url_host_name, page.fetch_status, page.kind) == (
        HOME,
        record.key,
        "a.example",
        200,
        "page",
    )
    assert page.headers == {"content-type": "text/html; charset=utf-8", "set-cookie": ""}
    assert (page.title, page.links, page.nofollow, page.robots) == ("Ä title", ("http://a.example/b",), (), None)
    assert page.fetch_time == datetime.fromtimestamp(BEGAN_S, UTC)
    assert (page.check_time, page.fetch_redirect, page.canonical) == (None, None, None)
    assert (page.ip, page.label, page.machine, page.depth) == ("192.0.2.1", "task", "m-1-aa", 1)
    assert (page.referrer, page.elapsed, page.content_mime_type, page.content_charset) == (
        "0b" * 12,
        0.25,
        "text/html",
        "utf-8",
    )
    assert (page.bytes, page.sha256) == (record.bytes, record.sha256)
    assert (page.method, page.request_body, page.outlinks, page.noindex) == ("GET", None, 1, False)
    assert (page.body, page.file, page.rendered_html) == (None, None, None)
    assert page.html == grown.bodies[HOME]
    assert page.markup == grown.bodies[HOME].decode()
    assert page.text.split() == ["one", "twob"]
    assert page.css("p.x::text") == ["one", "two"]
    assert page.xpath("//a/@href") == ["/b"]
    assert [node.text() for node in page.tree.css("a")] == ["b"]
    assert repr(page) == "<fscrawl.Page http://a.example/>"


def test_pages_without_a_body(grown):
    """A redirect and another media type are records of the tree, and no pages: they have nothing that needs a body."""
    crawl = fscrawl.open(grown.root)
    redirect, paper = crawl.record("http://a.example/old"), crawl.record("http://a.example/paper")
    assert (redirect.kind, redirect.fetch_redirect, redirect.fetch_status) == ("redirect", HOME, 301)
    assert (paper.kind, paper.content_mime_type) == ("other", "application/pdf")
    for page in (redirect, paper):
        assert (page.body, page.html, page.text, page.file, page.sha256, page.fields) == (None,) * 5 + ({},)
        assert page.css("p") == []
        assert crawl.page(page.url) is None
        assert page.url not in urls(crawl.pages())
        assert page.url in urls(crawl.records())


def test_documents(grown):
    """JSON is text and can be looked into; a PDF that is none is bytes only."""
    body = '{"items": [{"n": "é"}]}'.encode()
    for url, type_, file in (("j", "application/json", "json"), ("p", "application/pdf", "pdf")):
        grown.page(HOME + url, body, headers={"content-type": type_}, file=file, encoding=None, title=None, links=())
    crawl = fscrawl.open(grown.root)
    found, pdf = crawl.page(HOME + "j"), crawl.page(HOME + "p")
    assert found.json() == {"items": [{"n": "é"}]}
    assert found.json("$.items[*].n") == ["é"]
    assert found.markup == found.text == body.decode()
    assert found.body == body
    assert (pdf.body, pdf.markup, pdf.text) == (body, None, None)
    assert found.file.startswith("files/a.example/")
    for wrong, said in (
        (lambda: pdf.css("p["), "css('p['): its brackets or quotes do not match"),
        (lambda: pdf.json("$["), "json('$['): "),
        (lambda: pdf.xpath("//["), "xpath('//['): Invalid expression"),
        (lambda: crawl.page(HOME).json(), "json(): the body is no JSON: Expecting value: line 1 column 1"),
    ):
        with pytest.raises(fscrawl.FscrawlError) as caught:
            wrong()
        assert str(caught.value).startswith(HOME)
        assert said in str(caught.value)


def test_other_encodings(grown):
    """A page is decoded as its record says."""
    grown.page(HOME + "l", "<meta charset=windows-1252><p>déjà vu".encode("windows-1252"))
    grown.page(HOME + "b", b"\xef\xbb\xbf<p>bom")
    crawl = fscrawl.open(grown.root)
    assert "déjà vu" in crawl.page(HOME + "l").markup
    assert crawl.page(HOME + "l").text == "déjà vu"
    assert crawl.page(HOME + "b").markup == "<p>bom"


def test_a_rendered_page(grown):
    """Of a page whose scripts were run, all but the body is what they have made."""
    grown.rendered(HOME + "r", b"<p>before", b"<title>t</title><p>after")
    page = fscrawl.open(grown.root).page(HOME + "r")
    assert (page.html, page.text) == (b"<p>before", "after")
    assert page.rendered_html.decode() == page.markup
    assert "after" in page.markup
    assert page.css("p") == ["after"]


def test_queries_of_a_rendered_page(grown):
    """A DOM is in UTF-8, and queries of its links are in the encoding of the page."""
    grown.rendered(HOME + "q", b"<p>", '<a href="/s?q=é">s</a>'.encode(), encoding="windows-1252")
    assert fscrawl.open(grown.root).page(HOME + "q").answer.links == (HOME + "s?q=%E9",)


def test_fields(grown):
    """The rules of [[site]] in crawl.toml give a page's fields."""
    (grown.root / "crawl.toml").write_text("[[site]]\nhosts = ['a.example']\nfields = {first = 'css:p.x'}\n")
    assert fscrawl.open(grown.root).page(HOME).fields == {"first": "one"}


def test_a_site_file_reads_pages(grown):
    """The methods of a site file take the page's answer."""

    class Site(fscrawl.Site):
        def fields(self, page):
            return {"first": page.css("p.x")[0]}

    assert Site().fields(fscrawl.open(grown.root).page(HOME).answer) == {"first": "one"}


def test_one_page(grown):
    """A page is found by its URL in any spelling, and by its key; what is not stored is None."""
    crawl = fscrawl.open(grown.root)
    for spelling in ("HTTP://A.example", "a.example/", grown.records[HOME].key):
        assert crawl.page(spelling).url == HOME
    for missing in ("http://a.example/gone", "http://nowhere.example/", "0c" * 12):
        assert crawl.page(missing) is None
    for wrong in ("some words", 3, None):
        with pytest.raises(fscrawl.FscrawlError, match="must be a URL"):
            crawl.page(wrong)


# -- filters


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("a.example", 4),
        ("A.example.", 4),
        ("a.example:8080", 1),
        ("a.example_8080", 1),
        ("http://a.example:8080/any", 1),
        ("*.a.example", 1),
        ("bücher.example", 1),
        (["a.example:8080", "bücher.example"], 2),
        ("c.example", 0),
    ],
)
def test_host(grown, host, found):
    """A host is meant in each form that commands take, without a port with any, with a port that one."""
    assert len(list(fscrawl.open(grown.root).records(host=host))) == found


NOON = datetime.fromtimestamp(BEGAN_S + 2, UTC)


@pytest.mark.parametrize(
    ("since", "found"),
    [
        (NOON, 4),
        (NOON.replace(tzinfo=None), 4),
        (NOON.astimezone(timezone(timedelta(hours=5))), 4),
        (NOON.isoformat(), 4),
        (NOON.replace(tzinfo=None).isoformat(), 4),
        (date(2020, 1, 1), 6),
        (date(2100, 1, 1), 0),
        ("2100-01-01", 0),
        (timedelta(days=36_500), 6),
        ("1s", 0),
    ],
)
def test_since(grown, since, found):
    """Times without a zone are in UTC, whatever the zone of this computer is."""
    assert len(list(fscrawl.open(grown.root).records(since=since))) == found


@pytest.mark.parametrize(
    "arguments",
    [
        {"host": "two words"},
        {"host": 3},
        {"host": [3]},
        {"host": []},
        {"since": "yesterday"},
        {"since": 3},
        {"since": timedelta(days=999_999_999)},
        {"where": "status == 200"},
        {"shard": (2, 2)},
        {"shard": 1},
        {"shard": ()},
        {"shard": [(0, 2), (1, 2)]},
    ],
)
def test_wrong_arguments(grown, arguments):
    """A wrong argument is named, with its value, at once and not at the first page."""
    [(name, _)] = arguments.items()
    with pytest.raises(fscrawl.FscrawlError, match=f"^{name}="):
        fscrawl.open(grown.root).pages(**arguments)


@pytest.mark.parametrize("give", ["rows", "to_arrow", "to_pandas"])
@pytest.mark.parametrize("arguments", [{"columns": 3}, {"where": "status == 200"}, {"host": 3}, {"shard": 1}])
def test_wrong_arguments_of_rows(grown, give, arguments):
    """So it is with rows and tables."""
    [(name, _)] = arguments.items()
    with pytest.raises(fscrawl.FscrawlError, match=f"^{name}="):
        getattr(fscrawl.open(grown.root), give)(**arguments)


@pytest.mark.parametrize("path", ["a\0b", "~", Path("~/tree")])
def test_paths_that_are_none(path):
    """No file has a zero byte in its path, and only a shell replaces ~: an error names the argument and its value."""
    with pytest.raises(fscrawl.FscrawlError, match=f"^root={re.escape(repr(str(path)))}: "):
        fscrawl.open(path)


@pytest.mark.parametrize(("method", "asked"), [("css", 3), ("css", None), ("xpath", 3), ("json", 3)])
def test_selectors_that_are_no_texts(grown, method, asked):
    """What is no text is no selector."""
    page = fscrawl.open(grown.root).page(HOME)
    with pytest.raises(fscrawl.FscrawlError, match=rf"{method}\({asked}\): must be a text"):
        getattr(page, method)(asked)


def test_where(grown):
    """`where` is asked for each page that the other filters take; what it raises is not caught."""
    crawl = fscrawl.open(grown.root)
    assert urls(crawl.pages(where=lambda page: "two" in (page.text or ""))) == [HOME]
    assert urls(crawl.records("a.example", where=lambda page: page.fetch_redirect)) == ["http://a.example/old"]
    with pytest.raises(ZeroDivisionError):
        list(crawl.pages(where=lambda page: 1 / 0))


def test_shards(grown):
    """The parts have all pages together, and none twice; a page stays in its part when others come."""
    grown.many(2, 20)
    crawl = fscrawl.open(grown.root)
    before = [set(urls(crawl.pages(shard=(number, 3)))) for number in range(3)]
    assert sum(map(len, before)) == len(set().union(*before)) == len(crawl)
    assert min(map(len, before)) > 5
    grown.many(4, 20)
    assert before[1] < set(urls(crawl.pages(shard=(1, 3))))


def test_in(grown):
    """`in` asks for a page as `page` does. Without its method, Python compares each page with the text, and says no."""
    crawl = fscrawl.open(grown.root)
    page = next(crawl.pages())
    assert page.url in crawl
    assert page.key in crawl
    assert page in crawl
    assert "https://nowhere.example/" not in crawl
    with pytest.raises(fscrawl.FscrawlError, match="must be a URL"):
        assert 7 not in crawl


def test_order_and_iterators(grown):
    """Pages come sorted by host directory and key; two iterators of one crawl do not disturb each other."""
    crawl = fscrawl.open(grown.root)
    first, second = crawl.pages(), crawl.pages()
    together = [(one.url, other.url) for one, other in zip(first, second, strict=True)]
    assert all(one == other for one, other in together)
    names = [page.key for page in crawl.pages("sub.a.example")]
    assert names == sorted(names)
    pages = crawl.pages()
    assert [next(pages).url, *urls(pages)] == [one for one, _ in together]
    with crawl.pages() as some:
        next(some)
    assert list(some) == []


def test_two_crawls_in_threads(grown, tmp_path):
    """Two trees are read at the same time by several threads."""
    other = Grown(tmp_path / "other")
    other.many(2, 20)
    crawls = [fscrawl.open(grown.root), fscrawl.open(other.root)]
    found: list[int] = []

    def read(crawl):
        found.append(sum(1 for page in crawl.pages() if page.html))

    threads = [threading.Thread(target=read, args=[crawls[number % 2]]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(found) == [4, 4, 4, 40, 40, 40]


def test_pickling(grown):
    """A crawl can be sent to another process: it is opened there."""
    crawl = pickle.loads(pickle.dumps(fscrawl.open(grown.root)))
    assert len(urls(crawl.pages())) == 4
    assert repr(crawl) == f"fscrawl.open({str(grown.root)!r})"
    assert crawl.root == grown.root


# -- failures, links, status


def test_failures(grown):
    """Failures are those of URLs that are not stored; one that is torn is left out."""
    crawl = fscrawl.open(grown.root)
    gone, slow = sorted(crawl.failures(), key=lambda each: each.url)
    assert (gone.url, gone.class_, gone.fetch_status, gone.attempts) == ("http://a.example/gone", "http-4xx", 404, 3)
    assert gone.fetch_time == datetime.fromtimestamp(BEGAN_S, UTC)
    assert (slow.class_, slow.fetch_status, slow.headers, slow.referrer) == ("timeout", None, {}, None)
    assert [each.url for each in crawl.failures(host="b.example")] == ["http://b.example/slow"]
    assert list(crawl.failures(since="2100-01-01")) == []
    grown.page("http://a.example/gone")
    grown.file("errs", "http://b.example/slow").write_bytes(b"{")
    assert list(crawl.failures()) == []


def test_links(grown):
    """Links are those of records; the target of a redirect is told apart."""
    found = list(fscrawl.open(grown.root).links(host="a.example"))
    assert fscrawl.Link(HOME, "http://a.example/b") in found
    assert fscrawl.Link("http://a.example/old", HOME, redirect=True) in found


def test_status(grown):
    """The status is that of the heartbeats: no machine was here, whatever is stored."""
    found = fscrawl.open(grown.root).status()
    assert (found.state, found.machines, found.pages, found.errors) == ("new", 0, 0, {})
    assert found.free_bytes > 0
