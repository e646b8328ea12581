"""The store's names, and what it does when the file system fails. Every file system: tests/component/test_store.py."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from fscrawl import store
from fscrawl.errors import NotATreeError, RecordError, TreeError
from fscrawl.storage.atomic import publish, temporary_owner
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, TreeRecord
from fscrawl.store import Tree, create, state_of
from tests.support.stored_files import KEY, names

HOST = "a.example"
RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
PAGE = PageRecord(f"http://{HOST}/", KEY, 0, "", "t", "m", 200, {}, 4, "", 0.1, ())
ERROR = ErrorRecord(f"http://{HOST}/", KEY, 0, "", "t", "m", "timeout", "no answer", 1)


@pytest.fixture
def root(tmp_path):
    create(tmp_path / "root", RECORD, "", "")
    return tmp_path / "root"


@pytest.fixture
def tree(root):
    return Tree(root, "m-1-aa")


@pytest.mark.parametrize("since", [1, 2])
def test_body_before_record(tree, fault, since):
    """When the body or the record cannot be published, the page is not done."""
    fault("rename", errno.EIO, since=since)
    with pytest.raises(TreeError):
        tree.put_page(HOST, PAGE, b"body")
    assert not tree.is_done(HOST, KEY)
    assert tree.keys("htmls", HOST) == [KEY][: since - 1]
    assert tree.temporaries("htmls", HOST) == tree.temporaries("links", HOST) == []


def test_only_a_missing_directory_is_made(tree, fault):
    """A fault other than a missing directory makes none."""
    fault("open", errno.EACCES, within="htmls")
    with pytest.raises(TreeError, match="permission denied"):
        tree.put_page(HOST, PAGE, b"body")
    assert list((tree.root / "htmls").iterdir()) == []


def test_host_that_is_a_file(tree):
    """A host directory whose name is taken by a file is a TreeError."""
    (tree.root / "htmls" / HOST).touch()
    with pytest.raises(TreeError, match="a part of the path is a file"):
        tree.put_page(HOST, PAGE, b"body")


def test_host_made_meanwhile(tree, monkeypatch):
    """A host directory that another machine makes at the same moment is used."""
    real = Path.mkdir

    def mkdir(path, *args, **options):
        real(path, *args, **options)
        real(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    tree.put_page(HOST, PAGE, b"body")
    assert tree.is_done(HOST, KEY)


def test_record_is_replaced(tree, fault):
    """A record is brought up to date in one step, its body untouched; where that fails, the old one stays."""
    tree.put_page(HOST, PAGE, b"body")
    looked_at = msgspec.structs.replace(PAGE, checked_at="later", checked_status=304)
    tree.put_record(HOST, looked_at)
    assert (tree.page(HOST, KEY), tree.body(HOST, KEY)) == (looked_at, b"body")
    fault("rename", errno.EIO)
    with pytest.raises(TreeError):
        tree.put_record(HOST, PAGE)
    assert tree.page(HOST, KEY) == looked_at
    assert tree.temporaries("links", HOST) == []


def test_failure(tree, fault):
    """A failure is None if there is none, or if it cannot be read; a tree that cannot be read is a TreeError."""
    asked = [tree.failure(HOST, KEY)]
    tree.put_error(HOST, ERROR)
    asked.append(tree.failure(HOST, KEY))
    path = Path(tree.path_of("errs", HOST, KEY))
    path.write_bytes(path.read_bytes()[:30])
    asked.append(tree.failure(HOST, KEY))
    assert asked == [None, ERROR, None]
    fault("open", errno.EACCES, within="errs")
    with pytest.raises(TreeError, match="permission denied"):
        tree.failure(HOST, KEY)


def test_layout(tree):
    """A page's files are named by directory, host and key."""
    tree.put_page(HOST, PAGE, b"body")
    tree.put_error(HOST, ERROR)
    found = [str(path.relative_to(tree.root)) for path in tree.root.rglob(f"{KEY}*")]
    assert sorted(found) == [f"errs/{HOST}/{KEY}.json", f"htmls/{HOST}/{KEY}.html", f"links/{HOST}/{KEY}.json"]
    assert tree.path_of("htmls", HOST, KEY) == f"{tree.root}/htmls/{HOST}/{KEY}.html"


def test_torn_records(tree):
    """A torn file is a RecordError to whoever reads it."""
    tree.put_page(HOST, PAGE, None)
    tree.put_error(HOST, ERROR)
    for directory, read in (("links", tree.page), ("errs", tree.error)):
        path = Path(tree.path_of(directory, HOST, KEY))
        path.write_bytes(path.read_bytes()[:30])
        with pytest.raises(RecordError):
            read(HOST, KEY)


def test_unreadable(tree, fault):
    """A tree that cannot be listed or asked is a TreeError, never an empty answer."""
    tree.put_page(HOST, PAGE, b"body")
    fault("listdir", errno.EIO)
    with pytest.raises(TreeError):
        tree.keys("links", HOST)
    fault("stat", errno.EIO, within=KEY)
    with pytest.raises(TreeError):
        tree.is_done(HOST, KEY)


def test_remove(tree, fault):
    """Removing what is gone is fine; what cannot be removed is a TreeError."""
    tree.files.remove("nothing")
    fault("unlink", errno.EROFS)
    with pytest.raises(TreeError, match="read-only"):
        tree.files.remove("seeds.txt")


def test_states(tmp_path):
    """A directory is a tree, has seeds, or neither, and may not be there."""
    root = tmp_path / "root"
    states = [state_of(root)]
    root.mkdir()
    states.append(state_of(root))
    (root / ".fscrawl").mkdir()
    states.append(state_of(root))
    (root / "seeds.txt").touch()
    states.append(state_of(root))
    (root / ".fscrawl" / "tree.json").touch()
    assert [*states, state_of(root)] == ["nothing", "directory", "directory", "seeds", "tree"]


def test_root_that_is_a_file(tmp_path):
    """A root that is a file is refused, and stays as it is."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotATreeError, match="it is a file"):
        state_of(tmp_path / "file")
    with pytest.raises(TreeError):
        create(tmp_path / "file", RECORD, "", "")
    with pytest.raises(TreeError, match="a file, not a directory"):
        Tree(tmp_path / "file", "m")
    assert (tmp_path / "file").read_text() == "mine"


def test_state_of_a_dead_mount(tmp_path, fault):
    """A mount that is gone is a TreeError with advice, not an empty directory."""
    fault("stat", errno.ENOTCONN, within="root")
    with pytest.raises(TreeError, match="mount it again"):
        state_of(tmp_path / "root")


def test_kept_settings(root, tmp_path):
    """The settings of a directory that is not a tree are read if they are there."""
    (root / "crawl.toml").write_bytes(b"# \xff\n")
    assert store.text_if_there(root) == "# \udcff\n"
    assert store.text_if_there(tmp_path) is None
    with pytest.raises(TreeError):
        store.text_if_there(root / "crawl.toml")


def test_settings_being_replaced(tree):
    """Settings that are gone for the moment of an edit are None."""
    (tree.root / "crawl.toml").write_text("[crawl]\n")
    assert tree.controls.settings_if_there() == "[crawl]\n"
    (tree.root / "crawl.toml").unlink()
    assert tree.controls.settings_if_there() is None


@pytest.mark.parametrize("text", [b"", b"{", RECORD.to_json()[:-3], b'{"format":3}', b"\0" * 50])
def test_torn_tree_json(root, text):
    """A tree whose record is torn is refused, and the file is named."""
    (root / ".fscrawl/tree.json").write_bytes(text)
    with pytest.raises(NotATreeError, match=r"tree[.]json: .*must be what the first machine wrote"):
        Tree(root, "m")


def test_newer_format(root):
    """A tree of another format is refused."""
    newer = TreeRecord(format=FORMAT + 1, crawl="c", created_at="t", shards=1, partition="host", machinery="")
    (root / ".fscrawl/tree.json").write_bytes(newer.to_json())
    with pytest.raises(NotATreeError, match=f"the tree has format {FORMAT + 1}; .*format {FORMAT}"):
        Tree(root, "m")


def test_no_tree(tmp_path):
    """A directory without a tree is refused, and nothing is made in it."""
    with pytest.raises(NotATreeError, match="there is no crawl here"):
        Tree(tmp_path, "m")
    assert names(tmp_path) == []


def test_create_below_nothing(tmp_path):
    """Nothing above the root is ever created."""
    with pytest.raises(TreeError, match="is the share mounted"):
        create(tmp_path / "no" / "root", RECORD, "", "")
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("function", ["mkdir", "link"])
@pytest.mark.parametrize("since", [1, 2, 3, 4, 5])
def test_create_cleans_up(tmp_path, fault, function, since):
    """A tree that cannot be made leaves nothing, whichever step fails."""
    fault(function, errno.ENOSPC, since=since)
    with pytest.raises(TreeError, match="the disk is full"):
        create(tmp_path / "root", RECORD, "", "")
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_create_leaves_what_was_there(tmp_path, fault):
    """A tree that cannot be made takes nothing along that was there before."""
    (tmp_path / "htmls").mkdir()
    (tmp_path / "seeds.txt").write_text("http://mine.example/\n")
    fault("link", errno.EIO, within="tree.json")
    with pytest.raises(TreeError):
        create(tmp_path, RECORD, "", "")
    assert sorted(os.listdir(tmp_path)) == ["htmls", "seeds.txt"]  # noqa: PTH208


@pytest.mark.parametrize("function", ["open", "write", "fsync", "close"])
def test_seeds_that_cannot_be_added(tree, fault, function):
    """Seeds that could not be written whole are a TreeError."""
    fault(function, errno.ENOSPC, within="seeds.txt" if function == "open" else "")
    with pytest.raises(TreeError, match=r"seeds[.]txt: the disk is full"):
        tree.controls.add_seeds(["http://a.example/"])


def test_temporaries_are_named_as_documented(tree, monkeypatch):
    """What publish writes is what `temporary_owner` reads, and no two temporaries share a name."""
    seen = []
    monkeypatch.setattr(os, "rename", lambda source, target: seen.append(Path(source).name))
    for _ in range(2):
        publish(tree.root / "a.b.example.json", b"", tree.machine)
    assert [temporary_owner(name) for name in seen] == ["m-1-aa", "m-1-aa"]
    assert len(set(seen)) == 2


def test_directory_that_is_not_found_yet(tmp_path, monkeypatch):
    """A directory that another machine is just making may be taken and not be found: it is waited for."""
    create(tmp_path / "root", RECORD, "", "")
    tree, real, late = Tree(tmp_path / "root", "m"), os.stat, [1, 1]

    def missing(path, *args, **options):
        if late and path == "a.example":
            late.pop()
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, *args, **options)

    (tmp_path / "root/links/a.example").mkdir()
    monkeypatch.setattr(os, "stat", missing)
    tree.files.make_directory("links/a.example")
    assert not late


def test_an_empty_directory_is_removed(tree, fault):
    """One with something in it stays, and so does what is there in its place; a fault of the share is an error."""
    links = tree.root / "links"
    for name in ("empty", "full/inside"):
        (links / name).mkdir(parents=True)
    (links / "link").symlink_to("full")
    for name in ("empty", "full", "link", "missing", "missing/below"):
        tree.files.remove_empty_directory(f"links/{name}")
    assert sorted(path.name for path in links.iterdir()) == ["full", "link"]
    fault("rmdir", errno.EACCES)
    with pytest.raises(TreeError, match="links/full/inside"):
        tree.files.remove_empty_directory("links/full/inside")


def test_directory_that_another_machine_made(tmp_path, monkeypatch):
    """A directory that another machine has made is there, also where EPERM says so; elsewhere that is a fault."""
    create(tmp_path / "root", RECORD, "", "")
    tree = Tree(tmp_path / "root", "m")
    real = os.mkdir

    def mkdir(path, *rest):
        if path.endswith(HOST):
            real(path, *rest)
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "mkdir", mkdir)
    tree.put_page(HOST, PAGE, b"body")
    assert tree.is_done(HOST, KEY)
    with pytest.raises(TreeError, match="not permitted"):
        tree.put_page("b.example", PAGE, b"body")


def test_directories_are_synced(tmp_path, monkeypatch):
    """Where files are flushed, so are the directories made for them, and each name before the record that needs it."""
    create(tmp_path / "root", RECORD, "", "")
    tree = Tree(tmp_path / "root", "m", fsync=True)
    done = []
    monkeypatch.setattr(os, "fsync", lambda fd: done.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    root = tmp_path / "root"
    tree._put(f"htmls/{HOST}/{KEY}.html", b"body")
    tree._put(f"links/{HOST}/{KEY}.json", b"record")
    directories = [path for path in done if not path.endswith(".tmp")]
    expected = [str(root / "htmls"), str(root / "htmls" / HOST), str(root / "links"), str(root / "links" / HOST)]
    assert directories == expected


def test_create_spares_another_machines_tree(tmp_path, monkeypatch):
    """A machine that fails while another has made the tree removes nothing of what that tree is made of."""
    real = os.link

    def link(source, target):
        if target.endswith("tree.json"):
            Path(target).write_bytes(b"{}")  # the other was first
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(TreeError):
        create(tmp_path / "root", RECORD, "", "")
    assert {"crawl.toml", "seeds.txt", "tree.json"} <= set(names(tmp_path / "root"))


def test_stale_when_closed(tree, fault):
    """A file that was read whole has been read, though the server has forgotten its handle when it is closed."""
    tree.put_page(HOST, PAGE, b"body")
    fault("close", errno.ESTALE)
    assert tree.body(HOST, KEY) == b"body"
    assert tree.page(HOST, KEY) == PAGE


def test_a_tree_that_is_gone_is_noticed(tree):
    """Where the tree has vanished below a program (an unmount), it is told so, and not that files are missing."""
    tree.check_there()
    (tree.root / ".fscrawl" / "tree.json").unlink()
    with pytest.raises(NotATreeError, match="is the share mounted"):
        tree.check_there()
