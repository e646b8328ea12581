"""What the doctor says of a tree and of a crawl."""

import json
import shutil
import threading

import pytest
from msgspec.structs import replace

from fscrawl import cli, store
from fscrawl.admin import doctor
from fscrawl.admin.doctor import directory
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult, limited
from fscrawl.config import settings
from fscrawl.config.settings import apply
from fscrawl.errors import TreeError
from fscrawl.fleet import heartbeat
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from tests.support.beats import facts_of
from tests.support.checks import levels, says

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
NAMED = 'politeness.user_agent="me/1 (+mailto:me@a.example)"'
ELSEWHERE = {"host": "other", "boot": "b", "pidns": "p", "pid": 9, "start": "1"}


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
        settings.render(apply(settings.Settings(), [NAMED, "fetch.allow_addresses=['0.0.0.0/0', '::/0']"]))
    )
    before = sorted(tree.root.rglob("*"))
    said, told = examine(tree.root)
    assert {each.level for each in said if "tmpfs" not in each.what} == {OK}, said
    assert told == []
    assert sorted(tree.root.rglob("*")) == before


@pytest.mark.parametrize("name", ["htmls", "links", "errs"])
def test_a_missing_directory_of_pages_is_a_problem(tree, name):
    """The share may not be mounted; if it is, the directory is made by hand, and the audit does the rest."""
    (tree.root / name).rmdir()
    (found,) = directory.missing_directories(tree)
    assert found.level == PROBLEM
    assert found.what.startswith(f"{tree.root}/{name}: it is not there; is the share mounted? ")
    assert f"mkdir {tree.root}/{name} && " in found.what
    assert found in examine(tree.root)[0]


def test_missing_parts_of_the_machinery_are_a_problem(tree):
    """They are named in one line, and all of `.fscrawl` is to be deleted: what else is in it tells of them."""
    new = replace(RECORD, format=FORMAT, machinery=new_machinery())
    (tree.root / ".fscrawl/tree.json").write_bytes(new.to_json())
    tree = store.Tree(tree.root, tree.machine)
    for name in (".fscrawl/generations", ".fscrawl/leases"):
        (tree.root / name).rmdir()
    (found,) = directory.missing_directories(tree)
    assert found.what == f"{tree.root}/.fscrawl/leases, {tree.root}/.fscrawl/generations are missing"
    assert found.advice.startswith(f"when no machine runs on this tree:  rm -r {tree.root}/.fscrawl && ")
    assert found in examine(tree.root)[0]


def test_a_tree_that_is_gone_has_no_missing_directories(tree):
    """If the share is unmounted meanwhile, nobody is told to delete a part of the tree."""
    tree.root.rename(tree.root.with_name("away"))
    tree.root.mkdir()
    with pytest.raises(TreeError, match="is the share mounted"):
        list(directory.missing_directories(tree))


def test_a_directory_that_will_hold_a_tree_is_checked(tmp_path):
    """Without a tree the directory that will hold it is tried out, whether it exists or only the one above it."""
    for root in (tmp_path, tmp_path / "new"):
        said, _ = examine(root)
        assert says(said, OK, "the file system does what a tree needs")
        assert says(said, OK, f"there is no tree at {root} yet")
        assert PROBLEM not in levels(said)
        assert list(tmp_path.iterdir()) == []


def test_a_missing_list_is_a_problem_before_there_is_a_tree(tmp_path):
    """What keeps the first machine from beginning is said before one tries."""
    table = "[[site]]\nhosts = ['a.invalid']\nseeds = ['http://a.invalid/{names.txt}']\n# end of settings\n"
    (tmp_path / "crawl.toml").write_text(table)
    assert says(examine(tmp_path)[0], PROBLEM, f"{tmp_path}/names.txt does not exist; write it there")


def test_a_dataset_is_a_problem(tmp_path):
    """A dataset is no place for a tree."""
    (tmp_path / ".merge").mkdir()
    assert says(examine(tmp_path)[0], PROBLEM, f"{tmp_path}: this is a dataset, which fscrawl merge has made")


def test_a_missing_directory_is_a_problem(tmp_path):
    """A path of which not even the directory above exists is a problem, and nothing more is looked at."""
    said, _ = examine(tmp_path / "no" / "tree")
    assert said[-1] == CheckResult(
        PROBLEM, f"{tmp_path}/no does not exist", "check that the share is mounted, and the path"
    )


def test_a_path_that_cannot_be_looked_up_is_a_problem(tmp_path):
    """A name that no file system takes is a problem, as is a directory that this user may not enter."""
    root = tmp_path / ("a" * 300)
    assert says(examine(root)[0], PROBLEM, f"{root}: ")


def test_a_file_in_place_of_a_directory_is_a_problem(tmp_path):
    """A root that is a file is a problem."""
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "file" / "tree"):
        assert says(examine(root)[0], PROBLEM, f"{tmp_path}/file is a file, and no directory")


def test_a_link_that_leads_nowhere_is_a_problem(tmp_path):
    """No crawl can be made there, although the directory that has the link is good."""
    (tmp_path / "tree").symlink_to(tmp_path / "unmounted")
    assert says(examine(tmp_path / "tree")[0], PROBLEM, "a symbolic link that leads nowhere; is the share mounted?")


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("nothing", "pages are here, but .fscrawl/tree.json is missing; to make it again:  "),
        ("a file", "it is a file or a symbolic link, and must be a directory"),
    ],
)
def test_pages_without_the_files_of_machines_are_a_problem(tree, instead, said):
    """What no other command can use is no place where there is no tree yet."""
    (tree.root / "links" / "a.example").mkdir()
    shutil.rmtree(tree.root / ".fscrawl")
    if instead == "a file":
        (tree.root / ".fscrawl").touch()
    found = examine(tree.root)[0]
    assert says(found, PROBLEM, said)
    assert not says(found, OK, "there is no tree")


def test_a_tree_of_a_later_format_is_a_problem(tree):
    """A tree that this program does not understand is a problem, in the words of every command."""
    (tree.root / ".fscrawl/tree.json").write_bytes(
        TreeRecord(format=9, crawl="c", created_at="t", shards=1, partition="host", machinery="").to_json()
    )
    assert says(examine(tree.root)[0], PROBLEM, "format 9")


def test_a_file_system_that_does_not_answer_is_told(tree, monkeypatch):
    """While a call on the tree hangs, it is said what is waited for."""
    said_so = threading.Event()
    monkeypatch.setattr(doctor, "_HUNG_S", 0.0)
    monkeypatch.setattr(doctor.directory, "mount", lambda *_: iter([CheckResult(OK, str(said_so.wait(20)))]))
    said = list(doctor.examine(tree.root, 1, 1, lambda text: said_so.set() if "still waiting" in text else None))
    assert says(said, OK, "True")


def test_seeds_are_looked_at(tree, tmp_path):
    """Lines of seeds.txt that are no URL are warnings, a file without any a problem, a missing one neither."""
    (tree.root / "seeds.txt").write_text("".join(f"nothing{n}\n" for n in range(12)))
    said, _ = examine(tree.root)
    assert says(said, WARNING, "seeds.txt:1:1: not an http or https URL")
    assert says(said, WARNING, "and 2 more like this")
    assert says(said, PROBLEM, "has no URL")
    (tree.root / "seeds.txt").write_text("# none\n")
    said, _ = examine(tree.root)
    assert says(said, WARNING, "has no URL"), "the seeds may be those of a site file"
    assert not says(said, PROBLEM, "has no URL")
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


class Line:
    """A progress line that keeps the steps that it is told, each once; printing a result ends the line."""

    def __init__(self):
        self.steps, self.shown = [], None

    def begin(self, step, *, unit):
        self.shown = step
        if step not in self.steps:
            self.steps.append(step)


def test_it_is_shown_which_check_is_under_way(tree, tmp_path):
    """The line names the check under way, also after a result was printed, and before the directory is looked at."""
    line = Line()
    for result in doctor.examine(tree.root, 1, 4, lambda text: None, lambda name: ("192.0.2.1",), line=line):
        if result.what.startswith("optional packages"):
            line.shown = None
        elif result.what.startswith("not installed"):
            assert line.shown == "this machine"
    assert line.steps[:2] == ["this machine", "the mount"]
    assert line.steps[-1] == "watching heartbeats"
    list(doctor.examine(tmp_path / "no/tree", 1, 4, lambda text: None, line=(gone := Line())))
    assert gone.shown == "the mount"


# -- the mount


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


# -- the crawl


def test_settings_are_read_and_tried_here(tree, monkeypatch):
    """Settings that are wrong are a problem and count as the defaults; so is a secret that is not set here."""
    file = tree.root / "crawl.toml"
    file.write_text("[politeness]\ndelai = 2")
    chosen, [said] = doctor.read_settings(tree.root, None, ())
    assert (chosen, said.level) == (settings.Settings(), PROBLEM)
    file.write_text('[fetch.auth]\n"a.example" = "me:$NOT_SET_HERE"')
    chosen, [said] = doctor.read_settings(tree.root, None, ["NOT_SET_HERE"])
    assert (said.level, "NOT_SET_HERE" in said.what, bool(chosen.fetch.auth)) == (PROBLEM, True, True)
    monkeypatch.setenv("NOT_SET_HERE", "secret")
    assert levels(doctor.read_settings(tree.root, None, ["NOT_SET_HERE"])[1]) == [OK]


def test_a_user_agent_without_address_is_a_warning():
    """A user agent names an address by mail or web; the default names none."""
    for name, level in (("me/1", WARNING), ("me/1 (a@b.example)", OK), ("me/1 (+https://b.example)", OK)):
        assert levels(doctor.user_agent(apply(settings.Settings(), [f'politeness.user_agent="{name}"']))) == [level]
    assert levels(doctor.user_agent(settings.Settings())) == [WARNING]


def test_signs_are_warnings(tree):
    """STOP, PAUSE and a paused host are told, with how to go on."""
    assert list(doctor.signs(tree)) == []
    for name in ("STOP", "PAUSE", "PAUSE.a.example", "PAUSE.A.example"):
        tree.controls.put_sign(name)
    warned = list(doctor.signs(tree))
    assert ["--host a.example" in each.advice for each in warned] == [False, False, True, False]
    assert [each.what for each in warned] == [
        "PAUSE is in the root: nothing is fetched",
        "PAUSE.A.example is in the root: it is not the name of a host, and pauses nothing",
        "PAUSE.a.example is in the root: nothing is fetched from a.example",
        "STOP is in the root: no machine may run",
    ]


def watch(tree, then=lambda: None):
    time, told = Time(then), []
    said = list(doctor.Machines(tree, settings.Settings(), time, time.sleep).watch(1.0, told.append))
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
    assert said == [CheckResult(OK, "this machine sees the heartbeats of 2 running machines")]
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


def test_of_much_of_the_same_some_is_told():
    """Of each level ten lines are told, and how many more there are."""
    said = list(limited([CheckResult(WARNING, str(n)) for n in range(13)] + [CheckResult(OK, "x")]))
    assert len(said) == 12
    assert said[-1] == CheckResult(WARNING, "and 3 more like this")
