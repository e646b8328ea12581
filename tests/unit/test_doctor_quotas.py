"""What the doctor says of quotas: by figures that are given, and by attributes as CephFS has them."""

import os
from pathlib import Path

import pytest

from fscrawl.admin.doctor import ceph_quotas, quota_program, quotactl, quotas
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING
from fscrawl.admin.doctor.limits import Limits, Quota, judged
from fscrawl.admin.doctor.mounts import Mount
from fscrawl.admin.doctor.room import Need
from tests.support.checks import levels, says

NOW = 1_800_000_000
NEED = Need("crawl.max_pages = 500 allows 450 more pages", 900, None)
NONE = Limits(0)
PLENTY = 10**6


def of_files(need, **limits):
    return list(judged(Quota("the quota of user 7", Limits(**limits), NONE), need, NOW))


# -- limits


def test_no_limit_is_not_told():
    """A quota that only counts, without a limit, gives no line."""
    assert of_files(NEED, used=10**9) == []
    assert of_files(None, used=10**9) == []


@pytest.mark.parametrize(
    ("limits", "level", "text"),
    [
        ({"used": 100, "hard": 1000}, OK, "450 more pages; the quota of user 7 has room for their 900 files"),
        ({"used": 101, "hard": 1000}, WARNING, "need 900 files; the quota of user 7 leaves 899 files; lower it, get"),
        ({"used": 1000, "hard": 1000}, PROBLEM, "is used up: 1,000 files, and the limit is 1,000 files; delete"),
        ({"used": 0, "soft": 800, "hard": 1000}, WARNING, "leaves 800 files up to its soft limit; more can be made"),
        ({"used": 0, "soft": 800, "hard": 899}, WARNING, "leaves 800 files up to its soft limit; lower it, get"),
        ({"used": 0, "soft": 900, "hard": 901}, OK, "has room for their 900 files"),
        ({"used": 0, "soft": 900, "hard": 899}, WARNING, "leaves 899 files; lower it"),
        ({"used": 5, "soft": 4, "hard": PLENTY}, WARNING, "over its soft limit: 5 files, and the limit is 4 files; no"),
        ({"used": 5, "soft": 4, "until": NOW + 1}, WARNING, "nothing can be made after 2027-01-15 08:00 UTC"),
        ({"used": 5, "soft": 4, "until": 2**64 - 1}, WARNING, "nothing can be made when the grace time is over"),
        ({"used": 5, "soft": 4, "until": NOW}, PROBLEM, "is 4 files now that the grace time is over"),
        ({"used": 4, "soft": 4, "hard": PLENTY, "until": 0}, WARNING, "leaves 0 files up to its soft limit"),
    ],
)
def test_limits_are_compared_with_what_is_to_come(limits, level, text):
    """What counts is what may still be made: to the hard limit for ever, past the soft one for the grace time."""
    [said] = of_files(NEED, **limits)
    assert (said.level, text in str(said)) == (level, True), said


def test_without_a_number_of_pages_it_is_told_what_is_left():
    """Without max_pages what is left is told, with a warning if it is little; used up stays a problem."""
    [said] = of_files(None, used=5, hard=PLENTY)
    assert (said.level, str(said)) == (OK, "ok: the quota of user 7 leaves 999,995 files")
    assert levels(of_files(None, used=5, hard=10_000)) == [WARNING]
    assert levels(of_files(None, used=5, hard=5)) == [PROBLEM]


def test_bytes_are_compared_once_the_pages_tell_how_large_they_are():
    """Bytes are judged as files are; while it is not known how large pages are, what is left of them is told."""
    quota = Quota("the quota of user 7", NONE, Limits(10**9, hard=3 * 10**9))
    assert levels(judged(quota, NEED, NOW)) == [OK]
    assert says(judged(quota, NEED, NOW), OK, "the quota of user 7 leaves 2.0 GB")
    assert says(judged(quota, NEED._replace(bytes=10**9), NOW), OK, "has room for their about 1.0 GB")
    assert says(
        judged(quota, NEED._replace(bytes=3 * 10**9), NOW), WARNING, "need about 3.0 GB; the quota of user 7 leaves 2"
    )


# -- the kernel


def test_the_kernels_answer_is_read():
    """Limits of bytes come in units of 1,024, what is used in bytes; an answer that is not whole is none."""
    found = quotactl._Dqblk(8, 4, 3000, 50, 40, 7, NOW, NOW + 1, 0x3F)
    assert quotactl.limits_of(found) == (Limits(7, 40, 50, NOW + 1), Limits(3000, 4096, 8192, NOW))
    found.valid = 2 | 8
    assert quotactl.limits_of(found) is None
    found.valid = 1 | 2 | 4
    assert quotactl.limits_of(found) is None


class Libc:
    """A C library whose calls fail with these numbers, one after the other; 0: the answer is filled in."""

    def __init__(self, *errors):
        self.errors, self.asked, self.error = list(errors), [], 0

    def syscall(self, number, *words):
        return self._answer("quotactl_fd", words[-1])

    def quotactl(self, command, device, number, found):
        return self._answer(f"quotactl {device.value.decode()}", found)

    def _answer(self, name, found):
        self.asked.append(name)
        self.error = self.errors.pop(0)
        if not self.error:
            found._obj.valid, found._obj.files_hard = 0x3F, 12
        return -1 if self.error else 0


ENOSYS, EPERM, ENOTBLK = 38, 1, 15


@pytest.mark.parametrize(
    ("errors", "source", "asked", "there"),
    [
        ((0,), "/dev/sda1", ["quotactl_fd"], True),
        ((EPERM,), "/dev/sda1", ["quotactl_fd"], False),
        ((ENOSYS, 0), "/dev/sda1", ["quotactl_fd", "quotactl /dev/sda1"], True),
        ((ENOSYS, ENOTBLK), "/dev/sda1", ["quotactl_fd", "quotactl /dev/sda1"], False),
        ((ENOSYS,), "tmpfs", ["quotactl_fd"], False),
    ],
)
def test_an_older_kernel_is_asked_by_the_device(tmp_path, monkeypatch, errors, source, asked, there):
    """Without quotactl_fd the device is named; whatever the kernel refuses is not known, and no error."""
    libc = Libc(*errors)
    monkeypatch.setattr(quotactl.ctypes, "CDLL", lambda *_, **__: libc)
    monkeypatch.setattr(quotactl.ctypes, "get_errno", lambda: libc.error)
    found = quotactl.ask(tmp_path, source, quotactl.USER, 7)
    assert (libc.asked, found is not None and found[0].hard == 12) == (asked, there)


def test_this_kernel_is_asked(tmp_path):
    """The real call answers or refuses; neither it nor a directory that is gone is an error."""
    source = Path("/dev/null")
    for kind in (quotactl.USER, quotactl.GROUP, quotactl.PROJECT):
        found = quotactl.ask(tmp_path, str(source), kind, os.geteuid())
        assert found is None or found[0].used >= 0
        assert quotactl.ask(tmp_path / "gone", str(source), kind, 0) is None
    assert quotactl.project_of(tmp_path / "gone") is None
    assert quotactl.project_of(Path("/proc/self")) is None


@pytest.mark.parametrize(("flags", "project", "given"), [(0x200, 7, 7), (0, 7, None), (0x200, 0, None)])
def test_a_project_counts_if_files_inherit_it(tmp_path, monkeypatch, flags, project, given):
    """A directory gives its project to the files in it only if it is told to, and project 0 is none."""
    told = quotactl._ATTRIBUTES.pack(flags, 0, 0, project)
    monkeypatch.setattr(quotactl.fcntl, "ioctl", lambda *_: told)
    assert quotactl.project_of(tmp_path) == given


def test_who_is_bound(tmp_path):
    """Root is bound by no quota but on XFS, and in a namespace of users; without /proc everybody counts as bound."""
    everybody, some = "         0          0 4294967295\n", "         0       1000          1\n"
    assert not quotactl.is_exempt("ext4", tmp_path)
    for caps, users, exempt in (
        ("CapEff:\t000001ffffffffff\n", everybody, True),
        ("CapEff:\t000001ffffffffff\n", some, False),
        ("CapEff:\t0000000000000000\n", everybody, False),
        ("CapEff:\todd\n", everybody, False),
        ("", everybody, False),
    ):
        (tmp_path / "status").write_text(f"Name:\tpython\n{caps}")
        (tmp_path / "uid_map").write_text(users)
        assert quotactl.is_exempt("ext4", tmp_path) == exempt
        assert not quotactl.is_exempt("xfs", tmp_path)


# -- which quotas count


def mount(kind, *options, point="/"):
    return Mount(point, kind, "/dev/sda1", frozenset(options))


def compared(directory, mounted, need=NEED):
    return list(quotas.compare(directory, mounted, need, NOW))


def asked_of(monkeypatch, directory, mounted, project=None):
    """Give what the kernel is asked for: (kind, number)."""
    asked = []
    monkeypatch.setattr(quotactl, "is_exempt", lambda kind: False)
    monkeypatch.setattr(quotactl, "project_of", lambda directory: project)
    monkeypatch.setattr(quotactl, "ask", lambda where, source, kind, number: asked.append((kind, number)))
    assert compared(directory, mounted) == []
    return asked


def test_user_group_and_project_are_asked_for(tmp_path, monkeypatch):
    """Files belong to the user and to its group, in a directory with the setgid bit to that of the directory."""
    monkeypatch.setattr(os, "geteuid", lambda: 1007)
    monkeypatch.setattr(os, "getegid", lambda: 2007)
    there = tmp_path.stat().st_gid
    own, user = [(quotactl.GROUP, 2007)], [(quotactl.USER, 1007)]
    assert asked_of(monkeypatch, tmp_path, mount("ext4")) == user + own
    assert asked_of(monkeypatch, tmp_path, mount("ext4", "grpid")) == [*user, (quotactl.GROUP, there)]
    assert asked_of(monkeypatch, tmp_path, mount("xfs"), 5) == [*user, *own, (quotactl.PROJECT, 5)]
    assert asked_of(monkeypatch, tmp_path / "gone", mount("ext4")) == user + own
    tmp_path.chmod(0o2755)
    assert asked_of(monkeypatch, tmp_path, mount("ext4")) == [*user, (quotactl.GROUP, there)]
    assert asked_of(monkeypatch, tmp_path, mount("fuse.sshfs")) == []


def test_each_quota_is_told(tmp_path, monkeypatch):
    """Each quota is a line of its own, by the number of its owner."""
    monkeypatch.setattr(os, "geteuid", lambda: 1007)
    monkeypatch.setattr(quotactl, "is_exempt", lambda kind: False)
    monkeypatch.setattr(quotactl, "project_of", lambda directory: 5)
    monkeypatch.setattr(quotactl, "ask", lambda *asked: (Limits(0, hard=asked[2] + 1), NONE))
    said = compared(tmp_path, mount("ext4"))
    assert levels(said) == [WARNING] * 3
    assert says(said, WARNING, "the quota of user 1007 leaves 1 file;")
    assert says(said, WARNING, "the quota of project 5 leaves 3 files;")


def test_where_nothing_is_asked(tmp_path, monkeypatch):
    """Without a mount, for whom no quota binds, and as root on NFS, nothing is asked and nothing said."""

    def never(*_):
        raise AssertionError("asked")

    monkeypatch.setattr(quotactl, "ask", never)
    monkeypatch.setattr(quota_program, "of", never)
    monkeypatch.setattr(quotactl, "is_exempt", lambda kind: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for mounted in (None, mount("ext4"), mount("fuse.glusterfs"), mount("nfs4")):
        assert compared(tmp_path, mounted) == []


def test_what_the_server_does_not_say_is_told(tmp_path, monkeypatch):
    """If nobody can ask an NFS server, that is told, and is no warning."""
    monkeypatch.setattr(os, "geteuid", lambda: 1007)
    monkeypatch.setattr(quota_program.shutil, "which", lambda name: None)
    [said] = compared(tmp_path, mount("nfs4"))
    assert (said.level, "the program quota, which asks the server, is not installed" in said.what) == (OK, True)


# -- CephFS


def test_directories_of_cephfs_are_asked_up_to_the_mount(tmp_path, monkeypatch):
    """Each directory with a quota counts, up to the one that is mounted; other attributes are 0."""
    tree = tmp_path / "share/mine/tree"
    values = {
        (tree, "ceph.quota.max_bytes"): b"0",
        (tree.parent, "ceph.quota.max_files"): b"1000",
        (tree.parent, "ceph.dir.rentries"): b"200",
        (tmp_path / "share", "ceph.quota.max_bytes"): b"2000000000",
        (tmp_path / "share", "ceph.dir.rbytes"): b"500000000",
        (tmp_path / "share", "ceph.dir.rentries"): b"odd",
        (tmp_path, "ceph.quota.max_files"): b"1",
    }

    def getxattr(path, name):
        if (path, name) not in values:
            raise OSError(61, "No data available")
        return values[path, name]

    monkeypatch.setattr(os, "getxattr", getxattr)
    assert list(ceph_quotas.of(tree, str(tmp_path / "share"))) == [
        Quota(f"the quota of {tree.parent}", Limits(200, hard=1000), Limits(0)),
        Quota(f"the quota of {tmp_path}/share", Limits(0), Limits(500_000_000, hard=2_000_000_000)),
    ]
    assert [each.name for each in ceph_quotas.of(tmp_path, str(tmp_path))] == [f"the quota of {tmp_path}"]
    tree.mkdir(parents=True)
    said = compared(tree, mount("ceph", point=str(tmp_path / "share")))
    assert says(said, WARNING, f"which need 900 files; the quota of {tree.parent} leaves 800 files")
    assert says(said, OK, f"the quota of {tmp_path}/share leaves 1.5 GB")
