"""A deleted crawl.toml: who says so, and how it is written again from the copy that machines keep."""

import re

import pytest

from fscrawl import cli
from fscrawl.config.settings import NOT_KEPT, Settings, apply, parse, render
from fscrawl.config.watcher import EditWatcher
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create
from fscrawl.util.installed import command as fscrawl

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=64, partition="host")
FIXED = "fleet.shards=64"


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    create(root, RECORD, render(apply(Settings(), [FIXED])), "http://a.example/\n")
    return Tree(root, "m-1-aa")


def used(tree, *assignments):
    """Let a machine use these settings."""
    chosen = apply(Settings(), [FIXED, *assignments])
    (tree.root / "crawl.toml").write_text(render(chosen))
    EditWatcher(tree, chosen, frozenset(), print)
    return chosen


def delete(tree):
    (tree.root / "crawl.toml").unlink()


def doctor(tree, capsys, *flags):
    code = cli.main(["doctor", "--root", str(tree.root), *flags])
    lines = capsys.readouterr().out.splitlines()
    return code, [line for line in lines if "crawl.toml" in line and "can use" not in line]


@pytest.mark.parametrize("command", [["crawl"], ["audit"], ["retry"], ["show", "http://a.example/"]])
def test_commands_say_how_it_is_written_again(tree, capsys, command):
    """A command that needs the settings names the missing file, and the command that writes it again."""
    delete(tree)
    code = cli.main([command[0], "--root", str(tree.root), *command[1:]])
    (line,) = capsys.readouterr().err.splitlines()
    path = f"{tree.root}/crawl.toml"
    how = f"{fscrawl()} doctor --root {tree.root} --repair"
    assert (code, line) == (75, f"fscrawl: {path}: somebody has deleted it; to write it again:  {how}")


def test_doctor(tree, capsys):
    """`doctor` calls it a problem; with --repair the file is as machines used it last, and there is no problem."""
    chosen = used(tree, "politeness.delay=7")
    delete(tree)
    code, lines = doctor(tree, capsys)
    assert code == 1
    assert lines[0].startswith(f"problem: {tree.root}/crawl.toml is missing: somebody has deleted it")
    assert not (tree.root / "crawl.toml").exists()
    _, lines = doctor(tree, capsys, "--repair")
    assert lines[0] == f"ok: {tree.root}/crawl.toml was written again, as machines used it last"
    assert (tree.root / "crawl.toml").read_text() == render(chosen)


def test_an_edit_is_kept(tree):
    """A machine keeps the settings that it takes over while it runs."""
    chosen = used(tree)
    watcher = EditWatcher(tree, chosen, frozenset(), print)
    (tree.root / "crawl.toml").write_text(render(apply(chosen, ["politeness.delay=3"])))
    assert watcher.settings_edited(1.0)
    assert parse(tree.controls.copy()).politeness.delay == 3


def test_secrets_are_not_kept(tree, capsys):
    """The copy has no value that may be a password; the repair names what must be written again."""
    used(tree, "fetch.auth={'a.example' = 'me:secret'}", "fetch.proxies=['http://me:secret@p.example:1']")
    assert "secret@" not in tree.controls.copy()
    assert "me:" not in tree.controls.copy()
    delete(tree)
    code, lines = doctor(tree, capsys, "--repair")
    assert code == 1
    assert lines[0].startswith("warning: ")
    assert lines[0].endswith("no machine uses it until you write their values into it again: auth, proxies")
    assert "not valid TOML: Invalid value" in lines[1]


def test_no_machine_goes_on_without_its_secrets(tree, capsys):
    """A machine that runs does not take over the file that lacks its proxies; it does when they are there again."""
    chosen = used(tree, "fetch.proxies=['http://me:secret@p.example:1']")
    said = []
    watcher = EditWatcher(tree, chosen, frozenset(), said.append)
    delete(tree)
    doctor(tree, capsys, "--repair")
    for now in (1.0, 100.0):
        assert not watcher.settings_edited(now)
    assert watcher.settings == chosen
    assert "Invalid value" in said[0]
    path = tree.root / "crawl.toml"
    path.write_text(re.sub(r"(?m)^proxies = .*", 'proxies = ["http://p.example:1"]', path.read_text()))
    for now in (200.0, 300.0):
        watcher.settings_edited(now)
    assert watcher.settings.fetch.proxies == ("http://p.example:1",)


@pytest.mark.parametrize("copy", [None, "[crawl]\nscope = 7\n", "[fleet]\nshards = 9\n"])
def test_no_copy_that_fits(tree, capsys, copy):
    """Without a copy that fits the tree, the defaults are written with what was fixed."""
    if copy is not None:
        tree.controls.keep_copy(copy)
    delete(tree)
    _, lines = doctor(tree, capsys, "--repair")
    assert lines[0].startswith(f"warning: {tree.root}/crawl.toml was written again, with the defaults")
    assert parse((tree.root / "crawl.toml").read_text()) == apply(Settings(), [FIXED])


def test_somebody_is_faster(tree, monkeypatch, capsys):
    """A file that comes back meanwhile stays as it is."""
    delete(tree)
    theirs = render(apply(Settings(), [FIXED, "politeness.delay=2"]))
    known = tree.controls.copy

    def copy(controls):
        (tree.root / "crawl.toml").write_text(theirs)
        return known()

    monkeypatch.setattr("fscrawl.store.Controls.copy", copy)
    _, lines = doctor(tree, capsys, "--repair")
    assert lines[0] == f"warning: {tree.root}/crawl.toml is there again: somebody else has written it"
    assert (tree.root / "crawl.toml").read_text() == theirs


def test_the_tree_itself_is_gone(tree):
    """If all of it is missing, the share is asked about, and not the settings."""
    delete(tree)
    (tree.root / ".fscrawl/tree.json").unlink()
    with pytest.raises(Exception, match="is the share mounted"):
        tree.controls.settings()


def test_machines_with_the_same_settings_write_once(tree):
    """A copy that is there already is not written again."""
    used(tree)
    path = tree.root / ".fscrawl/settings.toml"
    before = path.stat().st_ino
    used(tree)
    assert path.stat().st_ino == before


def test_rendered_without_secrets():
    """What is rendered without secrets is read as settings without them."""
    text = render(apply(Settings(), ["fetch.headers={X = 'y'}"]), secrets=False)
    assert parse(text) == Settings()
    assert text.count(NOT_KEPT) == 1
