"""The settings that a tree has already: what was fixed when it was created, and `--set` on a tree that is there. Pure.

The same command goes on with its crawl, so it may give the values again that the tree has. Any other value would change
what other machines do, so it must be edited where all of them see it: in `crawl.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl.config.settings import FILE, FIXED, SECTIONS, Settings, apply
from fscrawl.errors import SettingsError
from fscrawl.storage.layout import TREE_RECORD
from fscrawl.storage.records import TreeRecord
from fscrawl.util.user_text import to_toml


def check_fixed(record: TreeRecord, chosen: Settings, where: str = FILE) -> None:
    """Raise SettingsError if a setting differs from what was fixed when the tree was created."""
    for section, name in FIXED:
        fixed, value = getattr(record, name), getattr(getattr(chosen, section), name)
        if value != fixed:
            raise SettingsError(
                f"{to_toml(value)}: cannot be changed; it was fixed as {to_toml(fixed)} when the tree was created"
                f" ({TREE_RECORD}); write that value, or start a new tree elsewhere",
                f"{section}.{name}",
                where,
            )


def check_same(current: Settings, assignments: Iterable[str], where: str) -> None:
    """Raise SettingsError if an argument of `--set` would change a setting of the tree. It names all of them.

    `current`: of the tree; `where`: its `crawl.toml`.

    >>> check_same(apply(Settings(), ["politeness.delay=2"]), ["politeness.delay=2.0"], "crawl.toml")
    >>> check_same(Settings(), ["politeness.delay=2"], "crawl.toml")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: politeness.delay: the tree has 1; edit crawl.toml
    """
    wanted = apply(current, assignments)
    differing = []
    for section, known in SECTIONS.items():
        there, given = getattr(current, section), getattr(wanted, section)
        for name, setting in known.items():
            value = getattr(there, name)
            if value == getattr(given, name):
                continue
            has = "another value" if setting.secret else "none" if value is None else to_toml(value)
            is_fixed = (section, name) in FIXED
            then = ", fixed when it was created; start a new tree elsewhere" if is_fixed else f"; edit {where}"
            differing.append(SettingsError(f"the tree has {has}{then}", f"{section}.{name}"))
    if len(differing) == 1:
        raise differing[0]
    if differing:
        raise SettingsError("; ".join(map(str, differing)))
