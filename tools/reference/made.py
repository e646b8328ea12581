"""All parts that are made, by name. A part is missing here only if the code has not what it describes."""

from __future__ import annotations

from functools import partial

import fscrawl
from fscrawl import site
from fscrawl.commands import COMMANDS
from fscrawl.config import settings
from tools.reference import commands, declared, records
from tools.reference.parts import Part
from tools.reference.python_names import reference

CLI = "docs/reference/cli.md"
TREE = "docs/design/tree-format.md"
_TOGETHER = (("pause", "resume", "stop"),)  # commands of one section


def sections() -> list[tuple[str, ...]]:
    """Give the commands, those together that have one section."""
    found = []
    for command in COMMANDS:
        section = next((each for each in _TOGETHER if command in each), (command,))
        if section not in found:
            found.append(section)
    return found


def makers() -> dict[str, Part]:
    """Give all parts."""
    found = {"commands": Part(CLI, partial(commands.synopsis, list(COMMANDS)))}
    for section in sections():
        found[f"options {', '.join(section)}"] = Part(CLI, partial(commands.options, section))
    for name in settings.SECTIONS:
        found[f"settings {name}"] = Part("docs/reference/settings.md", partial(declared.setting_rows, name))
    for name in declared.TABLES:
        found[f"columns {name}"] = Part("docs/reference/dataset.md", partial(declared.column_rows, name))
    for name in records.RECORDS:
        found[f"record {name}"] = Part(TREE, partial(records.record_rows, name))
    found["extensions"] = Part(TREE, declared.extension_rows)
    found["failures"] = Part("docs/reference/terms.md", declared.failure_rows)
    found["python fscrawl.site"] = Part("docs/reference/site-files.md", partial(reference, site, 3))
    if hasattr(fscrawl, "__all__"):
        found["python fscrawl"] = Part("docs/reference/python.md", partial(reference, fscrawl, 3))
    return found
