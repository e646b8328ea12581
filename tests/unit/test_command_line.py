"""What is said of a mistake in the command line, and what `fscrawl help` prints."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.commands import MODULES, parser
from fscrawl.commands import crawling as crawl_command
from fscrawl.engine.progress import Progress
from fscrawl.errors import UsageError

ROOT = "--root /mnt/shared"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program be called `fscrawl`."""
    monkeypatch.setattr(parser, "command", lambda: "fscrawl")


def words(line: str) -> list[str]:
    return ["" if word == "''" else word for word in line.split()]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("crawl --root x --worker 2", "--worker; did you mean --workers?"),
        ("crawl -root x", "-root; did you mean --root?"),
        ("crawl --root x -w 2", "-w;"),
        ("crawl --fetch.auth:{'a'='me:pw'}", "--fetch…;"),
        ("crwl --root x", "crwl; did you mean crawl? see fscrawl --help"),
        ("help crwl", "crwl; did you mean crawl?"),
        ("help ''", "the commands are crawl, status, pause, "),
        ("--root x crawl", "fscrawl COMMAND --root;"),
        ("crawl --root", f"--root DIR, for example {ROOT};"),
        ("crawl --root --workers 2", "--root needs a value"),
        ("status", "missing: --root; for example:  fscrawl status --root /mnt/shared;"),
        ("--", "missing: COMMAND"),
        ("crawl --root x --threads 0", "--threads 0: "),
        ("dashboard --root x --port 1e3", "--port 1e3: "),
        (f"doctor --root x --workers {'9' * 5000}", f"--workers '{'9' * 60}…': "),
        ("crawl --root x --quiet=1", "--quiet takes no value"),
        ("crawl --root x --quiet --log-json", "--log-json and --quiet"),
        ("completion csh", "bash, zsh, fish"),
        ("crawl --root=~/tree", "$HOME/tree"),
        ("report --root x --out new/", "--out new/: "),
        ("crawl --root x --seeds http://me:pw@a/", "did you mean --seed http://…@a/?"),
        ("crawl --root x http://me:pw@a/", "http://…@a/; did you mean --seed http://…@a/?"),
        ("crawl --root x ./tree", "did you mean --root ./tree?"),
        ("crawl --root x more", "argument more;"),
        ("crawl --root x -- --workers", "argument --workers;"),
        ("stop fetch.auth=me", "argument fetch.auth…;"),
    ],
)
def test_mistakes(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake is one line that names what is wrong, and what was probably meant; secrets are not repeated."""
    if line.startswith("stop"):
        line = f"{line} --root x"
    assert cli.main(words(line)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("fscrawl: ")
    assert said in err
    assert "pw" not in err


@pytest.mark.parametrize("command", MODULES)
def test_no_path_may_be_empty(command: str) -> None:
    """Every option that takes a path refuses an empty one, as of "$ROOT" without a ROOT: it is no directory."""
    whole = cli.parser([command])
    for action in whole._commands[command]._actions:
        if action.metavar in ("DIR", "FILE"):
            with pytest.raises(UsageError, match=f"{action.option_strings[0]} is empty; name a (directory|file);"):
                whole.parse_args([command, action.option_strings[0], ""])


@pytest.mark.parametrize(
    ("line", "usage"),
    [("help", "usage: fscrawl "), ("help crawl", "usage: fscrawl crawl "), ("help help", "usage: fscrawl ")],
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


def test_no_command_loads_what_it_does_not_need() -> None:
    """To read the command line, and settings without rules of sites, no parser and no HTTP library is loaded."""
    code = (
        "import sys, fscrawl.cli, fscrawl.config.settings as s; s.parse(s.render(s.Settings()));"
        "fscrawl.cli.parser();"
        "heavy = {'selectolax', 'jsonpath', 'lxml', 'requests', 'urllib3', 'pyarrow', 're2', 'fscrawl.sites.code'};"
        "print(*heavy & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_one_command_loads_no_other() -> None:
    """The options of a command are read without the modules of all others."""
    code = (
        "import sys, fscrawl.cli; fscrawl.cli.parser(['status', '--help']);"
        "print(*sorted(name for name in sys.modules if name.startswith('fscrawl.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"fscrawl.commands.{name}" for name in ("common", "parser", "status", "warm_up")]


def test_each_command_is_found_by_its_name() -> None:
    """The table of modules names all commands, each with the module that declares it."""
    assert list(cli.parser()._commands) == list(MODULES)
    for name in MODULES:
        assert name in cli.parser([name])._commands
