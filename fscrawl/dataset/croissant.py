"""`croissant.json`: what the Parquet tables are, for programs that load data sets (ML Croissant 1.0).

https://docs.mlcommons.org/croissant/docs/croissant-spec.html

It names every Parquet file with its SHA-256, and for each table a set of files and the records in them: columns with
types and meanings, as the card has them. What nobody but the user can know is left out: licence, citation, address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from fscrawl import __version__
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Manifest, Part
from fscrawl.dataset.tables import schemas

_TYPE = "application/x-parquet"
_CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_TABLES = {
    "pages": "a row for each page, redirect and other record",
    "links": "a row for each link and redirect of a page",
    "items": "a row for each item that rules have found on a page",
    "errors": "a row for each URL that could not be fetched",
}
_RIGHTS = "The owners of the pages decide who may use them and how; the column robots has what they said to robots."
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}


def croissant(job: Job, manifest: Manifest) -> str:
    """Return the text of the file; "" if the dataset has no Parquet table with rows.

    Its version grows by one with each run: 1.0.0, 1.1.0, …
    """
    tables = {table: parts for table in _TABLES if (parts := _parts(manifest, table))}
    if not tables:
        return ""
    values = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        "name": f"crawl {manifest.crawl}",
        "description": f"Web pages of crawl {manifest.crawl}, exported by fscrawl {__version__}. {_RIGHTS}",
        "version": f"1.{len(manifest.runs) - 1}.0",
        "distribution": [
            *(_file(part) for parts in tables.values() for part in parts),
            *map(_file_set, tables),
        ],
        "recordSet": [_record_set(job, table) for table in tables],
    }
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def _parts(manifest: Manifest, table: str) -> list[Part]:
    """Give the Parquet parts of a table; none if they have no rows."""
    parts = [part for part in manifest.parts if part.path.startswith(f"{table}/")]
    return parts if any(part.rows for part in parts) else []


def _file(part: Part) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": part.path,
        "name": part.path,
        "contentUrl": part.path,
        "contentSize": f"{part.bytes} B",
        "encodingFormat": _TYPE,
        "sha256": part.sha256,
    }


def _file_set(table: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{table}-files",
        "name": f"{table}-files",
        "description": f"the Parquet files of the table {table}",
        "encodingFormat": _TYPE,
        "includes": f"{table}/*.parquet",
    }


def _record_set(job: Job, table: str) -> dict[str, Any]:
    found: dict[str, Any] = {"@type": "cr:RecordSet", "@id": table, "name": table, "description": _TABLES[table]}
    if table in ("pages", "errors"):
        found["key"] = {"@id": f"{table}/key"}
    return found | {"field": list(_fields(job, table))}


def _fields(job: Job, table: str) -> Iterator[dict[str, Any]]:
    for column in schemas(job)[table]:
        meaning = (column.metadata or {}).get(b"comment", b"by the rules given with --fields").decode()
        field = {
            "@type": "cr:Field",
            "@id": f"{table}/{column.name}",
            "name": column.name,
            "description": meaning,
            "dataType": _type(column.type),
            "source": {"fileSet": {"@id": f"{table}-files"}, "extract": {"column": column.name}},
        }
        yield {**field, "repeated": True} if pa.types.is_list(column.type) else field


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return _type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "sc:DateTime"
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"  # it has no type for bytes
