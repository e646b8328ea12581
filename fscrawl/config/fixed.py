"""The settings that cannot be changed: what was fixed when the tree was created. Pure."""

from __future__ import annotations

from fscrawl.config.settings import FILE, FIXED, Settings
from fscrawl.errors import SettingsError
from fscrawl.storage.layout import TREE_RECORD
from fscrawl.storage.records import TreeRecord
from fscrawl.util.toml_file import TomlFile
from fscrawl.util.toml_text import to_toml


def check_fixed(record: TreeRecord, chosen: Settings, where: str = FILE, text: str = "") -> None:
    """Raise SettingsError if a setting differs from what was fixed when the tree was created.

    `text`: from which the settings were read, so that the error can name the line.
    """
    for section, name in FIXED:
        fixed, value = getattr(record, name), getattr(getattr(chosen, section), name)
        if value != fixed:
            place = TomlFile(text, where).value(section, name)
            raise SettingsError(
                f"{place}: {section}.{name} = {to_toml(value)}: cannot be changed; it was fixed as {to_toml(fixed)}"
                f" when the tree was created ({TREE_RECORD}); write that value, or start a new tree elsewhere"
            )
