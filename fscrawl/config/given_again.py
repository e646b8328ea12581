"""The settings of a command that is run again: `--set` on a tree that is there already. Pure.

The same command goes on with its crawl, so it may give the values again that the tree has. Any other value would change
what other machines do, so it must be edited where all of them see it: in `crawl.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from fscrawl.config.settings import FIXED, SECTIONS, Settings, apply
from fscrawl.errors import SettingsError
from fscrawl.util import user_text
from fscrawl.util.toml_places import entries, find
from fscrawl.util.toml_text import to_toml


def check_same(current: Settings, assignments: Iterable[str], text: str, where: str) -> None:
    """Raise SettingsError if an argument of `--set` would change a setting of the tree. It names all of them.

    `current`: of the tree; `text`: its `crawl.toml`, which is at `where`.

    >>> check_same(apply(Settings(), ["politeness.delay=2"]), ["politeness.delay=2.0"], "", "crawl.toml")
    >>> check_same(Settings(), ["politeness.delay=2"], "[politeness]\\ndelay = 1", "crawl.toml")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: --set politeness.delay: the tree has delay = 1; edit crawl.toml:2:1
    """
    wanted = apply(current, assignments)
    differing = []
    for section in SECTIONS:
        there, given = getattr(current, section), getattr(wanted, section)
        for field in fields(there):
            value = getattr(there, field.name)
            if value != getattr(given, field.name):
                differing.append(_told(section, field.name, value, field.metadata, text, where))
    if differing:
        raise SettingsError("; ".join(differing))


def _told(section: str, name: str, value: object, metadata: Any, text: str, where: str) -> str:
    if metadata["secret"]:
        has = "the tree has another value"
    else:
        has = f"the tree has {name} = {to_toml(value)}" if value is not None else f"the tree has no {name}"
    if (section, name) in FIXED:
        return f"--set {section}.{name}: {has}, which was fixed when it was created; start a new tree elsewhere"
    place = _place(text, where, section, name)
    return f"--set {section}.{name}: {has}; " + (f"edit {place}" if place else f"write it below [{section}] in {where}")


def _place(text: str, where: str, section: str, name: str) -> str:
    """Name the place where a setting stands, or is commented out; "" if it is not there."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = entries(text)
    entry = find(found, (section, name))
    if entry is not None and entry.path == (section, name):
        return user_text.place(where, text, entry.key)
    head = find(found, (section,))
    commented = re.compile(rf"^#[ \t]*{name}[ \t]*=", re.MULTILINE).search(text, head.end) if head is not None else None
    return user_text.place(where, text, commented.start()) if commented else ""
