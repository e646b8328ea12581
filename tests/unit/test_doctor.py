"""What `fscrawl doctor` finds, on machines and mounts that are well and that are not."""

import json
import os
import resource
import threading

import pytest

from fscrawl import cli, store
from fscrawl.admin import doctor
from fscrawl.admin.doctor import crawl, directory, mounts, this_machine
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult, gib
from fscrawl.config import settings
from fscrawl.config.settings import FetchSettings, apply
from fscrawl.errors import TreeError
from fscrawl.fleet import heartbeat
from fscrawl.storage.records import TreeRecord
from tests.support.beats import facts_of

RECORD = TreeRecord(format=1, crawl="c1", created_at="t", shards=16, fanout=0, partition="host")
NAMED = 'politeness.user_agent="me/1 (+mailto:me@a.example)"'
ELSEWHERE = {"host": "other", "boot": "b", "pidns": "p", "pid": 9, "start": "1"}
TABLE = "1 0 8:1 / {point} {mount} shared:1 - {kind} {source} {system}\n"


class Time:
    """A clock that only sleeping moves; `then`: what happens at each sleep."""

    def __init__(self, then=lambda: None):
        self.now, self.then = 0.0, then

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.then()


@pytest.fixture
def tree(tmp_path):
    store.create(tmp_path / "t", RECORD, settings.render(apply(settings.Settings(), [NAMED])), "http://a.example/\n")
    return store.Tree(tmp_path / "t", "me-1-aa")


def levels(said):
    return [each.level for each in said]


def says(said, level, text):
    return any(each.level == level and text in str(each) for each in said)


def log(tree, name, *lines):
    with (tree.root / f".fscrawl/machines/{name}.log").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def examine(root, workers=1, names=("192.0.2.1",)):
    told = []
    said = list(doctor.examine(root, workers, 4, told.append, lambda name: names))
    return said, told


# -- the whole


def test_a_good_tree_has_no_problem(tree):
    """A tree as a crawl leaves it has neither warning nor problem but the place it is at, and stays as it was."""
    (tree.root / "crawl.toml").write_text(
        settings.render(apply(settings.Settings(), [NAMED, "fetch.allow_private_addresses=true"]))
    )
    before = sorted(tree.root.rglob("*"))
    said, told = examine(tree.root)
    assert {each.level for each in said if "tmpfs" not in each.what} == {OK}, said
    assert told == []
    assert sorted(tree.root.rglob("*")) == before


def test_a_directory_that_will_hold_a_tree_is_checked(tmp_path):
    """Without a tree the directory that will hold it is tried out, whether it exists or only the one above it."""
    for root in (tmp_path, tmp_path / "new"):
        said, _ = examine(root)
        assert says(said, OK, "the file system does what a tree needs")
        assert says(said, OK, f"there is no tree at {root} yet")
        assert PROBLEM not in levels(said)
        assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_a_problem(tmp_path):
    """A path of which not even the directory above exists is a problem, and nothing more is looked at."""
    said, _ = examine(tmp_path / "no" / "tree")
    assert said[-1] == CheckResult(
        PROBLEM, f"{tmp_path}/no does not exist", "check that the share is mounted, and the path"
    )


def test_a_file_in_place_of_a_directory_is_a_problem(tmp_path):
    """A root that is a file is a problem."""
    (tmp_path / "file").touch()
    assert says(examine(tmp_path / "file")[0], PROBLEM, "does not exist")


def test_a_tree_of_a_later_format_is_a_problem(tree):
    """A tree that this program does not understand is a problem, in the words of every command."""
    (tree.root / ".fscrawl/tree.json").write_bytes(
        TreeRecord(format=9, crawl="c", created_at="t", shards=1, fanout=0, partition="host").to_json()
    )
    assert says(examine(tree.root)[0], PROBLEM, "format 9")


def test_a_file_system_that_does_not_answer_is_told(tree, monkeypatch):
    """While a call on the tree hangs, it is said what is waited for."""
    said_so = threading.Event()
    monkeypatch.setattr(doctor, "_HUNG_S", 0.0)
    monkeypatch.setattr(
        doctor.directory, "free_space", lambda directory: iter([CheckResult(OK, str(said_so.wait(20)))])
    )
    said = list(doctor.examine(tree.root, 1, 1, lambda text: said_so.set() if "still waiting" in text else None))
    assert says(said, OK, "True")


def test_seeds_are_looked_at(tree, tmp_path):
    """Lines of seeds.txt that are no URL are warnings, a file without any a problem, a missing one neither."""
    (tree.root / "seeds.txt").write_text("".join(f"nothing{n}\n" for n in range(12)))
    said, _ = examine(tree.root)
    assert says(said, WARNING, "seeds.txt:1: not an http or https URL")
    assert says(said, WARNING, "and 2 more like this")
    assert says(said, PROBLEM, "has no URL")
    (tree.root / "seeds.txt").unlink()
    assert not says(examine(tree.root)[0], PROBLEM, "has no URL")


def test_the_command_ends_with_1_where_there_is_a_problem(tree, tmp_path, capsys, monkeypatch):
    """Exit code 0 without a problem, 1 with one; each check is a line, or with --json an object."""
    monkeypatch.setattr(doctor.this_machine, "names", lambda *_: iter(()))
    assert cli.main(["doctor", "--root", str(tree.root), "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("ok: Python 3")
    assert cli.main(["doctor", "--root", str(tmp_path / "a/b"), "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1]["level"] == PROBLEM
    assert set(lines[-1]) == {"level", "what", "advice"}


# -- the mount


def mounted(kind, mount="rw,relatime", system="rw", source="host:/x", point="/mnt"):
    found = mounts.mount_of(
        TABLE.format(point=point, mount=mount, kind=kind, source=source, system=system), "/mnt/tree"
    )
    assert found is not None
    return list(mounts.remarks(found))


@pytest.mark.parametrize(
    ("kind", "level", "text"),
    [
        ("nfs", OK, "up to a minute"),
        ("nfs4", OK, "up to a minute"),
        ("fuse.sshfs", OK, "20 s old"),
        ("fuse.glusterfs", OK, "replicated"),
        ("ext4", OK, "a local disk"),
        ("tmpfs", WARNING, "lost at a restart"),
        ("vfat", PROBLEM, "no hard links"),
        ("9p", WARNING, "has not been tested"),
    ],
)
def test_a_mount_is_judged_by_its_kind(kind, level, text):
    """What is known of a file system is told; one that keeps no tree is a problem, an unknown one a warning."""
    [said] = mounted(kind)
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


def test_a_mount_that_cannot_be_seen_is_a_warning(tmp_path):
    """Without /proc, or without a line for the path, that is said."""
    assert levels(directory.mount(tmp_path, tmp_path / "nothing")) == [WARNING]
    (tmp_path / "empty").touch()
    assert levels(directory.mount(tmp_path, tmp_path / "empty")) == [WARNING]


def test_what_a_crawl_tries_out_is_tried_out(tree, monkeypatch):
    """What the probe warns of is a warning, what it refuses a problem."""

    def probe(tree, warn):
        warn("odd")

    monkeypatch.setattr(directory, "probe", probe)
    assert list(directory.try_out(tree, tree.root)) == [CheckResult(WARNING, "odd")]

    def refuse(tree, warn):
        raise TreeError("no hard links")

    monkeypatch.setattr(directory, "probe", refuse)
    assert list(directory.try_out(tree, tree.root)) == [CheckResult(PROBLEM, "no hard links")]


def test_a_directory_that_cannot_be_written_is_a_problem(tmp_path, monkeypatch):
    """Where no directory or no file can be made that is a problem, and nothing is left behind."""
    assert levels(directory.try_out(None, tmp_path / "gone")) == [PROBLEM]

    def full(*_):
        raise TreeError("the disk is full")

    monkeypatch.setattr(store, "create", full)
    assert list(directory.try_out(None, tmp_path)) == [CheckResult(PROBLEM, "the disk is full")]
    assert list(tmp_path.iterdir()) == []


def test_room_is_judged(tmp_path, monkeypatch):
    """Little room is a warning, none a problem, in bytes and in files; a file system without inodes has enough."""

    class Disk:
        f_frsize, f_bavail, f_files, f_favail = 4096, 1 << 20, 0, 0

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    assert levels(directory.free_space(tmp_path)) == [OK]
    Disk.f_files, Disk.f_favail, Disk.f_bavail = 10**6, 5, 10
    assert levels(directory.free_space(tmp_path)) == [WARNING, WARNING]
    Disk.f_favail = Disk.f_bavail = 0
    assert levels(directory.free_space(tmp_path)) == [PROBLEM, PROBLEM]
    monkeypatch.undo()
    assert levels(directory.free_space(tmp_path / "gone")) == [PROBLEM]


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
    assert says(said, OK, "pip install 'fscrawl[dask]'")
    assert next(this_machine.packages(lambda name: None)).what == "optional packages: none"


def test_too_few_open_files_are_a_problem(monkeypatch):
    """A limit below what a worker or the parent may need is a problem that says which; no limit is none."""
    limit = [1024]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit[0], limit[0]))
    assert levels(this_machine.open_files(4, 8)) == [OK]
    assert levels(this_machine.open_files(4, 100)) == [PROBLEM]
    assert levels(this_machine.open_files(4, 8, per_host=4)) == [PROBLEM]
    [said] = this_machine.open_files(200, 8)
    assert (said.level, said.advice) == (PROBLEM, "ulimit -n 1664")
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
    assert (gib(3 << 30), gib(1 << 20)) == ("3.0 GiB", "1 MiB")


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


# -- the crawl


def test_settings_are_read_and_tried_here(tree):
    """Settings that are wrong are a problem and count as the defaults; so is a secret that is not set here."""
    chosen, [said] = crawl.read_settings("[politeness]\ndelai = 2", "crawl.toml")
    assert (chosen, said.level) == (settings.Settings(), PROBLEM)
    text = '[fetch.auth]\n"a.example" = "me:$FSCRAWL_NOT_SET"'
    chosen, [said] = crawl.read_settings(text, "crawl.toml")
    assert (said.level, "FSCRAWL_NOT_SET" in said.what, bool(chosen.fetch.auth)) == (PROBLEM, True, True)

    def fine(chosen):
        pass

    assert levels(crawl.read_settings(text, "crawl.toml", fine)[1]) == [OK]


def test_a_user_agent_without_address_is_a_warning():
    """A user agent names an address by mail or web; the default names none."""
    for name, level in (("me/1", WARNING), ("me/1 (a@b.example)", OK), ("me/1 (+https://b.example)", OK)):
        assert levels(crawl.user_agent(apply(settings.Settings(), [f'politeness.user_agent="{name}"']))) == [level]
    assert levels(crawl.user_agent(settings.Settings())) == [WARNING]


def test_signs_are_warnings(tree):
    """STOP, PAUSE and a paused host are told, with how to go on."""
    assert list(crawl.signs(tree)) == []
    for name in ("STOP", "PAUSE", "PAUSE.a.example"):
        tree.controls.put_sign(name)
    assert [each.what for each in crawl.signs(tree)] == [
        "PAUSE is in the root: nothing is fetched",
        "PAUSE.a.example is in the root: nothing is fetched from a.example",
        "STOP is in the root: no machine may run",
    ]


def watch(tree, then=lambda: None):
    time, told = Time(then), []
    said = list(crawl.Machines(tree).watch(1.0, told.append, time, time.sleep))
    return said, told, time.now


def test_nobody_is_waited_for_where_nobody_is_at_work(tree):
    """Without a machine that may be alive nothing is waited for."""
    log(tree, "h-1-aa", {"hello": "h-1-aa", **ELSEWHERE}, {"bye": True})
    assert watch(tree) == ([CheckResult(OK, "no machine is running")], [], 0.0)


def test_two_beats_are_a_sign_of_life(tree):
    """A machine whose log grows by two beats, as seen from here, is at work; so is one that leaves meanwhile."""
    log(tree, "h-1-aa", {"hello": "h-1-aa", **ELSEWHERE})
    log(tree, "h-2-bb", {"hello": "h-2-bb", **ELSEWHERE})

    def beat():
        log(tree, "h-1-aa", {"beat": 1})
        log(tree, "h-2-bb", {"bye": True})

    said, told, waited = watch(tree, beat)
    assert said == [CheckResult(OK, "2 machines are running, and this machine sees their heartbeats")]
    assert (len(told), waited) == (1, 0.5)


def test_without_beats_it_depends_on_who_it_is(tree, monkeypatch):
    """A silent machine elsewhere is a warning, for it will be taken over; one whose process runs here is a problem."""
    log(tree, "h-1-aa", {"hello": "h-1-aa", **ELSEWHERE}, {"beat": 1})
    log(tree, "h-2-bb", facts_of(heartbeat.hello("h-2-bb")), {"beat": 1})
    said, _, waited = watch(tree)
    assert sorted(levels(said)) == [PROBLEM, WARNING]
    assert says(said, WARNING, "no heartbeats of h-1-aa within 3 s")
    assert says(said, PROBLEM, "h-2-bb runs on this host but writes no heartbeats")
    assert waited >= 3.0


def test_a_process_that_is_over_here_is_not_waited_for(tree):
    """A machine of this boot whose process runs no more is known to be dead."""
    log(tree, "h-1-aa", {**facts_of(heartbeat.hello("h-1-aa")), "start": "0"}, {"beat": 1})
    assert watch(tree)[0] == [CheckResult(OK, "no machine is running")]


def test_names_that_collide_are_told(tree):
    """Two hellos in a log are a problem, two machines of one host name a warning; what is no line is skipped."""
    assert list(crawl.Machines(tree).collisions()) == []
    log(tree, "h-1-aa", {"hello": "h-1-aa", **ELSEWHERE}, {"hello": "h-1-aa", **ELSEWHERE, "pid": 10}, {"beat": 1}, [])
    with (tree.root / ".fscrawl/machines/h-1-aa.log").open("a") as file:
        file.write("torn\n")
    log(tree, "h-2-bb", {"hello": "h-2-bb", **ELSEWHERE, "boot": "b2"})
    log(tree, tree.machine, {"hello": tree.machine})
    said = list(crawl.Machines(tree).collisions())
    assert says(said, PROBLEM, "2 processes have written the log of h-1-aa")
    assert says(said, WARNING, "2 machines have the host name other")
    assert len(said) == 2


def test_what_the_dead_left_is_told(tree, monkeypatch):
    """Temporaries of machines that are over are a warning; those of others are theirs."""
    assert levels(crawl.Machines(tree).temporaries()) == [OK]
    host = tree.root / "htmls/a.example"
    host.mkdir()
    log(tree, "h-1-aa", {"hello": "h-1-aa", **ELSEWHERE})
    (host / ".x.html.h-1-aa.1-1.tmp").touch()
    (host / ".x.html.h-7-cc.1-1.tmp").touch()
    assert levels(crawl.Machines(tree).temporaries()) == [OK]
    log(tree, "h-1-aa", {"bye": True})
    [said] = crawl.Machines(tree).temporaries()
    assert (said.level, "h-1-aa" in said.what) == (WARNING, True)
    monkeypatch.setattr(crawl, "_MOST_HOSTS", 0)
    assert "on the first 0 hosts" in next(crawl.Machines(tree).temporaries()).what


def test_of_much_of_the_same_some_is_told():
    """Of each level ten lines are told, and how many more there are."""
    said = list(crawl.limited([CheckResult(WARNING, str(n)) for n in range(13)] + [CheckResult(OK, "x")]))
    assert len(said) == 12
    assert said[-1] == CheckResult(WARNING, "and 3 more like this")
