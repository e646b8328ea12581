"""The settings of the section [render]: which pages are opened in a browser, and within which limits. Pure."""

from typing import Annotated

import msgspec

from fscrawl.config import checks

BLOCKED = ("image", "font", "media", "stylesheet", "frame")


class RenderSettings(msgspec.Struct, frozen=True):
    """Pages that scripts make: which ones are opened in a browser, and how long."""

    hosts: Annotated[
        tuple[str, ...],
        'hosts whose pages are rendered: a browser runs their scripts; "*.a.example": all below',
        checks.hosts,
    ] = ()
    when: Annotated[
        str,
        'which pages of other hosts are rendered: "never", "empty" (those with scripts and hardly any text), "always"',
        checks.one_of("never", "empty", "always"),
    ] = "never"
    wait: Annotated[
        str,
        'when a page is complete: "load"; "idle": nothing is being loaded, and five seconds have passed on the page\'s'
        ' clock, which jumps from timer to timer; "8s" on that clock; or "css:" and a selector that matches',
        checks.wait,
    ] = "idle"
    timeout: Annotated[float, "seconds that a page may take in the browser", checks.more_than_zero] = 30.0
    browsers: Annotated[
        int, "how many browsers run on each machine, one page at a time in each", checks.at_least(1)
    ] = 4
    block: Annotated[
        tuple[str, ...], "what is not loaded: " + ", ".join(BLOCKED), checks.names_of("kinds of requests", BLOCKED)
    ] = ("image", "font", "media", "frame")
    scroll: Annotated[
        int, "how often to scroll to the end of the page, for pages that then grow", checks.at_least(0)
    ] = 0
    screenshot: Annotated[bool, "store a picture of the page, too"] = False

    @property
    def is_on(self) -> bool:
        """Some pages may have to be rendered."""
        return bool(self.hosts) or self.when != "never"
