"""The examples of the guide for Python run as they stand, on a site of this computer."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT
from tests.support.web import Request, Response, Web

GUIDE = (CHECKOUT / "docs/how-to/python.md").read_text(encoding="utf-8")
SAID = "unknown setting politeness.delai; did you mean politeness.delay?"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def answer(request: Request) -> Response:
    if request.path in ("/", "/b"):
        html = b"<title>T</title><h1>One</h1><p>some words <a href=/b>b</a> <a href=/gone>gone</a>"
        return Response(200, {"Content-Type": "text/html"}, html)
    return Response(404, {}, b"")


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs after those before it; all that the guide uses is real, but the name of the site."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "guide"}
    printed = io.StringIO()
    with Web(answer) as web, contextlib.redirect_stdout(printed):
        for block in BLOCKS:
            wants = re.search(r"^from (torch|datasets)", block, re.MULTILINE)
            if wants is not None and importlib.util.find_spec(wants[1]) is None:
                continue
            here = block.replace("https://example.org/", f"http://127.0.0.1:{web.port}/").replace(
                'host="example.org"', 'host="127.0.0.1"'
            )
            here = here.replace('{"delay": 0.5}', '{"delay": 0.0}, fetch={"allow_private_addresses": True}')
            exec(compile(here, "docs/how-to/python.md", "exec"), names)
    said = printed.getvalue()
    assert SAID in said
    assert said.startswith("finished 2 {'http-4xx': 1} ")
    assert "{'heading': ['One']}" in said
    assert len(BLOCKS) >= 11
