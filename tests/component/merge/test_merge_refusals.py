"""What `fscrawl merge` refuses, in one line."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fscrawl import cli
from fscrawl.dataset import dataset_dir
from fscrawl.dataset.dataset_dir import DatasetDir
from fscrawl.store import Tree
from tests.support.crawling import lines_of
from tests.support.effort import some
from tests.support.merging import EVERY, refused
from tests.support.trees import ALL, Grown, Made, check, contents, inline


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--format", "xml"], ["--format xml", "parquet, warc"]),
        (["--since", "soon"], ["--since soon", "7d"]),
        (["--limit", "0"], ["--limit", "whole number"]),
    ],
)
def test_bad_values(
    tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], flags: list[str], words: list[str]
) -> None:
    """A bad value of a flag is refused in one line, before anything is made."""
    refused(fscrawl(*flags), 2, *words)
    assert not out.exists()


def test_no_tree(tmp_path: Path, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A root without a crawl is refused with exit code 75, and nothing is made."""
    refused(fscrawl(root=tmp_path), 75, str(tmp_path), "no crawl here")
    assert not out.exists()


@pytest.mark.parametrize("directory", ["links", "htmls", "errs"])
def test_a_missing_directory_of_the_tree(
    tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], directory: str
) -> None:
    """Without a directory for pages or failures a tree is refused, and a dataset of it stays as it is."""
    fscrawl()
    before = contents(out)
    (tree.root / directory).rename(tree.root / "elsewhere")
    refused(fscrawl(), 75, f"/{directory}: it is not there; is the share mounted?")
    assert contents(out) == before


@pytest.mark.parametrize("directory", ["links", "errs"])
def test_a_share_that_goes_while_it_is_listed(
    tree: Grown,
    out: Path,
    fscrawl: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    directory: str,
) -> None:
    """What cannot be listed any more does not look as if it were not there: the next merge has all of it."""
    real, aside = Tree.keys, tree.root.with_name("aside")

    def unmounted(of: Tree, listed: str, host: str) -> list[str]:
        found = real(of, listed, host)
        if listed == directory and tree.root.exists():
            tree.root.rename(aside)
        return found

    monkeypatch.setattr(Tree, "keys", unmounted)
    refused(fscrawl(), 75, "is the share mounted?")
    monkeypatch.undo()
    aside.rename(tree.root)
    assert fscrawl()[0] == 0
    made = Made(out)
    assert made.keys() == tree.keys()
    assert [row["url"] for row in made.rows("errors")] == list(tree.failures)


@pytest.mark.parametrize("place", ["", ".", "dataset", "a/b", "links", "htmls/ds", ".fscrawl/x", "x/../links/y"])
def test_out_inside_the_tree(tree: Grown, fscrawl: Callable[..., tuple[int, str, str]], place: str) -> None:
    """A dataset is never made inside the tree, however the place is spelled."""
    before = contents(tree.root)
    refused(fscrawl(to=tree.root / place), 2, "it is inside the tree")
    assert contents(tree.root) == before


def test_out_linked_into_the_tree(tree: Grown, tmp_path: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A symbolic link into the tree, or to a directory that lies elsewhere, is no way round."""
    (tmp_path / "root").symlink_to(tree.root)
    refused(fscrawl(to=tmp_path / "root"), 2, "it is inside the tree")
    refused(fscrawl(to=tmp_path / "root" / "new"), 2, "it is inside the tree")
    (tmp_path / "link").symlink_to(tree.root / "links")
    refused(fscrawl(to=tmp_path / "link" / "ds"), 2, "it is inside the tree")
    (tmp_path / "alias").symlink_to(tree.root)
    refused(fscrawl(to=tree.root / "htmls" / "ds", root=tmp_path / "alias"), 2, "it is inside the tree")
    (tree.root / "errs").rename(tmp_path / "elsewhere")
    (tree.root / "errs").symlink_to(tmp_path / "elsewhere")
    refused(fscrawl(to=tmp_path / "elsewhere" / "new"), 2, "it is inside the tree")


def test_out_beside_the_tree(tree: Grown, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A dataset may lie beside the tree, under a name that begins like the tree's."""
    out = tree.root.with_name(f"{tree.root.name}-dataset")
    assert fscrawl(to=out)[0] == 0
    check(Made(out))


def test_out_is_not_ours(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A directory with other files in it is refused, also with --rebuild, and left alone; an empty one is fine."""
    out.mkdir()
    assert fscrawl(to=out)[0] == 0
    other = out.parent / "other"
    (other / "pages").mkdir(parents=True)
    (other / "pages" / "x").write_text("mine")
    refused(fscrawl(to=other), 2, str(other), "not empty")
    refused(fscrawl("--rebuild", to=other), 2, str(other), "not empty")
    assert list(contents(other)) == ["pages/x"]


def test_out_is_a_file(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A file, or a place below one, is no place for a dataset."""
    out.write_text("mine")
    refused(fscrawl(), 2, f"--out {out}: not a directory; must be a directory")
    refused(fscrawl(to=out.parent / ("x" * 300)), 2, "file name too long")
    refused(fscrawl(to=out / "below"), 2, str(out / "below"))
    assert out.read_text() == "mine"


def test_out_is_not_utf8(tmp_path: Path, tree: Grown) -> None:
    """A directory whose name is no UTF-8 is a place like any other: libraries open files by their descriptors."""
    check(tree.merge(tmp_path / os.fsdecode(b"caf\xe9"), formats=ALL))


@pytest.mark.parametrize("below", [".", "dataset", "many/below"])
def test_out_is_below_a_dangling_link(
    tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], below: str
) -> None:
    """A symbolic link to nothing is one line, which says where it leads; nothing is made there."""
    out.symlink_to(out.parent / "nowhere" / "x")
    leads = f"a symbolic link to {out.parent / 'nowhere' / 'x'}, which is not there; is the share mounted?"
    link = "" if below == "." else f"{out} is "
    refused(fscrawl(to=out / below), 75, f"--out {out / below}: {link}{leads}")
    assert not (out.parent / "nowhere").exists()


def test_two_at_once(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """While one merge is writing a dataset, another is refused."""
    with dataset_dir.DatasetDir(out).opened():
        refused(fscrawl(), 2, str(out), "another merge")
    assert fscrawl()[0] == 0


@pytest.mark.parametrize("name", ["manifest.json", ".merge/options.json"])
def test_torn_state(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], name: str) -> None:
    """A dataset whose own files are torn says which, and that --rebuild helps; it does."""
    fscrawl()
    (out / name).write_text('{"format": 1, "cra')
    refused(fscrawl(), 2, name, "--rebuild")
    assert fscrawl("--rebuild")[0] == 0
    check(Made(out))


def _damaged(data: bytes) -> bytes:
    return data[:4] + bytes(300) + data[304:]  # its beginning; its footer is whole


def _foreign(_: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"host": [1], "key": [2]}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.gate
@pytest.mark.parametrize("change", [lambda _: b"", lambda _: b"PAR1 torn", None, _damaged, _foreign])
def test_torn_memory(
    tree: Grown,
    out: Path,
    fscrawl: Callable[..., tuple[int, str, str]],
    change: Callable[[bytes], bytes] | None,
) -> None:
    """Where what earlier runs have seen is torn, damaged or missing, one line says so, and --rebuild helps."""
    fscrawl()
    path = out / ".merge" / "seen-0001.parquet"
    path.unlink() if change is None else path.write_bytes(change(path.read_bytes()))
    refused(fscrawl(), 2, "seen-0001.parquet", "--rebuild")
    assert fscrawl("--rebuild")[0] == 0


@pytest.mark.gate
@pytest.mark.parametrize("name", ["manifest.json", ".merge/options.json", ".merge/seen-0001.parquet"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.EMFILE])
def test_faults_of_the_file_system(
    tree: Grown,
    out: Path,
    fscrawl: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    number: int,
) -> None:
    """A file that cannot be read now, and may be whole, is no reason to start again: it is named, with exit code 75."""
    fscrawl()

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def way(self: DatasetDir, asked: str, *most: int) -> Any:
            if asked == name:
                raise OSError(number, os.strerror(number), f"{self.root}/{asked}")
            return real(self, asked, *most)

        return way

    for way in ("read", "reading"):
        monkeypatch.setattr(DatasetDir, way, failing(getattr(DatasetDir, way)))
    code, printed, err = fscrawl()
    assert (code, printed) == (75, "")
    assert name in err
    assert "--rebuild" not in err


CLASH = """\
from fscrawl.site import Site

class A(Site):
    hosts = ["a.example"]
    columns = {"name": "float"}
"""


@pytest.mark.gate
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--index", "--format", "csv"], "--index"),
        (["--site", "site.py"], "name is string, and float in class A in site.py"),
        (["--language"], "--language makes a column"),
    ],
)
def test_a_rebuild_that_is_refused(
    tree: Grown,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fscrawl: Callable[..., tuple[int, str, str]],
    flags: list[str],
    said: str,
) -> None:
    """What is wrong with a --rebuild is found before the dataset is emptied. It stays as it was, and grows on."""
    monkeypatch.chdir(tmp_path)
    Path("site.py").write_text(CLASH)
    tree.sites("[[site]]\nhosts = ['a.example']\nfields = {name = 'css:h1', language_score = 'css:h1'}\n")
    assert fscrawl("--index")[0] == 0
    before = contents(out)
    refused(fscrawl("--rebuild", *flags), 2, said)
    assert contents(out) == before
    tree.page("http://a.example/new", b"<p>new")
    assert fscrawl()[0] == 0
    assert len(Made(out).rows()) == 6
    assert fscrawl("--rebuild", "--text", "none")[0] == 0
    check(Made(out))


@pytest.mark.gate
def test_a_rebuild_without_its_cluster(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """The same where the cluster cannot be reached."""
    fscrawl()
    before = contents(out)
    words = tree.command(out, "--rebuild", "--scheduler", "tcp://127.0.0.1:9")
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    refused((done.returncode, done.stdout, done.stderr), 2, "no Dask scheduler answers there")
    assert contents(out) == before


@pytest.mark.gate
@pytest.mark.root
def test_read_only(tree: Grown, mount: Callable[[str], Path], fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """Where nothing can be written, one line says so, with exit code 75."""
    point = mount("size=1m")
    mount("ro")
    refused(fscrawl(to=point / "ds"), 75, "read-only")


@pytest.mark.gate
@pytest.mark.root
@pytest.mark.parametrize("kilobytes", some(200, 8, 60, 600, 1400))
def test_full_disk(
    tree: Grown, mount: Callable[[str], Path], tmp_path: Path, kilobytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that is full, in whichever step, is one line with exit code 75; with room, the same command goes on."""
    tree.many(2, 400, words=60)
    point = mount(f"size={kilobytes}k")
    words = tree.command(point / "ds", *EVERY)[3:]
    with inline():
        code = cli.main(words)
    err = capsys.readouterr().err
    assert code == 75, (code, err)
    (line,) = lines_of(err)
    assert "the disk is full" in line
    assert not list(point.rglob("*.tmp"))
    mount("size=64m")
    with inline():
        assert cli.main(words) == 0
    tree.merge(tmp_path / "other", formats=ALL)
    assert contents(point / "ds") == contents(tmp_path / "other")


@pytest.mark.parametrize("flag", ["--since=", "--text="])
def test_empty_values(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], flag: str) -> None:
    """An empty value, of a variable that is not set, is a bad one."""
    refused(fscrawl(flag), 2, flag.rstrip("="))
