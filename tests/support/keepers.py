"""A keeper and its browser, asked as workers ask them."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

from fscrawl.config.settings import RenderSettings
from fscrawl.engine import browsers as module
from fscrawl.engine.browsers import Browsers
from fscrawl.render.client import render
from fscrawl.render.messages import Answer, Ask, Cookie, GaveWay, Job, Lanes, Options, Rendered, Trouble

URL = "http://127.0.69.1/"
HEADERS = {"content-type": "text/html; charset=utf-8"}
GOOD = "<p>a good page"
Fetch = Callable[[Ask], Answer]


class Keeper:
    def __init__(self, browsers: int = 1, **bounds: int) -> None:
        """`bounds`: `MEMORY_BYTES` and `MAX_BYTES`, if they are others than those of a crawl."""
        self._lanes = Lanes()
        self._browsers = Browsers(lambda text: None)
        with patch.dict(vars(module), bounds):
            self._browsers.keep(RenderSettings(when="always", browsers=browsers))

    def pid(self) -> int:
        pid = self._browsers._keepers[0].pid
        assert pid is not None
        return pid

    def page(
        self,
        html: str,
        fetch: Fetch = lambda ask: Answer(ask.number),
        *,
        headers: dict[str, str] = HEADERS,
        cookies: tuple[Cookie, ...] = (),
        max_bytes: int = 20_000_000,
        wait: str = "idle",
        timeout_s: float = 20.0,
        scroll: int = 0,
        screenshot: bool = False,
        url: str = URL,
    ) -> Rendered | Trouble | GaveWay:
        options = Options(wait, timeout_s, max_bytes, frozenset(), scroll, screenshot=screenshot, user_agent="test")
        job = Job(url, 200, headers, html.encode(), cookies, options)
        return render(self._browsers.address, job, fetch, self._lanes)

    def close(self) -> None:
        self._browsers.close()


def done(found: Rendered | Trouble | GaveWay) -> Rendered:
    assert isinstance(found, Rendered), found
    assert found.ended == "done"
    return found


def trouble(found: Rendered | Trouble | GaveWay) -> tuple[str, bool]:
    """Give what a page's trouble is, and whether another try may help."""
    assert isinstance(found, Trouble), found
    return found.message, found.retry
