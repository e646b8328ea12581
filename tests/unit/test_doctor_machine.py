"""What the doctor says of this machine: its mounts, its limits and its resolver."""

import os
import resource
import threading
from pathlib import Path

import pytest

from fscrawl import store
from fscrawl.admin.doctor import directory, this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.config.settings import FetchSettings, Settings, parse
from fscrawl.errors import TreeError
from fscrawl.storage import mounts
from fscrawl.util.installed import to_install
from tests.support.checks import levels, says

TABLE = "1 0 8:1 / {point} {mount} shared:1 - {kind} {source} {system}\n"


# -- the mount


def mounted(kind, mount="rw,relatime", system="rw", source="host:/x", point="/mnt"):
    found = mounts.mount_of(
        TABLE.format(point=point, mount=mount, kind=kind, source=source, system=system), "/mnt/tree"
    )
    assert found is not None
    return list(directory.mount(Path("/"), found))


@pytest.mark.parametrize(
    ("kind", "level", "text"),
    [
        ("nfs4", OK, "up to a minute"),
        ("fuse.sshfs", OK, "20 s old"),
        ("tmpfs", WARNING, "lost at a restart"),
        ("vfat", PROBLEM, "no hard links"),
        ("9p", WARNING, "has not been tested"),
        ("ceph", WARNING, "by its documentation"),
        ("fuse.gcsfuse", PROBLEM, "no hard links"),
        ("fuse", WARNING, "has not been tested"),
    ],
)
def test_a_mount_is_judged_by_its_kind(kind, level, text):
    """What is known of a file system is told; one that keeps no tree is a problem, an unknown one a warning."""
    [said] = mounted(kind)
    assert (said.level, text in str(said)) == (level, True)


@pytest.mark.parametrize(
    ("kind", "source", "level", "text"),
    [
        ("nfs4", "[2001:db8::1]:/srv", OK, "up to a minute"),
        ("fuse", "mountpoint-s3", PROBLEM, "a bucket"),
        ("fuse", "JuiceFS:x", WARNING, "has not been tested"),
    ],
)
def test_a_service_is_named_by_its_source(kind, source, level, text):
    """Buckets whose FUSE has no subtype are told by what is mounted."""
    [said] = mounted(kind, source=source)
    assert (said.level, text in str(said)) == (level, True)


def test_options_are_looked_at():
    """A read-only mount is a problem, of the mount or of what is mounted; a soft one of NFS a warning."""
    assert levels(mounted("ext4", mount="ro,relatime")) == [PROBLEM]
    assert levels(mounted("ext4", system="ro")) == [PROBLEM]
    assert levels(mounted("nfs4", system="rw,soft,vers=4.2")) == [OK, WARNING]
    assert levels(mounted("fuse.sshfs", system="rw,soft")) == [OK]


def test_the_innermost_mount_counts():
    """Of the mounts above a path the innermost is told, of two at one place the later; other lines are skipped."""
    table = (
        "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
        r"24 23 0:22 / /mnt/my\040share rw shared:5 - fuse.sshfs host:/x\040y rw" + "\n"
        "25 23 0:23 / /mnt/shared rw - nfs4 server:/a rw\n"
        "26 25 0:24 / /mnt/shared rw - vfat /dev/sdb1 rw\n"
        "a line that is no mount\n27 22 0:25 / - x\n"
    )
    assert mounts.mount_of(table, "/mnt/my share/t").source == "host:/x y"
    assert mounts.mount_of(table, "/mnt/shared").kind == "vfat"
    assert mounts.mount_of(table, "/mnt/sharedx").kind == "ext4"
    assert mounts.mount_of("", "/") is None


def test_a_mount_that_cannot_be_seen_is_a_warning(tmp_path, monkeypatch):
    """Without /proc, or without a line for the path, that is said."""
    (tmp_path / "empty").touch()
    for table in (tmp_path / "nothing", tmp_path / "empty"):
        monkeypatch.setattr(mounts, "TABLE", table)
        found = mounts.mount_at(tmp_path)
        assert found is None
        assert levels(directory.mount(tmp_path, found)) == [WARNING]


def test_a_directory_that_cannot_be_written_is_a_problem(tmp_path, monkeypatch):
    """Where no directory or no file can be made that is a problem, and nothing is left behind."""
    assert levels(directory.try_out(None, tmp_path / "gone")) == [PROBLEM]

    def full(*_):
        raise TreeError("the disk is full")

    monkeypatch.setattr(store, "create", full)
    assert list(directory.try_out(None, tmp_path)) == [CheckResult(PROBLEM, "the disk is full")]
    assert list(tmp_path.iterdir()) == []


def test_space_is_judged(tmp_path, monkeypatch):
    """Little room is a warning, none a problem, in bytes and in files; a file system without inodes has enough."""

    class Disk:
        f_frsize, f_bavail, f_files, f_favail = 4096, 1 << 20, 0, 0

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    assert levels(directory.free_space(tmp_path, Settings(), 0, 0)) == [OK]
    Disk.f_files, Disk.f_favail, Disk.f_bavail = 10**6, 5, 10
    assert levels(directory.free_space(tmp_path, Settings(), 0, 0)) == [WARNING, WARNING]
    Disk.f_favail = Disk.f_bavail = 0
    assert levels(directory.free_space(tmp_path, Settings(), 0, 0)) == [PROBLEM, PROBLEM]
    monkeypatch.undo()
    assert levels(directory.free_space(tmp_path / "gone", Settings(), 0, 0)) == [PROBLEM]


class Space:
    """What statvfs says: 1,000 blocks and as many files are free."""

    f_frsize, f_bavail, f_files, f_favail = 4096, 1000, 5000, 1000


def compared(monkeypatch, settings="", pages=0, stored_bytes=0, there=Space):
    """Give what is said of the pages that are still allowed."""
    monkeypatch.setattr(os, "statvfs", lambda path: there)
    said = directory.free_space(Path("/"), parse(settings), pages, stored_bytes)
    return [each for each in said if "max_pages" in each.what]


def test_the_pages_that_are_allowed_must_fit(monkeypatch):
    """A page takes two files, one that is rendered up to four; what is stored already is not counted again."""
    assert compared(monkeypatch) == []
    assert levels(compared(monkeypatch, "[crawl]\nmax_pages = 500")) == [OK]
    [said] = compared(monkeypatch, "[crawl]\nmax_pages = 501")
    assert (said.level, said.what) == (
        WARNING,
        "crawl.max_pages = 501 allows 501 more pages, which need 1,002 files; 1,000 are free",
    )
    assert levels(compared(monkeypatch, "[crawl]\nmax_pages = 501", pages=1)) == [OK]
    assert compared(monkeypatch, "[crawl]\nmax_pages = 501", pages=501) == []
    rendered = '[crawl]\nmax_pages = 251\n[render]\nhosts = ["a.example"]'
    assert levels(compared(monkeypatch, rendered)) == [WARNING]


def test_the_bytes_of_pages_are_guessed_by_those_that_are_there(monkeypatch):
    """A hundred pages tell how large the others are; a file system that counts no files is asked for bytes only."""

    class Plain(Space):
        f_files = f_favail = 0

    settings = "[crawl]\nmax_pages = 300"
    assert compared(monkeypatch, settings, pages=99, stored_bytes=10**9, there=Plain) == []
    assert levels(compared(monkeypatch, settings, pages=100, stored_bytes=100 * 8_000, there=Plain)) == [OK]
    [said] = compared(monkeypatch, settings, pages=100, stored_bytes=100 * 100_000, there=Plain)
    assert (said.level, "about 22 MB; 4.1 MB are free" in said.what) == (WARNING, True)


# -- this machine


def test_a_newer_python_is_told(monkeypatch):
    """A Python that is newer than those tested with is told, and no problem."""
    monkeypatch.setattr(this_machine, "_NEWEST_TESTED", (3, 0))
    [said] = this_machine.python()
    assert (said.level, "not been tested" in said.what) == (OK, True)


def test_optional_packages_are_named():
    """Extras that are there are named, and for each other one how to get it."""
    said = list(this_machine.packages(lambda name: name in this_machine.EXTRAS["merge"]))
    assert said[0] == CheckResult(OK, "optional packages: merge")
    assert CheckResult(OK, "not installed: dask", f"if you want it: {to_install('dask')}") in said
    assert next(this_machine.packages(lambda name: None)).what == "optional packages: none"


def test_too_few_open_files_are_a_problem(monkeypatch):
    """A limit below what a worker or the parent may need is a problem that says which; no limit is none."""
    limit = [1024]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit[0], limit[0]))
    assert levels(this_machine.open_files(4, 8)) == [OK]
    assert levels(this_machine.open_files(4, 400)) == [PROBLEM]
    [said] = this_machine.open_files(200, 8)
    assert (said.level, said.advice) == (PROBLEM, "ulimit -n 1864")
    limit[0] = resource.RLIM_INFINITY
    assert levels(this_machine.open_files(10**6, 8)) == [OK]


def test_memory_is_compared_with_the_workers(tmp_path, monkeypatch):
    """Less memory than the workers may need is a warning; a container's limit counts; no figure is no warning."""
    meminfo, group = tmp_path / "meminfo", tmp_path / "group"
    assert this_machine.available_bytes(meminfo, group) is None
    meminfo.write_text("MemTotal: 9 kB\n")
    assert this_machine.available_bytes(meminfo, group) is None
    meminfo.write_text("MemTotal: 9000000 kB\nMemAvailable: 1000000 kB\n")
    assert this_machine.available_bytes(meminfo, group) == 1_024_000_000
    group.mkdir()
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("7\n")
    assert this_machine.available_bytes(meminfo, group) == 1_024_000_000
    (group / "memory.max").write_text("1000\n")
    assert this_machine.available_bytes(meminfo, group) == 993
    for free, level in ((None, OK), (1 << 20, WARNING), (1 << 40, OK)):
        monkeypatch.setattr(this_machine, "available_bytes", lambda free=free: free)
        assert levels(this_machine.memory(4)) == [level]


def lookup(name):
    if name == "gone.example":
        raise OSError(-2, "Name or service not known")
    if name == "odd.example":
        raise UnicodeError("label too long")
    return ["127.0.0.1"] if name == "here.example" else ["8.8.8.8"]


def test_names_are_resolved():
    """A host that does not resolve is a problem, one that leads to a private address too; addresses are not asked."""
    names = [
        "good.example",
        "gone.example",
        "odd.example",
        "here.example",
        "[::1]",
        "127.0.0.1",
        "good.example",
    ]
    said = list(this_machine.names(names, FetchSettings(), 20, lookup))
    assert says(said, PROBLEM, "gone.example does not resolve: Name or service not known")
    assert says(said, PROBLEM, "odd.example does not resolve: not a host name")
    assert says(said, PROBLEM, "here.example has the address 127.0.0.1, which is not public")
    assert says(said, OK, "2 of 4 host names")
    assert len(said) == 4
    assert list(this_machine.names(["127.0.0.1"], FetchSettings(), 20, lookup)) == []


def test_behind_a_proxy_names_need_not_resolve():
    """With proxies, which look names up themselves, it is only a warning; permitted networks are permitted."""
    fetch = FetchSettings(proxies=("http://p.example:1",), allow_addresses=("127.0.0.0/8",))
    said = list(this_machine.names(["gone.example", "here.example"], fetch, 20, lookup))
    assert levels(said) == [WARNING, OK]


def test_a_resolver_that_does_not_answer_is_not_waited_for():
    """A name for which no answer comes before the deadline is a problem, and nobody waits for its thread."""
    never = threading.Event()
    said = list(this_machine.names(["slow.example"], FetchSettings(), 0.0, lambda name: [str(never.wait(20))]))
    never.set()
    assert says(said, PROBLEM, "slow.example does not resolve within 0 s")


def test_the_resolver_is_asked_for_addresses():
    """An address needs no name server, and is its own address."""
    assert this_machine.addresses_of("127.0.0.1") == ["127.0.0.1"]
