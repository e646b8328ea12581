"""A small web with one of everything that a dataset must hold, its tree, and `fscrawl merge` as a subprocess.

tree = crawled(tmp_path / "tree")
done = merge(tree, tmp_path / "dataset", *ALL_FORMATS)
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from fscrawl.dataset.writer import is_writer
from tests.support.crawling import Done, Running, body, check_tree, crawl, pages
from tests.support.web import Request, Response, Web

HOSTS = ["127.0.31.1", "127.0.31.2"]
NUMBERED = 60
FORMATS = ("parquet", "warc", "jsonl", "jsonl.zst", "csv")
ALL_FORMATS = ("--keep-noindex", *(word for each in FORMATS for word in ("--format", each)))

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_TWIN = b"<!DOCTYPE html><title>Twins</title><p>The same body under several addresses."
_LONG = " ".join(f"word{n}" for n in range(400))
_NAMES = """
    twin-1 twin-2 twin-3 near-1 near-2 latin old paper.pdf gone hidden formula empty bytes zipped canonical private/x
""".split()  # noqa: SIM905 - a list would fill the screen


def _page(title: str, more: str = "", head: str = "") -> Response:
    html = f"<!DOCTYPE html><html lang=de><meta charset=utf-8><title>{title}</title>{head}<h1>{title}</h1>{more}"
    return Response(200, _HTML, html.encode())


def _front() -> Response:
    linked = "".join(f'<p><a href="/{name}">{name}</a>' for name in _NAMES)
    numbered = "".join(f'<p><a href="/{n}">{n}</a>' for n in range(NUMBERED))
    return _page("Grüße, 世界", f'{linked}{numbered}<a rel=nofollow href="/aside">aside</a>')


_ANSWERS = {
    "/": _front(),
    "/robots.txt": Response(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"),
    **{f"/twin-{n}": Response(200, _HTML, _TWIN) for n in (1, 2, 3)},
    **{f"/near-{n}": _page("Nearly the same", f"<p>{_LONG} end{n}") for n in (1, 2)},
    "/latin": Response(
        200, {"Content-Type": "text/html; charset=ISO-8859-1"}, "<title>Café</title>déjà vu".encode("latin-1")
    ),
    "/old": Response(301, {"Location": "/new"}, b""),
    "/new": _page("New"),
    "/paper.pdf": Response(200, {"Content-Type": "application/pdf"}, b"%PDF-1.4\n"),
    "/hidden": _page("Hidden", head='<meta name=robots content="noindex, nofollow">'),
    "/formula": _page("=1+1", '<p>a "quoted", text\n=SUM(A1)'),
    "/empty": Response(200, _HTML, b""),
    "/bytes": Response(200, _HTML, b"<title>Bytes</title>\x00\xff\xfe\r\n\r\nWARC/1.1\r\n\xf0\x9f\x98\x80"),
    "/zipped": Response(200, {**_HTML, "Content-Encoding": "gzip"}, gzip.compress(_page("Zipped").body, mtime=0)),
    "/canonical": _page("Canonical", head='<link rel=canonical href="/new">'),
    **{
        f"/{n}": _page(f"Page {n}", f'<p>{n} {_LONG[n:]}<a href="/{(n + 1) % NUMBERED}">next</a>')
        for n in range(NUMBERED)
    },
}
_MISSING = Response(404, {"Content-Type": "text/plain"}, b"no such page\n")


def _site(request: Request) -> Response:
    return _ANSWERS.get(request.path, _MISSING)


def crawled(root: Path) -> Path:
    """Crawl the site, on two hosts, into a tree at `root`."""
    with Web(_site, HOSTS) as web:
        done = crawl(root, seeds=[web.url(host) for host in HOSTS])
    assert done.code == 0, done
    check_tree(root)
    return root


def merge_command(root: Path, out: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "fscrawl", "merge", "--root", str(root), "--out", str(out), *flags]


def merge(root: Path, out: Path, *flags: str, timeout_s: float = 60.0) -> Done:
    """Run `fscrawl merge` to its end."""
    with Running(merge_command(root, out, *flags)) as running:
        return running.wait(timeout_s)


def files(out: Path) -> dict[str, str]:
    """Give every file of a dataset by path, with its SHA-256; but not its lock, and what counts merges."""
    paths = (path for path in sorted(out.rglob("*")) if path.is_file())
    found = (path for path in paths if path.name != "lock" and not is_writer(path.name))
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def manifest(out: Path) -> dict[str, Any]:
    return json.loads((out / "manifest.json").read_text(encoding="utf-8"))


def bodies(root: Path) -> dict[str, bytes]:
    """Give the tree's bodies by URL."""
    return {url: body(root, url) for url, record in pages(root).items() if record.sha256}
