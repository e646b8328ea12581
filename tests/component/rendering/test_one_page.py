"""One page in a browser: `fscrawl try`, and what the doctor says of the browser."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from fscrawl import cli
from tests.support.crawling import crawl
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.68.1"
SHELL = b"""<!doctype html><title>Shell</title><div id=app></div><script>
fetch("/api").then(answer => answer.json()).then(item => {
  document.title = item.title;
  app.innerHTML = `<h1>${item.title}</h1><a href="/next">next</a>`;
})</script>"""
RULES = """
[[site]]
hosts = ["%s"]
[site.fields]
name = "css:h1"
"""


def _answer(request: Request) -> Response:
    if request.path == "/api":
        return Response(200, {"content-type": "application/json"}, b'{"title": "Item"}')
    return Response(200, HTML, SHELL)


@pytest.fixture
def web() -> object:
    with Web(_answer, [HOST]) as web:
        yield web


def _tried(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert cli.main(["try", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.gate
def test_try(web: Web, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows what a crawl would make of the page: links, title and fields are those of the DOM; --stored too."""
    home = web.url(HOST)
    settings = {"render.when": "always", "crawl.max_depth": "0"}
    assert crawl(root, seeds=[home], settings=settings).code == 0
    path = root / "crawl.toml"
    path.write_text(path.read_text() + RULES % f"{HOST}:{web.port}")
    fetched = _tried(capsys, home, "--root", str(root))
    asked = web.count()
    stored = _tried(capsys, home, "--root", str(root), "--stored")
    assert web.count() == asked
    for found in (fetched, stored):
        assert (found["title"], found["fields"]) == ("Item", {"name": "Item"})
        assert found["rendered"]["ended"] == "done"
        assert found["cut"] == [{"url": f"{home}next", "rule": "max_depth = 0"}]
    assert fetched["rendered"]["requests"] == {f"{HOST}:{web.port}": 1}
    off = _tried(capsys, home, "--root", str(root), "--stored", "--set", "render.when=never")
    assert (off["title"], off["rendered"]) == ("Shell", None)
    assert cli.main(["try", home, "--root", str(root)]) == 0
    assert "rendered  done, in " in capsys.readouterr().out


def test_try_without_a_browser(web: Web, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what is missing; nothing was fetched."""
    monkeypatch.setenv("FSCRAWL_BROWSER", "/nonexistent")
    words = ["--set", "render.when=always", "--set", "fetch.allow_addresses=['127.0.0.0/8']"]
    assert cli.main(["try", web.url(HOST), *words]) == 2
    assert "FSCRAWL_BROWSER=/nonexistent: there is no such program" in capsys.readouterr().err
    assert web.count() == 0


def _doctor(capsys: pytest.CaptureFixture[str], root: Path) -> tuple[int, str]:
    code = cli.main(["doctor", "--root", str(root)])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if ": browser: " in line)
    return code, line


def test_doctor(
    web: Web, root: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs a script in the browser that a crawl would use, and says if none is needed, or if it does not work."""
    settings = {"render.when": "always", "crawl.max_depth": "0"}
    assert crawl(root, seeds=[web.url(HOST)], settings=settings).code == 0
    asked = web.count()
    code, line = _doctor(capsys, root)
    assert line.startswith("ok: browser: ")
    assert "works; it ran a script in" in line
    liar = tmp_path / "chromium"
    liar.write_text("#!/bin/sh\nexit 1\n")
    liar.chmod(liar.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("FSCRAWL_BROWSER", str(liar))
    worse, line = _doctor(capsys, root)
    assert worse != code
    assert line.startswith(f"problem: browser: {liar} does not work: ")
    path = root / "crawl.toml"
    path.write_text(path.read_text().replace('when = "always"', 'when = "never"'))
    assert _doctor(capsys, root) == (code, f"ok: browser: {liar} is there; this crawl needs none ([render] is off)")
    assert web.count() == asked
