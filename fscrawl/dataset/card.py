"""The dataset's README.md (its card), and the summary that a merge prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fscrawl import __version__
from fscrawl.dataset.extract import ITEM_FIELD
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Manifest, Part, rows_of
from fscrawl.dataset.tables import schemas
from fscrawl.util.humanize import number_of, size
from fscrawl.util.terminal import plain

_LEFT_OUT = {
    "status": ("page", "with another --status"),
    "since": ("page", "older than --since"),
    "host": ("page", "of hosts that --host does not name"),
    "include": ("page", "with a URL that --include does not match"),
    "exclude": ("page", "with a URL that --exclude matches"),
    "unchanged": ("version", "that say no more than the one before"),
    "noindex": ("page", "marked noindex (--keep-noindex keeps such pages)"),
    "duplicate": ("duplicate", "(--dedupe)"),
    "broken": ("page", "that cannot be read; the next merge tries again"),
}


def report(manifest: Manifest) -> Iterator[str]:
    """Yield the lines that say what a dataset holds, safe for a terminal."""
    counts, left_out = manifest.counts, manifest.left_out
    kinds = f"{number_of(counts.pages, 'page')}, {number_of(counts.redirects, 'redirect')}"
    text = f"records: {kinds}, {counts.others:,} of other types"
    yield text if counts.errors is None else f"{text}; failures: {counts.errors:,}"
    near = counts.near_duplicates
    if counts.duplicates or near:
        found = f"duplicates: {number_of(counts.duplicates, 'page')}"
        yield found if near is None else f"{found}, and {number_of(near, 'near-duplicate')}"
    for reason, (what, why) in _LEFT_OUT.items():
        if left_out.get(reason):
            yield f"left out: {number_of(left_out[reason], what)} {why}"
    for name, each in manifest.fields.items():
        covered = each.found + each.missing
        what = "item" if name.startswith(ITEM_FIELD) else "page"
        bad = f", {each.bad:,} with a value of the wrong type" if each.bad else ""
        yield f"field {plain(name)}: found on {each.found:,} of {number_of(covered, what)}{bad}"
    for folder, parts in _by_folder(manifest.parts).items():
        data = size(sum(part.bytes for part in parts))
        yield f"{folder:12} {number_of(len(parts), 'file')}, {data}, {number_of(rows_of(parts), 'row')}"


def _by_folder(parts: Iterable[Part]) -> dict[str, list[Part]]:
    folders: dict[str, list[Part]] = {}
    for part in parts:
        folders.setdefault(part.folder, []).append(part)
    return folders


def card(job: Job, manifest: Manifest) -> str:
    """Return the dataset's README.md: a card that Hugging Face's tools can read, with every column explained."""
    parquet = [
        table
        for table in ("pages", "links", "items", "errors", "changes")
        if any(_is_in(part, table) for part in manifest.parts)
    ]
    head = ["---", f"pretty_name: crawl {job.crawl}", *_configs(parquet), "---"] if parquet else []
    lines = [
        *head,
        f"# Dataset of crawl {job.crawl}",
        "",
        f"Made by fscrawl {__version__} (`fscrawl merge`).",
        "`manifest.json` has the counts, bytes and SHA-256 of every file.",
        "",
        *(f"- {line}" for line in report(manifest)),
        "",
        "The owners of the pages decide who may use them and how; the column `robots` has what they said to robots.",
        "",
        f"Options: `{_options(job)}`",
    ]
    for table, schema in schemas(job).items():
        lines += ["", f"## {table}", "", "| column | type | meaning |", "|---|---|---|"]
        for column in schema:
            meaning = (column.metadata or {}).get(b"comment", b"a field of a site").decode()
            meaning = meaning.replace("<", "&lt;")  # Markdown would take <title> for a tag
            lines.append(f"| `{column.name}` | {column.type} | {meaning} |")
    return "\n".join(lines) + "\n"


def _options(job: Job) -> str:
    """Give the options as JSON; of the rules only whether there are some."""
    return msgspec.json.encode({**msgspec.structs.asdict(job.options), "fields": bool(job.options.fields)}).decode()


def _is_in(part: Part, table: str) -> bool:
    """Tell whether this is a Parquet part of a table and has rows. Hugging Face's tools fail on an empty one."""
    return part.path.startswith(f"{table}/") and part.rows > 0


def _configs(tables: list[str]) -> list[str]:
    lines = ["configs:"]
    for table in tables:
        lines += [f"- config_name: {table}", f"  data_files: {table}/*.parquet"]
        lines += ["  default: true"] if table == "pages" else []
    return lines
