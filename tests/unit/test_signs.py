"""The signs by which people steer machines, and the commands that put them there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from fscrawl import cli, hostnames
from fscrawl.admin import control
from fscrawl.commands.program import parse
from fscrawl.config.settings import PolitenessSettings, Settings
from fscrawl.errors import UsageError
from fscrawl.frontier.frontier import Frontier
from fscrawl.monitor.advice import to_go_on, to_resume
from fscrawl.store import Tree
from fscrawl.util.installed import command
from tests.support.beats import Logs


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Logs(tmp_path / "tree").tree


def run(tree: Tree, *words: str) -> int:
    return cli.main([words[0], "--root", str(tree.root), *words[1:]])


def test_signs_are_empty_files_in_the_root(tree: Tree) -> None:
    """Pause, pause of hosts and stop each create an empty file; a second time changes nothing."""
    for _ in range(2):
        assert control.pause(tree, []) == ["PAUSE"]
        assert control.pause(tree, ["a.example", "b.example:81"]) == ["PAUSE.a.example", "PAUSE.b.example_81"]
        assert control.stop(tree) == "STOP"
    assert tree.controls.signs() == {"PAUSE", "PAUSE.a.example", "PAUSE.b.example_81", "STOP"}
    assert {(tree.root / sign).stat().st_size for sign in tree.controls.signs()} == {0}


def test_resume_leaves_single_hosts_paused(tree: Tree) -> None:
    """Resume without a host undoes stop and pause of the whole crawl: a host that was paused for itself stays so."""
    control.pause(tree, ["a.example", "b.example:81", "[::1]"])
    control.pause(tree, [])
    control.stop(tree)
    paused = tree.controls.signs() - {"PAUSE", "STOP"}
    assert control.resume(tree, []) == ["PAUSE", "STOP"]
    assert tree.controls.signs() == paused
    assert len(paused) == 3
    assert control.resume(tree, []) == []


def test_resume_takes_away_signs_that_mean_no_host(tree: Tree) -> None:
    """A sign that was made by hand and means no host pauses nothing; resume without a host removes it, too."""
    for name in ("PAUSE.A.example", "PAUSE.", "PAUSE.a b"):
        (tree.root / name).touch()
    assert control.resume(tree, []) == ["PAUSE.", "PAUSE.A.example", "PAUSE.a b"]
    assert tree.controls.signs() == frozenset()


def test_resume_of_a_host_leaves_the_rest(tree: Tree) -> None:
    """Resume of a host removes its sign, and no other."""
    control.pause(tree, [])
    control.pause(tree, ["a.example", "b.example"])
    assert control.resume(tree, ["A.example", "c.example"]) == ["PAUSE.a.example"]
    assert tree.controls.signs() == {"PAUSE", "PAUSE.b.example"}


@pytest.mark.parametrize(
    ("host", "directory"),
    [
        ("Example.COM", "example.com"),
        ("example.com:80", "example.com"),
        ("https://example.com:8443/a?b", "example.com_8443"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("127.0.0.1:8000", "127.0.0.1_8000"),
    ],
)
def test_a_host_as_people_write_it(host: str, directory: str) -> None:
    """A host may be given as a name, with a port, or as a URL, in any script; its directory's name is what counts."""
    assert hostnames.option(host).directory == directory


@pytest.mark.parametrize("host", ["", "a b", "example.com/x", "ftp://example.com", "../x", "x/../../y", "a:b"])
def test_what_is_no_host(host: str) -> None:
    """What is no host is an error that names it: no sign leaves the root."""
    with pytest.raises(UsageError, match="--host"):
        hostnames.option(host)


# -- the commands


def test_the_commands_say_what_they_did(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command says which signs it made or removed, when machines obey, and how to go on."""
    assert run(tree, "pause") == 0
    assert run(tree, "pause", "--host", "a.example", "--host", "b.example") == 0
    assert run(tree, "stop") == 0
    told = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("no host here is ")]
    resume = f"{command()} resume --root {tree.root}"
    go_on, there = f"to go on:  {resume}", f"to go on there:  {resume} --host a.example"
    assert told == [
        *("created: PAUSE; machines obey within two heartbeats", go_on),
        *(
            "created: PAUSE.a.example, PAUSE.b.example; machines obey within two heartbeats",
            f"{there} --host b.example",
        ),
        *("created: STOP; machines obey within two heartbeats", go_on),
    ]
    for host in ("--host", "b.example"), (), (), ("--host", "a.example"), ():
        assert run(tree, "resume", *host) == 0
    assert capsys.readouterr().out.splitlines() == [
        *("removed: PAUSE.b.example", "still there: PAUSE, PAUSE.a.example, STOP", go_on, there),
        *("removed: PAUSE, STOP", "still there: PAUSE.a.example", there),
        *("nothing was removed", "still there: PAUSE.a.example", there),
        "removed: PAUSE.a.example",
        "nothing was paused or stopped",
    ]


def test_many_paused_hosts_do_not_fill_the_screen() -> None:
    """The command that resumes hosts names ten of them, and says how many there are more."""
    [line] = to_go_on("R", [f"PAUSE.h{number:02}.example" for number in range(12)])
    assert line.endswith(" --host h09.example  # and 2 more")


def test_the_command_that_resumes_a_host_can_be_copied() -> None:
    """A host with brackets is quoted, as a shell takes it for a pattern. One that begins with "-" is no option."""
    assert to_resume("R", "[::1]:8080").endswith(" resume --root R --host '[::1]:8080'")
    words = shlex.split(to_resume("-r", "-x.example", "a.example"))
    options = parse(words[words.index("resume") :])
    assert (options.root, options.host) == (Path("-r"), ["-x.example", "a.example"])


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_signs_can_be_put_up_without_settings(tree: Tree, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A crawl.toml that is wrong or gone keeps nobody from stopping the machines."""
    (tree.root / "crawl.toml").unlink()
    assert run(tree, verb) == 0
    assert tree.controls.signs() == {verb.upper()}
    assert f"created: {verb.upper()}; machines obey" in capsys.readouterr().out


def test_a_bad_host_makes_no_sign(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """A host that is none is exit code 2, and none of the others given with it is paused."""
    assert run(tree, "pause", "--host", "a.example", "--host", "/") == 2
    assert tree.controls.signs() == frozenset()
    assert capsys.readouterr().err.count("\n") == 1


def test_stop_takes_no_host(tree: Tree) -> None:
    """There is no stop of one host."""
    assert run(tree, "stop", "--host", "a.example") == 2


def test_a_sign_of_control_characters_is_printed_plain(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """A sign that somebody put there by hand is printed without control characters."""
    (tree.root / "PAUSE.\x1b[31m").touch()
    assert run(tree, "resume") == 0
    assert capsys.readouterr().out == "removed: PAUSE.?[31m\n"


# -- what the frontier makes of it


@pytest.mark.parametrize(
    ("sign", "url", "paused"),
    [
        ("a.example", "http://a.example/", True),
        ("a.example", "http://a.example:8080/", True),
        ("a.example_8080", "http://a.example:8080/", True),
        ("a.example_8080", "http://a.example/", False),
        ("my", "http://my_host.example/", False),
        ("a.example", "http://b.example/", False),
    ],
)
def test_which_hosts_a_sign_means(sign: str, url: str, paused: bool) -> None:
    """A sign means the host with any port, or with its port alone; an underscore in a name is no port."""
    frontier = Frontier(Settings(politeness=PolitenessSettings(robots=False)), shards=1)
    frontier.hold(0)
    frontier.add(url, 0, "")
    frontier.scheduler.paused = frozenset([sign])
    assert (frontier.take(0.0) is None) == paused
    frontier.close()


def test_a_shard_that_is_let_go_takes_its_hosts_out_of_the_figures() -> None:
    """Hosts of a shard that another machine holds now are no longer counted as failing or given up."""
    frontier = Frontier(Settings(politeness=PolitenessSettings(robots=False)), shards=1)
    frontier.hold(0)
    frontier.add("http://a.example/", 0, "")
    task = frontier.take(0.0)
    assert task is not None
    frontier.scheduler.answered("a.example", 9.0)
    frontier.scheduler.failed(task, "timeout", 0.0)
    frontier.scheduler.give_up("a.example", "timeout")
    frontier.finish(task, None)
    figure = frontier.host_figures(0.0, 9)["a.example"]
    assert (figure.latency_s, figure.failures, frontier.scheduler.gave_up) == (9.0, 1, 1)
    frontier.let_go(0)
    assert (frontier.host_figures(0.0, 9), frontier.scheduler.gave_up) == ({}, 0)
    frontier.close()


def test_hosts_are_forgiven_in_the_figures_too() -> None:
    """Failures that were the network's do not count as those of the hosts."""
    frontier = Frontier(Settings(politeness=PolitenessSettings(robots=False)), shards=1)
    frontier.hold(0)
    frontier.add("http://a.example/", 0, "")
    task = frontier.take(0.0)
    assert task is not None
    frontier.scheduler.failed(task, "timeout", 0.0)
    frontier.forgive(["a.example", "b.example"])
    assert frontier.host_figures(0.0, 9)["a.example"].failures == 0
    frontier.close()
