"""One HTTP exchange: what comes out of each content coding."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest

from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, failed, fetched
from tests.support.web import Response, Web


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data)


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": _zstd,
}


@pytest.mark.parametrize(
    ("name", "pack"), [*CODINGS.items(), ("deflate", _raw_deflate), ("identity", bytes), ("GZIP", gzip.compress)]
)
def test_codings_are_decoded(make: Make, name: str, pack: Callable[[bytes], bytes]) -> None:
    """A body comes out of every content coding byte for byte as it went in."""
    body = bytes(range(256)) * 1000 + "Straße\n".encode()
    with Web(lambda _: Response(200, {**HTML, "Content-Encoding": name}, pack(body)), [HOST]) as web:
        assert fetched(make().get(web.url(HOST))).body == body


def test_codings_in_layers_are_decoded(make: Make) -> None:
    """Codings applied one upon the other are taken off in turn."""
    coded = brotli.compress(gzip.compress(b"<p>both"))
    with Web(lambda _: Response(200, {"Content-Encoding": "gzip, br"}, coded), [HOST]) as web:
        assert fetched(make().get(web.url(HOST))).body == b"<p>both"


@pytest.mark.parametrize("name", CODINGS)
def test_broken_coding(make: Make, name: str) -> None:
    """A body that is not in the coding its header names is a failure that no further attempt can help."""
    with Web(lambda _: Response(200, {"Content-Encoding": name}, b"<p>plainly not packed" * 50), [HOST]) as web:
        answer = failed(make().get(web.url(HOST)))
    assert (answer.class_, answer.retry) == ("decode", False)


@pytest.mark.gate
@pytest.mark.parametrize("name", CODINGS)
def test_bomb(make: Make, name: str) -> None:
    """Ten megabytes packed into some kilobytes stop at the limit, before they take memory."""
    bomb = CODINGS[name](b"\0" * 10_000_000)
    assert len(bomb) < 20_000
    with Web(lambda _: Response(200, {**HTML, "Content-Encoding": name}, bomb), [HOST]) as web:
        fetcher = make(max_bytes=100_000)
        tracemalloc.start()
        try:
            answer = failed(fetcher.get(web.url(HOST)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (answer.class_, answer.retry) == ("too-large", False)
    assert peak < 2_000_000
