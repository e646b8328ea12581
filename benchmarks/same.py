"""Do two checkouts store the same, and export the same? Both crawl the two sites, and merge their trees.

    python -m benchmarks.same --base DIR [--depth N] [--sites NAME…]

Bodies are compared byte for byte, records and rows value for value. Left out are values that differ from run to run
(times, machines, which of several pages with a link was read first: referrer and depth), and fields and columns that
only one of the two has; these are named. Exit code 1 if anything else differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from benchmarks import corpus, measure
from benchmarks.crawlers import fscrawl

_OF_THE_RUN = {"fetched_at", "checked_at", "failed_at", "machine", "elapsed", "referrer", "depth"}
_OF_THE_RUN |= {"fetch_time", "check_time"}
_LIMIT_S = 1200.0
_MOST_SHOWN = 5

Rows = dict[str, dict[str, bytes]]  # key → field → digest of its value


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same", description="Two versions, compared.")
    parser.add_argument("--base", type=Path, required=True, metavar="DIR", help="the other checkout of fscrawl")
    parser.add_argument("--depth", type=int, default=0, help="links that are followed from the seed (default: all)")
    parser.add_argument("--sites", nargs="+", choices=["python3-doc", "rust-doc"], help="one of the sites")
    arguments = parser.parse_args()
    corpus.exit_on_terminate()
    corpus.install()
    checkouts = {"base": arguments.base.resolve(), "this": measure.PROJECT}
    differences = 0
    with corpus.serve() as served, tempfile.TemporaryDirectory(prefix="fscrawl-same-") as name:
        for site in (each for each in served.sites if not arguments.sites or each.name in arguments.sites):
            differences += _of_site(site, checkouts, Path(name), arguments.depth)
    sys.exit(1 if differences else 0)


def _of_site(site: corpus.Site, checkouts: dict[str, Path], directory: Path, depth: int) -> int:
    """Crawl a site with both, and compare; return the number of differences."""
    trees = {who: directory / f"{site.name}-{who}" for who in checkouts}
    for who, root in checkouts.items():
        _crawl(root, site, trees[who], depth)
    differences = _compare(f"{site.name}, bodies", *(_bodies(tree) for tree in trees.values()))
    differences += _compare(f"{site.name}, records", *(_records(tree) for tree in trees.values()))
    datasets = [_merged(root, trees[who]) for who, root in checkouts.items()]
    differences += _compare(f"{site.name}, pages of the dataset", *map(_pages, datasets))
    return differences + _compare(f"{site.name}, links of the dataset", *map(_links, datasets))


def _crawl(checkout: Path, site: corpus.Site, out: Path, depth: int) -> None:
    words = fscrawl(checkout)(site, out, 0)
    _run([*words, *(["--set", f"crawl.max_depth={depth}"] if depth else [])], checkout)


def _merged(checkout: Path, tree: Path) -> Path:
    out = tree.with_name(f"{tree.name}-dataset")
    _run([sys.executable, "-m", "fscrawl", "merge", "--root", str(tree), "--out", str(out)], checkout)
    return out


def _run(words: list[str], checkout: Path) -> None:
    cost = measure.run(words, cwd=checkout, limit_s=_LIMIT_S)
    if cost.exit_code:
        sys.exit(f"{' '.join(words)}: exit code {cost.exit_code}\n{cost.message}")


def _bodies(tree: Path) -> Rows:
    return {
        str(path.relative_to(tree)): {"body": _digest(path.read_bytes())}
        for directory in ("htmls", "files")
        for path in (tree / directory).rglob("*.*")
        if path.is_file()
    }


def _records(tree: Path) -> Rows:
    rows: Rows = {}
    for directory in ("links", "errs"):
        for path in (tree / directory).rglob("*.json"):
            rows[str(path.relative_to(tree))] = _of_record(json.loads(path.read_bytes()))
    return rows


def _of_record(record: dict[str, Any]) -> dict[str, bytes]:
    headers = {name: text for name, text in (record.pop("headers", None) or {}).items() if name != "date"}
    return {name: _digest(value) for name, value in {**record, "headers": headers}.items() if name not in _OF_THE_RUN}


def _pages(dataset: Path) -> Rows:
    return {
        row["key"]: _of_record({**row, "headers": json.loads(row["headers"] or "{}")})
        for row in _rows(dataset, "pages")
    }


def _links(dataset: Path) -> Rows:
    """Give the links of each page, in their order."""
    rows: dict[str, list[Any]] = {}
    for row in _rows(dataset, "links"):
        rows.setdefault(row["source_key"], []).append(
            [row["target"], row["target_key"], row["nofollow"], row["redirect"]]
        )
    return {key: {"links": _digest(links)} for key, links in rows.items()}


def _rows(dataset: Path, table: str) -> Iterator[dict[str, Any]]:
    for batch in ds.dataset(dataset / table).to_batches(batch_size=500):
        yield from batch.to_pylist()


def _digest(value: object) -> bytes:
    data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, digest_size=12).digest()


def _compare(what: str, base: Rows, this: Rows) -> int:
    """Print how two versions differ; return the number of differences."""
    different: Counter[str] = Counter()
    only: dict[str, set[str]] = {"base": set(), "this": set()}
    examples: list[str] = []
    for key in base.keys() | this.keys():
        if key not in base or key not in this:
            different[f"only in {'base' if key in base else 'this'}"] += 1
            examples.append(key)
            continue
        for name in base[key].keys() | this[key].keys():
            if name not in base[key] or name not in this[key]:
                only["base" if name in base[key] else "this"].add(name)
            elif base[key][name] != this[key][name]:
                different[name] += 1
                examples.append(f"{key} ({name})")
    said = ", ".join(f"{name} {number}" for name, number in different.items()) or "the same"
    apart = "; ".join(f"only {who} has {', '.join(sorted(names))}" for who, names in only.items() if names)
    print(f"{what}: {len(base):,} and {len(this):,}; {said}{f' ({apart})' if apart else ''}", flush=True)
    for example in examples[:_MOST_SHOWN]:
        print(f"    {example}")
    return different.total()


if __name__ == "__main__":
    main()
