"""Where the parts of a page come from: the tree, the rules for fields, and what was read ahead."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from fscrawl.api.values import body_of, values_of
from fscrawl.dataset.page_files import is_whole, read_path
from fscrawl.errors import PlantedError, RecordError
from fscrawl.storage.layout import HTMLS, LINKS, SETTINGS
from fscrawl.storage.records import RenderRecord
from fscrawl.store import Tree

if TYPE_CHECKING:
    from fscrawl.parse.fields import Rules

_TRIES = 5  # a refresh puts a new body in place first, and a moment later its record
_MOMENT_S = 0.05
_INSTANT_S = 0.02  # sshfs misses a name for an instant while it is being replaced


class Fields:
    """The rules for fields of a tree, read when the first page asks for them."""

    def __init__(self, tree: Tree, given: tuple[str, str] | None = None) -> None:
        """`given`: the name of a file of rules, and its text."""
        self._tree = tree
        self._given = given

    @cached_property
    def rules(self) -> Rules | None:
        """The rules of the file and of crawl.toml; None if there are none. SettingsError if they are wrong."""
        from fscrawl.dataset.site_fields import combined  # noqa: PLC0415 - most readers need no rules
        from fscrawl.parse import fields  # noqa: PLC0415

        name, text = self._given or (None, None)
        where = self._tree.files.absolute(SETTINGS)
        found = combined(text, self._tree.controls.settings_if_there() or "", where)
        return fields.parse(found, name or where) if found else None


class Source:
    """Reads what the pages of one iteration need.

    bodies    whether its pages are asked for their bodies, so that those of the next pages should be read ahead
    unused    bodies in a row that were read ahead for nothing
    """

    def __init__(self, tree: Tree, fields: Fields) -> None:
        self.tree = tree
        self.fields = fields
        self.bodies = False
        self.unused = 0

    def values(self, host: str, key: str) -> dict[str, Any] | None:
        """Read the record of a page by its path; None if it is not there. RecordError if it cannot be read."""
        path = self.tree.tree_path(LINKS, host, key)
        data = read_path(self.tree, path)
        if data is None:
            time.sleep(_INSTANT_S)
            data = read_path(self.tree, path)
        return None if data is None else values_of(data, key)

    def body(self, host: str, values: dict[str, Any]) -> tuple[bytes | None, dict[str, Any]]:
        """Read the body that a record means; give the record, too, since a refresh may have replaced both.

        RecordError if there is none of its size. To compare the digest would take longer than to read.
        """
        for number in range(_TRIES):
            size, sha256, file = body_of(values)
            if not sha256:
                return None, values
            path = self.tree.body_path(host, values["key"], file)
            is_missing = False
            try:
                data = read_path(self.tree, path, most=size)
                if data is not None and len(data) == size:
                    return data, values
                is_missing = data is None
            except PlantedError as error:  # it is larger than this record says
                if error.denied:
                    raise
            if is_missing and number > 1:  # no refresh takes a body away for long: somebody has removed it
                break
            if number:
                time.sleep(_INSTANT_S if is_missing else _MOMENT_S)
            values = self.values(host, values["key"]) or values
        self.tree.check_rooms((HTMLS,))  # or all bodies would seem to be missing
        how = "differs from its record" if self.tree.files.exists(path) else "the body of this page is missing"
        raise RecordError(f"{self.tree.files.absolute(path)}: {how}")

    def dom(self, host: str, values: dict[str, Any]) -> bytes | None:
        """Read what a page looks like when its scripts have run; None if they were not. RecordError if it is gone."""
        rendered = msgspec.convert(values.get("rendered"), RenderRecord | None)
        if rendered is None or not rendered.sha256:
            return None
        path = self.tree.dom_path(host, values["key"])
        data = read_path(self.tree, path, most=rendered.bytes)
        if data is None or not is_whole(data, rendered.bytes, rendered.sha256):
            raise RecordError(f"{self.tree.files.absolute(path)}: it is missing, or differs from its record")
        return data
