"""The test web: raw answers, one a file, and what a crawl must make of them.

`tests/web/NAME.http` has the bytes of one answer, head and body, that a server gives for `/NAME`.
`tests/web/NAME.toml` says what must come of it, and where that is written down:

    source = "Fetch, extract a MIME type; node-crawler#193"
    asked = ["/caf%E9"]     # optional: further paths that the host must have been asked for
    [page]                  # fields of the page's record; `links` sorted, URLs of the host as paths, of `headers` some
    title = "x"

or `[error]` in place of `[page]`, with fields of the error record. A file is tried by adding it.
"""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fscrawl.storage.records import ErrorRecord, PageRecord
from tests.support.crawling import check_tree, crawl, errors, pages
from tests.support.raw import Raw, head

WEB = Path(__file__).parents[1] / "web"
NAMES = sorted({path.stem for path in WEB.iterdir()})
HOST = "127.0.48.1"
# One retry: the server closes each connection without saying so before, perhaps just when the next request is sent.
SETTINGS = {"politeness.user_agent": "fscrawl/1 (+mailto:tests@example.org)", "crawl.scope": "host", "fetch.retries": 1}


class Crawled(NamedTuple):
    """What a crawl of all files has left. `asked`: paths, in the order of the requests."""

    origin: str
    pages: dict[str, PageRecord]
    errors: dict[str, ErrorRecord]
    asked: list[str]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Crawl all files at once."""
    asked: list[str] = []

    def answer(connection: socket.socket) -> None:
        asked.append(head(connection).split(b" ", 2)[1].decode())
        path = WEB / f"{asked[-1][1:]}.http"
        connection.sendall(path.read_bytes() if path.is_file() else b"HTTP/1.1 404 Not Found\r\n\r\n")

    root = tmp_path_factory.mktemp("raw") / "tree"
    with Raw(answer, host=HOST) as server:
        origin = server.url("")
        crawl(root, seeds=[f"{origin}/{name}" for name in NAMES], settings=SETTINGS)
    check_tree(root)
    return Crawled(origin, pages(root), errors(root), asked)


@pytest.mark.parametrize("name", NAMES)
def test_answer(crawled: Crawled, name: str) -> None:
    """What comes of an answer is what its file says."""
    assert (WEB / f"{name}.http").is_file()
    expected = tomllib.loads((WEB / f"{name}.toml").read_text())
    assert expected.pop("source")
    assert set(expected.pop("asked", [])) <= set(crawled.asked)
    [(kind, fields)] = expected.items()
    records: dict[str, Any] = {"page": crawled.pages, "error": crawled.errors}[kind]
    url = f"{crawled.origin}/{name}"
    assert url in records, crawled.errors.get(url) or crawled.pages.get(url)
    found = {field: _shown(crawled.origin, getattr(records[url], field.replace("class", "class_"))) for field in fields}
    if "headers" in fields:
        found["headers"] = {each: found["headers"].get(each) for each in fields["headers"]}
    assert found == fields


def _shown(origin: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return sorted(each.removeprefix(origin) for each in value)
    return value.removeprefix(origin) if isinstance(value, str) else value
