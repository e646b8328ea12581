"""What a machine does to a tree from its start to its first page, for tests of whose the files are. It loads little."""

from __future__ import annotations

from pathlib import Path

from fscrawl.admin.probe import probe
from fscrawl.config.settings import Settings, render
from fscrawl.storage.records import PageRecord, RobotsRecord, TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
PAGE = PageRecord("http://a.example/", "0" * 24, 0, "", "t", "m", 200, {}, 0, "", 0.1, (), skipped="x")


def fill(root: Path, machine: str = "m-1-aa") -> Tree:
    """Do what a machine does from its start to its first page."""
    create(root, RECORD, render(Settings()), "http://a.example/\n", machine)
    tree = Tree(root, machine)
    tree.files.adopt_umask()
    probe(tree, print)
    tree.put_page("a.example", PAGE, b"body")
    tree.put_robots("a.example", RobotsRecord("http://a.example/robots.txt", "t", 200, ""))
    tree.files.log(f".fscrawl/machines/{machine}.log").close()
    return tree
