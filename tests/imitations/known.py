"""The imitations by the names of their examples."""

from __future__ import annotations

from collections.abc import Callable

from tests.imitations.frame import Imitation
from tests.imitations.journals import Journals

IMITATIONS: dict[str, Callable[[], Imitation]] = {"journals": Journals}
