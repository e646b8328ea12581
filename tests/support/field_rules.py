"""Rules for fields, as a test writes them in short."""

import tomllib

from fscrawl.parse.fields import Extracted, Field, extract, read_fields
from fscrawl.parse.selectors import Document


def rules(*lines: str) -> tuple[Field, ...]:
    return read_fields(tomllib.loads("\n".join(lines)))


def found_by(fields: tuple[Field, ...], html: str | bytes) -> Extracted:
    return extract(fields, Document(html if isinstance(html, bytes) else html.encode()))


def read(rule: str, html: str | bytes) -> Extracted:
    return found_by(rules(f"x = {{ {rule} }}"), html)


def value(rule: str, html: str | bytes):
    return read(rule, html).values.get("x")
