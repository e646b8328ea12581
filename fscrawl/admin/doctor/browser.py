"""Checks the browser: if the settings want scripts to be run, is one there, and does it run them?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fscrawl.admin.doctor.check_result import OK, PROBLEM, CheckResult
from fscrawl.config.settings import Settings
from fscrawl.engine.browsers import one_browser
from fscrawl.render.executable import find
from fscrawl.render.messages import MAX_BYTES, Answer, Ask, Job, Options, Rendered, Trouble

_PAGE = b"<!doctype html><p id=p>not run</p><script>p.textContent = 6 * 7</script>"
_PAGE_S = 20.0


def browser(chosen: Settings, warn: Callable[[str], None]) -> Iterator[CheckResult]:
    """Let a browser run the script of a page. Nothing is loaded for it."""
    path = find()
    if not chosen.render.is_on:
        there = f"{path} is there" if path else "there is none"
        yield CheckResult(OK, f"browser: {there}; this crawl needs none ([render] is off)")
    elif path is not None:  # the check of the settings has named that
        yield _tried(path, chosen, warn)


def _tried(path: str, chosen: Settings, warn: Callable[[str], None]) -> CheckResult:
    options = Options(
        "load",
        _PAGE_S,
        MAX_BYTES,
        frozenset(),
        0,
        screenshot=False,
        user_agent=chosen.politeness.user_agent,
    )
    job = Job("http://fscrawl.invalid/", 200, {"content-type": "text/html"}, _PAGE, (), options)
    with one_browser(chosen.render, warn) as render:
        found = render(job, _nothing)
    if isinstance(found, Rendered) and b">42</p>" in found.dom:
        return CheckResult(OK, f"browser: {path} works; it ran a script in {found.seconds:.1f} s")
    what = found.message if isinstance(found, Trouble) else "it does not run scripts"
    advice = "run it by hand to see why, or name another one in FSCRAWL_BROWSER"
    return CheckResult(PROBLEM, f"browser: {path} does not work: {what}", advice)


def _nothing(ask: Ask) -> Answer:
    return Answer(ask.number)
