"""Whether a built site is whole: its links lead to what it has, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
_IN_CSS = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"](?:https?:)?//")
_NEEDED = {"stylesheet", "preload", "preconnect", "dns-prefetch", "icon", "modulepreload", "prefetch"}
_RAW = re.compile(r"^ {0,3}(?:[-*+]|\d+\.) \S|^\|.*\|\s*$|^#{1,6} |^```", re.MULTILINE)


@dataclass
class _Read(HTMLParser):
    """What a page has and needs."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        self.ids |= {has[name] for name in ("id", "name") if name in has}
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "link" and _NEEDED.intersection(has.get("rel", "").split()):
            self.loads.append(has.get("href", ""))
        if has.get(_LOADS.get(tag, "")):
            self.loads.append(has[_LOADS[tag]])
        if tag in ("p", "pre", "code", "script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "p":
            self.prose.append(data)


def troubles(site: Path) -> list[str]:
    """Say what is wrong with a site, a line for each; nothing if it is whole."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    found = [
        f"{path.name}: loads from elsewhere" for path in site.rglob("*.css") if _IN_CSS.search(path.read_text("utf-8"))
    ]
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found += [f"{name}: {each}" for each in _troubles(path, page, pages, site)]
    return found


def _read(path: Path) -> _Read:
    page = _Read()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _troubles(path: Path, page: _Read, pages: dict[Path, _Read], site: Path) -> Iterator[str]:
    for url in page.loads:
        if urlsplit(url).netloc:
            yield f"loads {url}"
        elif not url.startswith("data:") and not _target(path, url, site).exists():
            yield f"loads {url}, which is not there"
    for url in page.links:
        yield from _wrong_link(path, url, pages, site)
    for text in page.prose:
        if raw := _RAW.search(text):
            yield f"shows Markdown as text; a blank line may be missing before it: {raw[0]}"


def _wrong_link(path: Path, url: str, pages: dict[Path, _Read], site: Path) -> Iterator[str]:
    """Say what is wrong with a link. Those to other sites are looked at for their form only."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        if parts.scheme != "mailto" and not (parts.scheme in ("http", "https") and parts.netloc):
            yield f"links to {url}, which is no URL"
        return
    target = _target(path, url, site)
    if not target.is_file():
        yield f"links to {url}, which is not there"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        yield f"links to {url}; there is no such place on that page"


def _target(path: Path, url: str, site: Path) -> Path:
    """Give the file that a URL of a page leads to. 404.html has absolute ones."""
    where = unquote(urlsplit(url).path)
    if not where:
        return path
    base = site if where.startswith("/") else path.parent
    target = (base / where.lstrip("/")).resolve()
    return target / "index.html" if target.is_dir() else target
