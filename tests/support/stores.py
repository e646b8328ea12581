"""What the tests of the store share: pages, threads that start together, and processes that die at a given step."""

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

from fscrawl.storage.records import PageRecord, TreeRecord
from fscrawl.store import Tree, create

ROOT = Path(__file__).parents[2]
KEY, OTHER = "0a" * 12, "0b" * 12
HOST = "a.example"
BODY = b"<title>x</title>" * 1000
RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")


def page(key=KEY, body=BODY, **changes):
    values = {
        "url": f"http://{HOST}/{key}",
        "key": key,
        "depth": 0,
        "referrer": "",
        "fetched_at": "t",
        "machine": "m-1-aa",
        "status": 200,
        "headers": {},
        "bytes": len(body or b""),
        "sha256": hashlib.sha256(body).hexdigest() if body is not None else "",
        "elapsed": 0.1,
        "links": ("http://a.example/é",),
    }
    return PageRecord(**values | changes)


def at_once(jobs):
    """Run callables in threads that start together; give their results, or what they raised."""
    results: list[object] = [None] * len(jobs)
    barrier = threading.Barrier(len(jobs), timeout=30)

    def run(number, job):
        barrier.wait()
        try:
            results[number] = job()
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            results[number] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def files(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


CRASH = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[5])
from tests.support import stores
from fscrawl import store

function, when, number, root = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
job = stores.crash_job(root, function)
real, calls = getattr(os, function), 0


def deadly(*args, **options):
    global calls
    calls += 1
    if calls == number and when == "before":
        os._exit(9)
    if calls == number and when == "amid":  # half of the bytes are written
        real(args[0], args[1][: len(args[1]) // 2])
        os._exit(9)
    result = real(*args, **options)
    if calls == number:
        os._exit(9)
    return result


setattr(os, function, deadly)
job()
"""
STEPS = [
    (function, when, number)
    for number in (1, 2)  # of the body, of the record
    for function, when in (
        *(("open", "before"), ("open", "after"), ("write", "amid"), ("write", "after"), ("close", "after")),
        *(("rename", "before"), ("rename", "after")),
    )
]


def crash_job(root, function):
    """What the doomed process does: store a page of a known host, or of a new one, or make the tree."""
    if function == "link":
        return lambda: create(root, RECORD, "[crawl]\n", "http://a.example/\n")
    tree = Tree(root, "m-2-bb")
    return lambda: tree.put_page("new.example" if function == "mkdir" else HOST, page(OTHER), BODY)


def crash(root, function, when, number):
    run = [sys.executable, "-c", CRASH, function, when, str(number), str(root), str(ROOT)]
    done = subprocess.run(run, check=False, capture_output=True, timeout=60)
    assert done.returncode == 9, done.stderr


def verify(tree):
    """Whatever is visible is whole: every record parses and has its body, and every body is as it was sent."""
    for host in tree.hosts("links"):
        for key in tree.keys("links", host):
            assert hashlib.sha256(tree.body(host, key)).hexdigest() == tree.page(host, key).sha256
    for host in tree.hosts("htmls"):
        assert all(tree.body(host, key) == BODY for key in tree.keys("htmls", host))
