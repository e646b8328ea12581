"""Breaks places of the product that matter, one at a time, and tells which tests notice: `make test`, or the gate.

    python -m tests.support.mutations               all of them, in copies of this checkout
    python -m tests.support.mutations fence robots  some

Exit code 1 if one goes unnoticed, or if the product has no such place any more: then its line here is to be changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
_LEVELS = {"make test": ("quick", ["tests/unit", "tests/component"]), "the gate": ("gate and not dist", ["tests"])}
_LIMIT_S = 1800.0


class Mutation(NamedTuple):
    """What stands in a file, what stands there instead, and a file of tests that is asked first, before all others."""

    file: str
    right: str
    wrong: str
    first: str


MUTATIONS = {
    "publish order": Mutation(
        "store.py",
        "        if body is not None:\n"
        "            self._put(self.body_path(host, record.key, record.file), body)\n"
        "        self.put_record(host, record)\n",
        "        self.put_record(host, record)\n"
        "        if body is not None:\n"
        "            self._put(self.body_path(host, record.key, record.file), body)\n",
        "tests/component/test_store.py",
    ),
    "publish under the final name": Mutation(
        "storage/atomic.py",
        "        retrying(path, lambda: temporary.write(fill))\n        retrying(path, rename_once)\n",
        "        temporary.write(lambda descriptor: 0)\n"
        "        retrying(path, rename_once)\n"
        "        with open(path, 'wb') as file:\n"
        "            fill(file.fileno())\n",
        "tests/component/test_store.py",
    ),
    "fence": Mutation(
        "fleet/heartbeat.py",
        "return uptime() <= float(self._until.value)",
        "return True",
        "tests/unit/test_heartbeat.py",
    ),
    "claim": Mutation(
        "storage/atomic.py",
        "    try:\n        temporary.link()\n",
        "    try:\n        temporary.rename()\n",
        "tests/component/test_store.py",
    ),
    "told before its links": Mutation(
        "engine/outcomes.py",
        "            yield from self._discover(outcome)\n        if self._is_stale(outcome):  # from",
        "            self._membership.tell(task)\n            yield from self._discover(outcome)\n"
        "        if self._is_stale(outcome):  # from",
        "tests/unit/test_outcomes.py",
    ),
    "told at all": Mutation(
        "engine/outcomes.py",
        "            yield from self._discover(outcome)\n        if self._is_stale(outcome):  # from",
        "            yield\n        if self._is_stale(outcome):  # from",
        "tests/unit/test_outcomes.py",
    ),
    "robots": Mutation(
        "politeness/robots.py",
        "return not self._rules or self.forbidding_line(url) is None",
        "return True",
        "tests/unit/test_robots.py",
    ),
    "scope": Mutation(
        "frontier/scope.py",
        'if (name if self.mode == "host" else site(name)) not in self._members:',
        "if False:",
        "tests/unit/test_scope.py",
    ),
    "deny": Mutation(
        "frontier/scope.py",
        "if self._deny is not None and self._deny.matches(url):",
        "if not self._allow and self._deny == url:",
        "tests/unit/test_scope.py",
    ),
    "depth": Mutation(
        "frontier/frontier.py",
        "            if depth > limit:\n",
        "            if depth > limit + 1:\n",
        "tests/unit/test_frontier.py",
    ),
    "guard of addresses": Mutation(
        "http/dialling.py",
        "return self._permits(address) and exchange.may_reach(address)",
        "return True",
        "tests/component/fetch/test_fetch_guard.py",
    ),
    "digest": Mutation(
        "handlers/writer.py",
        "sha256=sha256(body).hexdigest(),",
        "sha256=sha256(body[:-1]).hexdigest(),",
        "tests/component/test_crawl.py",
    ),
    "size of a body": Mutation(
        "http/bodies.py",
        "        if len(piece) > left:\n",
        "        if len(piece) < 0:\n",
        "tests/component/fetch/test_fetch_codings.py",
    ),
    "delay": Mutation(
        "politeness/pace.py",
        "min(self.robots_delay_s, settings.max_delay))\n        if not settings.adaptive",
        "min(0.0, settings.max_delay))\n        if not settings.adaptive",
        "tests/unit/test_pace.py",
    ),
    "Retry-After": Mutation(
        "parse/headers.py",
        'if not headers or "retry-after" not in headers:',
        "if True:",
        "tests/component/worker/test_worker_failures.py",
    ),
    "log-in of another host": Mutation(
        "http/outgoing.py",
        "(login := self._authorizations.get(urls.origin(url))):",
        "(login := next(iter(self._authorizations.values()), None)):",
        "tests/component/fetch/test_fetch_session.py",
    ),
    "cookie of another host": Mutation(
        "http/cookies.py",
        "    if cookie.host_only and host != cookie.domain:\n        return False\n",
        "",
        "tests/unit/test_cookies.py",
    ),
    "error beside a page": Mutation(
        "handlers/writer.py",
        "            self._tree.drop_error(task.host, task.key)\n",
        "            pass\n",
        "tests/component/worker/test_worker_failures.py",
    ),
    "noindex": Mutation(
        "dataset/reading.py",
        "if not job.options.noindex and is_noindex(record):",
        "if job.options.noindex and False:",
        "tests/component/merge/test_merge_filters.py",
    ),
    "key": Mutation(
        "urls.py",
        "return hashlib.sha224(url.encode()).hexdigest()[:_KEY_DIGITS]",
        "return hashlib.sha224(url.lower().encode()).hexdigest()[:_KEY_DIGITS]",
        "tests/unit/test_urls.py",
    ),
}


def main(names: list[str]) -> int:
    """Try the mutations with these names, or all; return the exit code."""
    noticed = [_tried(name, MUTATIONS[name]) for name in names or MUTATIONS]
    print(f"{sum(noticed)} of {len(noticed)} noticed")
    return int(not all(noticed))


def _tried(name: str, mutation: Mutation) -> bool:
    with tempfile.TemporaryDirectory(prefix="mutation-") as directory:
        copy = Path(directory) / "checkout"
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".hypothesis")
        shutil.copytree(CHECKOUT, copy, ignore=ignored)
        path = copy / "fscrawl" / mutation.file
        text = path.read_text()
        if text.count(mutation.right) != 1:
            print(f"{name}: fscrawl/{mutation.file} has no such place any more")
            return False
        path.write_text(text.replace(mutation.right, mutation.wrong))
        for files in ([mutation.first], []):
            for level, (marks, everywhere) in _LEVELS.items():
                began = time.monotonic()
                command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2", "-m", marks]
                command += files or everywhere
                done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
                if failed := re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
                    print(f"{name}: {level} notices after {time.monotonic() - began:.0f} s: {failed[0]}", flush=True)
                    return True
    print(f"{name}: NOT NOTICED", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
