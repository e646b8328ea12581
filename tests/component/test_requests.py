"""Crawls whose seeds are requests: what is sent, what stays after a kill, and what all commands make of the tree."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from fscrawl import cli, urls
from fscrawl.config.seeds import line_of
from fscrawl.request import FORM, Request, is_spelling, spelling
from fscrawl.storage.records import PageRecord
from tests.support.crawling import Running, check_tree, command, crawl, errors, events, fscrawl, lines_of, pages
from tests.support.web import HTML, Response, Web
from tests.support.web import Request as Asked

A, B = "127.0.47.1", "127.0.47.2"
DAYS = 40
EXACT = (
    "url",
    "method",
    "request_body",
    "key",
    "depth",
    "referrer",
    "fetch_status",
    "fetch_redirect",
    "sha256",
    "text",
)
Shown = dict[str, Any]


def search(asked: Asked) -> Response:
    """A search by day, whose answers lead to documents; a form that redirects; what fails once; what is private."""
    body = asked.body.decode()
    if asked.path == "/robots.txt":
        return Response(200, {}, b"User-agent: *\nDisallow: /private\n")
    if asked.path == "/search" and asked.method == "POST":
        day = int(body.removeprefix("day="))
        links = "".join(f'<a href="/document/{day * 3 + n}">{n}</a>' for n in range(3))
        return Response(200, HTML, f"<title>Day {day}</title><p>{body} {links}".encode())
    if asked.path.startswith(("/document/", "/found")):
        return Response(200, HTML, f"<title>{asked.path}</title><p>{asked.method} {asked.path} {body}".encode())
    if asked.path.startswith("/to/"):
        return Response(int(asked.path[4:7]), {"Location": f"/found?{asked.path[4:7]}"})
    return Response(404, HTML)


def slow_search(asked: Asked) -> Response:
    answer = search(asked)
    return Response(answer.status, answer.headers, answer.body, 0.02)


def seeds_file(place: Path, web: Web) -> Path:
    path = place / "requests.txt"
    path.write_text("".join(f"POST {web.url(A, '/search')} day={day}   # a day\n" for day in range(DAYS)))
    return path


def posted(web: Web, path: str, body: str, host: str = A) -> str:
    return spelling(Request(web.url(host, path), "POST", FORM, body.encode()))


def rows(place: Path, root: Path, table: str = "pages") -> list[dict[str, Any]]:
    """Give the rows of a dataset of the tree, in a fixed order."""
    out = place / f"dataset-{root.name}"
    if not out.exists():
        done = fscrawl("merge", "--root", str(root), "--out", str(out), "--keep-noindex", "--format", "jsonl")
        assert done.code == 0, done
    lines = [line for path in sorted(out.glob(f"jsonl/{table}/*.gz")) for line in lines_of(_text_of(path))]
    return sorted((json.loads(line) for line in lines), key=str)


def _text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


# -- killed and completed


@pytest.mark.gate
def test_a_killed_crawl_is_completed(tmp_path: Path) -> None:
    """A crawl of POSTs that is killed in the middle is completed by the next one, to the dataset of one undisturbed."""
    settings = {"crawl.scope": "host", "fleet.beat": 2, "fleet.dead_after": 8, "politeness.per_host": 2}
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with Web(slow_search, [A]) as web:
        flags = ["--seeds", str(seeds_file(tmp_path, web))]
        with Running(command(killed, "--quiet", *flags, settings=settings)) as running:
            running.until(lambda: web.count(path="/search") > DAYS // 2, "half of the requests")
            running.signal(signal.SIGKILL, group=True)
            running.wait()
        check_tree(killed, whole=False)
        assert 0 < len(pages(killed)) < 4 * DAYS
        done = crawl(killed, *flags, settings=settings)
        assert done.code == 0, done
        sent = Counter(exchange.body for exchange in web.requests(path="/search"))
        done = crawl(whole, *flags, settings=settings)
        assert done.code == 0, done
        wanted = {posted(web, "/search", f"day={day}") for day in range(DAYS)}
    wanted |= {web.url(A, f"/document/{number}") for number in range(3 * DAYS)}
    for root in (killed, whole):
        assert set(pages(root)) == wanted
        assert errors(root) == {}
        check_tree(root)
        assert cli.main(["audit", "--root", str(root)]) == 0
    in_flight = 2 * 4  # workers and threads
    assert sum(sent.values()) - DAYS <= in_flight
    of_killed, of_whole = (
        [{name: row.get(name) for name in EXACT} for row in rows(tmp_path, each)] for each in (killed, whole)
    )
    assert of_killed == of_whole


# -- one tree, all commands


class Crawled:
    """A tree whose seeds were requests of all kinds, and what its crawl said."""

    def __init__(self, place: Path, web: Web) -> None:
        self.place, self.root, self.web = place, place / "tree", web
        self.search = posted(web, "/search", "day=1")
        self.json = spelling(Request(web.url(A, "/found?j"), json={"page": [1]}))
        self.see_other, self.again = posted(web, "/to/303", "q=1"), posted(web, "/to/307", "q=1")
        self.private, self.gone = posted(web, "/private", "q=1"), posted(web, "/gone", "q=1")
        self.sent = [self.search, posted(web, "/search", "day=2"), self.json, self.see_other, self.again]
        seeds = [line_of(each) for each in (*self.sent, self.private, self.gone)]
        self.done = crawl(self.root, "--verbose", "--log-json", seeds=seeds, settings={"crawl.scope": "host"})
        assert self.done.code == 0, self.done


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    with Web(search, [A]) as web:
        return Crawled(tmp_path_factory.mktemp("requests"), web)


@pytest.fixture
def copied(crawled: Crawled, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled.root, tmp_path / "tree"))


def test_what_is_stored(crawled: Crawled) -> None:
    """Each request is a page; a 303 leads to a GET, a 307 to the same POST; what fails or is forbidden is an error."""
    web, found = crawled.web, pages(crawled.root)
    documents = {web.url(A, f"/document/{number}") for number in range(3, 9)}
    get, post = web.url(A, "/found?303"), posted(web, "/found?307", "q=1")
    assert set(found) == {*crawled.sent, *documents, get, post}
    assert (found[crawled.see_other].redirect, found[crawled.again].redirect) == (get, post)
    assert {url: error.class_ for url, error in errors(crawled.root).items()} == {
        crawled.private: "robots",
        crawled.gone: "http-4xx",
    }
    sent = [(e.method, e.body) for e in web.requests(path="/found?307")]
    assert sent == [("POST", b"q=1")]
    assert web.count(path="/private") == 0
    check_tree(crawled.root)


def test_seeds_are_readable(crawled: Crawled) -> None:
    """The seeds of the command line stand in `seeds.txt` as they were given."""
    lines = (crawled.root / "seeds.txt").read_text().splitlines()[1:]
    assert lines[0] == f"POST {crawled.web.url(A, '/search')} day=1"
    assert lines[2] == f'POST {crawled.web.url(A, "/found?j")} {{"page":[1]}}'


def test_events(crawled: Crawled) -> None:
    """Events have the URL, the method and the body of a request; of a plain GET only the URL."""
    told = {
        (e["event"], e["url"], e.get("method"), e.get("request_body")) for e in events(crawled.done.err) if "url" in e
    }
    web = crawled.web
    assert ("page", web.url(A, "/search"), "POST", "day=1") in told
    assert ("page", web.url(A, "/document/3"), None, None) in told
    assert ("failed", web.url(A, "/gone"), "POST", "q=1") in told


def test_a_second_run_sends_nothing(crawled: Crawled, copied: Path) -> None:
    """What is stored is not sent again."""
    before = crawled.web.count()
    with Web(search, [A], crawled.web.port) as web:
        assert crawl(copied, "--quiet").code == 0
        assert web.count() == 0
    assert crawled.web.count() == before


def test_refresh(crawled: Crawled, copied: Path) -> None:
    """A refresh sends each request again, as it is."""
    with Web(search, [A], crawled.web.port) as web:
        assert crawl(copied, "--quiet", "--refresh", "0s").code == 0
        sent = Counter((e.method, e.body) for e in web.requests(path="/search"))
        assert sent == {("POST", b"day=1"): 1, ("POST", b"day=2"): 1}
    check_tree(copied)


def test_retry(crawled: Crawled, copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A POST that failed is sent again; another host's is not."""
    assert cli.main(["retry", "--root", str(copied), "--host", B]) == 0
    assert "no failed URL matches" in capsys.readouterr().out
    assert cli.main(["retry", "--root", str(copied), "--host", A]) == 0
    with Web(lambda asked: Response(200, HTML, asked.body), [A], crawled.web.port) as web:
        assert crawl(copied, "--quiet").code == 0
        assert [(e.method, e.path, e.body) for e in web.requests()] == [("POST", "/gone", b"q=1")]
    assert pages(copied)[crawled.gone].kind == "page"
    assert set(errors(copied)) == {crawled.private}
    check_tree(copied)


# -- show


def show(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.main(["show", "--root", str(root), *words])
    return code, capsys.readouterr().out


def test_show(crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    """A request is found as people write it, in its spelling, and by its key; it is shown readably."""
    url = crawled.web.url(A, "/search")
    ways = [["POST", url, "day=1"], [f"POST {url} day=1"], [crawled.search], [urls.key(crawled.search)]]
    (first, *others) = [show(capsys, crawled.root, *words) for words in ways]
    assert all(each == first for each in others)
    code, said = first
    assert code == 0
    assert said.splitlines()[:3] == [f"url       {url}", f"request   POST, {FORM}", "body      day=1"]
    code, said = show(capsys, crawled.root, crawled.search, "--json")
    facts = json.loads(said)
    assert facts["request"]["method"] == "POST"
    assert facts["request"]["body"] == "day=1"
    assert facts["record"]["url"] == facts["url"] == crawled.search


def test_show_what_is_not_there(crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    """What was never asked for, what robots.txt forbids, and what is no request: each has its reason."""
    url, private = crawled.web.url(A, "/search"), crawled.web.url(A, "/private")
    code, said = show(capsys, crawled.root, "POST", url, "day=7", "--inlinks")
    assert code == 1
    assert f"echo 'POST {url} day=7' >> {crawled.root}/seeds.txt" in said
    code, said = show(capsys, crawled.root, "POST", private, "q=1")
    assert "robots.txt does not allow it: Disallow: /private" in said
    code, said = show(capsys, crawled.root, "GET", url, "day=1")
    assert (code, "a GET has no body" in said) == (1, True)
    code, said = show(capsys, crawled.root, crawled.web.url(A, "/found?303"))
    assert (code, f"found on  POST {crawled.web.url(A, '/to/303')} q=1" in said) == (0, True)
    assert cli.main(["show", "--root", str(crawled.root), url, url]) == 2


# -- audit


def audit(root: Path, *flags: str) -> tuple[int, str]:
    done = fscrawl("audit", "--root", str(root), *flags)
    return done.code, done.out


def test_audit_is_clean(crawled: Crawled) -> None:
    """A tree with requests has nothing to be found."""
    assert audit(crawled.root)[0] == 0


def _plant(root: Path, url: str, directory: str = "links") -> Path:
    """Write a record whose key fits its URL, however that is spelled."""
    (source,) = list((root / directory).glob(f"*/{urls.key(next(iter(_records(root, directory))))}.json"))
    values = json.loads(source.read_bytes())
    values |= {"url": url, "key": urls.key(url)}
    path = root / directory / urls.host(url) / f"{urls.key(url)}.json"
    path.write_text(json.dumps(values, separators=(",", ":")) + "\n")
    if values.get("sha256"):
        body = root / "htmls" / source.parent.name / f"{source.stem}.html"
        shutil.copy(body, root / "htmls" / urls.host(url) / f"{urls.key(url)}.html")
    return path


def _records(root: Path, directory: str) -> list[str]:
    return sorted(pages(root) if directory == "links" else errors(root))


@pytest.mark.parametrize("directory", ["links", "errs"])
def test_planted_spellings(crawled: Crawled, copied: Path, directory: str) -> None:
    """Records whose URLs spell no request are found, stop no crawl, and are set aside by a repair."""
    fragments = ["#method=BREW", "#top", "#", "#method=POST&body=%0", "#session=1&method=GET"]
    bad = [crawled.web.url(A, f"/planted{fragment}") for fragment in fragments]
    assert not any(map(is_spelling, bad))
    paths = [_plant(copied, url, directory) for url in bad]
    code, said = audit(copied)
    assert (code, said.count("which spells no request") > 0) == (1, True)
    done = crawl(copied, "--reseed")
    assert (done.code, done.err.count("which spells no request")) == (0, len(bad))
    audit(copied, "--repair")
    for path in paths:
        assert not path.exists()
        Path(f"{path}.torn").unlink()
    assert crawl(copied, "--quiet").code == 0
    assert set(pages(copied)) == set(pages(crawled.root))


def test_planted_links(crawled: Crawled, copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Links that spell no request are not followed, and stop nobody."""
    path = next(copied.glob(f"links/*/{urls.key(crawled.search)}.json"))
    record = PageRecord.from_json(path.read_bytes())
    values = json.loads(path.read_bytes())
    values["links"] = [*record.links, f"{crawled.web.url(A, '/x')}#method=BREW", f"{crawled.web.url(A, '/y')}#top"]
    path.write_text(json.dumps(values) + "\n")
    with Web(search, [A], crawled.web.port) as web:
        assert crawl(copied, "--quiet", "--reseed").code == 0
        assert web.count() == 0
    assert audit(copied)[0] == 0
    assert len(rows(copied.parent, copied)) == len(pages(copied))


def test_planted_log(crawled: Crawled, copied: Path) -> None:
    """A damaged spelling in a log is a damaged line: the audit finds it, a repair mends it, and a crawl ends well."""
    log = next(path for path in copied.glob(".fscrawl/generations/1/log/*.log") if b"method=POST" in path.read_bytes())
    data = log.read_bytes()
    log.write_bytes(data.replace(b"#method=POST", b"#method=BREW"))
    code, said = audit(copied)
    assert (code, "log" in said) == (1, True)
    audit(copied, "--repair")
    assert crawl(copied, "--quiet").code == 0
    assert set(pages(copied)) == set(pages(crawled.root))


# -- dataset


def test_dataset(crawled: Crawled) -> None:
    """`url` is the plain URL; method and body have columns of their own, in pages, links and errors."""
    web = crawled.web
    found = {row["key"]: row for row in rows(crawled.place, crawled.root)}
    assert len(found) == len(pages(crawled.root))
    row = found[urls.key(crawled.search)]
    assert (row["url"], row["method"], row["request_body"]) == (web.url(A, "/search"), "POST", "day=1")
    plain = found[urls.key(web.url(A, "/document/3"))]
    assert (plain["method"], "request_body" in plain) == ("GET", False)
    assert found[urls.key(crawled.again)]["fetch_redirect"] == web.url(A, "/found?307")
    links = {(row["source_key"], row["target_key"]): row for row in rows(crawled.place, crawled.root, "links")}
    link = links[urls.key(crawled.again), urls.key(posted(web, "/found?307", "q=1"))]
    assert (link["source"], link["target"]) == (web.url(A, "/to/307"), web.url(A, "/found?307"))
    assert (link["target_method"], link["target_request_body"]) == ("POST", "q=1")
    failed = {row["url"]: row for row in rows(crawled.place, crawled.root, "errors")}
    assert failed[web.url(A, "/gone")]["request_body"] == "q=1"


def test_archive(crawled: Crawled, tmp_path: Path) -> None:
    """A request record has the method and the body of its request; the answer to it is beside it."""
    done = fscrawl("merge", "--root", str(crawled.root), "--out", str(tmp_path / "out"), "--format", "warc")
    assert done.code == 0, done
    (path,) = (tmp_path / "out").glob("warc/*.warc.gz")
    with path.open("rb") as file:
        found = [(r.rec_type, r.rec_headers, r.http_headers, r.raw_stream.read()) for r in ArchiveIterator(file)]
    ids = {headers.get_header("WARC-Record-ID"): kind for kind, headers, _, _ in found}
    of_all = [each for each in found if each[0] == "request"]
    assert len(of_all) == len([kind for kind in ids.values() if kind in ("response", "revisit")])
    requests = [each for each in of_all if each[2].protocol != "GET"]
    assert len(requests) == len(crawled.sent) + 1  # and what the 307 has led to
    for _, headers, _, _ in requests:
        assert ids[headers.get_header("WARC-Concurrent-To")] in ("response", "revisit")
        assert headers.get_header("Content-Type") == "application/http; msgtype=request"
        assert "#" not in headers.get_header("WARC-Target-URI")
    bodies = {(http.statusline, body) for _, _, http, body in requests}
    assert ("/search HTTP/1.1", b"day=1") in bodies
    rows = pq.read_table(tmp_path / "out" / "warc-index").to_pylist()
    assert {(row["method"], row["request_body"]) for row in rows} >= {("POST", "day=1")}


# -- seeds that are none


def test_bad_seeds(tmp_path: Path) -> None:
    """Each bad line is told once with its place, and left out; on the command line it ends the command."""
    with Web(search, [A]) as web:
        path = tmp_path / "bad.txt"
        url = web.url(A, "/search")
        path.write_text(f"POST {url} day=3\nBREW {url}\nPUT {url} {{\nPOST {url} {'a' * 9000}\n")
        done = crawl(tmp_path / "tree", "--seeds", str(path), settings={"crawl.scope": "host"})
        assert done.code == 0, done
    told = [line for line in lines_of(done.err) if line.startswith(f"{path}:")]
    assert [line.partition(": ")[0] for line in told] == [f"{path}:{number}:1" for number in (2, 3, 4)]
    assert len(pages(tmp_path / "tree")) == 4
    done = crawl(tmp_path / "other", seeds=[f"GET {url} day=3"])
    assert done.code == 2
    (line,) = lines_of(done.err)
    assert line == f"fscrawl: GET {url} day=3: a GET has no body; use POST, or write the values into the URL"
