"""Which of the machines that start at one moment makes the tree."""

import contextlib
import errno
import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.dataset import dataset_dir
from fscrawl.errors import NotATreeError, SettingsError, TreeError
from fscrawl.storage import atomic, creation, inside, layout
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(FORMAT, "c1", "t", 16, "host", "ab" * 16)
CREATORS = 8
PATIENCE_S = 30.0  # with a creator that is at work: a busy computer may let it wait for its turn


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch):
    monkeypatch.setattr(creation, "_OTHERS_CREATE_S", 0.1)


@pytest.fixture
def makers(monkeypatch):
    """Count the directories that each thread tries to make, and let each take a moment."""
    made, mkdir = Counter(), os.mkdir

    def slow(path, *args):
        if os.path.basename(path) != "root":  # noqa: PTH119
            made[threading.current_thread().name] += 1
            time.sleep(0.002)
        mkdir(path, *args)

    monkeypatch.setattr(os, "mkdir", slow)
    return made


def create_at_once(root, settings):
    """Let several machines create the tree, each with its settings; return what they see of it."""
    start = threading.Barrier(len(settings))

    def job(number):
        start.wait(timeout=10)
        create(root, RECORD, settings[number], "http://a.example/\n", f"m-{number}-aa")
        return Tree(root, "m").record

    with ThreadPoolExecutor(len(settings)) as pool:
        return list(pool.map(job, range(len(settings))))


def elections(root):
    return [path.name for path in root.iterdir() if path.name.startswith(layout.CREATION)]


@pytest.mark.parametrize(
    "settings", [["[crawl]\n"] * CREATORS, [f"# {n}\n" for n in range(CREATORS)]], ids=["equal", "own"]
)
def test_one_machine_makes_the_directories(root, makers, settings, monkeypatch):
    """Of machines that create a tree at once one makes its directories, also if all have the same settings."""
    monkeypatch.setattr(creation, "_OTHERS_CREATE_S", PATIENCE_S)
    assert create_at_once(root, settings) == [RECORD] * CREATORS
    assert list(makers.values()) == [len(layout.DIRECTORIES)]
    assert elections(root) == []


def test_a_dead_creator_is_followed_by_one(root, makers, monkeypatch):
    """When the creator was killed, the others wait for a while, and then one of them makes the tree."""
    wait = creation._wait_for_tree

    def patient(root, limit_s):
        is_dead = elections(root) == [f"{layout.CREATION}.1"]
        return wait(root, limit_s if is_dead else PATIENCE_S)

    monkeypatch.setattr(creation, "_wait_for_tree", patient)
    (root / f"{layout.CREATION}.1").write_text("its nonce")
    assert create_at_once(root, ["[crawl]\n"] * CREATORS) == [RECORD] * CREATORS
    assert list(makers.values()) == [len(layout.DIRECTORIES)]
    assert elections(root) == []


@pytest.mark.parametrize("numbers", [(), (1,), (1, 2, 7)])
def test_waits_once(root, monkeypatch, numbers):
    """However many creators died, the next one waits once, and removes what they left."""
    for number in numbers:
        (root / f"{layout.CREATION}.{number}").touch()
    (root / f"{layout.CREATION}.txt").write_text("not ours")
    waits = []
    monkeypatch.setattr(creation, "_wait_for_tree", lambda root, limit_s: waits.append(root) or False)
    create(root, RECORD, "", "")
    assert len(waits) == bool(numbers)
    assert store.state_of(root) == "tree"
    assert elections(root) == [f"{layout.CREATION}.txt"]


def test_settings_that_are_there_cost_no_wait(root, monkeypatch):
    """Settings and seeds that somebody has written are kept, and are not taken for another creator."""
    (root / "crawl.toml").write_text("# mine\n")
    monkeypatch.setattr(creation, "_wait_for_tree", None)
    create(root, RECORD, "[crawl]\n", "")
    assert Tree(root, "m").controls.settings() == "# mine\n"


def test_a_lost_election_leaves_the_tree_alone(root, monkeypatch):
    """A machine that has waited for another one's tree writes nothing."""
    create(root, RECORD, "[crawl]\n", "")
    (root / f"{layout.CREATION}.1").touch()
    monkeypatch.setattr(creation, "make_directory", lambda path: path != root and 1 / 0)
    create(root, RECORD, "# other\n", "")
    assert Tree(root, "m").controls.settings() == "[crawl]\n"


def test_a_creator_that_fails_leaves_nothing(root, monkeypatch):
    """A creator that fails takes its election back, so that the next one need not wait."""
    link = os.link

    def full(source, target):
        if str(target).endswith("tree.json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        link(source, target)

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(TreeError, match="disk is full"):
        create(root, RECORD, "", "")
    assert list(root.iterdir()) == []


def test_a_file_of_an_election_that_stays(root, monkeypatch):
    """A tree is whole, and its creator content, also if the file of its election cannot be removed."""
    unlink = os.unlink

    def refused(path, *args, **options):
        if layout.CREATION in str(path) and not str(path).endswith(".tmp"):
            raise OSError(errno.EACCES, "Permission denied")
        unlink(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refused)
        create(root, RECORD, "", "")
    assert store.state_of(root) == "tree"
    assert Tree(root, "m").machinery_temporaries() == []  # an audit and the doctor look no further


def test_an_election_that_ends_while_it_is_claimed(root, monkeypatch):
    """The winner completes the tree and removes its election before a late claim reads it: the late one has a tree."""
    election, read_file, claim = root / ".creation.1", atomic.read_file, atomic.claim

    def claim_after_another(path, data, machine, **options):
        if os.fspath(path) == str(election) and machine == "m-2-bb":
            election.write_text("another machine")
        return claim(path, data, machine, **options)

    def winner_is_faster(path, most=None):
        if os.fspath(path) == str(election) and election.exists():
            election.unlink()
            create(root, RECORD, "# first\n", "", "m-1-aa")
        return read_file(path, most)

    monkeypatch.setattr(creation, "claim", claim_after_another)
    monkeypatch.setattr(atomic, "read_file", winner_is_faster)
    create(root, RECORD, "# second\n", "", "m-2-bb")
    assert Tree(root, "m").controls.settings() == "# first\n"
    assert not list(root.glob(".creation*"))


@pytest.mark.parametrize("stall_before", ["crawl.toml", "tree.json"])
def test_a_creator_that_stalls(root, monkeypatch, stall_before):
    """Of two creators with other settings each, the first of which stalls, the tree's record fits its settings."""

    def settings_of(number):
        return f"[fleet]\nshards = {number}\n"

    def record_for(text):
        return replace(RECORD, shards=int(text.rpartition("=")[2]))

    def make(number):
        create(root, record_for(settings_of(number)), settings_of(number), "", f"m-{number}-aa", record_for)

    claim = atomic.claim

    def stalling(path, data, machine, **options):
        if machine == "m-1-aa" and Path(path).name == stall_before:
            monkeypatch.setattr(creation, "claim", claim_up_to_settings)
            with contextlib.suppress(_KilledError):
                make(2)
            monkeypatch.setattr(creation, "claim", claim)
        return claim(path, data, machine, **options)

    def claim_up_to_settings(path, data, machine, **options):
        if Path(path).name == "tree.json":
            raise _KilledError
        return claim(path, data, machine, **options)

    monkeypatch.setattr(creation, "claim", stalling)
    make(1)
    tree = Tree(root, "m")
    assert tree.controls.settings() == settings_of(tree.record.shards)
    assert tree.record.shards == (2 if stall_before == "crawl.toml" else 1)


def test_a_creator_that_goes_on_late(root, monkeypatch):
    """The second creator finds the settings of the first, which has stalled: its record fits them."""
    (root / ".creation.1").write_text("its nonce")
    (root / "crawl.toml").write_text("[fleet]\nshards = 7\n")
    create(root, RECORD, "[fleet]\nshards = 16\n", "", "m-2-bb", lambda text: replace(RECORD, shards=int(text[-2])))
    assert Tree(root, "m").record.shards == 7


def test_settings_that_do_not_parse(root):
    """If another creator's settings are wrong, the creator that finds them says so, and takes back what it made."""
    (root / "crawl.toml").write_text("not ours")

    def refuse(_):
        raise SettingsError("crawl.toml: not valid TOML")

    with pytest.raises(SettingsError):
        create(root, RECORD, "", "", "m-1-aa", refuse)
    assert [path.name for path in root.iterdir()] == ["crawl.toml"]


class _KilledError(Exception):
    """The machine was killed here."""


def test_an_election_that_cannot_be_claimed(root, monkeypatch):
    """Without a tree, an election that cannot be claimed is an error with the reason."""
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EDQUOT, "quota")))
    with pytest.raises(TreeError, match="quota"):
        create(root, RECORD, "", "", "m-1-aa")
    assert not list(root.glob("*"))


def test_an_election_that_cannot_be_claimed_any_more(root, monkeypatch):
    """If the claim of an election fails, and another machine has made the tree meanwhile, that tree is taken."""
    claim = creation.claim

    def claim_after_another(path, data, machine, **options):
        if machine == "m-2-bb":
            create(root, RECORD, "# first\n", "", "m-1-aa")
            raise TreeError(f"{path}: no such file or directory")
        return claim(path, data, machine, **options)

    monkeypatch.setattr(creation, "claim", claim_after_another)
    create(root, RECORD, "# second\n", "", "m-2-bb")
    assert Tree(root, "m").controls.settings() == "# first\n"
    assert not list(root.glob(".creation*"))


@pytest.mark.parametrize(
    ("path", "waits_s"), [("links/a.example", [1.0, 1.0, 0.5]), ("errs/b.example", [1.0, 1.0, 0.5]), ("htmls/.x", [])]
)
def test_made_over_pages(root, path, waits_s, monkeypatch):
    """Where pages are stored, `.fscrawl` was deleted: it is made when the permits of its machines are over."""
    now, waited, said = [0.0], [], []

    def sleep(seconds):
        waited.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(creation, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    (root / path).mkdir(parents=True)
    store.wait_for_permits(root, 2.5, said.append)
    assert waited == waits_s
    line = f"{root}/.fscrawl/tree.json is missing: waiting 2 s, as machines may still be fetching"
    assert said == ([line] if waits_s else [])


def test_another_machine_makes_it_over_pages(root, monkeypatch):
    """Whoever has made the tree has waited."""
    waited = []
    monkeypatch.setattr(creation.time, "sleep", lambda s: (waited.append(s), create(root, RECORD, "", "")))
    (root / "links/a.example").mkdir(parents=True)
    store.wait_for_permits(root, 60, print)
    assert waited == [1.0]


def test_no_wait_in_a_new_tree(root, monkeypatch):
    """Where there is nothing, nobody is waited for."""
    monkeypatch.setattr(creation.time, "sleep", lambda s: pytest.fail("waits"))
    store.wait_for_permits(root / "nowhere", 60, pytest.fail)
    store.wait_for_permits(root, 60, pytest.fail)


@pytest.mark.parametrize("named", ["link", ".", "..", "below/..", "link/new", "new"])
def test_names_of_a_root(root, named, monkeypatch):
    """A root may be named by any path: also by a link to a directory, and relative to the one where the user is."""
    (root / "here" / "below").mkdir(parents=True)
    (root / "elsewhere").mkdir()
    (root / "here" / "link").symlink_to(root / "elsewhere")
    monkeypatch.chdir(root / "here")
    create(Path(named), RECORD, "[crawl]\n", "")
    assert store.state_of(Path(named)) == "tree"
    assert Tree(Path(named), "m").record == RECORD


def test_a_root_that_is_a_file(root):
    """A file is no root, whoever has named it."""
    (root / "file").write_text("mine")
    with pytest.raises(TreeError, match=r"file exists|a part of the path is a file"):
        create(root / "file", RECORD, "", "")
    assert (root / "file").read_text() == "mine"


def test_a_link_in_place_of_a_new_directory(root, monkeypatch):
    """What a link to a new directory's place leads to keeps its group and its bits."""
    private = root.parent / "private"
    private.mkdir(mode=0o700)
    root.chmod(0o770)
    make = creation.make_directory

    def make_and_replace(path):
        is_new = make(path)
        if os.fspath(path).endswith("/links"):
            Path(path).rmdir()
            Path(path).symlink_to(private)
        return is_new

    monkeypatch.setattr(creation, "make_directory", make_and_replace)
    with pytest.raises(TreeError, match="links: it is a file or a symbolic link"):
        create(root, RECORD, "", "")
    assert private.stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("number", ["9" * 240, "007", "\u0663", "-1", "1x", ""])
def test_elections_that_are_made_up(root, number):
    """A file that is called nearly like an election is none."""
    (root / f".creation.{number}").touch()
    create(root, RECORD, "", "")
    assert Tree(root, "m").record == RECORD


@pytest.mark.parametrize("target", ["away", "root"])
def test_a_root_that_leads_nowhere(tmp_path, target):
    """A link to a share that is not mounted, or to itself, is no place for a new tree."""
    root = tmp_path / "root"
    root.symlink_to(tmp_path / target)
    with pytest.raises(NotATreeError, match="a symbolic link that leads nowhere; is the share mounted"):
        store.state_of(root)
    (tmp_path / "away").mkdir()
    assert target == "root" or store.state_of(root) == "directory"


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ((), "there is no crawl here (no .fscrawl/tree.json); is the share mounted?"),
        (("links", "htmls/.x"), "there is no crawl here (no .fscrawl/tree.json); is the share mounted?"),
        (("links/a.example",), "pages are here, but .fscrawl/tree.json is missing; to make it again:  "),
        (("links/x", ".merge"), "this is a dataset, which fscrawl merge has made; name the directory of a crawl"),
        (("links/x", "manifest.json", "README.md"), "pages are here, but .fscrawl/tree.json is missing"),
        (("links/x", ".merge", "seeds.txt"), "pages are here, but .fscrawl/tree.json is missing"),
    ],
)
def test_what_is_there_instead_of_a_tree(root, paths, said):
    """Who finds no tree says what is there: pages without the machines' files, a dataset, or nothing of a crawl."""
    for path in paths:
        (root / path).mkdir(parents=True)
    with pytest.raises(NotATreeError) as caught:
        Tree(root, "m")
    assert str(caught.value).startswith(f"{root}: {said}")
    assert store.remains_of_tree(root).startswith("" if "no crawl here" in said else said)
    assert store.state_of(root) == (
        "dataset" if "dataset" in said else "seeds" if "seeds.txt" in paths else "directory"
    )


def test_a_file_in_place_of_a_directory_holds_no_pages(root):
    """What is said of a root that has no tree does not fail for what somebody has put there."""
    (root / "links").touch()
    assert "there is no crawl here" in store.instead_of_tree(root)


def test_a_dataset_is_known_by_what_a_merge_makes():
    """The name by which a dataset is known is the one that a merge gives."""
    assert dataset_dir.STATE == inside.DATASET_STATE


def test_what_else_is_in_a_directory(tmp_path):
    """Names that are not of a crawl are given; hidden ones and those of a file system are not meant."""
    assert store.strangers(tmp_path / "none") == []
    for name in ("htmls", "links", "lost+found", ".fscrawl", ".bashrc"):
        (tmp_path / name).mkdir()
    (tmp_path / "seeds.txt").touch()
    assert store.strangers(tmp_path) == []
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "photos").mkdir()
    assert store.strangers(tmp_path) == ["photos", "thesis.tex"]
