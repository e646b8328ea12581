"""The text of stored PDFs. One process beside this one reads them all, one after the other (see `dataset.pdf_text`).

It is started for the first PDF, and ends with this process. After a fork, the child starts its own.
"""

from __future__ import annotations

import atexit
import os
import threading

from fscrawl.dataset.pdf_text import PdfText

_reader = PdfText()
_lock = threading.Lock()  # of the reader, which does one thing at a time


def text_of(body: bytes) -> str | None:
    """Give the text of a PDF; None if there is none, it cannot be read, or the extra `pdf` is missing."""
    with _lock:
        return _reader.of(body)[0]


def _begin_anew() -> None:
    global _lock  # noqa: PLW0603 - a thread that is not in this copy may have had the old one
    _lock = threading.Lock()
    _reader.leave()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(_reader.close)
