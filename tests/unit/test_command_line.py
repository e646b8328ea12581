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

PAGE = "see fscrawl crawl --help"
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
        ("crawl --root x --worker 2", f"unknown option --worker; did you mean --workers? {PAGE}"),
        ("crawl --root x --worker=2", f"unknown option --worker; did you mean --workers? {PAGE}"),
        ("crawl --rot x", f"unknown option --rot; did you mean --root? {PAGE}"),
        ("crawl -root x", f"unknown option -root; did you mean --root? {PAGE}"),
        ("crawl --root x -w 2", f"unknown option -w; {PAGE}"),
        ("crawl --root x --zzz", f"unknown option --zzz; {PAGE}"),
        ("crawl --fetch.auth:{'a'='me:pw'}", f"unknown option --fetch…; {PAGE}"),
        ("pause --root x --hosts a", "unknown option --hosts; did you mean --host? see fscrawl pause --help"),
        ("crwl --root x", "unknown command crwl; did you mean crawl? see fscrawl --help"),
        ("help crwl", "unknown command crwl; did you mean crawl? see fscrawl --help"),
        ("help ''", "unknown command ''; the commands are crawl, status, pause, "),
        ("--root x crawl", "--root stands behind the command: fscrawl COMMAND --root; see fscrawl --help"),
        ("--versio", "unknown option --versio; did you mean --version? see fscrawl --help"),
        ("-x", "unknown option -x; see fscrawl --help"),
        ("crawl --root", f"--root needs a value: --root DIR, for example {ROOT}; {PAGE}"),
        ("crawl --root --workers 2", f"--root needs a value: --root DIR, for example {ROOT}; {PAGE}"),
        ("merge --limit", "--limit needs a value: --limit N; see fscrawl merge --help"),
        ("merge --include -x", "--include needs a value: --include RE; see fscrawl merge --help"),
        (
            "retry --host",
            "--host needs a value: --host GLOB, for example --host '*.example.org'; see fscrawl retry --help",
        ),
        ("status", "missing: --root; for example:  fscrawl status --root /mnt/shared; see fscrawl status --help"),
        (
            "show --json",
            "missing: URL, --root; for example:  fscrawl show --root /mnt/shared https://example.org/faq; see",
        ),
        ("--", "missing: COMMAND; see fscrawl --help"),
        ("crawl --root x --workers 0", f"--workers 0: must be a whole number, 1 or more, for example 8; {PAGE}"),
        ("crawl --root x --workers ''", "--workers '': must be a whole number, 1 or more, for example 8"),
        ("merge --root x --out y --limit -3", "--limit -3: must be a whole number, 1 or more, for example 8; see"),
        ("dashboard --root x --port 1e3", "--port 1e3: must be a number from 0 to 65535, for example 8712; see"),
        (f"doctor --root x --workers {'9' * 5000}", f"--workers '{'9' * 60}…': must be below 1e18, for example 8"),
        (f"dashboard --root x --port {'9' * 5000}", f"--port '{'9' * 60}…': must be a number from 0 to 65535"),
        ("crawl --root x --quiet=1", f"--quiet takes no value; {PAGE}"),
        ("crawl --root x --quiet --log-json", f"--log-json and --quiet cannot be given together; {PAGE}"),
        ("completion csh", "SHELL csh: must be one of bash, zsh, fish; see fscrawl completion --help"),
        ("crawl --root ''", f"--root is empty; name a directory; {PAGE}"),
        ("merge --root x --out=", "--out is empty; name a directory; see fscrawl merge --help"),
        ("crawl --root x --seeds ''", f"--seeds is empty; name a file; {PAGE}"),
        ("crawl --root=~/tree", "--root ~/tree: the shell has not replaced ~; write $HOME/tree, or ./~/tree for"),
        ("crawl --root x --seeds=~", "--seeds ~: the shell has not replaced ~; write $HOME, or ./~ for what"),
        (
            "report --root x --out new/",
            "--out new/: ends with a slash, as directories do; name a file; see fscrawl report --help",
        ),
        (
            "crawl --root x --seeds http://me:pw@a/",
            f"--seeds http://…@a/: it is a URL, not a file; did you mean --seed http://…@a/? {PAGE}",
        ),
        ("crawl --root x http://me:pw@a/", f"unexpected argument http://…@a/; did you mean --seed http://…@a/? {PAGE}"),
        ("crawl --root x ./tree", f"unexpected argument ./tree; did you mean --root ./tree? {PAGE}"),
        ("crawl --root x ''", f"unexpected argument ''; {PAGE}"),
        ("crawl --root x more", f"unexpected argument more; {PAGE}"),
        ("crawl --root x -- --workers", f"unexpected argument --workers; {PAGE}"),
        ("stop fetch.auth=me", "unexpected argument fetch.auth…; see fscrawl stop --help"),
    ],
)
def test_mistakes(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake is one line: what is wrong, what was probably meant, and the page of the command that was given."""
    if line.startswith("stop"):
        line = f"{line} --root x"
    assert cli.main(words(line)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"fscrawl: {said}")


@pytest.mark.parametrize("command", MODULES)
def test_no_path_may_be_empty(command: str) -> None:
    """Every option that takes a path refuses an empty one, as of "$ROOT" without a ROOT: it is no directory."""
    whole = cli.parser([command])
    for action in whole._commands[command]._actions:
        if action.metavar in ("DIR", "FILE"):
            with pytest.raises(UsageError, match=f"{action.option_strings[0]} is empty; name a (directory|file);"):
                whole.parse_args([command, action.option_strings[0], ""])


def test_an_unknown_command_that_is_like_none(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands are named if none is like what was written."""
    assert cli.main(["xyz"]) == 2
    assert capsys.readouterr().err.startswith("fscrawl: unknown command xyz; the commands are crawl, status, pause, ")


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
    assert "standard input:2:1: not an http or https URL; write https://b.example/, skipped" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="--seeds -: there is no URL in it"):
        given(seeds="-")


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("a.example/x", "--seed a.example/x: not an http or https URL; write https://a.example/x"),
        ("nonsense", "a seed must be a complete URL, like https://example.org/"),
        ("http://a.example:25/", "a.example:25/: port 25 is of another protocol than HTTP, and never asked"),
        ("list.txt", "--seed list.txt: it is a file, not a URL; did you mean --seeds list.txt?"),
        ("lost.txt", "--seed lost.txt: not an http or https URL; write https://lost.txt/"),
    ],
)
def test_a_bad_seed(seed: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed without a scheme is told with one, and a file with the option that takes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("http://a.example/\n")
    with pytest.raises(UsageError) as caught:
        given(seed=[seed])
    assert str(caught.value).endswith(said)


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
