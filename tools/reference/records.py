"""The fields of the tree's records, from their dataclasses: types by annotation, meanings by docstring."""

from __future__ import annotations

from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec.structs import FieldInfo, fields

from fscrawl.storage.records import ErrorRecord, PageRecord, RenderRecord, RobotsRecord, TreeRecord
from tools.reference.docstrings import meanings
from tools.reference.markdown import cell, code, table

RECORDS: dict[str, type] = {
    "links": PageRecord,
    "rendered": RenderRecord,
    "errs": ErrorRecord,
    "tree": TreeRecord,
    "robots": RobotsRecord,
}
_TYPES = {str: "string", int: "integer", float: "number", bool: "true", dict: "object", tuple: "array"}


def record_rows(name: str) -> str:
    """Give the table of a record's fields."""
    return record_rows_of(RECORDS[name])


def record_rows_of(record: type) -> str:
    """Give the table of fields in the order of the docstring; LookupError if one has no meaning there."""
    hints = get_type_hints(record)
    known = {field.name: field for field in fields(record)}
    rows = []
    for names, meaning in meanings(record.__doc__ or "").items():
        together = [known.pop(each if each in known else f"{each}_") for each in names.split(", ")]
        types = list(dict.fromkeys(_type(hints[each.name], each) for each in together))
        rows.append([", ".join(map(code, names.split(", "))), ", ".join(types), cell(meaning)])
    if known:
        raise LookupError(f"the docstring of {record.__name__} does not say what {', '.join(known)} means")
    return table(["field", "type", "meaning"], rows)


def _type(hint: Any, field: FieldInfo) -> str:
    kind = (
        next(each for each in get_args(hint) if each is not type(None))
        if get_origin(hint) in (Union, UnionType)
        else hint
    )
    said = _TYPES.get(get_origin(kind) or kind, "object")
    if get_args(kind):
        said += f" of {_TYPES[get_args(kind)[-1 if said == 'object' else 0]]}s"
    return said if field.required else f"{said}, optional"
