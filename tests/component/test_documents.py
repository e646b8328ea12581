"""A crawl of documents of many types: what is stored where, which links are found, and what the commands make of it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from fscrawl import cli, urls
from tests.support import pdfs
from tests.support.crawling import Done, Running, body, check_tree, command, crawl, document, errors, pages
from tests.support.web import HTML, Pages, Request, Response, Web, site, slowly

HOST = "127.0.47.1"
JPEG = b"\xff\xd8\xff\xe0" + bytes(200)
PAPER = pdfs.pdf("A paper on crawling", ["/from-pdf", "below"], "The paper")
RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>/</link>
<item><link>/from-rss</link><enclosure url="/not-followed.mp3"/></item><item><guid>http://%s/by-guid</guid></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/deep/"><link rel="next" href="page2"/>
<entry><link href="from-atom"/><link rel="enclosure" href="not-followed.zip"/></entry></feed>"""
BILLION = (
    b"""<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa">%s]><rss><channel><item><link>&z;</link></item></channel></rss>"""
    % (b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(25)))
)
ACCEPT = ["text/html", "application/xhtml+xml", "application/pdf", "application/*", "image/*", "text/xml", "text/plain"]
LINKS = ["text/html", "application/rss+xml", "application/atom+xml", "text/xml", "application/pdf"]
SETTINGS = {
    "fetch.accept": json.dumps(ACCEPT),
    "fetch.accept_links": json.dumps(LINKS),
    "crawl.follow": json.dumps(["a", "link", "meta", "area", "img"]),
    "fetch.max_bytes": "2000000",
    "fetch.retries": "0",
}
_ON_FIRST = ("/paper", "/rss", "/atom", "/data", "/fake.html", "/fake.pdf", "/notes", "/video", "/large.jpg", "/odd")


def _type(name: str, content: bytes, **headers: str) -> Response:
    return Response(200, {"Content-Type": name, **headers}, content)


def _web(host: str) -> dict[str, str | Response]:
    pictures = '<img src="/small.jpg" srcset="/half.jpg 1x, /double.jpg 2x"><script src="/not.js"></script>'
    return {
        "/": "<title>First</title>" + "".join(f'<a href="{path}">' for path in _ON_FIRST) + pictures,
        "/paper": _type("application/pdf", PAPER),
        "/rss": _type("text/xml", RSS % host.encode()),
        "/atom": _type("application/atom+xml", ATOM),
        "/data": _type("application/json; charset=utf-8", '{"url": "/not-followed", "ä": 1}'.encode()),
        "/fake.html": _type("text/html", PAPER + b"\n% another"),
        "/fake.pdf": _type("application/pdf", b"<!DOCTYPE html><title>Log in</title><a href=/from-login>"),
        "/notes": _type("text/plain; charset=latin1", "Käse".encode("latin-1"), **{"X-Robots-Tag": "noindex"}),
        "/video": _type("video/mp4", b"\0\0\0\x18ftypmp42" + bytes(50)),
        "/large.jpg": _type("image/jpeg", JPEG * 10_000),
        "/small.jpg": _type("image/jpeg", JPEG),
        "/double.jpg": _type("image/jpeg", JPEG),
        "/odd": _type("application/x-unheard-of", b"odd"),
        **dict.fromkeys(("/from-pdf", "/below", "/from-rss", "/by-guid", "/deep/page2"), "leaf"),
        "/deep/from-atom": "another leaf",
        "/from-login": "a third leaf",
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Web, Done]:
    root = tmp_path_factory.mktemp("documents") / "tree"
    answers: dict[str, str | Response] = {}
    with Web(site(answers), [HOST]) as web:
        answers |= _web(web.url(HOST).removeprefix("http://").rstrip("/"))
        done = crawl(root, seeds=[web.url(HOST)], settings=SETTINGS)
    assert done.code == 0, done
    return root, web, done


def test_each_type_has_its_place(crawled: tuple[Path, Web, Done]) -> None:
    """HTML is in htmls, whatever the server calls it; other types are in files, with the extension of the type."""
    root, web, _ = crawled
    found = {url.partition(f":{web.port}")[2]: record for url, record in pages(root).items()}
    assert {path: record.file for path, record in found.items() if record.file} == {
        "/paper": "pdf",
        "/rss": "xml",
        "/atom": "atom",
        "/data": "json",
        "/fake.html": "pdf",
        "/notes": "txt",
        "/small.jpg": "jpg",
        "/double.jpg": "jpg",
        "/odd": "bin",
    }
    assert document(root, web.url(HOST, "/paper")) == PAPER
    assert body(root, web.url(HOST, "/fake.pdf")).startswith(b"<!DOCTYPE html>")
    assert found["/video"].skipped == "type video/mp4"
    assert {url: each.class_ for url, each in errors(root).items()} == {web.url(HOST, "/large.jpg"): "too-large"}
    check_tree(root)


def test_links_of_documents(crawled: tuple[Path, Web, Done]) -> None:
    """Feeds and PDFs are searched for links, and images where they are asked for; JSON and enclosures are not."""
    root, web, _ = crawled
    found = {urls.key(url): url for url in pages(root)}
    links = {
        path: [url.partition(f":{web.port}")[2] for url in pages(root)[web.url(HOST, path)].links]
        for path in ("/paper", "/rss", "/atom", "/data", "/fake.pdf", "/notes")
    }
    assert links == {
        "/paper": ["/from-pdf", "/below"],
        "/rss": ["/", "/from-rss", "/by-guid"],
        "/atom": ["/deep/page2", "/deep/from-atom"],
        "/data": [],
        "/fake.pdf": ["/from-login"],
        "/notes": [],
    }
    for path in ("/from-pdf", "/below", "/from-rss", "/by-guid", "/deep/page2", "/deep/from-atom", "/double.jpg"):
        assert urls.key(web.url(HOST, path)) in found, path
    assert not any(web.count(path=path) for path in ("/half.jpg", "/not.js", "/not-followed", "/not-followed.mp3"))
    assert pages(root)[web.url(HOST, "/paper")].title == "The paper"


def test_accept_header(crawled: tuple[Path, Web, Done]) -> None:
    """Requests ask for what is stored, and take anything else as the last choice."""
    _, web, _ = crawled
    assert web.requests(path="/paper")[0].headers["accept"] == ",".join([*ACCEPT, "*/*;q=0.1"])


def test_audit_and_show(crawled: tuple[Path, Web, Done], capsys: pytest.CaptureFixture[str]) -> None:
    """The audit finds nothing wrong, and `show` names the file."""
    root, web, _ = crawled
    assert cli.main(["audit", "--root", str(root)]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert cli.main(["show", "--root", str(root), web.url(HOST, "/paper")]) == 0
    key = urls.key(web.url(HOST, "/paper"))
    assert f"file      files/{urls.host(web.url(HOST))}/{key}.pdf, {len(PAPER)} bytes" in capsys.readouterr().out


def test_dataset(crawled: tuple[Path, Web, Done], tmp_path: Path) -> None:
    """Documents are rows of the table: with text where the type has one, with the path, and with bytes if asked for."""
    root, web, _ = crawled
    out = tmp_path / "dataset"
    words = ["--format", "parquet", "--format", "jsonl", "--format", "warc", "--files", "--keep-noindex"]
    assert cli.main(["merge", "--root", str(root), "--out", str(out), "--processes", "1", *words]) == 0
    rows = {row["url"].partition(f":{web.port}")[2]: row for row in _rows(out)}
    assert rows["/paper"]["text"] == "A paper on crawling"
    assert (rows["/paper"]["body"], rows["/paper"]["html"]) == (PAPER, None)
    assert rows["/paper"]["file"] == document_path(root, web.url(HOST, "/paper"))
    assert rows["/notes"]["text"] == "Käse"
    assert rows["/data"]["text"] == '{"url": "/not-followed", "ä": 1}'
    assert rows["/small.jpg"]["text"] is None
    assert rows["/double.jpg"]["duplicate_of"] or rows["/small.jpg"]["duplicate_of"]
    assert rows["/"]["html"].startswith(b"<title>First")
    assert (rows["/"]["file"], rows["/"]["body"]) == (None, None)
    lines = gzip.decompress(next((out / "jsonl/pages").glob("*.gz")).read_bytes()).splitlines()
    assert sum("body" in json.loads(line) for line in lines) == 9
    archive = b"".join(gzip.decompress(path.read_bytes()) for path in (out / "warc").glob("*.gz"))
    assert PAPER in archive


def test_dataset_without_files(crawled: tuple[Path, Web, Done], tmp_path: Path) -> None:
    """Without --files the bytes are left out, and the path is there all the same."""
    root, web, _ = crawled
    out = tmp_path / "dataset"
    assert cli.main(["merge", "--root", str(root), "--out", str(out), "--processes", "1", "--format", "csv"]) == 0
    text = next((out / "csv/pages").glob("*.csv")).read_text()
    assert "body" not in text.splitlines()[0].split(",")
    assert document_path(root, web.url(HOST, "/paper")) in text


def document_path(root: Path, url: str) -> str:
    return f"files/{urls.host(url)}/{urls.key(url)}.{pages(root)[url].file}"


def _rows(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ds.dataset(out / "pages").to_table().to_pylist()
    return rows


@pytest.mark.parametrize("damage", ["missing", "torn", "other type"])
def test_repair(crawled: tuple[Path, Web, Done], tmp_path: Path, damage: str) -> None:
    """A repair puts back a document whose file is gone or damaged, and removes one of a type that it had before."""
    root = tmp_path / "tree"
    shutil.copytree(crawled[0], root)
    url = crawled[1].url(HOST, "/paper")
    path = root / document_path(root, url)
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(PAPER[:100])
    else:
        path.with_suffix(".json").write_bytes(b"{}")
    assert cli.main(["audit", "--root", str(root)]) == 1
    assert cli.main(["audit", "--root", str(root), "--repair"]) == 0
    assert cli.main(["audit", "--root", str(root)]) == 0
    assert (url in pages(root)) == (damage == "other type")
    assert path.exists() == (damage == "other type")
    assert not path.with_suffix(".json").exists()


def test_orphan(crawled: tuple[Path, Web, Done], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document without a record, and what does not belong into files, are found; the repair removes the former."""
    root = tmp_path / "tree"
    shutil.copytree(crawled[0], root)
    place = root / "files" / urls.host(crawled[1].url(HOST))
    (place / f"{'a' * 24}.pdf").write_bytes(b"x")
    (place / "notes.txt").write_bytes(b"x")
    assert cli.main(["audit", "--root", str(root), "--repair"]) == 1
    said = capsys.readouterr().out
    assert "bodies without a record: 1, 1 repaired" in said
    assert "files that do not belong to the crawl: 1" in said
    assert not (place / f"{'a' * 24}.pdf").exists()


def _hostile() -> dict[str, str | Response]:
    """A site whose documents keep their readers busy, or are broken, beside good ones."""
    bad = {f"/{name.replace(' ', '-')}.pdf": _type("application/pdf", data) for name, data in pdfs.HOSTILE.items()}
    bad["/bomb.pdf"] = _type("application/pdf", pdfs.bomb())
    bad["/lol.rss"] = _type("application/rss+xml", BILLION)
    bad["/deep.rss"] = _type("application/rss+xml", b"<item>" * 300_000)
    bad["/wide.rss"] = _type("application/rss+xml", b"<rss>" + b"<item><link>/w</link></item>" * 60_000 + b"<broken")
    good = {"/good.pdf": _type("application/pdf", pdfs.pdf("good", ["/end"])), "/end": "the end"}
    return {"/": "".join(f'<a href="{path}">' for path in (*bad, *good)), "/w": "w", **bad, **good}


@pytest.mark.gate
@pytest.mark.timeout(330)
def test_hostile_documents(root: Path) -> None:
    """Documents that hang their reader, or are broken, are stored without links; the others are not held up.

    They need 2 s of processor time, in a process that stands back for all others: on a busy computer that is two
    minutes.
    """
    answers = _hostile()
    with Web(site(answers), [HOST]) as web:
        done = crawl(root, seeds=[web.url(HOST)], settings=SETTINGS, timeout_s=300)
    assert done.code == 0, done
    assert errors(root) == {}, done
    found = {url.partition(f":{web.port}")[2]: record for url, record in pages(root).items()}
    assert set(found) == set(answers)
    assert all(found[path].truncated for path in answers if path.endswith((".rss", "-pages.pdf", "half.pdf")))
    assert found["/lol.rss"].links == ()
    assert [url.rpartition("/")[2] for url in found["/wide.rss"].links] == ["w"]
    check_tree(root)


@pytest.mark.gate
@pytest.mark.timeout(120)
def test_hostile_documents_in_the_dataset(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A PDF that cannot be read costs its own text, is in the dataset, and the merge says how many there are."""
    answers = {path: answer for path, answer in _hostile().items() if path != "/deep-pages.pdf"}
    with Web(site(answers), [HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST)], settings={**SETTINGS, "fetch.accept_links": "[]"}).code == 0
        seeds = [web.url(HOST, path) for path in answers]
        assert crawl(root, seeds=seeds).code == 0
    out = tmp_path / "dataset"
    capsys.readouterr()
    assert cli.main(["merge", "--root", str(root), "--out", str(out), "--processes", "1"]) == 0
    said = capsys.readouterr().err
    assert "is missing or incomplete" in said
    rows = {row["url"].partition(f":{web.port}")[2]: row for row in _rows(out)}
    assert {path for path in answers if path.endswith(".pdf")} <= set(rows)
    assert rows["/good.pdf"]["text"] == "good"


@pytest.mark.gate
def test_kill_in_the_middle(root: Path) -> None:
    """A crawl of documents that is killed goes on, and its tree is whole."""
    answers: dict[str, str | Response] = {f"/{n}": _type("application/pdf", pdfs.pdf(f"{n}")) for n in range(60)}
    answers["/"] = "".join(f'<a href="/{n}">' for n in range(60))
    settings = {**SETTINGS, "politeness.per_host": "4", "fleet.beat": "1", "fleet.dead_after": "3"}
    with Web(slowly(site(answers), 0.05), [HOST]) as web:
        with Running(command(root, seeds=[web.url(HOST)], settings=settings)) as running:
            running.until(lambda: len(list((root / "files").rglob("*.pdf"))) > 10, "some documents are stored")
            running.signal(signal.SIGKILL, group=True)
            running.wait()
        check_tree(root, whole=False)
        done = crawl(root)
    assert done.code == 0, done
    assert set(pages(root)) == {web.url(HOST, path) for path in answers}
    check_tree(root)
    assert cli.main(["audit", "--root", str(root)]) == 0


def test_a_page_that_changes_its_type(root: Path) -> None:
    """A refresh that finds another type in place of a page removes the body of the old one, in either direction."""
    now: dict[str, Any] = {"/": _type("application/pdf", PAPER)}
    kinds = [HTML, {"Content-Type": "application/json"}, {"Content-Type": "video/mp4"}, HTML]
    bodies = [b"a page", b"{}", b"", b"a page again"]

    def serve(request: Request) -> Response:
        return site(now)(request)

    with Web(serve, [HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST)], settings=SETTINGS).code == 0
        for headers, content in zip(kinds, bodies, strict=True):
            now["/"] = Response(200, headers, content)
            assert crawl(root, "--refresh", "0s").code == 0
            there = [
                path for directory in ("htmls", "files") for path in (root / directory).rglob("*") if path.is_file()
            ]
            assert [path.read_bytes() for path in there] == ([content] if content else [])
            check_tree(root)


@pytest.mark.parametrize("accept_links", [["text/html"], ["application/pdf"]])
def test_only_named_types_are_searched(root: Path, accept_links: list[str]) -> None:
    """A type that `fetch.accept_links` does not name is stored without links."""
    pages_: Pages = site({"/": "<a href=/x>", "/x": _type("application/pdf", PAPER), "/from-pdf": "x", "/below": "x"})
    with Web(pages_, [HOST]) as web:
        settings = {**SETTINGS, "fetch.accept_links": json.dumps(accept_links)}
        assert crawl(root, seeds=[web.url(HOST), web.url(HOST, "/x")], settings=settings).code == 0
    found = {url: len(record.links) for url, record in pages(root).items() if record.url in _seeds(web)}
    assert found == dict(zip(_seeds(web), [1, 0] if accept_links == ["text/html"] else [0, 2], strict=True))


def _seeds(web: Web) -> list[str]:
    return [web.url(HOST), web.url(HOST, "/x")]


@pytest.mark.gate
def test_without_pypdf(root: Path, tmp_path: Path) -> None:
    """Where pypdf is missing, PDFs are stored without links, and one line says so, and what to install."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/sitecustomize.py").write_text("import sys\nsys.modules['pypdf'] = None\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "hidden")}
    with Web(site({"/": "<a href=/x>", "/x": _type("application/pdf", PAPER)}), [HOST]) as web:
        done = crawl(root, seeds=[web.url(HOST)], settings=SETTINGS, env=env)
    assert done.code == 0, done
    assert len([line for line in done.err.splitlines() if "pypdf is missing" in line]) == 1, done
    assert document(root, web.url(HOST, "/x")) == PAPER
    assert pages(root)[web.url(HOST, "/x")].links == ()
    out = tmp_path / "dataset"
    with Running([sys.executable, "-m", "fscrawl", "merge", "--root", str(root), "--out", str(out)], env=env) as merge:
        done = merge.wait()
    assert done.code == 0, done
    (line,) = (each for each in done.err.splitlines() if "pypdf" in each)
    assert line.startswith("1 PDF without its text: pypdf is missing. To have the text: ")
    assert line.endswith("; then merge again with --rebuild")


RULES = """
[[site]]
hosts = ["%s"]
follow = ["json:$.next"]
"""


def test_json_by_the_rules_of_a_site(root: Path) -> None:
    """JSON is stored as JSON; the rules of its site find what to follow in it, also in what is stored already."""
    answers = {f"/{n}": _type("application/json", json.dumps({"next": f"/{n + 1}"}).encode()) for n in range(1, 4)}
    answers["/4"] = _type("application/json", b"{}")
    with Web(site({**answers}), [HOST]) as web:
        first = web.url(HOST, "/1")
        assert crawl(root, seeds=[first], settings=SETTINGS).code == 0
        assert set(pages(root)) == {first}
        text = (root / "crawl.toml").read_text()
        host = web.url(HOST).removeprefix("http://").rstrip("/")
        end = text.rindex("# end of settings")
        (root / "crawl.toml").write_text(text[:end] + RULES % host + text[end:])
        done = crawl(root)
        assert done.code == 0, done
        assert web.count(path="/1") == 1
    assert set(pages(root)) == {web.url(HOST, path) for path in answers}
    assert {record.file for record in pages(root).values()} == {"json"}
    check_tree(root)
