"""Archives as WACZ 1.1.1: one file that a browser replays, without a server of its own.

    wacz/<part>.wacz      a ZIP of one archive: at most 1 GB of WARC, so a run may make several
    wacz/all.json         names all of them: replayweb.page opens it as one archive

A WACZ holds:

    archive/<part>.warc.gz          the segments, as in warc/ (`warc`); stored, so that records can be read in place
    indexes/index.cdx.gz            the CDXJ in blocks; stored
    indexes/index.idx               where the blocks are
    pages/pages.jsonl               the pages that a reader may open: HTML and PDF that were asked for by a GET
    datapackage.json                names these files with their SHA-256; datapackage-digest.json has its own

https://specs.webrecorder.net/wacz/1.1.1/

Promise: memory does not grow with the archive, but for its index; the same run gives the same bytes. So the times in it
are those of its last page.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from fscrawl import __version__
from fscrawl.dataset import cdxj
from fscrawl.dataset.asked import GET
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.manifest import Manifest
from fscrawl.request import Request

FOLDER = "wacz"
ALL = f"{FOLDER}/all.json"
_VERSION = "1.1.1"
_CHUNK_BYTES = 1 << 20
_HEAD = json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}) + "\n"


def page_line(row: dict[str, Any], request: Request) -> str:
    """Give the line of a page in the list of pages, "" if a row is none that can be opened. `row`: of ROWS."""
    is_page = row["redirect"] is None and row["skipped"] is None
    if not is_page or request.method != GET or not (row["file"] or ".pdf").endswith(".pdf"):
        return ""
    values = {
        "id": row["key"],
        "url": request.address,
        "ts": rfc3339(row["fetched_at"]),
        "title": row["title"] or request.address,
        "mime": row["mime"] or "",
        "status": row["status"],
        "depth": row["depth"],
        "seed": row["depth"] == 0,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


class Package:
    """Writes a WACZ, member by member. `title`: what readers show; `moment`: of its last page."""

    def __init__(self, path: Path, title: str, moment: datetime) -> None:
        self._zip = zipfile.ZipFile(path, "w")
        self._title = title
        self._moment = moment
        self._members: list[dict[str, Any]] = []

    def add(self, name: str, chunks: Iterable[bytes], size: int = 0, *, stored: bool = False) -> None:
        """Add a member. `size`: about how many bytes it has, if that may be gigabytes; `stored`: not compressed."""
        digest, total = hashlib.sha256(), 0
        entry = zipfile.ZipInfo(name, _zip_time(self._moment))
        entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        entry.file_size = size
        with self._zip.open(entry, "w") as member:
            for chunk in chunks:
                member.write(chunk)
                digest.update(chunk)
                total += len(chunk)
        sha256 = f"sha256:{digest.hexdigest()}"
        self._members.append({"name": name.rpartition("/")[2], "path": name, "hash": sha256, "bytes": total})

    def close(self) -> None:
        """Add the description of all members, and end the file."""
        values = {
            "profile": "data-package",
            "title": self._title,
            "resources": self._members,
            "created": self._moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "wacz_version": _VERSION,
            "software": f"fscrawl {__version__}",
        }
        data = json.dumps(values, indent=1).encode()
        self.add("datapackage.json", [data])
        digest = {"path": "datapackage.json", "hash": self._members[-1]["hash"]}
        self.add("datapackage-digest.json", [json.dumps(digest, indent=1).encode()])
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # it will be removed
            self._zip.close()


def add_index(package: Package, lines: Iterable[str]) -> None:
    """Add the index of a WACZ. `lines`: of its CDXJ, sorted."""
    idx = [cdxj.wacz_idx_head("index.cdx.gz")]

    def data() -> Iterator[bytes]:
        for block in cdxj.blocks(lines):
            idx.append(cdxj.wacz_idx_line(block))
            yield block.data

    package.add("indexes/index.cdx.gz", data(), stored=True)
    package.add("indexes/index.idx", [line.encode() for line in idx])


def add_pages(package: Package, paths: Iterable[Path]) -> None:
    """Add the list of pages. `paths`: of files with the lines of `page_line`."""
    package.add("pages/pages.jsonl", _chain(_HEAD.encode(), paths))


def add_archive(package: Package, name: str, size: int, info: bytes, paths: Iterable[Path]) -> None:
    """Add the archive, of `size` bytes. `info`: its first record, compressed; `paths`: of its segments."""
    package.add(f"archive/{name}", _chain(info, paths), size, stored=True)


def _chain(head: bytes, paths: Iterable[Path]) -> Iterator[bytes]:
    yield head
    for path in paths:
        with path.open("rb") as file:
            while data := file.read(_CHUNK_BYTES):
                yield data


def _zip_time(moment: datetime) -> tuple[int, int, int, int, int, int]:
    """Give the time of a member; a ZIP knows the years 1980 to 2107 only."""
    if not 1980 <= moment.year <= 2107:
        return 1980, 1, 1, 0, 0, 0
    return moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second


def all_of(manifest: Manifest) -> str:
    """Return the text of ALL; "" if the dataset has no WACZ."""
    resources = [
        {"name": name, "path": name, "hash": f"sha256:{part.sha256}", "bytes": part.bytes}
        for part in manifest.parts
        if part.folder == f"{FOLDER}/"
        for name in [part.path.rpartition("/")[2]]
    ]
    if not resources:
        return ""
    values = {"profile": "multi-wacz-package", "title": f"crawl {manifest.crawl}", "resources": resources}
    return json.dumps(values, indent=1) + "\n"
