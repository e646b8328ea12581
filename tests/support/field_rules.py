"""Rules for fields, as a test writes them in short."""

from fscrawl.parse import fields
from fscrawl.parse.fields import Extracted, parse

URL = "http://www.a.example/dir/page.html"


def rules(*lines: str, hosts: str = "*") -> fields.Rules:
    return parse("\n".join([f'[hosts."{hosts}"]', *lines]))


def read(rule: str, html: str | bytes) -> Extracted:
    return rules(f"x = {{ {rule} }}").extract(URL, html if isinstance(html, bytes) else html.encode())


def value(rule: str, html: str | bytes):
    return read(rule, html).values.get("x")
