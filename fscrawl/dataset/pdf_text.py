"""The text of PDFs, read in a process of its own: a PDF may keep its reader busy for ever, or fill the memory.

Promise: `PdfText.of` returns within a minute and some seconds for each megabyte, whatever the bytes, and says why a
text is missing or incomplete. The process has at most `_MEMORY_BYTES`. When the one that uses it has ended, it ends,
too, after this PDF at the latest.

It is started by its command line: the workers of a Dask cluster may not have children of `multiprocessing`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import struct
import subprocess
import sys
import time
from typing import IO

from fscrawl.parse import pdf

NO_PYPDF = "pypdf is missing"
_MEMORY_BYTES = 2 * 1024**3
_LIMIT_S = 60.0  # and for each byte:
_LIMIT_S_PER_BYTE = 6e-6  # a manual of 9 MB with 700 pages takes 26 s
_ALL_BUT = 0.8  # of the time; then the text of the pages that were read is better than none
_PIECE = 1 << 20
_STDOUT = 1
_HEAD = struct.Struct(">Qd")  # how many bytes follow, and how many seconds there are
_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from fscrawl.dataset.pdf_text import serve; serve()"
)


class PdfText:
    """One process, started when it is first needed, and again after a PDF has ended it."""

    def __init__(self, limit_s: float = _LIMIT_S) -> None:
        """`limit_s`: for an empty PDF."""
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None

    def of(self, body: bytes) -> tuple[str | None, str]:
        """Give the text of a PDF (None: nothing could be read), and why it is not whole ("": it is)."""
        if not pdf.is_installed():
            return None, NO_PYPDF
        if self._process is not None and self._process.poll() is not None:
            self.close()  # an interrupt of the terminal ends it, too
        process = self._process = self._process or _start()
        try:
            limit_s = self._limit_s + _LIMIT_S_PER_BYTE * len(body)
            until = time.monotonic() + limit_s
            _send(process, body, limit_s, until)
            text, why = json.loads(_receive(process, until))
            return text or None, why
        except TimeoutError:
            self.close()
            return None, "it takes too long"
        except (OSError, EOFError):
            self.close()
            return None, "it takes too much memory, or its reader crashes"
        except BaseException:
            self.close()  # else its answer would be taken for that of the next PDF
            raise

    def close(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):  # what was not sent
                process.communicate()

    def leave(self) -> None:
        """Let go of the process, in a copy of this one: after a fork, it is the parent's alone."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # nobody waits for it here
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
    process = subprocess.Popen(  # noqa: S603 - nothing in it comes from others
        command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
    return process


def _send(process: subprocess.Popen[bytes], body: bytes, limit_s: float, until: float) -> None:
    assert process.stdin is not None
    for data in (_HEAD.pack(len(body), limit_s), body):
        rest = memoryview(data)
        while rest:
            _wait(process.stdin, until, write=True)
            rest = rest[os.write(process.stdin.fileno(), rest[:_PIECE]) :]


def _receive(process: subprocess.Popen[bytes], until: float) -> bytes:
    assert process.stdout is not None
    data = bytearray()
    while len(data) < _HEAD.size or len(data) < _HEAD.size + _HEAD.unpack_from(data)[0]:
        _wait(process.stdout, until, write=False)
        piece = os.read(process.stdout.fileno(), _PIECE)
        if not piece:
            raise EOFError
        data += piece
    return bytes(data[_HEAD.size :])


def _wait(pipe: IO[bytes], until: float, *, write: bool) -> None:
    """Wait until a pipe is ready; TimeoutError if it is not in time."""
    ready = select.poll()
    ready.register(pipe, select.POLLOUT if write else select.POLLIN)
    if not ready.poll(1000 * max(0.0, until - time.monotonic())):
        raise TimeoutError


# -- the process


def serve() -> None:
    """Read PDFs from standard input until it ends, and write their texts to standard output."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    source = sys.stdin.buffer
    while len(head := source.read(_HEAD.size)) == _HEAD.size:
        size, limit_s = _HEAD.unpack(head)
        most_s = int(time.process_time() + limit_s) + 2  # also if the one that would end this process is gone
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, resource.RLIM_INFINITY))
        answer = json.dumps(_read(source.read(size), time.monotonic() + _ALL_BUT * limit_s)).encode()
        rest = memoryview(_HEAD.pack(len(answer), 0.0) + answer)
        while rest:
            rest = rest[os.write(_STDOUT, rest) :]


def _read(body: bytes, late_at: float) -> tuple[str, str]:
    return pdf.text_of(body, lambda: time.monotonic() > late_at)
