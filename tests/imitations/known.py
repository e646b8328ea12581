"""The imitations by the names of their examples."""

from __future__ import annotations

from collections.abc import Callable

from tests.imitations.books import Books
from tests.imitations.complaints import Complaints
from tests.imitations.frame import Imitation
from tests.imitations.gallery import Gallery
from tests.imitations.journals import Journals
from tests.imitations.json_list import JsonList

IMITATIONS: dict[str, Callable[[], Imitation]] = {
    "books": Books,
    "complaints": Complaints,
    "gallery": Gallery,
    "journals": Journals,
    "json-list": JsonList,
}
