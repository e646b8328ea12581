"""One HTTP exchange where the process cannot open any more files: the host is not to blame."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.http.answers import NoDescriptorsError
from tests.support.raw import Make, Raw, answering, fetched, ok

_SPARE = 60  # descriptors that may be opened before the limit is reached


@pytest.fixture
def limited() -> Iterator[list[int]]:
    """Let this process have few descriptors more than it has; give those that the test holds."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + _SPARE, before[1]))
    try:
        yield held
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in held:
            os.close(each)


def fill(held: list[int], *, but: int = 0) -> None:
    """Use up all descriptors, but so many."""
    with contextlib.suppress(OSError):
        while True:
            held.append(os.dup(0))
    for _ in range(but):
        os.close(held.pop())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nobody.invalid"])
def test_no_descriptor(make: Make, limited: list[int], host: str) -> None:
    """That no socket can be opened is no failure of the host, also where the resolver says that there is none."""
    fetcher = make()
    fill(limited)
    with pytest.raises(NoDescriptorsError, match="too many open files; raise the limit"):
        fetcher.get(f"http://{host}:9999/")
    os.close(limited.pop())


def test_waiting_connections_are_closed_for_others(make: Make, limited: list[int]) -> None:
    """Connections that wait for their hosts give their descriptors to the one that is needed now."""
    with Raw(answering(ok(b"<p>"))) as first, Raw(answering(ok(b"<p>"))) as second:
        fetcher = make()
        assert fetched(fetcher.get(first.url())).body == b"<p>"
        fill(limited, but=1)  # the server of this test needs one
        assert fetched(fetcher.get(second.url())).body == b"<p>"
