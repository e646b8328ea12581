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
        url = urls.normalise(stripped)
        if url is None:
            warn(f"{where}:{number}: not an http or https URL, skipped: {stripped[:200]}")
        else:
            found.append(url)
    return found


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
