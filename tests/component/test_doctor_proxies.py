"""What `doctor` says of proxies: real ones on loopback, which answer, want another log-in, or are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.admin import doctor
from fscrawl.admin.doctor import this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM
from fscrawl.config.settings import Settings, apply
from tests.support.web import HTML, Request, Response, Web

SEED = "http://a.example/"


def _answer(request: Request) -> Response:
    """Be an HTTP proxy: requests for http pages come with their whole URL."""
    given = request.headers.get("proxy-authorization")
    return Response(200 if given == "Basic bWU6cEB3" else 407, HTML, b"User-agent: *")


def _results(*proxies: str) -> list[tuple[str, str]]:
    listed = ", ".join(f"'{each}'" for each in proxies)
    chosen = apply(Settings(), [f"fetch.proxies=[{listed}]", "fetch.connect_timeout=3"])
    return [(each.level, each.what) for each in this_machine.proxies(SEED, chosen, ())]


def test_proxies() -> None:
    """Each proxy has a line; its log-in is not shown."""
    with Web(_answer, ["127.0.77.1"]) as web:
        place = f"127.0.77.1:{web.port}"
        found = _results(f"http://me:p%40w@{place}", f"http://me:other@{place}", "http://127.0.77.2:9")
    assert found == [
        (OK, f"the proxy http://{place} answers"),
        (PROBLEM, f"the proxy http://{place} asks for another user and password"),
        (PROBLEM, "the proxy http://127.0.77.2:9 cannot be used"),
    ]
    assert web.count() == 2


@pytest.mark.parametrize("seed", ["http://a.example/x#method=POST", "https://a.example/"])
def test_in_the_doctor(tmp_path: Path, seed: str) -> None:
    """It asks by the first seed, whatever request that is."""
    (tmp_path / "seeds.txt").write_text(f"{seed}\n")
    (tmp_path / "crawl.toml").write_text('[fetch]\nproxies = ["http://127.0.77.2:9"]\n')
    said = [each.what for each in doctor.examine(tmp_path, 1, 1, lambda _: None, lambda _: ["192.0.2.1"])]
    assert "the proxy http://127.0.77.2:9 cannot be used" in said
