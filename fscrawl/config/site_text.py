"""[[site]] tables as text, for a `crawl.toml` that is written again. Pure; `sites.read` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fscrawl.util.user_text import to_toml

NOT_KEPT = "(it had a value, which may be secret, and so was not kept: write it again)"
TABLE = "site"


def render_site(table: Mapping[str, Any], *, secrets: bool) -> Iterator[str]:
    """Write a table in lines, from which the same rules are read. `secrets`: as for `settings.render`.

    >>> print(*render_site({"hosts": ["a.example"], "headers": {"X": "1"}}, secrets=False), sep="\\n")
    [[site]]
    hosts = ["a.example"]
    # headers =  (it had a value, which may be secret, and so was not kept: write it again)
    """
    yield f"[[{TABLE}]]"
    for name, value in table.items():
        if name == "headers" and not secrets:
            yield f"# {name} =  {NOT_KEPT}"
        elif name != "fields":
            yield f"{name} = {to_toml(value)}"
    if "fields" in table:
        yield f"[{TABLE}.fields]"
        yield from (f"{to_toml(name)} = {to_toml(value)}" for name, value in table["fields"].items())
