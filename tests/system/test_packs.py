"""A tree in packs that was damaged: what an audit says of it, and what a repair and a further crawl make of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawling import body, check_tree, crawl, errors, fscrawl, pages
from tests.support.web import Request, Response, Web, linked_site

HOSTS = ["127.0.9.1", "127.0.9.2"]
PAGES = 15
PACKED = {"store.layout": "packs"}


def serve(request: Request) -> Response:
    if request.path == "/12":
        return Response(404, {}, b"")
    return linked_site(PAGES, 3, body_bytes=500)(request)


def the(root: Path, pattern: str) -> Path:
    [path] = root.glob(pattern)
    return path


def cut_bodies(root: Path) -> None:
    path = the(root, "htmls/*/*.warc.gz")
    os.truncate(path, path.stat().st_size * 2 // 3)


def overwrite_middle(path: Path) -> None:
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes(1000) + data[middle + 1000 :])


def other_bodies(root: Path) -> None:
    overwrite_middle(the(root, "htmls/*/*.warc.gz"))


def no_bodies(root: Path) -> None:
    the(root, "htmls/*/*.warc.gz").unlink()


def cut_lines(root: Path) -> None:
    path = the(root, "links/*/*.jsonl")
    os.truncate(path, path.stat().st_size * 2 // 3)


def other_lines(root: Path) -> None:
    overwrite_middle(the(root, "links/*/*.jsonl"))
    the(root, "links/*/*.index").unlink()


def no_lines(root: Path) -> None:
    shutil.rmtree(the(root, "links/*+*"))


def no_failures(root: Path) -> None:
    shutil.rmtree(the(root, "errs/*+*"))


def nothing(root: Path) -> None:
    for path in root.glob("*/*+*"):
        shutil.rmtree(path)


@pytest.mark.parametrize(
    "damage", [cut_bodies, other_bodies, no_bodies, cut_lines, other_lines, no_lines, no_failures, nothing]
)
def test_damaged_packs(root: Path, damage: Callable[[Path], None]) -> None:
    """What is missing or broken is named, and after a repair the next crawl fetches it, and nothing else."""
    with Web(serve, HOSTS) as web:
        assert crawl(root, seeds=[web.url(host) for host in HOSTS], settings=PACKED).code == 0
        whole, failed = set(pages(root)), set(errors(root))
        assert (len(whole), len(failed)) == (2 * PAGES, 2)
        assert fscrawl("audit", "--root", root).code == 0
        damage(root)
        lost = {url for url in whole if not _is_whole(root, url)} | (failed - set(errors(root)))
        assert lost
        named = fscrawl("audit", "--root", root, "--json")
        assert named.code == 1, named
        assert sum(told["count"] for told in json.loads(named.out)["found"].values()) >= len(lost), named
        repaired = fscrawl("audit", "--root", root, "--repair")
        assert (repaired.code, repaired.err) == (0, ""), repaired
        assert crawl(root).code == 0
        assert (set(pages(root)), set(errors(root))) == (whole, failed)
        check_tree(root)
        last = fscrawl("audit", "--root", root)
        assert last.code == 0, last
        assert {f"{web.url(host)}{path.removeprefix('/')}" for host, path in web.duplicates()} == lost


def _is_whole(root: Path, url: str) -> bool:
    try:
        record = pages(root)[url]
        return hashlib.sha256(body(root, url)).hexdigest() == record.sha256
    except (KeyError, FileNotFoundError):
        return False


def test_what_a_dead_machine_was_writing(root: Path) -> None:
    """Temporaries of indexes, and what others have put beside packs, are named; a repair removes those of machines."""
    with Web(serve, HOSTS) as web:
        assert crawl(root, seeds=[web.url(HOSTS[0])], settings=PACKED).code == 0
    pack = the(root, "links/*+*")
    machine = pack.name.partition("+")[0]
    (pack / f".0.index.{machine}.5a0c66e2b9f1d374.tmp").write_bytes(b"half")
    (pack / "1.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(root / "links/a.example+x")
    named = fscrawl("audit", "--root", root)
    assert named.code == 1
    assert all(word in named.out for word in ("5a0c66e2b9f1d374.tmp", "1.jsonl", "a.example+x")), named
    (pack / "1.jsonl").unlink()
    (root / "links/a.example+x").unlink()
    assert fscrawl("audit", "--root", root, "--repair").code == 0
    assert not list(root.rglob("*.tmp"))
    check_tree(root)


@pytest.mark.parametrize("is_said", [True, False])
def test_the_machinery_is_a_cache(root: Path, *, is_said: bool) -> None:
    """A tree without .fscrawl crawls on: what is stored and what has failed is not asked for again.

    Also if nothing but the packs says which layout the tree has.
    """
    with Web(serve, HOSTS) as web:
        settings = {**PACKED, "crawl.max_depth": 1, "fleet.beat": 0.5, "fleet.dead_after": 2}
        seeds = [web.url(host) for host in HOSTS]
        assert crawl(root, seeds=seeds, settings=settings).code == 0
        first = set(pages(root))
        shutil.rmtree(root / ".fscrawl")
        toml = root / "crawl.toml"
        text = toml.read_text().replace("max_depth = 1", "max_depth = 9")
        assert 'layout = "packs"\n' in text
        toml.write_text(text if is_said else text.replace('layout = "packs"\n', ""))
        done = crawl(root)
        assert done.code == 0, done
        assert first < set(pages(root))
        assert web.duplicates() == {}
    check_tree(root)


def test_by_url(root: Path) -> None:
    """With `partition = "url"` all is as with hosts."""
    with Web(serve, HOSTS) as web:
        seeds = [web.url(host) for host in HOSTS]
        done = crawl(root, seeds=seeds, settings={**PACKED, "crawl.partition": "url", "fleet.shards": 16}, workers=2)
        assert done.code == 0, done
        assert web.duplicates() == {}
        assert (len(pages(root)), len(errors(root))) == (2 * PAGES, 2)
        assert fscrawl("audit", "--root", root).code == 0
    check_tree(root)
