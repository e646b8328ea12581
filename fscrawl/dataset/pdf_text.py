"""The text of a PDF, read by a process of its own: a PDF may keep its reader busy for ever, or fill the memory.

Promise: `text_of` returns within a minute and some seconds for each megabyte, whatever the bytes, and says why a text
is missing or incomplete. The process has at most `_MEMORY_BYTES`. It ends with its PDF, at the latest when its time is
over, also if whoever has started it is gone.

It is started by its command line: the workers of a Dask cluster may not have children of `multiprocessing`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

from fscrawl.parse import pdf

NO_PYPDF = "pypdf is missing"
_MEMORY_BYTES = 2 * 1024**3
_LIMIT_S = 60.0  # and for each byte:
_LIMIT_S_PER_BYTE = 6e-6  # a manual of 9 MB with 700 pages takes 26 s
_ALL_BUT = 0.8  # of the time; then the text of the pages that were read is better than none
_PROGRAM = (
    "import sys, json; sys.path[:], limit_s = json.loads(sys.argv[1]);"
    " from fscrawl.dataset.pdf_text import answer; answer(limit_s)"
)


def text_of(body: bytes) -> tuple[str | None, str]:
    """Give the text of a PDF (None: nothing could be read), and why it is not whole ("": it is)."""
    if not pdf.is_installed():
        return None, NO_PYPDF
    limit_s = _LIMIT_S + _LIMIT_S_PER_BYTE * len(body)
    command = [sys.executable, "-c", _PROGRAM, json.dumps([sys.path, limit_s])]
    try:
        done = subprocess.run(  # noqa: S603 - nothing in it comes from others
            command, input=body, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit_s, check=False
        )
        text, why = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return None, "it takes too long"
    except (OSError, ValueError):
        return None, "it takes too much memory, or its reader crashes"
    return text or None, why


def answer(limit_s: float) -> None:
    """Read a PDF from standard input, and write its text to standard output: the whole life of the process."""
    late_at = time.monotonic() + _ALL_BUT * limit_s
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    most_s = int(limit_s) + 2  # if the one that would end this process is gone
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    found = pdf.text_of(sys.stdin.buffer.read(), lambda: time.monotonic() > late_at)
    with os.fdopen(os.dup(1), "w", encoding="ascii") as out:
        json.dump(found, out)
