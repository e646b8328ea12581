"""The settings of the section [render]: which pages are opened in a browser, and within which limits. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fscrawl.config import checks
from fscrawl.config.value_types import setting

BLOCKED = ("image", "font", "media", "stylesheet", "frame")


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """Pages that scripts make: which ones are opened in a browser, and how long."""

    hosts: tuple[str, ...] = setting(
        (), 'hosts whose pages are rendered: a browser runs their scripts; "*.a.example": all below', checks.hosts
    )
    when: str = setting(
        "never",
        'which pages of other hosts are rendered: "never", "empty" (those with scripts and hardly any text), "always"',
        checks.one_of("never", "empty", "always"),
    )
    wait: str = setting(
        "idle",
        'when a page is complete: "load"; "idle": nothing is being loaded, and five seconds have passed on the page\'s'
        ' clock, which jumps from timer to timer; "8s" on that clock; or "css:" and a selector that matches',
        checks.wait,
    )
    timeout: float = setting(30.0, "seconds that a page may take in the browser", checks.more_than_zero)
    browsers: int = setting(4, "how many browsers run on each machine, one page at a time in each", checks.at_least(1))
    block: tuple[str, ...] = setting(
        ("image", "font", "media", "frame"),
        "what is not loaded: " + ", ".join(BLOCKED),
        checks.names_of("kinds of requests", BLOCKED),
    )
    scroll: int = setting(0, "how often to scroll to the end of the page, for pages that then grow", checks.at_least(0))
    screenshot: bool = setting(False, "store a picture of the page, too")

    @property
    def is_on(self) -> bool:
        """Some pages may have to be rendered."""
        return bool(self.hosts) or self.when != "never"
