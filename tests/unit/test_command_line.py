"""What is said of a mistake in the command line, and what `fscrawl help` prints."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.commands import COMMANDS, program
from fscrawl.commands import crawling as crawl_command
from fscrawl.commands.program import Program, parse
from fscrawl.config.settings import Settings, apply
from fscrawl.engine.progress import Progress
from fscrawl.errors import UsageError


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the program be called `fscrawl`, outside of a tree."""
    monkeypatch.setattr("sys.argv", ["/usr/bin/fscrawl"])
    monkeypatch.delenv("FSCRAWL_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)


def words(line: str) -> list[str]:
    return ["" if word == "''" else word for word in line.split()]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("crawl --root x --worker 2", "--worker: did you mean --workers?"),
        ("crawl -root x", "-root: did you mean --root?"),
        ("crawl --root x --fetch.auth:{'a'='me:pw'}", "unknown option --fetch: "),
        ("crwl --root x", "crwl; type:  fscrawl crawl;"),
        ("help crwl", "crwl; type:  fscrawl crawl;"),
        ("help ''", "the commands are crawl, status, pause, "),
        ("--root x crawl", "the command comes first; type:  fscrawl crawl --root DIR URL"),
        ("crawl --root", "--root: "),
        ("status", "which tree? type:  fscrawl status --root DIR "),
        ("crawl --root x --threads 0", "--threads: 0: "),
        ("dashboard --root x --port 1e3", "--port: 1e3: "),
        (f"doctor --root x --workers {'9' * 5000}", f"--workers: '{'9' * 60}…': "),
        ("completion csh", "'bash', 'zsh', 'fish'"),
        ("crawl --root=~/tree", "$HOME/tree"),
        ("report --root x --out new/", "--out: new/: "),
        ("crawl --root x --seeds http://me:pw@a/", "did you mean --seed http://…@a/?"),
        ("crawl --root x ftp://me:pw@a/", "ftp://…@a/: "),
        ("crawl --root x .", "did you mean --root .?"),
        ("crawl --root x more", "more: not an http or https URL; a seed must"),
        ("crawl --root x --set politeness.delay=1 fetch.auth={'a'='me:pw'}", "fetch.auth…: not an http"),
        ("crawl --root x --depth http://a.example/", 'crawl.max_depth: "http://a.example/": must be a whole number'),
        ("try fetch.auth={'a'='me:pw'}", "fetch.auth…: not an http"),
        ("try http://a.example/ fetch.auth={'a'='me:pw'}", "fetch.auth…: there must be one URL"),
        ("status --root x y", "unexpected argument y;"),
        ("status x y", "unexpected argument y;"),
        ("stop fetch.auth=pw --root x", "argument fetch.auth…;"),
    ],
)
def test_mistakes(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake is one line that names what is wrong, and what was probably meant; secrets are not repeated."""
    assert cli.main(words(line)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("fscrawl: ")
    assert said in err
    assert "pw" not in err


# -- the tree


def root_of(line: str) -> str:
    return str(program.root_of(parse(words(line))))


def test_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree is named by --root, by the first argument, by $FSCRAWL_ROOT, or is where we are; the first one counts."""
    for name in ("a", "b", "c"):
        (tmp_path / name / ".fscrawl").mkdir(parents=True)
        (tmp_path / name / ".fscrawl/tree.json").touch()
    (tmp_path / "c/links/a.example").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "c/links/a.example")
    assert root_of("status") == str(tmp_path / "c")
    monkeypatch.setenv("FSCRAWL_ROOT", "../../../b")
    assert root_of("status") == root_of("crawl http://a.example/") == "../../../b"
    monkeypatch.setenv("FSCRAWL_ROOT", "~/tree")  # as in a unit of systemd, which replaces no ~
    with pytest.raises(UsageError, match="FSCRAWL_ROOT: ~/tree: the shell has not replaced ~"):
        root_of("crawl http://a.example/")
    monkeypatch.chdir(tmp_path)
    assert root_of("status a") == root_of("status --root a") == root_of("crawl --root a b") == "a"
    assert root_of("status missing") == "missing"
    options = parse(words("crawl a http://a.example/ --workers 2 http://b.example/"))
    assert str(program.root_of(options)) == "a"
    assert options.words == ["http://a.example/", "http://b.example/"]


def test_the_working_directory_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the working directory was removed, a tree must be named."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="which tree"):
        root_of("status")
    monkeypatch.chdir(tmp_path)


# -- settings


def test_flags_of_settings() -> None:
    """A flag stands for --set of one setting: strings need no quotes, and repeated ones make a list."""
    line = "--delay 0.5 --depth 3 --max-pages 9 --scope any --allow a+ --allow b --deny c --user-agent 5"
    options = parse(words(f"crawl --root x {line} --render a.example --set crawl.order=depth"))
    chosen = apply(Settings(), program.assignments(options))
    crawl = chosen.crawl
    assert (chosen.politeness.delay, chosen.politeness.user_agent, chosen.render.hosts) == (0.5, "5", ("a.example",))
    assert (crawl.max_depth, crawl.max_pages, crawl.scope, crawl.order) == (3, 9, "any", "depth")
    assert (crawl.allow, crawl.deny) == (("a+", "b"), ("c",))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_path_may_be_empty(name: str) -> None:
    """Every option that takes a path refuses an empty one, as of "$ROOT" without a ROOT: it is no directory."""
    for action in Program([name]).commands[name].arguments:
        if action.metavar in ("DIR", "FILE") and action.option_strings:
            with pytest.raises(UsageError, match=f"{action.option_strings[-1]}: is empty; name a (directory|file);"):
                parse([name, action.option_strings[-1], ""])


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("help", "usage: fscrawl "),
        ("help crawl", "usage: fscrawl crawl "),
        ("help help", "usage: fscrawl "),
        ("help export", "usage: fscrawl merge "),
    ],
)
def test_help(line: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`help` is --help."""
    with pytest.raises(SystemExit) as end:
        cli.main(words(line))
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(usage)


def test_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command, the list of commands is printed where errors are, and the exit code is that of a mistake."""
    with pytest.raises(SystemExit) as end:
        cli.main([])
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "fscrawl help COMMAND" in err
    assert all(f"\n    {command} " in err for command in ("crawl", "status", "merge"))


# -- seeds


def given(*, seed: Sequence[str] = (), seeds: str | None = None) -> dict[str, str]:
    options = argparse.Namespace(seed=list(seed), seeds=None if seeds is None else Path(seeds))
    return crawl_command._given_seeds(options, Progress("quiet", verbose=False))


def test_seeds_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--seeds -` reads standard input; a bad line is named."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"http://a.example/ # one\nb.example\n")))
    assert given(seeds="-") == {"http://a.example/": "one"}
    assert "standard input:2:1: " in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="--seeds -: there is no URL in it"):
        given(seeds="-")


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("a.example/x", "write https://a.example/x"),
        ("nonsense", "nonsense: "),
        ("http://a.example:25/", "port 25 "),
        ("list.txt", "did you mean --seeds list.txt?"),
    ],
)
def test_a_bad_seed(seed: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed without a scheme is told with one, and a file with the option that takes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("http://a.example/\n")
    with pytest.raises(UsageError) as caught:
        given(seed=[seed])
    assert said in str(caught.value)


def loaded(code: str) -> set[str]:
    """Run Python code in a process of its own, unmeasured; give the names of the modules that it has loaded."""
    words = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return {*subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout.split()}


def test_no_command_loads_what_it_does_not_need() -> None:
    """To read the command line, and settings without rules of sites, no parser and no HTTP library is loaded."""
    heavy = {"selectolax", "jsonpath", "lxml", "requests", "urllib3", "pyarrow", "re2", "fscrawl.sites.code"}
    settings = "import fscrawl.config.settings as s; s.parse(s.render(s.Settings()));"
    assert not heavy & loaded(f"{settings}from fscrawl.commands.program import Program; Program()")


def test_a_crawl_begins_without_what_it_does_not_need() -> None:
    """Neither the machine nor the server of its workers loads what a plain crawl never uses.

    Before that server is started, not even URLs and settings are loaded: it should begin as soon as possible.
    """
    unused = {
        "asyncio",
        "bs4",
        "dataclasses",
        "html5lib",
        "lxml",
        "pypdf",
        "re2",
        "requests",
        "rich",
        "tqdm",
        "urllib3",
    }
    of_workers = {"email", "html", "http", "protego", "selectolax", "ssl", "xml"}
    machine = loaded("import fscrawl.cli, fscrawl.commands.crawling")
    assert not machine & (unused | of_workers)
    assert not loaded("import fscrawl.engine.preload") & unused
    assert not loaded("import fscrawl.cli, fscrawl.commands.crawl") & {"ada_url", "msgspec", "fscrawl.config.settings"}


def test_one_command_loads_no_other() -> None:
    """The options of a command are read without the modules of all others, and the list of commands without any."""
    code = "from fscrawl.commands.program import Program; Program({})"
    names = {name.removeprefix("fscrawl.commands.") for name in loaded(code.format(["status"])) if ".commands." in name}
    assert names == {"program", "status"}
    names = {name.removeprefix("fscrawl.commands.") for name in loaded(code.format([""])) if ".commands." in name}
    assert names == {"program"}


def test_each_command_is_found_by_its_name() -> None:
    """The table of commands names all commands, each with the module that declares it."""
    assert list(Program().commands) == list(COMMANDS)
    for name in COMMANDS:
        assert name in Program([name]).commands
