"""What the store promises on every file system.

One suite, a directory on each file system in turn: pytest's own, /dev/shm, and the directories of
`$FSCRAWL_STORE_DIRS` (separated by colons: mounts of sshfs, NFS, …).
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.errors import NotATreeError, TreeError
from fscrawl.storage import creation
from fscrawl.storage.atomic import claim, publish
from fscrawl.storage.records import ErrorRecord, RobotsRecord
from fscrawl.store import Tree, create
from tests.support.stores import BODY, HOST, KEY, OTHER, RECORD, STEPS, at_once, crash, files, page, verify

PLACES = ["tmp_path", "/dev/shm", *filter(None, os.environ.get("FSCRAWL_STORE_DIRS", "").split(":"))]


@pytest.fixture(params=PLACES)
def directory(request, tmp_path):
    if request.param == "tmp_path":
        yield tmp_path
        return
    if not Path(request.param).is_dir():
        pytest.skip(f"{request.param} is no directory")
    path = Path(tempfile.mkdtemp(prefix="fscrawl-test-", dir=request.param))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def tree(directory):
    create(directory / "root", RECORD, "", "")
    return Tree(directory / "root", "m-1-aa", fsync=True)


@pytest.mark.parametrize("fsync", [False, True])
@pytest.mark.parametrize("data", [b"", b"x", os.urandom(3_000_000)], ids=["empty", "small", "large"])
def test_publish(directory, data, fsync):
    """A published file holds its data, alone in its directory."""
    publish(directory / "file", data, "m", fsync=fsync)
    assert (directory / "file").read_bytes() == data
    assert files(directory) == ["file"]


def test_publish_replaces(directory):
    """Publishing a name again replaces what it holds."""
    publish(directory / "file", b"old and long", "m")
    publish(str(directory / "file"), b"new", "m")
    assert (directory / "file").read_bytes() == b"new"


def test_claim(directory):
    """The first claim wins; a later one is refused and changes nothing."""
    assert claim(directory / "file", b"first", "m1", fsync=True)
    assert not claim(directory / "file", b"second", "m2")
    assert (directory / "file").read_bytes() == b"first"
    assert files(directory) == ["file"]


def test_claim_again(directory):
    """A claim that finds its own bytes has won, as after a reply that was lost."""
    assert claim(directory / "file", b"mine", "m")
    assert claim(directory / "file", b"mine", "m")


def test_claim_race(directory):
    """Of many claims at once exactly one wins, and its bytes stand there."""
    won = at_once([lambda n=n: claim(directory / "file", b"%d" % n, f"m{n}") for n in range(16)])
    assert sorted(won) == [False] * 15 + [True]
    assert (directory / "file").read_bytes() == b"%d" % won.index(True)
    assert files(directory) == ["file"]


def test_publish_race(directory):
    """Of many publishers at once one is last, and no reader sees anything but a whole file."""
    bodies = [bytes([n]) * 50_000 for n in range(8)]
    publish(directory / "file", bodies[0], "m")
    read = at_once(
        [lambda body=body: publish(directory / "file", body, "m") for body in bodies]
        + [lambda: [(directory / "file").read_bytes() for _ in range(20)]] * 2
    )
    assert read[: len(bodies)] == [None] * len(bodies)
    assert {body for bodies_read in read[len(bodies) :] for body in bodies_read} <= set(bodies)
    assert files(directory) == ["file"]


def test_page(tree):
    """A page is done once it is stored, and comes back as it was."""
    assert not tree.is_done(HOST, KEY)
    tree.put_page(HOST, page(), BODY)
    assert tree.is_done(HOST, KEY)
    assert (tree.page(HOST, KEY), tree.body(HOST, KEY)) == (page(), BODY)
    assert (tree.hosts("links"), tree.keys("links", HOST), tree.keys("htmls", HOST)) == ([HOST], [KEY], [KEY])


def test_page_without_body(tree):
    """A page without a body is done and leaves nothing in htmls."""
    record = page(body=None, status=301, redirect="http://a.example/b")
    tree.put_page(HOST, record, None)
    assert tree.page(HOST, KEY) == record
    assert tree.hosts("htmls") == []
    with pytest.raises(TreeError, match="it is not there"):
        tree.body(HOST, KEY)


def test_empty_body(tree):
    """A body of no bytes is a body."""
    tree.put_page(HOST, page(body=b""), b"")
    assert tree.body(HOST, KEY) == b""


def test_record_race(tree):
    """A record that is replaced again and again is whole for every reader, and its body stays."""
    records = [page(checked_at="t" * 1000, checked_status=n) for n in range(8)]
    tree.put_page(HOST, records[0], BODY)
    read = at_once(
        [lambda record=record: tree.put_record(HOST, record) for record in records]
        + [lambda: [tree.page(HOST, KEY) for _ in range(20)]] * 2
    )
    assert read[: len(records)] == [None] * len(records)
    assert all(record in records for found in read[len(records) :] for record in found)
    assert tree.body(HOST, KEY) == BODY


def test_errors(tree):
    """A failure is replaced by the next one and removed when it is healed, or was never there."""
    tree.drop_error(HOST, KEY)
    for attempts in (1, 2):
        record = ErrorRecord(f"http://{HOST}/", KEY, 0, "", "t", "m", "timeout", "no answer", attempts)
        tree.put_error(HOST, record)
        assert tree.error(HOST, KEY) == record
    assert not tree.is_done(HOST, KEY)
    tree.drop_error(HOST, KEY)
    assert tree.keys("errs", HOST) == []


def test_robots(tree):
    """A robots.txt is kept per host, and one that is torn is as good as none."""
    assert tree.robots(HOST) is None
    record = RobotsRecord(f"http://{HOST}/robots.txt", "t", 200, "User-agent: *\n")
    tree.put_robots(HOST, record)
    assert tree.robots(HOST) == record
    (tree.root / f".fscrawl/robots/{HOST}.json").write_bytes(record.to_json()[:20])
    assert tree.robots(HOST) is None


def test_listing(tree):
    """Listings hold what is stored, of hosts with and without a directory, and no temporaries."""
    keys = [f"{n:024x}" for n in range(0, 2**96, 2**90)]
    for key in keys:
        tree.put_page(HOST, page(key), None)
    publish(Path(tree.path_of("links", HOST, KEY)).parent / "x", b"", "m")
    for name in (f".{KEY}.json.m-2-bb.7-0.tmp", ".nfs0001"):
        Path(tree.path_of("links", HOST, keys[0])).with_name(name).touch()
    assert sorted(set(tree.keys("links", HOST)) - {"x"}) == keys
    assert tree.keys("links", "b.example") == []
    assert [owner for _, owner in tree.temporaries("links", HOST)] == ["m-2-bb"]
    tree.files.remove(tree.temporaries("links", HOST)[0][0])
    assert tree.temporaries("links", HOST) == []
    assert tree.temporaries("links", "b.example") == []


def test_new_host_race(tree):
    """Many threads that store the first pages of one host at once all succeed."""
    keys = [f"{n:02x}" * 12 for n in range(16)]
    results = at_once([lambda key=key: tree.put_page(HOST, page(key), BODY) for key in keys * 2])
    assert results == [None] * 32
    assert sorted(tree.keys("links", HOST)) == sorted(tree.keys("htmls", HOST)) == keys
    assert tree.temporaries("htmls", HOST) == tree.temporaries("links", HOST) == []


def test_create(directory):
    """A new tree holds its record, settings and seeds; creating it again changes none of them."""
    root = directory / "root"
    assert store.state_of(root) == "nothing"
    create(root, RECORD, "[crawl]\n", "http://a.example/\n")
    create(root, replace(RECORD, partition="url"), "[fetch]\n", "http://b.example/\n")
    tree = Tree(root, "m")
    assert (tree.record, tree.controls.settings(), tree.controls.seeds()) == (
        RECORD,
        "[crawl]\n",
        "http://a.example/\n",
    )
    assert store.state_of(root) == "tree"
    assert files(root) == [".fscrawl/README", ".fscrawl/tree.json", "crawl.toml", "seeds.txt"]


def test_create_in_a_directory(directory):
    """A tree made where seeds and settings lie keeps them."""
    (directory / "seeds.txt").write_text("http://mine.example/")
    (directory / "crawl.toml").write_text("# mine\n")
    assert store.state_of(directory) == "seeds"
    create(directory, RECORD, "", "")
    tree = Tree(directory, "m")
    assert (tree.controls.seeds(), tree.controls.settings()) == ("http://mine.example/", "# mine\n")


def test_create_race(directory):
    """Many machines that create a tree at once make one, and all of them can use it."""
    root = directory / "root"
    records = [replace(RECORD, crawl=f"c{n}", shards=n + 1) for n in range(12)]

    def job(number):
        create(root, records[number], f"# {number}\n", f"http://{number}.example/\n")
        return Tree(root, f"m{number}").record

    seen = at_once([lambda n=n: job(n) for n in range(12)])
    assert len(set(map(repr, seen))) == 1
    assert seen[0] in records
    assert files(root) == [".fscrawl/README", ".fscrawl/tree.json", "crawl.toml", "seeds.txt"]


def test_seeds(tree):
    """Seeds are appended as whole lines, after a last line without newline and after a file that was removed too."""
    tree.controls.add_seeds(["http://a.example/"])
    assert tree.controls.seeds() == "http://a.example/\n"
    (tree.root / "seeds.txt").write_text("http://b.example/")
    tree.controls.add_seeds(["http://c.example/", "http://d.example/é"])
    assert tree.controls.seeds() == "http://b.example/\nhttp://c.example/\nhttp://d.example/é\n"
    (tree.root / "seeds.txt").unlink()
    assert tree.controls.seeds() == ""
    tree.controls.add_seeds(["http://e.example/"])
    assert tree.controls.seeds() == "http://e.example/\n"
    (tree.root / "seeds.txt").write_bytes("http://b.example/".encode("utf-16"))
    tree.controls.add_seeds(["http://c.example/"])
    assert tree.controls.seeds() == "http://b.example/\nhttp://c.example/\n"


def test_missing_directory(tree):
    """A directory that is gone is a share that is gone: nothing is made in its place."""
    shutil.rmtree(tree.root / "htmls")
    with pytest.raises(TreeError, match="is the share mounted"):
        tree.put_page(HOST, page(), BODY)
    assert not (tree.root / "htmls").exists()
    assert not tree.is_done(HOST, KEY)


def test_missing_root(tree):
    """A root that is gone is a TreeError, and no new tree grows there."""
    shutil.rmtree(tree.root)
    with pytest.raises(TreeError):
        tree.put_page(HOST, page(), None)
    with pytest.raises(NotATreeError, match="is the share mounted"):
        Tree(tree.root, "m")
    assert not tree.root.exists()


@pytest.mark.gate
@pytest.mark.parametrize(("function", "when", "number"), [*STEPS, ("mkdir", "after", 1), ("mkdir", "after", 2)])
def test_killed_while_storing(directory, function, when, number):
    """A process killed at any step leaves nothing torn under a final name, and the next one completes the page."""
    root = directory / "root"
    create(root, RECORD, "", "")
    tree = Tree(root, "m-1-aa")
    tree.put_page(HOST, page(), BODY)
    crash(root, function, when, number)
    host = "new.example" if function == "mkdir" else HOST
    verify(tree)
    assert tree.is_done(host, OTHER) == ((function, when, number) == ("rename", "after", 2))
    assert tree.page(HOST, KEY) == page()
    left = tree.temporaries("htmls", host) + tree.temporaries("links", host)
    assert {owner for _, owner in left} <= {"m-2-bb"}
    tree.put_page(host, page(OTHER), BODY)
    for path, _ in left:
        tree.files.remove(path)
    verify(tree)
    assert tree.is_done(host, OTHER)
    assert not any(name.endswith(".tmp") for name in files(root))


@pytest.mark.gate
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_killed_while_creating(directory, monkeypatch, when, number):
    """A process killed while it makes a tree leaves a tree or none, and the next one completes it."""
    root = directory / "root"
    monkeypatch.setattr(creation, "_OTHERS_CREATE_S", 0.05)
    crash(root, "link", when, number)
    state = store.state_of(root)
    if (when, number) == ("after", 5):
        assert state == "tree"
    else:
        assert state in {"seeds", "directory"}
        with pytest.raises(NotATreeError):
            Tree(root, "m-1-aa")
    create(root, RECORD, "[crawl]\n", "http://a.example/\n")
    tree = Tree(root, "m-1-aa")
    assert (tree.record, tree.controls.settings(), tree.controls.seeds()) == (
        RECORD,
        "[crawl]\n",
        "http://a.example/\n",
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"fanout": 1}, "unknown field `fanout`"),
        ({"partition": "path"}, "partition"),
        ({"shards": 0}, "shards"),
        ({"format": 4, "packs": 1}, "the tree has format 4; this fscrawl works with format 3"),
        ({"format": 2}, "remove that directory, and the next crawl makes it anew"),
    ],
)
def test_a_tree_that_is_laid_out_otherwise(tmp_path, changes, why):
    """A tree.json that says what this fscrawl does not know is refused in one line: pages may stand elsewhere."""
    root = tmp_path / "tree"
    create(root, RECORD, "", "")
    path = root / ".fscrawl" / "tree.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(NotATreeError) as refused:
        Tree(root, "m")
    assert str(refused.value).startswith(f"{path}: ")
    assert why in str(refused.value)
