"""`seeds.txt`: the URLs that a crawl begins with, one a line.

Promise: a line that is not a URL is skipped with a warning. A last line without a newline may be half written, so a
machine that starts waits for it for a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fscrawl import urls
from fscrawl.store import SEEDS, Tree

_POLL_S = 0.25
_WRITING_S = 3.0  # an unfinished last line that stays unchanged for so long is complete


def read_seeds(text: str, where: str, warn: Callable[[str], None]) -> list[str]:
    """Return the normal forms of the URLs in `text`. Blank lines and lines that begin with # are skipped.

    `where` names the text in warnings.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            found.append(read_seed(stripped))
        except ValueError as error:
            warn(f"{where}:{number}: {error}, skipped: {urls.without_login(stripped)[:200]}")
    return found


def read_seed(text: str) -> str:
    """Return the normal form of a seed; ValueError with the reason if it cannot be crawled.

    >>> read_seed("http://a.example:25/")
    Traceback (most recent call last):
    ValueError: port 25 is of another protocol than HTTP, and never asked
    """
    url = urls.normalise(text)
    if url is None:
        raise ValueError("not an http or https URL")
    if (port := urls.bad_port(url)) is not None:
        raise ValueError(f"port {port} is of another protocol than HTTP, and never asked")
    return url


def wait_for_seeds(tree: Tree, warn: Callable[[str], None]) -> list[str]:
    """Read the tree's `seeds.txt` when a machine starts. Wait while its last line may still be written."""
    where = f"{tree.root}/{SEEDS}"
    text, since = tree.controls.seeds(), time.monotonic()
    warned = False
    while text and not text.endswith("\n") and time.monotonic() - since < _WRITING_S:
        if not warned:
            warned = True
            warn(f"{where}: the last line does not end with a newline; waiting a few seconds for the rest of it")
        time.sleep(_POLL_S)
        again = tree.controls.seeds()
        if again != text:
            text, since = again, time.monotonic()
    return read_seeds(text, where, warn)
