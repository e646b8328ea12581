"""What a dataset says of itself: its manifest, its card, and the lines that a merge ends with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from fscrawl import __version__
from fscrawl.dataset.dataset_dir import FORMAT
from fscrawl.dataset.job import Job
from fscrawl.dataset.tables import schemas
from fscrawl.util.terminal import plain

_LEFT_OUT = {
    "filtered": "not asked for",
    "noindex": "that ask not to be indexed (--noindex keeps them)",
    "dropped": "duplicates (--dedupe)",
    "broken": "that cannot be read, which the next merge tries again",
}


def manifest(job: Job, old: dict[str, Any] | None, run: dict[str, Any]) -> dict[str, Any]:
    """Give the manifest after a run: what it was before, and the run's files in place of older failures.

    `run`: `files`, `counts`, `left_out`, `fields`.
    """
    earlier = old["files"] if old else []
    files = [each for each in earlier if not is_of_failures(each["path"])] + run["files"]
    runs = [*(old["runs"] if old else []), {"run": job.run, "counts": run["counts"], "left_out": run["left_out"]}]
    return {
        "format": FORMAT,
        "made_by": f"fscrawl {__version__}",
        "crawl": job.crawl,
        "options": job.options.values(),
        "counts": _sum(each["counts"] for each in runs) | _failures(files),
        "left_out": _left_out(runs),
        "fields": _add_up(old["fields"] if old else {}, run["fields"]),
        "runs": runs,
        "files": sorted(files, key=lambda each: str(each["path"])),
    }


def _left_out(runs: list[dict[str, Any]]) -> dict[str, int]:
    """Add up what runs left out; but each tries what is broken again, so the last one knows how much that is."""
    total = _sum(each["left_out"] for each in runs) | {"broken": runs[-1]["left_out"].get("broken", 0)}
    return {reason: number for reason, number in total.items() if number}


def is_of_failures(path: str) -> bool:
    """Tell a part of the failures: they are written anew by each run, since failures heal.

    >>> is_of_failures("errors/part-0001-00000.parquet"), is_of_failures("csv/pages/part-0001-00000.csv")
    (True, False)
    """
    return "errors/" in path


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _add_up(old: dict[str, dict[str, int]], run: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    new = {name: dict(zip(("found", "missing", "bad"), counts, strict=True)) for name, counts in run.items()}
    return {name: _sum(each[name] for each in (old, new) if name in each) for name in {**old, **new}}


def _failures(files: list[dict[str, Any]]) -> dict[str, int]:
    """Give the number of failures, where there is a table of them: an archive has none."""
    found = [each for each in files if is_of_failures(each["path"])]
    return {"errors": _rows(found)} if found else {}


def _rows(files: list[dict[str, Any]]) -> int:
    """Give the rows of files that may be the same in several formats."""
    totals: Counter[str] = Counter()
    for each in files:
        totals[each["path"].rpartition("/")[2].partition(".")[2]] += each["rows"]
    return max(totals.values(), default=0)


def report(facts: dict[str, Any]) -> Iterator[str]:
    """Give the lines that tell what a dataset holds, safe for a terminal."""
    counts, left_out = facts["counts"], facts["left_out"]
    text = f"pages: {counts.get('pages', 0)}"
    if any(counts.get(name) for name in ("duplicates", "near_duplicates")):
        text += f", {counts['duplicates']} of them duplicates, {counts['near_duplicates']} near-duplicates"
    yield f"{text}; failures: {counts['errors']}" if "errors" in counts else text
    for reason, words in _LEFT_OUT.items():
        if left_out.get(reason):
            yield f"left out: {left_out[reason]} {words}"
    for name, each in facts["fields"].items():
        covered = each["found"] + each["missing"]
        bad = f", {each['bad']} with a value of another type" if each["bad"] else ""
        yield f"field {plain(name)}: found on {each['found']} of {covered} pages{bad}"
    for room, files in _by_room(facts["files"]).items():
        yield f"{room:12} {len(files)} files, {sum(each['bytes'] for each in files) / 1e6:.1f} MB, {_rows(files)} rows"


def _by_room(files: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    rooms: dict[str, list[dict[str, Any]]] = {}
    for each in files:
        rooms.setdefault(each["path"].rpartition("/")[0] + "/", []).append(each)
    return rooms


def card(job: Job, facts: dict[str, Any]) -> str:
    """Give the dataset's README.md: a card that Hugging Face's tools read, with every column explained."""
    parquet = [table for table in ("pages", "links", "errors") if any(_is_in(each, table) for each in facts["files"])]
    head = ["---", f"pretty_name: crawl {job.crawl}", *_configs(parquet), "---"] if parquet else []
    lines = [
        *head,
        f"# Dataset of crawl {job.crawl}",
        "",
        f"Made by fscrawl {__version__} (`fscrawl merge`).",
        "`manifest.json` has the counts, bytes and SHA-256 of every file.",
        "",
        *(f"- {line}" for line in report(facts)),
        "",
        "Who may use the pages, and how, is for their owners to say; the column `robots` has what they said to robots.",
        "",
        "Options: `" + json.dumps({**facts["options"], "fields": bool(job.options.fields)}) + "`",
    ]
    for table, schema in schemas(job).items():
        lines += ["", f"## {table}", "", "| column | type | meaning |", "|---|---|---|"]
        for column in schema:
            meaning = (column.metadata or {}).get(b"comment", b"by the rules given with --fields").decode()
            meaning = meaning.replace("<", "&lt;")  # Markdown would take <title> for a tag
            lines.append(f"| `{column.name}` | {column.type} | {meaning} |")
    return "\n".join(lines) + "\n"


def _is_in(facts: dict[str, Any], table: str) -> bool:
    """Tell a Parquet part of a table that has rows: an empty one is an error to Hugging Face's tools."""
    return str(facts["path"]).startswith(f"{table}/") and facts["rows"] > 0


def _configs(tables: list[str]) -> list[str]:
    lines = ["configs:"]
    for table in tables:
        lines += [f"- config_name: {table}", f"  data_files: {table}/*.parquet"]
        lines += ["  default: true"] if table == "pages" else []
    return lines
