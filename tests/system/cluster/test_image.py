"""deploy/Dockerfile: the image is built; its containers crawl as a user with no rights, on a root that is read-only."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.server import Server
from demo.site import HOSTS, Site, seeds
from tests.support.cluster.container import Image, missing
from tests.support.cluster.watching import is_whole, until
from tests.support.crawling import check_tree
from tests.support.web import Web, linked_site, slowly

pytestmark = pytest.mark.timeout(400)

USER = 10001
SETTINGS = ("politeness.delay=0", "fetch.allow_addresses=['127.0.0.0/8']", "crawl.scope=any", "fleet.beat=0.5")
SETTINGS += ("politeness.user_agent=tests/1 (+mailto:tests@example.org)",)
CRAWL = ["crawl", "--root", "/tree", "--workers", "2", *(word for each in SETTINGS for word in ("--set", each))]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    lacking = missing()
    if lacking:
        pytest.skip(f"images need {', '.join(lacking)}")
    with Image() as built:
        yield built


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory that only the containers' user may write."""
    for directory in (*tmp_path.parents, tmp_path):
        if directory.is_relative_to("/tmp") and directory != Path("/tmp"):
            directory.chmod(0o755)
    path = tmp_path / "tree"
    path.mkdir(mode=0o755)
    subprocess.run(["chown", f"{USER}:{USER}", path], check=True)
    return path


def test_the_demo_is_crawled_by_a_user_without_rights(image: Image, tree: Path) -> None:
    """All pages of the demo's web are stored, and belong to the image's user. Doctor finds no problem there."""
    assert image.config["User"] == f"{USER}:{USER}"
    with image.container("machine-0", tree) as container:
        with Server(Site(), HOSTS) as web:
            given = [word for url in seeds(web.port) for word in ("--seed", url)]
            code, said = container.run(*CRAWL, *given)
        assert code == 0, said
        assert "82 pages" in said
        code, said = container.run("doctor", "--root", "/tree", "--workers", "2")
        assert code == 0, said
    check_tree(tree)
    assert {path.stat().st_uid for path in tree.rglob("*")} == {USER}


def test_without_a_mount_nothing_is_crawled(image: Image, tmp_path: Path) -> None:
    """A container whose volume is missing ends with exit code 75, and does not fill its own disk."""
    (tmp_path / "empty").mkdir(mode=0o755)
    with image.container("machine-0", tmp_path / "empty") as container:
        code, said = container.run(*CRAWL, "--seed", "http://127.0.0.1/")
    assert (code, "ermission denied" in said) == (75, True), said
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_pod_may_be_ended_and_killed(image: Image, tree: Path) -> None:
    """SIGTERM ends it cleanly. A pod of its name goes on; if that is killed, only pages in flight are asked twice."""
    with Web(slowly(linked_site(60, 4), 0.2), ["127.0.6.1", "127.0.6.2"]) as web:
        given = [word for host in web.hosts for word in ("--seed", web.url(host))]
        words = [*CRAWL, *given, "--set", "fleet.dead_after=3"]
        with image.container("fscrawl-0", tree) as pod:
            pod.start(*words)
            until(lambda: web.count() > 20, "it crawls")
            code, said = pod.end()
            assert code == 143, said
            assert "stopping: waiting for the pages in flight" in said
        assert web.duplicates() == {}
        with image.container("fscrawl-0", tree) as pod:
            before = web.count()
            pod.start(*words)
            until(lambda: web.count() > before + 20, "it crawls on")
            pod.signal(signal.SIGKILL)
        with image.container("fscrawl-0", tree) as pod:
            code, said = pod.run(*words, timeout_s=90)
        assert code == 0, said
        twice = web.duplicates()
        assert len(twice) <= len(web.hosts), twice  # one request at a time is in flight at each host
        assert set(twice.values()) <= {2}
    assert is_whole(tree, web, 60)
    check_tree(tree, whole=False)


def test_two_pods_of_one_name_are_two_machines(image: Image, tree: Path) -> None:
    """Host name and process id are the same in both, and still they share the work: nothing is asked twice."""
    with Web(slowly(linked_site(40, 4), 0.2), [f"127.0.7.{n}" for n in range(1, 7)]) as web:
        given = [word for host in web.hosts for word in ("--seed", web.url(host))]
        with image.container("same", tree) as one, image.container("same", tree) as other:
            first = one.start(*CRAWL, *given)
            until((tree / ".fscrawl/tree.json").exists, "there is a tree")
            second = other.start(*CRAWL, *given)
            outputs = [each.communicate(timeout=90)[0] for each in (first, second)]
            assert [first.returncode, second.returncode] == [0, 0], outputs
        assert web.duplicates() == {}
    assert len(list((tree / ".fscrawl/machines").glob("same-1-*[0-9a-f].log"))) == 2
    assert is_whole(tree, web, 40)
    check_tree(tree)


@pytest.mark.parametrize("what", ["size=1m", "nr_inodes=120"])
def test_a_claim_that_is_full(image: Image, tree: Path, what: str) -> None:
    """Without room for bytes or files, a pod ends with exit code 75 and says so; with more room, all is completed."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{what},uid={USER},gid={USER}", "tmpfs", tree], check=True)
    try:
        with Web(linked_site(60, 4, body_bytes=40_000), ["127.0.6.3"]) as web:
            words = [*CRAWL, "--seed", web.url("127.0.6.3")]
            with image.container("fscrawl-0", tree) as pod:
                code, said = pod.run(*words)
            assert code == 75, said
            assert "the disk is full" in said
            subprocess.run(["mount", "-o", "remount,size=99m,nr_inodes=9999", tree], check=True)
            with image.container("fscrawl-0", tree) as pod:
                code, said = pod.run(*words)
            assert code == 0, said
        assert is_whole(tree, web, 60)
    finally:
        subprocess.run(["umount", "--lazy", tree], check=True)
