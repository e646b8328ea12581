"""What a file system can do to a crawl: one line that helps, the right exit code, no debris, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fscrawl import cli
from tests.component.test_bad_input import HOSTS, SEED, Mount, complains, refused
from tests.support.crawling import Running, check_tree, command, crawl, pages, run
from tests.support.web import Request, Response, Web, linked_site


def test_unwritable_root(root: Path) -> None:
    """A root in which nothing may be written is refused."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    root.mkdir(mode=0o555)
    refused(root, SEED, 75, str(root), "permission denied")


@pytest.mark.root
def test_read_only_root(mount: Mount) -> None:
    """A root on a file system that is mounted read-only is refused."""
    refused(mount("ro,size=1m"), SEED, 75, "read-only")


@pytest.mark.root
def test_tree_that_becomes_read_only(mount: Mount) -> None:
    """An existing tree on a file system that is read-only now ends the crawl with that reason."""
    root = mount("rw,size=1m") / "tree"
    with Web(linked_site(5, 2), HOSTS) as web:
        assert crawl(root, seeds=[web.url(HOSTS[0])]).code == 0
        (root / "seeds.txt").write_text(web.url(HOSTS[0]) + "\n" + web.url(HOSTS[1]) + "\n")
        mount("ro")
        done = crawl(root)
    complains(done, 75, "read-only")
    check_tree(root)


def _large_pages(request: Request) -> Response:
    """Forty pages of fifty kilobytes, in a chain of fives."""
    return linked_site(40, 5, body_bytes=50_000)(request)


@pytest.mark.proof
@pytest.mark.root
def test_full_disk(mount: Mount) -> None:
    """A full disk ends the crawl with one line, nothing is torn, and with more room a second run completes it."""
    root = mount("rw,size=1m") / "tree"
    with Web(_large_pages, HOSTS) as web:
        done = crawl(root, seeds=[web.url(HOSTS[0])])
        complains(done, 75, "the disk is full", "run the same command again")
        check_tree(root, whole=False)
        assert sorted(root.rglob("*.tmp")) == []
        stored = len(pages(root))
        assert 0 < stored < 41
        mount("size=16m")
        done = crawl(root)
        assert done.code == 0, done
        assert len(pages(root)) == 41
        assert web.count(path="/39") == 1
    check_tree(root)


@pytest.mark.root
def test_audit_after_a_full_disk(mount: Mount, capsys: pytest.CaptureFixture[str]) -> None:
    """What a full disk has left is no problem for an audit, since the next crawl puts it right; and then nothing is."""
    root = mount("rw,size=64m,nr_inodes=150") / "tree"
    with Web(linked_site(100, 5), HOSTS) as web:
        assert crawl(root, seeds=[web.url(HOSTS[0])], workers=4, threads=8).code == 75
        orphans = {path.stem for path in root.glob("htmls/*/*")} - {path.stem for path in root.glob("links/*/*.json")}
        assert cli.main(["audit", "--root", str(root)]) == 0
        said = capsys.readouterr().out.splitlines()[-1]
        rest = f"nothing is wrong; the next crawl does the rest ({len(orphans)}): " if orphans else "nothing is wrong"
        assert said.startswith(rest)
        mount("nr_inodes=9000")
        assert crawl(root).code == 0
        assert cli.main(["audit", "--root", str(root)]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "nothing is wrong"


@pytest.mark.root
def test_no_room_for_a_tree(mount: Mount) -> None:
    """Where there is no room even for an empty tree, nothing is left of the attempt."""
    point = mount("rw,nr_inodes=6")
    complains(run(["--root", str(point / "tree"), *SEED]), 75, "full")
    assert list(point.iterdir()) == []


def test_tree_that_vanishes(root: Path, tmp_path: Path) -> None:
    """A tree that is gone in the middle of a crawl ends it, and no new one is made in its place."""
    site = linked_site(60, 8)

    def serve(request: Request) -> Response:
        answer = site(request)
        return Response(answer.status, answer.headers, answer.body, delay_s=0.02)

    with Web(serve, HOSTS) as web:
        with Running(command(root, seeds=[web.url(host) for host in HOSTS])) as running:
            running.until(lambda: web.count() >= 20, "20 requests")
            root.rename(tmp_path / "away")
            done = running.wait()
        complains(done, 75, "is the share mounted")
        assert not root.exists()
        check_tree(tmp_path / "away", whole=False)
        (tmp_path / "away").rename(root)
        assert crawl(root).code == 0
        assert len(pages(root)) == 61 * len(HOSTS)
        assert len(web.duplicates()) <= 2 * 4  # what was in flight
    check_tree(root)
