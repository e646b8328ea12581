"""However machines, hosts and ports are called: no name of a file or directory is longer than 200 bytes."""

import errno
import os
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fscrawl import urls
from fscrawl.admin import control
from fscrawl.config.settings import Settings
from fscrawl.errors import TreeError
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.atomic import publish, temporary_owner
from fscrawl.storage.layout import DIRECTORIES, LINKS, ROBOTS, log_path, rules_path, snapshot_path
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.storage.records import RobotsRecord, TreeRecord
from fscrawl.store import Tree, create
from tests.support.effort import tries

LONGEST = 200
RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=16, partition="host")
nodenames = st.integers(0, 64).map(lambda length: ("machine-of-a-cloud." * 4)[:length])
host_lengths = st.integers(1, 260)
ports = st.sampled_from(["", ":8", ":8080", ":65535"])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("names") / "root"
    create(root, RECORD, "", "")
    Generations(Tree(root, "m").files).begin_next(LinkRules.of(Settings(), []), "", "settings")
    return root


class Names:
    """Notes the names that calls are made with; makes those fail that a file system would refuse."""

    def __init__(self):
        self.seen = set()

    def noting(self, call):
        def noted(*args, **options):
            for path in args[:2]:
                if isinstance(path, str | os.PathLike):
                    self.see(os.path.basename(path))  # noqa: PTH119
            return call(*args, **options)

        return noted

    def see(self, name):
        self.seen.add(name)
        if len(os.fsencode(name)) > LONGEST:
            raise OSError(errno.ENAMETOOLONG, "File name too long")

    def watched(self):
        calls = {name: self.noting(getattr(os, name)) for name in ("open", "mkdir", "link", "rename")}
        return mock.patch.multiple(os, **calls)


def write_everything(root, machine, url):
    """Make one file of each kind whose name depends on a machine or a host."""
    tree, host = Tree(root, machine), urls.host(url)
    machinery = Machinery(tree)
    tree.put_robots(host, RobotsRecord(url, "t", 200, ""))
    for path in (tree.body_path(host, urls.key(url), "x" * 8), tree.tree_path(LINKS, host, urls.key(url))):
        tree._put(path, b"")
    tree._put(tree.body_path(host, urls.key(url), None), b"")
    control.pause(tree, [url])
    machinery.heartbeat_log().close()
    tree.files.log_end(log_path(1, machine)).close()
    tree.files.claim(rules_path(1), b"")
    tree.files.publish_chunks(snapshot_path(1, 512, 9, 123), lambda: [b""])
    machinery.claim_lease(7, os.getpid(), machine)
    directory = ProbeDirectory(tree.files, machine)
    directory.make()
    directory.clear([])


@given(nodenames, host_lengths, ports)
@example("n" * 64, 190, "")
@example("n" * 64, 186, ":8080")
@example("n" * 64, 199, "")
@settings(max_examples=tries(100), deadline=None)
def test_no_name_is_too_long(root, nodename, length, port):
    """Every name that is made fits, and each temporary says whose it is."""
    names = Names()
    with mock.patch.object(os, "uname", return_value=SimpleNamespace(nodename=nodename)):
        machine = new_machine_id()
    with names.watched():
        write_everything(root, machine, f"http://{('h' * 60 + '.') * 5}"[: 7 + length].rstrip(".") + f"{port}/x")
    temporaries = {name for name in names.seen if name.endswith(".tmp")}
    assert {temporary_owner(name) for name in temporaries} == {machine}
    assert max(map(len, names.seen)) <= LONGEST


@given(st.text("aé€𝄞", max_size=200), st.integers(0, 60))
@settings(max_examples=tries(100), deadline=None)
def test_a_name_of_several_bytes_a_letter(name, length):
    """A temporary of a long name that somebody chose is cut between letters, not inside of one."""
    names = Names()
    with names.watched(), pytest.raises(TreeError):
        publish(f"/nowhere/x{name}", b"", machine := "m" * length + "-1-aa")
    (temporary,) = names.seen
    assert temporary_owner(temporary) == machine
    assert os.fsencode(temporary).decode() == temporary


def test_a_cut_temporary_of_a_dead_machine_is_found(root):
    """A temporary with a cut name is listed with its owner, as others are."""
    tree = Tree(root, "m" * 60 + "-7-ab12")

    def killed(*_):
        raise OSError(errno.ENOSPC, "as if the machine had been killed")

    with mock.patch.object(os, "rename", killed), mock.patch.object(os, "unlink", killed), pytest.raises(TreeError):
        tree.put_robots("h" * 190, RobotsRecord("http://h/", "t", 200, ""))
    ((path, owner),) = tree.files.temporaries([ROBOTS])
    assert owner == tree.machine
    tree.files.remove(path)


def test_directories():
    """The names that depend on nothing fit, too."""
    assert max(map(len, DIRECTORIES)) <= LONGEST
