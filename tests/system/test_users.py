"""Users of one group, each with a umask of his own, on one tree."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

HOST = "127.0.7.21"

USERS = """
import os, sys
from msgspec.structs import replace
from pathlib import Path
from tests.support.first_page import PAGE, fill

def as_user(user, umask, work):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([4242])
            os.setgid(user)
            os.setuid(user)
            os.umask(umask)
            work()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def first():
    fill(root, "m-1-aa")
    Path(root, "links/a.example/.x.m-1-aa.1-0.tmp").touch()

def second():
    tree = fill(root, "m-2-bb")
    assert tree.controls.settings() and tree.controls.seeds()
    tree.controls.add_seeds(["http://b.example/"])
    tree.files.make_directory("links/b.example")
    assert tree.page("a.example", PAGE.key) == PAGE
    ((path, owner),) = tree.temporaries("links", "a.example")
    tree.files.remove(path)
    tree.drop_bodies("a.example", PAGE, replace(PAGE, sha256=""))

root = Path(sys.argv[1])
codes = [as_user(5001, int(sys.argv[2], 8), first), as_user(5002, int(sys.argv[3], 8), second)]
assert codes == [0, 0], codes
"""


@pytest.mark.root
@pytest.mark.parametrize("mode", ["775", "770", "2770"])
@pytest.mark.parametrize("umasks", [("022", "022"), ("077", "002")])
def test_two_users_of_one_group(mode, umasks):
    """Users with umasks and first groups of their own work on a tree in a directory of their common group."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it becomes two other users")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        root = Path(directory, "root")
        root.mkdir()
        os.chown(root, 5000, 4242)
        root.chmod(int(mode, 8))
        words = [sys.executable, "-c", USERS, str(root), *umasks]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert {path.stat().st_gid for path in root.rglob("*")} == {4242}


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_whole_crawl(root, umask):
    """All that a crawl with its workers makes is as open as the root that was there."""
    root.mkdir()
    root.chmod(0o775)
    with (
        Web(linked_site(5, 2), [HOST]) as web,
        Running(command(root, seeds=[web.url(HOST)]), umask=umask) as running,
    ):
        done = running.wait()
    assert done.code == 0, done
    check_tree(root)
    assert {path.stat().st_mode & 0o777 for path in root.rglob("*") if path.is_dir()} == {0o775}
    assert {path.stat().st_mode & 0o777 for path in root.rglob("*") if path.is_file()} == {0o664}
