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
_LEVELS = {
    "make test": ["-m", "quick", "-n", "2", "tests/unit", "tests/component"],
    "gate": ["-m", "gate and not dist", "-n", "2", "tests"],
}
_LIMIT_S = 1800.0


class Mutation(NamedTuple):
    """What stands in a file, and what stands there instead."""

    file: str
    right: str
    wrong: str


MUTATIONS = {
    "publish order": Mutation(
        "store.py",
        "        if body is not None:\n"
        "            self._put(self.body_path(host, record.key, record.file), body)\n"
        "        self.put_record(host, record)\n",
        "        self.put_record(host, record)\n"
        "        if body is not None:\n"
        "            self._put(self.body_path(host, record.key, record.file), body)\n",
    ),
    "publish under the final name": Mutation(
        "storage/atomic.py",
        "        retrying(path, lambda: temporary.write(lambda descriptor: _write(descriptor, data, fsync=fsync)))\n"
        "        retrying(path, rename_once)\n",
        "        temporary.write(lambda descriptor: None)\n"
        "        retrying(path, rename_once)\n"
        "        with open(path, 'wb') as file:\n"
        "            file.write(data)\n",
    ),
    "fence": Mutation("fleet/heartbeat.py", "return uptime() <= float(self._until.value)", "return True"),
    "lease": Mutation(
        "fleet/leases.py",
        'return self._files.claim(lease_path(shard, epoch), json.dumps(claim).encode() + b"\\n")',
        'return self._files.claim(lease_path(shard, epoch), json.dumps(claim).encode() + b"\\n") or True',
    ),
    "told before its links": Mutation(
        "engine/outcomes.py",
        '        moved = outcome.kind == "redirect"\n',
        '        moved = outcome.kind == "redirect"\n        self._membership.told(task, outcome.term)\n',
    ),
    "told at all": Mutation(
        "engine/outcomes.py",
        "        self._membership.told(task, outcome.term)\n"
        '        self._finish(task, outcome.exchange.asked_at, stored=outcome.kind == "page", told=True)\n',
        '        self._finish(task, outcome.exchange.asked_at, stored=outcome.kind == "page", told=True)\n',
    ),
    "robots": Mutation(
        "politeness/robots.py", "return not self._rules or self.forbidding_line(url) is None", "return True"
    ),
    "scope": Mutation(
        "frontier/scope.py", 'if (name if self.mode == "host" else site(name)) not in self._members:', "if False:"
    ),
    "deny": Mutation(
        "frontier/scope.py",
        "if self._deny is not None and self._deny.matches(url):",
        "if not self._allow and self._deny == url:",
    ),
    "depth": Mutation("frontier/frontier.py", "            if depth > limit:\n", "            if depth > limit + 1:\n"),
    "guard of addresses": Mutation(
        "http/fetch.py",
        "self._permits = addresses.permits(fetch.allow_private_addresses, fetch.allow_addresses)",
        "self._permits = addresses.permits(True, fetch.allow_addresses)",
    ),
    "digest": Mutation(
        "handlers/writer.py", "sha256=sha256(body).hexdigest(),", "sha256=sha256(body[:-1]).hexdigest(),"
    ),
    "size of a body": Mutation("http/bodies.py", "        if total > max_bytes:\n", "        if total < 0:\n"),
    "delay": Mutation(
        "politeness/pace.py",
        "min(self.robots_delay_s, settings.max_delay))\n        if not settings.adaptive",
        "min(0.0, settings.max_delay))\n        if not settings.adaptive",
    ),
    "Retry-After": Mutation("handlers/meaning.py", 'if "retry-after" not in headers:', "if headers is not None:"),
    "log-in of another host": Mutation(
        "http/fetch.py",
        "(login := self._authorizations.get(urls.origin(url))):",
        "(login := next(iter(self._authorizations.values()), None)):",
    ),
    "cookie of another host": Mutation(
        "http/cookies.py", "    if cookie.host_only and host != cookie.domain:\n        return False\n", ""
    ),
    "error beside a page": Mutation(
        "handlers/writer.py", "            self._tree.drop_error(task.host, task.key)\n", "            pass\n"
    ),
    "noindex": Mutation(
        "dataset/reading.py", "if not job.options.noindex and is_noindex(record):", "if job.options.noindex and False:"
    ),
    "key": Mutation(
        "urls.py",
        "return hashlib.sha224(url.encode()).hexdigest()[:_KEY_DIGITS]",
        "return hashlib.sha224(url.lower().encode()).hexdigest()[:_KEY_DIGITS]",
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
        for level, words in _LEVELS.items():
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]
            done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
            if failed := re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
                print(f"{name}: noticed by {level} after {time.monotonic() - began:.0f} s: {failed[0]}", flush=True)
                return True
    print(f"{name}: NOT NOTICED", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
