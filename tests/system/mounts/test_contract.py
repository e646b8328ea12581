"""The store's contract on mounts, and what it must hold where several mounts meet: the races are between machines."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl.errors import TreeError
from fscrawl.storage.atomic import claim, publish
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.storage.retrying import BRIEF
from fscrawl.store import Tree, create
from tests.component import test_store as suite
from tests.support.ledger import Entry, note
from tests.support.shares.marks import on
from tests.support.shares.place import SharedPlace
from tests.support.shares.share import GLUSTERFS, SSHFS
from tests.support.stores import BODY, RECORD, at_once, page

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("share"), on(SSHFS, GLUSTERFS, in_gate=SSHFS)]
globals().update({name: test for name, test in vars(suite).items() if name.startswith("test_")})
tree = suite.tree  # the fixture

MOUNTS, WRITERS, RACES, HOSTS = 4, 16, 10, 20
FOUND_S = 5.0


@pytest.fixture
def directory(mount: Path, tmp_path: Path) -> Path:
    """A directory on a mount, for the suite."""
    path = mount / tmp_path.name
    path.mkdir()
    return path


@pytest.fixture
def directories(place: SharedPlace) -> list[Path]:
    """One directory, as several machines see it."""
    place.root.mkdir()
    return [place.next() for _ in range(MOUNTS)]


def test_one_of_many_machines_wins_a_claim(place: SharedPlace, directories: list[Path]) -> None:
    """Of 16 writers on 4 mounts that claim one name at once exactly one wins, and its bytes stand there for all."""
    won = []
    for race in range(RACES):

        def job(number: int, name: str = f"lease-{race}") -> bool:
            return claim(directories[number % MOUNTS] / name, b"%d" % number, f"m{number}", fsync=True)

        won.append(at_once([partial(job, n) for n in range(WRITERS)]))
    read = [{(each / f"lease-{race}").read_bytes() for each in directories} for race in range(RACES)]
    whole = [seen <= {b"%d" % number for number in range(WRITERS)} for seen in read]
    fair = [answers.count(True) == 1 and answers.count(False) == WRITERS - 1 for answers in won]
    name = place.share.flavour.name
    note(Entry(name, "machines race for a name", runs=RACES, torn=whole.count(False), violations=fair.count(False)))
    assert fair == [True] * RACES, won
    assert read == [{b"%d" % answers.index(True)} for answers in won]


def test_machines_that_make_a_tree_at_once_make_one(directories: list[Path]) -> None:
    """Machines that start on an empty directory at once make one tree, and all of them can use it."""

    def job(number: int) -> TreeRecord:
        record = TreeRecord(FORMAT, f"c{number}", "t", 4, "host", machinery="0" * 32)
        root = directories[number % MOUNTS] / "root"
        create(root, record, f"# {number}\n", f"http://{number}.example/\n")
        return Tree(root, f"m{number}").record

    made = at_once([partial(job, n) for n in range(WRITERS)])
    assert all(record == made[0] for record in made), made
    assert isinstance(made[0], TreeRecord)


def test_machines_that_meet_a_new_host_at_once_all_store(directories: list[Path]) -> None:
    """Machines that store the first pages of a host at once, some of them the same page, all succeed.

    Only URLs that are divided among machines make them meet so. On GlusterFS, 10 of 200 directories were broken for
    good when the machines made them at once; of 320 that one of them made, none.
    """
    create(directories[0] / "root", replace(RECORD, partition="url"), "", "")
    trees = [Tree(directory / "root", f"m{number}") for number, directory in enumerate(directories)]
    keys = [f"{n:02x}" * 12 for n in range(WRITERS // MOUNTS)]
    pages = {key: page(key) for key in keys}
    for host in (f"{number}.example" for number in range(HOSTS)):
        jobs = [partial(tree.put_page, host, pages[key], BODY) for key in keys for tree in trees]
        assert at_once(jobs) == [None] * len(jobs)
        new = Tree(directories[-1] / "root", "m9")
        assert sorted(new.keys("links", host)) == sorted(new.keys("htmls", host)) == keys
        assert all(_found(partial(new.body, host, key)) == BODY for key in keys)


def test_publish_race(directory: Path) -> None:
    """Of many publishers at once one is last, and a reader sees a whole file, or none for an instant."""
    bodies = [bytes([n]) * 50_000 for n in range(8)]
    publish(directory / "file", bodies[0], "m")

    def read() -> list[bytes]:
        return [BRIEF(directory, _read(directory / "file")) for _ in range(20)]

    results = at_once([*(partial(publish, directory / "file", body, "m") for body in bodies), read, read])
    assert results[: len(bodies)] == [None] * len(bodies)
    assert {body for seen in results[len(bodies) :] for body in seen} <= set(bodies)


def _found(read: Callable[[], bytes]) -> bytes:
    """Read a file that several machines have just replaced: for a second, GlusterFS may know only the one before."""
    until = time.monotonic() + FOUND_S
    while True:
        try:
            return read()
        except TreeError as error:
            if not error.is_missing or time.monotonic() > until:
                raise
        time.sleep(0.05)


def _read(path: Path) -> Callable[[], bytes]:
    """Read as the store does: while a name is replaced on the same mount sshfs misses it, or says it is stale."""

    def look() -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise OSError(errno.ESTALE, "missed for an instant") from error

    return look


def _bodies() -> Iterator[tuple[str, bytes]]:
    for number in range(60):
        yield f"page-{number}", bytes([number]) * (1 + number * 3001)


def test_what_is_published_is_whole_for_all_machines(place: SharedPlace, directories: list[Path]) -> None:
    """A name that appears on any mount is a whole file there, however soon it is read; and it appears on all."""
    over = threading.Event()

    def write() -> None:
        try:
            for name, body in _bodies():
                publish(directories[0] / name, body, "m0")
        finally:
            over.set()

    def read(directory: Path) -> list[str]:
        """Give the names whose file was not whole at any look; each is looked for until it is there."""
        torn = []
        for name, body in _bodies():
            while True:
                ending = over.is_set()
                try:
                    seen = (directory / name).read_bytes()
                except FileNotFoundError:
                    assert not ending, f"{name} has not appeared in {directory}"
                    continue
                torn += [name] if seen != body else []
                break
        return torn

    results = at_once([write, *(partial(read, directory) for directory in directories[1:])])
    torn = sum(len(names) for names in results[1:] if isinstance(names, list))
    note(Entry(place.share.flavour.name, "read while others publish", torn=torn))
    assert results == [None, *([[]] * (MOUNTS - 1))]
