"""Records that somebody has edited, and that can still be read, stop no crawl: whatever they say of links and times."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fscrawl import urls
from tests.support.crawling import crawl, errors, pages
from tests.support.web import Request, Response, Web

HOST = "127.0.34.1"
FORGED = "\r\n\r\nGET /forged HTTP/1.1\r\nX: \x1b[31m\u202e"
LINKS = (
    *("", "x", "http://", "javascript:alert(1)", "file:///etc/passwd", "//a.test/", "http:/a.test/", "http://a.test"),
    *(FORGED, f"http://{HOST}/{FORGED}", "http://a b/", "http://a.test/ b", "http://a.test/\ud7ff", "-", "\u00e9"),
    *(
        "javascript:#method=POST&body=x",
        f"http://{HOST}/#method=POST&body={FORGED}",
        "http://me:pw@a.test/",
        f"http://{HOST}:99999/",
    ),
)
PAGES = (
    {"links": LINKS},
    {"links": (), "skipped": "sitemap", "sitemaps": LINKS, "bytes": 0, "sha256": ""},
    *({"referrer": referrer} for referrer in ("-", "a b", "x\nt", FORGED)),
    *({"key": key} for key in ("", "a b", FORGED, "0" * 24)),
    *({"depth": depth} for depth in (-1, 10**30)),
    *({"fetched_at": text} for text in ("", "now", FORGED)),
    *({"url": f"http://{HOST}{text}"} for text in ("", "/ b", "/\n", "/#top", ":99999/")),
)
FAILURES = (
    *({"failed_at": text} for text in ("", "now", "2026-01-01 00:00:00", "x\nt y", FORGED)),
    *({"referrer": text} for text in ("-", "a b", FORGED)),
    *({"depth": depth} for depth in (-1, 10**30)),
)


def site(request: Request) -> Response:
    links = "".join(f"<a href=/{n}>x</a> <a href=/gone/{n}>x</a>" for n in range(len(PAGES)))
    status = 404 if request.path == "/robots.txt" or request.path.startswith("/gone") else 200
    return Response(status, {"Content-Type": "text/html"}, links.encode())


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Web]]:
    root = tmp_path_factory.mktemp("edited") / "tree"
    with Web(site, [HOST]) as web:
        done = crawl(root, "--quiet", seeds=[web.url(HOST)])
        assert (done.code, len(pages(root)), len(errors(root))) == (0, len(PAGES) + 1, len(PAGES)), done
        yield root, web


def edit(root: Path, directory: str, url: str, values: dict[str, Any]) -> None:
    path = root / directory / urls.host(url) / f"{urls.key(url)}.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | values))


@pytest.mark.gate
@pytest.mark.parametrize("way", ["--reseed", "--refresh=0s", "--quiet"])
def test_edited(grown: tuple[Path, Web], tmp_path: Path, way: str) -> None:
    """A crawl that reads them ends as ever, and no request has what stands there."""
    root = tmp_path / "tree"
    shutil.copytree(grown[0], root)
    home = grown[1].url(HOST)
    for number, values in enumerate(PAGES):
        edit(root, "links", f"{home}{number}", values)
    for number, values in enumerate(FAILURES):
        edit(root, "errs", f"{home}gone/{number}", values)
    if way == "--quiet":  # nobody remembers any of them
        shutil.rmtree(root / ".fscrawl" / "generations")
        (root / ".fscrawl" / "generations").mkdir()
    asked = len(grown[1].exchanges)
    seeds = [f"{home}{number}" for number in range(len(PAGES))]
    done = crawl(root, way, *(word for seed in seeds for word in ("--seed", seed)))
    assert (done.code, "Traceback" in done.err) == (0, False), done
    assert "internal" not in {each.class_ for each in errors(root).values()}
    assert "/forged" not in {each.path for each in grown[1].exchanges[asked:]}
