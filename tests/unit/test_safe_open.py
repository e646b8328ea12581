"""Whatever stands in place of a tree's file or directory: nothing is followed, waited for, or read whole."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.errors import PlantedError, RecordError, TreeError
from fscrawl.fleet.machinery import Machinery, Peer
from fscrawl.storage import block_log, kinds, temporary
from fscrawl.storage.append_log import same_file
from fscrawl.storage.atomic import publish, temporary_owner
from fscrawl.storage.layout import DIRECTORIES
from fscrawl.storage.records import FORMAT, PageRecord, TreeRecord
from fscrawl.store import Tree, create
from tests.support.planting import HUGE_BYTES, KEY, Planted, outside_of, plant

HOST = "a.example"
FILE = f"links/{HOST}/{KEY}.json"
LOG = ".fscrawl/generations/1/log/m-2-bb.log"
RECORD = TreeRecord(FORMAT, "c1", "t", 16, "host", "ab" * 16)
PAGE = PageRecord(f"http://{HOST}/", KEY, 0, "", "t", "m", 200, {}, 4, "ab", 0.1, ())
IN_PLACE_OF_A_FILE = {
    "fifo": "a FIFO, a socket or a device",
    "socket": "a FIFO, a socket or a device",
    "full-directory": "it is a directory",
    "link-to-file": "a symbolic link",
    "link-to-device": "a symbolic link",
    "loop": "a symbolic link",
    "dangling": "a symbolic link",
    "sparse": f"it has {HUGE_BYTES} bytes",
}
IN_PLACE_OF_A_DIRECTORY = ("file", "fifo", "link-to-directory", "loop", "dangling")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    create(tmp_path / "root", RECORD, "", "")
    return Tree(tmp_path / "root", "m-1-aa")


@pytest.mark.parametrize(("kind", "what"), IN_PLACE_OF_A_FILE.items())
def test_in_place_of_a_file(tree: Tree, kind: str, what: str) -> None:
    """It is an error of this file alone, which says what is there; where lines are read, there are none."""
    for path in (FILE, LOG):
        plant(tree.root, Planted(path, kind))
    with pytest.raises(PlantedError, match=what) as caught:
        tree.page(HOST, KEY)
    assert isinstance(caught.value, RecordError)
    assert str(caught.value).startswith(f"{tree.root}/{FILE}: ")
    with pytest.raises(PlantedError, match=what):
        tree.files.read_range(FILE, 0, 1)
    assert tree.files.read_or_torn(FILE) == b""
    assert what in tree.files.planted(FILE)
    if kind != "sparse":
        assert tree.files.log_view(LOG) is None
        assert (tree.files.tail(LOG, 0), tree.files.newest(LOG, 7, 100)) == (b"", (b"", 7))
        assert (tree.files.size_if_there(FILE), tree.files.exists(FILE), tree.is_done(HOST, KEY)) == (None, True, False)


def test_kept_over_a_pipe(tree: Tree) -> None:
    """The error is the same when a worker has sent it."""
    plant(tree.root, Planted(FILE, "fifo"))
    with pytest.raises(PlantedError) as caught:
        tree.page(HOST, KEY)
    for error in (caught.value, PlantedError("/mnt/a", "permission denied", denied=True)):
        sent = pickle.loads(pickle.dumps(error))
        assert (str(sent), sent.what, sent.denied) == (str(error), error.what, error.denied)


@pytest.mark.parametrize("kind", ["fifo", "socket", "link-to-file", "loop", "dangling", "full-directory", "hard-link"])
def test_published_over(tree: Tree, kind: str) -> None:
    """A page gets its file, whatever has the name; a directory there keeps what is in it, under another name."""
    plant(tree.root, Planted(FILE, kind))
    before = outside_of(tree.root)
    tree.put_page(HOST, PAGE, b"body")
    assert tree.page(HOST, KEY) == PAGE
    assert outside_of(tree.root) == before
    aside = [path for path in (tree.root / "links" / HOST).iterdir() if path.name.endswith(".planted")]
    assert [os.listdir(path) for path in aside] == ([["inside"]] if kind == "full-directory" else [])  # noqa: PTH208


def test_removed(tree: Tree) -> None:
    """A link is removed and not what it leads to; a directory is set aside; what is below no directory is not there."""
    for kind in ("link-to-file", "full-directory"):
        plant(tree.root, Planted(f"errs/{HOST}/{KEY}.json", kind))
        before = outside_of(tree.root)
        tree.drop_error(HOST, KEY)
        assert not tree.files.exists(f"errs/{HOST}/{KEY}.json")
        assert outside_of(tree.root) == before
    plant(tree.root, Planted("errs/b.example", "file"))
    tree.drop_error("b.example", KEY)


_WRITES: dict[str, Callable[[Tree], object]] = {
    "publish": lambda tree: tree.put_record(HOST, PAGE),
    "claim": lambda tree: tree.files.claim(FILE, b"mine"),
    "chunks": lambda tree: tree.files.publish_chunks(FILE, lambda: [b"mine"]),
    "name": lambda tree: tree.files.reserve_name(FILE),
    "log": lambda tree: tree.files.log(FILE),
    "line": lambda tree: tree.files.append_line(FILE, b"mine\n"),
    "directory": lambda tree: tree.files.make_directory(f"links/{HOST}/0a"),
    "remove": lambda tree: tree.files.remove(FILE),
    "aside": lambda tree: tree.files.set_aside(FILE),
    "read": lambda tree: tree.page(HOST, KEY),
}


@pytest.mark.parametrize("kind", IN_PLACE_OF_A_DIRECTORY)
@pytest.mark.parametrize("how", _WRITES)
def test_in_place_of_a_directory(tree: Tree, kind: str, how: str) -> None:
    """Nothing below it is read or written, and the error names it; it lists as empty, and nothing is stored there."""
    plant(tree.root, Planted(f"links/{HOST}", kind))
    before = outside_of(tree.root)
    with pytest.raises(PlantedError, match=f"links/{HOST}: a part of the path is a file or a link"):
        _WRITES[how](tree)
    assert outside_of(tree.root) == before
    assert tree.keys("links", HOST) == tree.files.entries(f"links/{HOST}") == []
    assert not tree.is_done(HOST, KEY)


@pytest.mark.parametrize("kind", ["file", "link-to-directory"])
def test_in_place_of_a_top_directory(tree: Tree, kind: str) -> None:
    """Without one of its directories the tree cannot be used: that is no matter of one file, and the machine stops."""
    plant(tree.root, Planted("links", kind))
    for call in (lambda: tree.hosts("links"), lambda: tree.put_record(HOST, PAGE)):
        with pytest.raises(TreeError, match=r"/root/links: it is a file or a symbolic link, .* mount") as caught:
            call()
        assert caught.value.stop
        assert not isinstance(caught.value, PlantedError)


def test_a_root_behind_links(tmp_path: Path) -> None:
    """The user names the root; it may be a link, and lie behind one."""
    (tmp_path / "real").mkdir()
    create(tmp_path / "real" / "root", RECORD, "", "")
    (tmp_path / "behind").symlink_to(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "behind" / "root")
    tree = Tree(tmp_path / "link", "m-1-aa")
    tree.put_page(HOST, PAGE, b"body")
    assert tree.page(HOST, KEY) == PAGE
    assert tree.hosts("links") == [HOST]


def test_a_root_that_moves(tmp_path: Path) -> None:
    """A link to the root may lead elsewhere later, and the root may get another name: what is named is used."""
    for name in ("one", "two"):
        create(tmp_path / name, RECORD, "", "")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    tree = Tree(tmp_path / "link", "m-1-aa")
    tree.put_page(HOST, PAGE, b"body")
    (tmp_path / "link").unlink()
    (tmp_path / "two").rename(tmp_path / "three")
    (tmp_path / "link").symlink_to(tmp_path / "three")
    assert not tree.is_done(HOST, KEY)
    tree.put_page(HOST, PAGE, b"body")
    assert tree.page(HOST, KEY) == Tree(tmp_path / "three", "m-1-aa").page(HOST, KEY) == PAGE


def test_a_step_that_fails(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a look at a step of a path fails, that is said, and not taken for something that is planted."""
    tree.put_page(HOST, PAGE, b"body")
    real = os.open

    def broken(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", broken)
    with pytest.raises(TreeError, match="input/output error") as caught:
        tree.page(HOST, KEY)
    assert not isinstance(caught.value, PlantedError)


def test_paths_that_lead_upwards(tree: Tree) -> None:
    """No name leads out of the tree, or to another directory."""
    for path in ("links/../crawl.toml", "../private", "links/a\0b/x"):
        with pytest.raises(PlantedError, match="no name of a file in a crawl"):
            tree.files.read(path)


def test_a_directory_where_something_else_is(tree: Tree) -> None:
    """It is not made, and the error says what is in the way."""
    plant(tree.root, Planted(f"links/{HOST}", "file"))
    with pytest.raises(PlantedError, match="a part of the path is a file or a link"):
        tree.files.make_directory(f"links/{HOST}")


def test_no_name_is_free(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says of every name that it is taken is an error, and no endless loop."""

    def taken(*_: object) -> int:
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(temporary, "create_beside", taken)
    with pytest.raises(TreeError):
        tree.put_record(HOST, PAGE)


def test_same_file(tree: Tree) -> None:
    """What is no file is not the log that was written."""
    plant(tree.root, Planted(LOG, "fifo"))
    assert same_file(tree.root / LOG, 0, b"a line") == "other"


def test_a_log_whose_name_is_not_on_the_disk(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the name of a log cannot be made to last, it is closed, and nothing is written to it."""

    def broken(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(block_log, "sync_directory_of", broken)
    before = len(list(Path("/proc/self/fd").iterdir()))
    (tree.root / LOG).parent.mkdir(parents=True)
    with pytest.raises(OSError, match="Input/output"):
        tree.files.log_end(LOG)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_is_made_behind_a_link_is_removed(tree: Tree) -> None:
    """A directory that becomes a link is found out before anything is written, and nothing stays there."""
    tree.put_page(HOST, PAGE, b"body")
    private = tree.root.parent / "private"
    (tree.root / "links" / HOST).rename(private)
    (tree.root / "links" / HOST).symlink_to(private)
    before = sorted(private.iterdir())
    with pytest.raises(PlantedError, match="a part of the path is a file or a link"):
        tree.put_record(HOST, PAGE)
    assert sorted(private.iterdir()) == before


@pytest.mark.parametrize("kind", ["link-to-file", "dangling", "hard-link", "fifo"])
def test_appended_to(tree: Tree, kind: str) -> None:
    """Nothing is appended to a file that somebody may have given a second name, or that is none."""
    plant(tree.root, Planted("seeds.txt", kind))
    plant(tree.root, Planted(LOG, kind))
    before = outside_of(tree.root)
    with pytest.raises(TreeError, match="hard link" if kind == "hard-link" else "a symbolic link|a FIFO"):
        tree.files.append_line("seeds.txt", b"http://b.example/\n")
    with pytest.raises(OSError, match="hard link" if kind == "hard-link" else "a symbolic link|a FIFO"):
        tree.files.log_end(LOG)
    assert outside_of(tree.root) == before


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o777, 0o2770])
@pytest.mark.parametrize("name", ["seeds.txt", "names.txt", "crawl.toml"])
def test_a_second_name_of_a_private_file(tree: Tree, mode: int, name: str) -> None:
    """Where others may write, what people write is not read if it has a second name; backups of one's own may link."""
    private = tree.root.parent / "private"
    private.write_text("http://a.example/?secret\n")
    (tree.root / name).unlink(missing_ok=True)
    os.link(private, tree.root / name)
    tree.root.chmod(mode)
    reads = {"seeds.txt": tree.controls.seeds, "crawl.toml": tree.controls.settings}
    read = reads.get(name, lambda: tree.controls.list_if_there(name))
    if mode == 0o755:
        assert read() == private.read_text()
        return
    with pytest.raises(TreeError, match=r"a second name \(a hard link\)") as caught:
        read()
    assert "secret" not in str(caught.value)
    private.unlink()
    assert read()


def test_temporary_whose_name_is_known(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even who guesses the 64 random bits of a temporary's name has nothing written through a link there."""
    monkeypatch.setattr(os, "urandom", lambda count: b"\7" * count)
    (tree.root / "links" / HOST).mkdir()
    path = f"links/{HOST}/.{KEY}.json.m-1-aa.{'07' * 8}.tmp"
    plant(tree.root, Planted(path, "link-to-file"))
    assert temporary_owner(Path(path).name) == "m-1-aa"
    before = outside_of(tree.root)
    tree.put_record(HOST, PAGE)
    assert outside_of(tree.root) == before
    assert tree.page(HOST, KEY) == PAGE
    assert not Path(tree.path_of("links", HOST, KEY)).is_symlink()


def test_sizes(tree: Tree) -> None:
    """A file is read up to the size of its kind, or up to what its record says."""
    for path, most in (("crawl.toml", kinds.MOST_BYTES["crawl.toml"]), (".fscrawl/waited", 1 << 20)):
        (tree.root / path).touch()
        os.truncate(tree.root / path, most)
        assert len(tree.files.read(path) or b"") == most
        os.truncate(tree.root / path, most + 1)
        with pytest.raises(PlantedError, match=f"no file of its kind has more than {most}"):
            tree.files.read(path)
    tree.put_page(HOST, PAGE, b"body")
    assert tree.body(HOST, KEY, 4) == b"body"
    with pytest.raises(PlantedError, match="more than 3"):
        tree.body(HOST, KEY, 3)


def test_a_file_that_grows(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody makes longer and longer while it is read is read up to the limit of its kind."""
    path, read = tree.root / "crawl.toml", os.read
    path.write_bytes(b"x")
    written = []

    def read_and_write(descriptor: int, count: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"x" * (1 << 20))
        written.append(count)
        assert len(written) < 10
        return read(descriptor, count)

    monkeypatch.setattr(os, "read", read_and_write)
    with pytest.raises(PlantedError, match="no file of its kind has more"):
        tree.files.read("crawl.toml")


def test_a_file_that_others_have_open(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file server that must first ask a client to give a file back says EAGAIN: the line is appended then, once."""
    real, refused = os.open, []

    def leased(path: str, flags: int, *more: int, **options: int) -> int:
        if str(path).endswith("seeds.txt") and flags & os.O_APPEND and not refused:
            refused.append(path)
            raise BlockingIOError(errno.EAGAIN, "resource temporarily unavailable")
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", leased)
    tree.controls.add_seeds(["http://b.example/"])
    assert refused
    assert tree.controls.seeds() == "http://b.example/\n"


def test_every_file_has_a_limit(tree: Tree) -> None:
    """There is no kind of file without a limit, and each way to read one keeps it."""
    machines = ".fscrawl/machines/m-2-bb"
    for path in (
        *(f"{directory}/x" for directory in DIRECTORIES),
        f"{machines}.log",
        f"{machines}.status.json",
        "notes",
        ".fscrawl/new/x",
    ):
        plant(tree.root, Planted(path, "sparse"))
        os.truncate(tree.root / path, 1 << 40)
        assert "no file of its kind has more" in tree.files.planted(path)
        assert tree.files.tail(path, 0) == b""
        for read in (tree.files.read, tree.files.stamp, lambda path: tree.files.read_range(path, 0, 1)):
            with pytest.raises(PlantedError, match="no file of its kind has more"):
                read(path)


@pytest.mark.parametrize("path", ["links/../../private/secret", "../private/secret", "links/..", "links/a\0b", "a\0/b"])
def test_names_that_lead_elsewhere(tree: Tree, path: str) -> None:
    """A path that was put together of what somebody wrote leads nowhere else."""
    plant(tree.root, Planted(FILE, "fifo"))
    with pytest.raises(PlantedError, match="no name of a file in a crawl"):
        tree.files.read(path)


@pytest.mark.parametrize("holder", ["../../private/x", "a\0b", "\ud800", "", ".x"])
def test_holders_that_are_no_machines(tree: Tree, holder: str) -> None:
    """A lease that names no machine is one that cannot be read."""
    (tree.root / ".fscrawl/leases/3.1").write_text(json.dumps({"holder": holder}))
    assert Machinery(tree).lease(3, 1).holder == ""


def test_without_proc(tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where /proc is not mounted, that is said, and not that there is no crawl."""
    monkeypatch.setattr(cli, "_OPEN_FILES", "/nonexistent")
    assert cli.main(["status", "--root", str(tree.root)]) == 2
    assert capsys.readouterr().err.endswith("/proc must be mounted\n")


def test_files_elsewhere(tmp_path: Path) -> None:
    """A file that the user names may lie behind links, as that of `report --out`."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    publish(tmp_path / "link" / "report.html", b"report", "m-1-aa")
    assert (tmp_path / "real" / "report.html").read_bytes() == b"report"


@pytest.mark.parametrize("kind", ["sparse", "fifo", "link-to-device", "full-directory", "zeros", "link-to-file"])
def test_in_place_of_heartbeats(tree: Tree, kind: str) -> None:
    """A machine whose heartbeat log cannot be one is waited for by nobody; one that has just begun its log is."""
    logs = Machinery(tree)
    log = Planted(".fscrawl/machines/m-2-bb.log", "file" if kind == "zeros" else kind, b"\0" * 5000)
    for path, content in ((log.path, b""), (log.path, b'{"hello":"m-2-bb"'), (log.path, b"")):
        plant(tree.root, Planted(path, "file", content))
        peer = Peer("m-2-bb", 0.0)
        peer.hear(peer.listen(logs), 1.0)
        assert not peer.left
    plant(tree.root, log)
    peer.hear(peer.listen(logs), 2.0)
    assert peer.left
