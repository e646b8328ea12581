"""A gallery, as `examples/gallery` crawls it: albums whose pictures have a page each, linked by `next`.

    /                      all albums
    /album/<a>/<n>         picture n of album a, and a link to the next one
    /picture/<a>-<n>.png   the picture; also .gif

At random a picture is a page that forbids "hotlinking", with status 200.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import struct
import zlib
from typing import Any

from demo.server import Request, Response
from tests.imitations.frame import answer, missing, rng

_PATH = re.compile(r"/(album|picture)/(\d+)[/-](\d+)(?:\.(\w+))?")
_HOTLINK = "<h1 id=hotlinking>Do not link to our pictures</h1>"


class Gallery:
    host = "127.0.80.4"
    port = 8804
    is_ill = False

    def __init__(self, sizes: tuple[int, ...] = (12, 1, 30, 25)) -> None:
        """`sizes`: how many pictures each album has."""
        self._sizes = dict(enumerate(sizes, 1))
        self._answers = itertools.count(1)

    def __call__(self, request: Request) -> Response:
        if request.path == "/":
            links = "".join(f'<li><a class=album href="/album/{a}/1">Album {a}</a>' for a in self._sizes)
            return answer(f'{links}<li><a href="/shop">shop</a><img src="/logo.png">')
        found = _PATH.fullmatch(request.path)
        if found is None or int(found[3]) > self._sizes.get(int(found[2]), 0):
            return missing()
        album, number = int(found[2]), int(found[3])
        if found[1] == "album":
            return answer(self._page(album, number))
        if rng("hotlink", next(self._answers)).random() < 0.1:
            return answer(_HOTLINK)
        return answer(*_picture(album, number))

    def _page(self, album: int, number: int) -> str:
        picture = f'<img class=picture src="{_path(album, number)}"><img src="/logo.png">'
        following = f'<a class=next href="/album/{album}/{number + 1}">next</a>'
        more = following if number < self._sizes[album] else ""
        return f"<title>Album {album}, picture {number}</title>{picture}{more}<a href=/>all albums</a>"

    def stored(self) -> set[tuple[str, str]]:
        pages = {(f"/album/{album}/{number}", "") for album, number in self._pictures()}
        return {("/", ""), *pages, *((_path(album, number), "") for album, number in self._pictures())}

    def _pictures(self) -> list[tuple[int, int]]:
        return [(album, number) for album, size in self._sizes.items() for number in range(1, size + 1)]

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"file": f"{album}/{number:04}{_extension(number)}", "sha256": _digest(_picture(album, number)[0])}
            for album, number in self._pictures()
        ]


def _extension(number: int) -> str:
    return ".gif" if number % 5 == 0 else ".png"


def _path(album: int, number: int) -> str:
    return f"/picture/{album}-{number}{_extension(number)}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _picture(album: int, number: int) -> tuple[bytes, str]:
    """Give a picture of one colour, and its media type."""
    colour = bytes((album * 40 % 256, number * 7 % 256, number % 256))
    if number % 5 == 0:
        pixel = b"!\xf9\x04\x00\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
        return b"GIF89a\x01\x00\x01\x00\x80\x00\x00" + colour + b"\xff\xff\xff" + pixel, "image/gif"
    width = height = 8
    rows = b"".join(b"\0" + colour * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks), "image/png"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
