"""How often an NFS client has asked its server, by operation, from /proc/self/mountstats.

>>> text = '''device 10.0.0.1:/a mounted on /mnt/a with fstype nfs4 statvers=1.1
...   per-op statistics
...     NULL: 1 1 0 44 24 0 0 0 0
...    WRITE: 3 4 0 900 420 0 1 1 0
... device proc mounted on /proc with fstype proc
... '''
>>> calls(text, "/mnt/a")
Counter({'WRITE': 4, 'NULL': 1})
"""

from __future__ import annotations

import re
from collections import Counter

_OPERATION = re.compile(r"\s+([A-Z_0-9]+): (\d+) (\d+) ")


def calls(text: str, mount: str) -> Counter[str]:
    """Give how many RPCs of each operation went out for a mount, the repeated ones too."""
    found: Counter[str] = Counter()
    inside = False
    for line in text.splitlines():
        if line.startswith("device "):
            inside = f" mounted on {mount} with " in line
        operation = _OPERATION.match(line) if inside else None
        if operation is not None and int(operation[3]):
            found[operation[1]] += int(operation[3])  # the second number: transmissions; the first: operations
    return found
