"""A computer without /dev/shm, or with one that cannot be used, as small containers have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.root

HOST = "127.0.63.1"
NONE = (
    "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9"
    " && mknod -m 666 /dev/zero c 1 5"
)
READ_ONLY = "mount -t tmpfs -o ro none /dev/shm"
FULL = "mount -t tmpfs -o nr_inodes=1 none /dev/shm"


def run(make: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the mounts are others."""
    command = ["unshare", "--mount", "sh", "-c", f'{make} && exec "$@"', "sh", sys.executable, "-m", "fscrawl", *words]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("make", [NONE, READ_ONLY, FULL], ids=["none", "read-only", "full"])
def test_without_it(tmp_path: Path, make: str) -> None:
    """A crawl and a merge say in one line what is missing, and do nothing; other commands do without."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    root = tmp_path / "tree"
    with Web(linked_site(3, 1), hosts=[HOST]) as web:
        crawl = ["crawl", "--root", str(root), "--seed", web.url(HOST)]
        crawl += ["--set", "fetch.allow_addresses=['127.0.0.0/8']", "--set", "politeness.delay=0"]
        for words in ([*crawl, "--workers", "2"], [*crawl, "--workers", "0"]):
            done = run(make, *words)
            assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done
            assert done.stderr.startswith("fscrawl: /dev/shm: ")
        assert run("true", *crawl).returncode == 0
    assert run(make, "status", "--root", str(root)).returncode == 0
    done = run(make, "merge", "--root", str(root), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()[-1:]
    assert line.startswith("fscrawl: /dev/shm: ")
