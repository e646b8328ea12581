"""A program and a site file are run only where nobody else can replace them."""

from __future__ import annotations

import grp
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.cli import main
from fscrawl.errors import UsageError
from fscrawl.util.own_code import check_site_file

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "code").chmod(0o755)
    path = tmp_path / "code" / "site.py"
    path.write_text("1 / 0")
    path.chmod(0o644)
    return path


def _below(site: Path) -> Path:
    path = site.parents[1] / "tree" / "site.py"
    site.rename(path)
    return path


def _deep_below(site: Path) -> Path:
    path = site.parents[1] / "tree" / "links" / "a" / "site.py"
    path.parent.mkdir(parents=True)
    return site.rename(path)


def _link_to_below(site: Path) -> Path:
    target = _below(site)
    site.symlink_to(target)
    return site


def _link_below(site: Path) -> Path:
    path = site.parents[1] / "tree" / "site.py"
    path.symlink_to(site)
    return path


def _by_way_of_the_tree(site: Path) -> Path:
    path = site.with_name("other.py")
    path.symlink_to(_link_below(site))
    return path


def _root_by_another_name(site: Path) -> Path:
    tree = site.parents[1] / "tree"
    tree.rename(tree.with_name("real"))
    tree.symlink_to("real")
    return site.rename(tree.with_name("real") / "site.py")


@pytest.mark.parametrize(
    "place", [_below, _deep_below, _link_to_below, _link_below, _by_way_of_the_tree, _root_by_another_name]
)
def test_in_the_tree(site: Path, place: Callable[[Path], Path]) -> None:
    """A site file in the tree, and one that a link in the tree leads to, is refused."""
    root = site.parents[1] / "tree"
    check_site_file(site, root)
    with pytest.raises(UsageError, match="it lies in the crawl"):
        check_site_file(place(site), root)


@pytest.mark.parametrize(
    ("file", "directory", "group", "is_fine"),
    [
        (0o644, 0o755, 4242, True),
        (0o646, 0o755, 0, False),
        (0o644, 0o757, 0, False),
        (0o644, 0o1777, 0, True),
        (0o666, 0o1777, 0, False),
        pytest.param(0o664, 0o755, 4242, False, marks=root_only),
        pytest.param(0o644, 0o775, 4242, False, marks=root_only),
        pytest.param(0o664, 0o775, 1234, True, marks=root_only),
        pytest.param(0o664, 0o775, 0, True, marks=root_only),
    ],
)
def test_others_may_write(site: Path, file: int, directory: int, group: int, is_fine: bool) -> None:
    """Refused is what all or a group may write, unless the group is its owner's own, as it is with the umask 002."""
    if os.geteuid() == 0:
        for path in (site, site.parent):
            os.chown(path, 1234, group)
    site.chmod(file)
    site.parent.chmod(directory)
    if is_fine:
        check_site_file(site, site.parents[1] / "tree")
    else:
        with pytest.raises(UsageError, match="others may write to"):
            check_site_file(site, None)


@root_only
def test_a_private_group_by_its_name(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group may have another number than its user: then its name tells."""
    os.chown(site, 1234, 4242)
    site.chmod(0o664)
    names = {1234: "me", 4242: "me"}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd([names[uid], "", uid, 0, "", "", ""]))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group([names[gid], "", gid, []]))
    check_site_file(site, None)
    names[4242] = "crawlers"
    with pytest.raises(UsageError, match="others may write to"):
        check_site_file(site, None)


def test_further_users(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose list of users lets others write is refused, though its group is private."""
    site.chmod(0o664)
    check_site_file(site, None)
    monkeypatch.setattr(os, "getxattr", lambda *_: b"\2\0\0\0")
    with pytest.raises(UsageError, match="others may write to"):
        check_site_file(site, None)


def test_no_file_of_a_directory(tmp_path: Path) -> None:
    """What is not there is no matter of this check, nor is a pipe or a loop of links."""
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "nothing", tmp_path / "loop", Path("/dev/null")):
        check_site_file(path, tmp_path / "tree")


@pytest.mark.parametrize("command", ["status", "doctor", "merge"])
def test_the_program(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that lies in the tree, or that others may write, does nothing but say so, with exit code 2."""
    program = tmp_path / "tree" / "fscrawl.pyz"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setattr(sys, "argv", [str(program)])
    words = [command, "--root", str(program.parent), *(["--out", str(tmp_path / "out")] if command == "merge" else [])]
    assert main(words) == 2
    assert "it lies in the crawl" in capsys.readouterr().err
    outside = program.rename(tmp_path / "fscrawl.pyz")
    outside.chmod(0o666)
    monkeypatch.setattr(sys, "argv", [str(outside)])
    assert main(words) == 2
    assert "others may write to" in capsys.readouterr().err
