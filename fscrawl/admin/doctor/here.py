"""What this machine brings along: Python, packages, limits, memory, and names that resolve."""

from __future__ import annotations

import importlib.util
import platform
import queue
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fscrawl.admin.doctor.said import OK, PROBLEM, WARNING, Said, gib
from fscrawl.config.addresses import permits
from fscrawl.config.settings import FetchSettings

EXTRAS = {
    "merge": ("numpy", "parsel", "pyarrow", "rensa", "warcio"),
    "main-text": ("trafilatura", "lxml_html_clean"),
    "socks": ("socks",),
    "dask": ("distributed",),
    "dashboard": ("starlette", "uvicorn"),
}
_NEWEST_TESTED = (3, 13)
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_BASE_BYTES = 100 << 20  # the parent with its frontier, and the process that workers are forked from
_WORKER_BYTES = 64 << 20  # 25 MiB on small pages; large ones want more while they are read
_KEPT_CONNECTIONS = 256  # hosts whose connections a worker keeps open
_MOST_THREADS = 5  # times `threads`: so many a worker may have while hosts hardly answer
_OTHER_FILES = 64
_RESOLVERS = 16
_MOST_NAMES = 64


def python() -> Iterator[Said]:
    version, build = platform.python_version(), f"{platform.system()} {platform.machine()}"
    tested = sys.version_info[:2] <= _NEWEST_TESTED
    yield Said(OK, f"Python {version} on {build}" + ("" if tested else ", which fscrawl has not been tested with"))


def packages(has: Callable[[str], object] = importlib.util.find_spec) -> Iterator[Said]:
    """Say which extras are installed; none of them is needed to crawl."""
    there = [extra for extra, names in EXTRAS.items() if all(has(name) for name in names)]
    yield Said(OK, f"optional packages: {', '.join(there) or 'none'}")
    for extra in (name for name in EXTRAS if name not in there):
        yield Said(OK, f"not installed: {extra}", f"if you want it: pip install 'fscrawl[{extra}]'")


def open_files(workers: int, threads: int, per_host: int = 1) -> Iterator[Said]:
    """Compare the limit of open files, which holds for each process, with what a worker and the parent may need."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    of_worker = _KEPT_CONNECTIONS * per_host + 2 * _MOST_THREADS * threads + _OTHER_FILES
    needed = max(of_worker, 8 * workers + _OTHER_FILES)
    told = f"{'no limit' if limit == resource.RLIM_INFINITY else limit} of open files, {needed} may be needed"
    if limit == resource.RLIM_INFINITY or limit >= needed:
        yield Said(OK, told)
    else:
        yield Said(PROBLEM, told, f"ulimit -n {needed}")


def memory(workers: int) -> Iterator[Said]:
    needed, free = _BASE_BYTES + workers * _WORKER_BYTES, available_bytes()
    if free is None:
        yield Said(OK, f"memory: {gib(needed)} may be needed; how much is free cannot be seen here")
    elif free < needed:
        yield Said(WARNING, f"memory: {gib(free)} free, {gib(needed)} may be needed", "start fewer --workers")
    else:
        yield Said(OK, f"memory: {gib(free)} free, {gib(needed)} may be needed")


def available_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """Give the memory that can be had: the system's, or what a container's limit (cgroup 2) leaves of it."""
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
    """Ask the resolver for a name's addresses; OSError if it has none."""
    return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})


def names(
    wanted: Iterable[str], fetch: FetchSettings, deadline_s: float, lookup: Lookup = addresses_of
) -> Iterator[Said]:
    """Resolve the seeds' host names, several at a time; nothing is connected to."""
    asked = sorted({name for name in wanted if not _is_address(name)})[:_MOST_NAMES]
    answers = _resolved(asked, deadline_s, lookup)
    permitted = permits(fetch.allow_private_addresses, fetch.allow_addresses)
    bad = WARNING if fetch.proxies else PROBLEM  # a proxy looks names up itself
    for name in asked:
        found = answers.get(name)
        if found is None:
            yield Said(bad, f"{name} does not resolve within {deadline_s:g} s", "is the resolver right?")
        elif isinstance(found, OSError):
            yield Said(
                bad, f"{name} does not resolve: {found.strerror or found}", "is the name right, and the resolver?"
            )
        elif not any(map(permitted, found)):
            advice = "fetch.allow_addresses in crawl.toml permits networks"
            yield Said(bad, f"{name} leads to {found[0]}, which is not public: it is refused", advice)
    good = sum(isinstance(answers.get(name), list) for name in asked)
    if good:
        yield Said(OK, f"{good} of {len(asked)} host names of the seeds resolve; whether they answer is not tried")


def _is_address(name: str) -> bool:
    return name.endswith("]") or name.rpartition(".")[2].isdigit()


def _resolved(asked: list[str], deadline_s: float, lookup: Lookup) -> dict[str, list[str] | OSError]:
    """Look names up in threads that nobody waits for: a resolver cannot be told to stop."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, list[str] | OSError]] = queue.SimpleQueue()
    for name in asked:
        todo.put(name)

    def work() -> None:
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((name, list(lookup(name))))
            except (OSError, UnicodeError) as error:
                done.put((name, error if isinstance(error, OSError) else OSError(0, "it is no host name")))

    for _ in range(min(_RESOLVERS, len(asked))):
        threading.Thread(target=work, daemon=True).start()
    answers: dict[str, list[str] | OSError] = {}
    until = time.monotonic() + deadline_s
    while len(answers) < len(asked):
        try:
            name, answer = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            break
        answers[name] = answer
    return answers
