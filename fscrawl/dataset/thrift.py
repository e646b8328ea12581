"""Thrift's compact protocol, in which Parquet files describe themselves: bytes ↔ values that can be changed. Pure.

    struct      dict: number of a field → (type, value), in the order of the bytes
    list, set   (type of the elements, list of values)
    the others  bool, int, or bytes, also for a double

Nothing is known here of what the fields mean. So what a newer version of Parquet adds is kept as it is.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

Promise: `write(read(data, 0)[0])` has the same fields and values as `data`.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
RAW = 13  # the type of elements that are structs already written: bytes

Struct = dict[int, tuple[int, Any]]


def read(data: bytes, position: int = 0) -> tuple[Struct, int]:
    """Read a struct; return it and the position behind it. ValueError or IndexError if it is none.

    >>> read(write({1: (I32, -2), 20: (LIST, (BINARY, [b"a"])), 21: (TRUE, True)}))[0]
    {1: (5, -2), 20: (9, (8, [b'a'])), 21: (1, True)}
    """
    found: Struct = {}
    number = 0
    while head := data[position]:
        position += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, position = _integer(data, position)
        if kind in (TRUE, FALSE):
            found[number] = kind, kind == TRUE
        else:
            value, position = _value(data, position, kind)
            found[number] = kind, value
    return found, position + 1


def _value(data: bytes, position: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        return _integer(data, position)
    if kind == BINARY:
        length, position = _varint(data, position)
        return data[position : position + length], position + length
    if kind == STRUCT:
        return read(data, position)
    if kind in (LIST, SET):
        return _list(data, position)
    if kind in (BYTE, TRUE, FALSE):  # as an element of a list, a bool is a byte, too
        return data[position], position + 1
    if kind == DOUBLE:
        return data[position : position + 8], position + 8
    raise ValueError(f"type {kind} of Thrift is not used in Parquet")


def _list(data: bytes, position: int) -> tuple[tuple[int, list[Any]], int]:
    head = data[position]
    position += 1
    kind, length = head & 15, head >> 4
    if length == 15:
        length, position = _varint(data, position)
    values = []
    for _ in range(length):
        value, position = _value(data, position, kind)
        values.append(value)
    return (kind, values), position


def _integer(data: bytes, position: int) -> tuple[int, int]:
    number, position = _varint(data, position)
    return number >> 1 ^ -(number & 1), position  # zigzag


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[position]) & 128:
        number |= (byte & 127) << shift
        shift += 7
        position += 1
    return number | byte << shift, position + 1


def write(struct: Struct) -> bytes:
    """Write a struct.

    >>> write({1: (I64, 3), 2: (STRUCT, {})}).hex()
    '16061c0000'
    """
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


def _put_struct(out: bytearray, struct: Struct) -> None:
    before = 0
    for number, (kind, value) in struct.items():
        step = number - before
        if 0 < step < 16:
            out.append(step << 4 | kind)
        else:
            out.append(kind)
            _put_integer(out, number)
        before = number
        if kind not in (TRUE, FALSE):
            _put(out, kind, value)
    out.append(0)


def _put(out: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        _put_integer(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind in (LIST, SET):
        _put_list(out, *value)
    elif kind in (DOUBLE, RAW):
        out += value
    else:
        out.append(value)


def _put_list(out: bytearray, kind: int, values: list[Any]) -> None:
    shown = STRUCT if kind == RAW else kind
    if len(values) < 15:
        out.append(len(values) << 4 | shown)
    else:
        out.append(15 << 4 | shown)
        _put_varint(out, len(values))
    for value in values:
        _put(out, kind, value)


def _put_integer(out: bytearray, number: int) -> None:
    _put_varint(out, number << 1 if number >= 0 else (-number << 1) - 1)


def _put_varint(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
