"""A PDF's bytes → its links, its title and its text, by pypdf. Pure: no disk, no socket.

A PDF is a program of sorts: it can keep its reader busy for ever, or fill its memory. So this is done only in a process
that can be ended (`engine.side_process`, `dataset.pdf_text`), and never in one that others depend on.

Promise: whatever can be found in broken PDFs is found; nothing is raised but MemoryError, and ModuleNotFoundError where
pypdf is missing: it is an extra.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

from fscrawl.parse.documents import References

EXTRA = "pdf"
MAX_TEXT_CHARS = 50_000_000
_MOST_PAGES = 100_000


def is_installed() -> bool:
    """Tell whether this machine can read PDF."""
    return importlib.util.find_spec("pypdf") is not None


def read(body: bytes) -> References:
    """Read the links of a PDF: the URIs of its annotations."""
    references = References(truncated=True)
    with _tolerant():
        reader = _reader(body)
        with _tolerant():
            references.title = _text(reader.metadata.title) if reader.metadata is not None else None
        with _tolerant():
            references.base = _base(reader)
        for reference in _uris(reader):
            references.add(reference)
            if references.is_full:
                break
        references.truncated = False
    return references


@contextlib.contextmanager
def _tolerant() -> Iterator[None]:
    """Do as much as can be done with a broken file: pypdf raises what it likes."""
    try:
        yield
    except (MemoryError, ModuleNotFoundError):
        raise
    except Exception:  # noqa: BLE001, S110 - see above
        pass


def text_of(body: bytes, is_late: Callable[[], bool] = lambda: False) -> tuple[str, str]:
    """Give the text of a PDF, a blank line between two pages, and why it is not whole ("": it is).

    `is_late`: tells before each page whether to stop there.
    """
    pages: list[str] = []
    chars = 0
    try:
        for page in _pages(_reader(body)):
            if is_late():
                return _joined(pages), "it takes too long; only its beginning was read"
            pages.append(page.extract_text().strip())
            chars += len(pages[-1])
            if chars > MAX_TEXT_CHARS:
                return _joined(pages)[:MAX_TEXT_CHARS], "it is too long"
    except (MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # noqa: BLE001 - as above
        return _joined(pages), f"{type(error).__name__}: {error}"[:200]
    return _joined(pages), ""


def _joined(pages: list[str]) -> str:
    """Join the texts of pages. Halves of surrogate pairs, which fonts may name, become question marks."""
    return "\n\n".join(filter(None, pages)).encode("utf-8", "replace").decode()


def _reader(body: bytes) -> Any:
    from pypdf import PdfReader  # noqa: PLC0415 - an extra, and a fifth of a second

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of every fault of a file
    reader = PdfReader(io.BytesIO(body), strict=False)
    if reader.is_encrypted:
        reader.decrypt("")  # most encrypted files may be read by everybody
    return reader


def _pages(reader: Any) -> Iterator[Any]:
    for number, page in enumerate(reader.pages):
        if number >= _MOST_PAGES:
            return
        yield page


def _uris(reader: Any) -> Iterator[str]:
    """Give the URIs of the links on all pages (PDF 32000-1, 12.6.4.7)."""
    for page in _pages(reader):
        for each in _list(page.get("/Annots")):
            action = _value(_get(_value(each), "/A"))
            if _get(action, "/S") == "/URI" and (uri := _text(_get(action, "/URI"))):
                yield uri


def _base(reader: Any) -> str | None:
    """Give what relative URIs are relative to, as the document says."""
    catalog = reader.trailer["/Root"].get_object()
    return _text(_get(_value(_get(catalog, "/URI")), "/Base"))


def _value(found: Any) -> Any:
    return found.get_object() if hasattr(found, "get_object") else found


def _get(found: Any, name: str) -> Any:
    return _value(found.get(name)) if isinstance(found, dict) else None


def _list(found: Any) -> list[Any]:
    value = _value(found)
    return value if isinstance(value, list) else []


def _text(found: Any) -> str | None:
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    return str(found).encode("utf-8", "replace").decode() if isinstance(found, str) else None
