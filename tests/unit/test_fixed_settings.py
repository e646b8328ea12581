"""Settings that were fixed with the tree, edited while no machine runs: each command says so and changes nothing."""

import pytest
from msgspec.structs import replace

from fscrawl import cli
from fscrawl.config.settings import END, Settings, apply, render
from fscrawl.config.watcher import read_settings, settings_of
from fscrawl.errors import SettingsError
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
EDITS = ["crawl.partition=url", "fleet.shards=7"]
URL = "http://a.example/"


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", RECORD, render(Settings()), f"{URL}\n")
    return Tree(tmp_path / "root", "m-1-aa")


def edit(tree, assignment):
    (tree.root / "crawl.toml").write_text(render(apply(Settings(), [assignment])))


@pytest.mark.parametrize("assignment", EDITS)
def test_a_machine_does_not_start(tree, assignment):
    """A machine that starts refuses such settings, and names the file that says what was fixed."""
    edit(tree, assignment)
    with pytest.raises(SettingsError, match=r"cannot be changed; it was fixed as .*tree[.]json") as caught:
        read_settings(tree, print)
    assert caught.value.where == f"{tree.root}/crawl.toml"


def test_what_the_file_does_not_say(tree):
    """Where the file does not have such a setting the tree's value counts, also if the default was another one then."""
    create(
        tree.root.parent / "old",
        replace(RECORD, shards=256, partition="url"),
        f"[politeness]\ndelay = 2\n\n{END}\n",
        "",
    )
    old = Tree(tree.root.parent / "old", "m-1-aa")
    for read in (read_settings, lambda tree, warn: settings_of(tree)):
        found = read(old, print)
        assert (found.fleet.shards, found.crawl.partition, found.politeness.delay) == (256, "url", 2)


@pytest.mark.parametrize("words", [["retry"], ["audit"], ["audit", "--repair"], ["show", URL]])
def test_commands(tree, capsys, words):
    """A command that reads settings and tree ends with one line, and changes nothing."""
    edit(tree, EDITS[0])
    there = sorted(tree.root.rglob("*"))
    assert cli.main([words[0], "--root", str(tree.root), *words[1:]]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert 'crawl.partition: "url": cannot be changed; it was fixed as "host"' in line
    assert sorted(tree.root.rglob("*")) == there


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_commands_that_only_look(tree, capsys, command):
    """Status and doctor say the same beside what else they see."""
    edit(tree, EDITS[0])
    cli.main([command, "--root", str(tree.root)])
    assert "cannot be changed" in " ".join(capsys.readouterr().out.split())


def test_machines_can_still_be_stopped(tree):
    """Wrong settings keep nobody from stopping the machines."""
    edit(tree, EDITS[0])
    assert cli.main(["stop", "--root", str(tree.root)]) == 0


def test_half_a_file(tree, monkeypatch):
    """Half of the settings may lack what was fixed: a machine waits for the rest before it complains."""
    (tree.root / ".fscrawl/tree.json").write_bytes(TreeRecord(FORMAT, "c1", "t", 7, "host", "0" * 32).to_json())
    tree = Tree(tree.root, "m-1-aa")
    (tree.root / "crawl.toml").write_text("[crawl]\n")

    def told(_):
        (tree.root / "crawl.toml").write_text(f"[fleet]\nshards = 7\n{END}\n")

    assert read_settings(tree, told).fleet.shards == 7
