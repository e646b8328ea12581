"""Settings, columns of datasets, classes of failures and extensions of files, from where the code declares them."""

from __future__ import annotations

import re
from dataclasses import fields

from fscrawl.config import settings
from fscrawl.dataset import schema
from fscrawl.http.error_classes import CLASSES, HELP
from fscrawl.parse.extensions import EXTENSIONS
from tools.reference.markdown import cell, code, table

TABLES = {**schema.TABLES, "items": schema.ITEMS, "language": schema.LANGUAGE, "warc-index": schema.WARC_INDEX}


def setting_rows(section: str) -> str:
    """Give the table of a section's settings, with the defaults as `crawl.toml` writes them."""
    written = _defaults()
    return table(
        ["setting", "default", "meaning"],
        (
            [code(each.name), code(written[f"{section}.{each.name}"]), cell(each.metadata["help"])]
            for each in fields(getattr(settings.Settings(), section))
        ),
    )


def _defaults() -> dict[str, str]:
    """Give each setting's default; "absent" where `crawl.toml` writes none."""
    section, found = "", {}
    for line in settings.render(settings.Settings()).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif match := re.fullmatch(r"(# )?([a-z_]+) =(?: (.*))?", line):
            found[f"{section}.{match[2]}"] = "absent" if match[1] else match[3]
    return found


def column_rows(name: str) -> str:
    """Give the table of a table's columns, in their order, with type and meaning as the files have them."""
    return table(
        ["column", "type", "meaning"],
        ([code(each.name), cell(str(each.type)), cell(each.metadata[b"comment"].decode())] for each in TABLES[name]),
    )


def failure_rows() -> str:
    """Give the classes of failures, with what a person can do about each."""
    return table(
        ["class", "meaning", "what to do"],
        ([code(name), cell(meaning), _advice(HELP[name])] for name, meaning in CLASSES.items()),
    )


def _advice(text: str) -> str:
    """Give an advice without the place of one tree, its command as code."""
    text = text.replace("{fscrawl}", "fscrawl").replace(" --root {root}", "")
    said, _, command = text.rpartition(":  ")
    if not said:
        return code(text) if text.startswith("fscrawl ") else cell(text)
    return f"{cell(said)}: {code(command)}"


def extension_rows() -> str:
    """Give the extensions of files by media type."""
    return table(
        ["extension", "media types"],
        ([code(name), ", ".join(map(code, types))] for name, types in EXTENSIONS.items()),
    )
