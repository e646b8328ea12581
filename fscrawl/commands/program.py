"""The command line: how it is read, by plain argparse, how a command is declared, and the options that several have.

A mistake in it is one line that says what to type. People type the words of other tools, too (wget, curl, Scrapy,
restic, git): the line has ours for the same thing. `--site FILE` is read here, and run where its rules are needed (see
`sites.code`).

Promise: a message repeats no password.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fscrawl import __version__
from fscrawl.commands import ALIASES, COMMANDS
from fscrawl.errors import EXIT_USAGE, UsageError, reason
from fscrawl.util.installed import command
from fscrawl.util.own_code import check_site_file
from fscrawl.util.terminal import say, write
from fscrawl.util.time_limit import time_limit
from fscrawl.util.user_text import decode, shown, to_toml

if TYPE_CHECKING:
    from fscrawl.config.settings import Settings
    from fscrawl.sites.rules import SiteFile
    from fscrawl.store import Tree

_COMMANDS = {
    "crawl --root DIR URL": "init create new add start run runspider spider genspider startproject scrape get fetch"
    " download mirror clone backup",
    "crawl --root DIR": "continue go",
    "crawl --root DIR --refresh 0s": "update refresh recrawl sync",
    "status": "list ls stats info progress top queue errors failures",
    "status --watch": "watch tail follow",
    "show URL": "cat view why explain inspect log",
    "try URL": "shell parse test dry-run",
    "merge --out DIR": "dump archive feed save",
    "import ARCHIVE": "load ingest",
    "audit": "check verify fsck validate repair",
    "dashboard": "serve server ui web gui",
    "search WORD --dataset DIR": "find grep query",
    "stop": "kill quit end cancel abort",
    "--version": "version",
}
_OPTIONS = {
    "--out DIR": "-o -O --output --output-dir --outdir -P -d --dir --to",
    "--root DIR": "-o -O --output --output-dir -P --directory-prefix --dir --directory -d -C --repo --tree --path",
    "--seeds FILE": "-i --input-file --input --urls --url-file --file -K",
    "--depth N": "-l --level --max-depth --depth-limit -depth",
    "--delay S": "-w --download-delay --sleep --rate --rate-limit --limit-rate",
    "--max-pages N": "-n --limit --pages --max --quota -Q",
    "--user-agent TEXT": "-U --agent --useragent",
    "--scope domain": "-D --domain --domains --allowed-domains -H --span-hosts --subdomains -np --no-parent",
    "--include RE": "--allow --accept --accept-regex -A -I",
    "--exclude RE": "--deny --reject --reject-regex -R -X",
    "--allow RE": "--include --accept --accept-regex -A -I --include-directories",
    "--deny RE": "--exclude --reject --reject-regex -R -X --ignore",
    "--render HOST": "--js --javascript --browser --headless --playwright",
    "--workers N": "-j --jobs -c --concurrency --parallel --processes",
    "--processes N": "-j --jobs --workers --parallel",
    "--threads N": "-t --concurrent-requests",
    "--set politeness.robots=false": "--ignore-robots --no-robots -e",
    "--set fetch.headers={…}": "--header --headers",
    "--set fetch.proxies=[…]": "-x --proxy --proxies",
    "--set fetch.auth={…}": "-u --user --password --http-user --http-password --auth",
    "--set NAME=VALUE": "-s -S --setting --settings --config --option",
    "--format F": "-f -F -t --type",
    "--host GLOB": "--domain --domains --hosts",
    "--bind ADDRESS": "--host --address --listen --interface",
    "--class CLASS": "--reason --error --type --errors",
    "--watch": "-f -F -w --follow --live",
    "--wait": "--follow --daemon -b --background --keep-alive",
    "--quiet": "-q -nv --no-verbose --silent",
    "--json": "-j",
}
_LEAVE_OUT = {
    "links are always followed": "-r --recursive -m --mirror --crawl",
    "targets of redirects are always fetched": "-L --location",
    "the same command continues": "-c --continue --resume -N --timestamping",
    "all is kept under the names of URLs in the tree": "-x --force-directories -nH -E --adjust-extension",
}


def command_of(word: str) -> str:
    """Give what to type behind `fscrawl` for a command of another tool; "" if it is not known.

    >>> command_of("ls")
    'status'
    """
    return next((ours for ours, theirs in _COMMANDS.items() if word.lower() in theirs.split()), "")


def option_of(word: str, options: Container[str]) -> str:
    """Say what to type for an option of another tool; "" if it is not known. `options`: of the command.

    >>> option_of("-l", ["--root", "--depth"]), option_of("-L", [])
    ('type --depth N', 'leave it out, targets of redirects are always fetched')
    """
    for ours, theirs in _OPTIONS.items():
        if word in theirs.split() and ours.split()[0] in options:
            return f"type {ours}"
    return next((f"leave it out, {why}" for why, theirs in _LEAVE_OUT.items() if word in theirs.split()), "")


# -- reading

_NAME = re.compile(r"--?[A-Za-z][\w-]*")
_HELP_COLUMNS = 79  # the formatter below prints description, examples and notes as they are
_SECRET_VALUE = re.compile(r"(\bfetch\.\w+).*", re.DOTALL)  # these settings may have passwords


class Parser(argparse.ArgumentParser):
    """The parser of a command. `arguments`: what was added to it, in this order."""

    def __init__(self, **how: Any) -> None:
        self.arguments: list[argparse.Action] = []
        super().__init__(allow_abbrev=False, **how)

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        action = super().add_argument(*names, **how)
        self.arguments.append(action)
        return action

    def print_help(self, file: Any = None) -> None:
        """Print the help as all else is printed: a closed pipe ends the command."""
        write(self.format_help(), file)

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError in place of printing the usage."""
        raise UsageError(f"{without_secrets(message)}; {self.see}")

    @property
    def see(self) -> str:
        """Say where the command is described."""
        return f"see {command()}{self.prog.removeprefix('fscrawl')} --help"

    @property
    def options(self) -> list[str]:
        """All options, such as --root and -v."""
        return [name for action in self.arguments for name in action.option_strings]


class Program:
    """`fscrawl` and its commands."""

    def __init__(self, names: Sequence[str] = tuple(COMMANDS)) -> None:
        """`names`: the commands whose options are declared."""
        self.parser = Parser(
            prog="fscrawl",
            description="A web crawler for a few machines that share a directory.",
            epilog="fscrawl help COMMAND, or fscrawl COMMAND --help, describes a command.",
        )
        self.parser.add_argument("-V", "--version", action="store_true", help="print the version")
        self._added = self.parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
        self.commands: dict[str, Parser] = {}
        modules = dict.fromkeys(module for name, (module, _) in COMMANDS.items() if name in names)
        for module in modules:
            importlib.import_module(f"fscrawl.commands.{module}").add(self)
        if not modules:
            for name in COMMANDS:
                self.add(name)

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int] | None = None,
        *,
        description: str = "",
        examples: str = "",
        notes: str = "",
    ) -> Parser:
        """Declare a command; its line in `fscrawl --help` is in COMMANDS. `run`: does it.

        `examples` and `notes` are printed as they are: one example a line, then the notes.
        """
        indented = "".join(f"  {line}\n" for line in examples.splitlines())
        parser: Parser = self._added.add_parser(
            name,
            help=COMMANDS[name][1],
            aliases=[alias for alias, of in ALIASES.items() if of == name],
            description=textwrap.fill(description, _HELP_COLUMNS),
            epilog=f"examples:\n{indented}{notes}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=run, command=name)
        self.commands[name] = parser
        return parser


def without_secrets(text: str) -> str:
    """Take the passwords out of what somebody has typed.

    >>> without_secrets("unexpected argument fetch.auth={'a.example' = 'me:pw'}")
    'unexpected argument fetch.auth…'
    """
    from fscrawl.urls import without_login  # noqa: PLC0415 - a tenth of a command's start, for mistakes only

    return _SECRET_VALUE.sub(r"\1…", without_login(text))


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line: its options, the function `run`, and the parser. UsageError if it has a mistake.

    SystemExit after --help and --version; without a word, the help is printed where errors are.
    """
    if words[:1] == ["help"]:
        words = [*(word for word in words[1:2] if word != "help"), "--help"]
    name = ALIASES.get(words[0], words[0]) if words else ""
    program = Program([name])
    if name in COMMANDS:
        parser = program.commands[name]
        options, rest = parser.parse_known_intermixed_args(list(words[1:]))
        if rest:
            raise UsageError(f"{_unexpected(parser, rest)}; {parser.see}")
        return options
    if not words:
        program.parser.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    if not words[0].startswith("-"):
        program.parser.error(_unknown_command(words[0]))
    if program.parser.parse_known_args(words[:1])[0].version:  # --help ends here, too
        say(f"fscrawl {__version__}")
        raise SystemExit(0)
    crawl = Program(["crawl"]).commands["crawl"]
    _, rest = crawl.parse_known_intermixed_args(list(words))
    more = f"; {_unexpected(crawl, rest)}" if rest else ""
    raise UsageError(f"the command comes first; type:  {command()} crawl --root DIR URL{more}")


def _unknown_command(word: str) -> str:
    if "://" in word:
        return f"the command comes first; type:  {command()} crawl --root DIR {without_secrets(word)}"
    near = difflib.get_close_matches(word, [*COMMANDS, *ALIASES], 1)
    meant = command_of(word) or (near[0] if near else "")
    what = f"type:  {command()} {meant}" if meant else f"the commands are {', '.join(COMMANDS)}"
    return f"unknown command {word or _EMPTY}; {what}"


_EMPTY = "''"  # as a shell reads an argument that is empty


def _unexpected(parser: Parser, rest: Sequence[str]) -> str:
    """Say of each unknown option what to type instead; or of the first argument that nothing takes."""
    end = rest.index("--") if "--" in rest else len(rest)
    unknown = list(dict.fromkeys(found[0] for word in rest[:end] if (found := _NAME.match(word))))
    if not unknown:
        word = next((word for word in rest if word != "--"), "")
        return f"unexpected argument {without_secrets(word) or _EMPTY}"
    return "unknown option " + "; ".join(f"{option}{_instead(parser, option)}" for option in unknown)


def _instead(parser: Parser, option: str) -> str:
    near = difflib.get_close_matches(f"--{option.lstrip('-')}", parser.options, 1, 0.7)
    meant = option_of(option, parser.options) or (f"did you mean {near[0]}?" if near else "")
    return f": {meant}" if meant else ""


# -- the options of commands

ROOT = "FSCRAWL_ROOT"
_DIGITS = 18  # of a number; Python reads at most 4,300

# flag → setting, value, help: those that people turn first
_FLAGS = {
    "--delay": ("politeness.delay", "S", "seconds between two requests to a host"),
    "--depth": ("crawl.max_depth", "N", "follow links so far from a seed, which has depth 0"),
    "--max-pages": ("crawl.max_pages", "N", "end when the tree has so many pages"),
    "--scope": ("crawl.scope", "SCOPE", "which links are followed: host, domain or any"),
    "--allow": ("crawl.allow", "RE", "only URLs that match; repeatable"),
    "--deny": ("crawl.deny", "RE", "no URLs that match; repeatable"),
    "--user-agent": ("politeness.user_agent", "TEXT", "what robots.txt and web servers know the crawl by"),
    "--render": ("render.hosts", "HOST", "open this host's pages in a browser, for JavaScript; repeatable"),
}


def add_root(parser: Parser, *, has_words: bool = False) -> None:
    """Declare --root, and the argument that may name the tree in its place. `has_words`: the command declares it."""
    parser.add_argument(
        "--root",
        type=directory,
        metavar="DIR",
        help=f"the shared directory that holds the crawl (default: ${ROOT}, or the tree that you are in)",
    )
    if not has_words:
        parser.add_argument("tree", nargs="?", type=directory, metavar="DIR", help="the same as --root DIR")


def find_root(options: argparse.Namespace) -> Path | None:
    """Find the tree of a command: --root, else an argument, else $FSCRAWL_ROOT, else the tree that we are in.

    The first of several words counts if it is a tree, and is removed from them. None if no tree is named.
    """
    from fscrawl.storage.inside import is_tree, tree_around  # noqa: PLC0415 - --help need not load it

    tree, words = getattr(options, "tree", None), getattr(options, "words", [])
    if options.root is not None:
        if tree is not None:
            raise UsageError(f"unexpected argument {shown(without_secrets(str(tree)))}; --root names the tree")
        return Path(options.root)
    if tree is not None:
        return Path(tree)
    if words and is_tree(Path(words[0])):
        return Path(words.pop(0))
    if given := os.environ.get(ROOT):
        try:
            return directory(given)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{ROOT}: {error}") from None
    return tree_around()


def root_of(options: argparse.Namespace) -> Path:
    """Find the tree as `find_root` does; UsageError if none is named."""
    root = find_root(options)
    if root is None:
        typed = f"{command()} {options.command} --root DIR"
        raise UsageError(f"which tree? type:  {typed}    (or set {ROOT}=DIR, or change into the tree)")
    return root


def add_settings(parser: Parser, help_: str) -> None:
    """Declare --set, and the flags of single settings that stand for it. `help_`: of --set."""
    for flag, (name, value, meaning) in _FLAGS.items():
        how = {"action": "append"} if meaning.endswith("repeatable") else {}
        parser.add_argument(flag, metavar=value, help=f"{meaning}: --set {name}=...", **how)
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help=help_)


def assignments(options: argparse.Namespace) -> list[str]:
    """Give what --set and the flags say, as arguments of --set."""
    flags = {name: getattr(options, flag[2:].replace("-", "_")) for flag, (name, _, _) in _FLAGS.items()}
    return [*(f"{name}={_as_toml(name, given)}" for name, given in flags.items() if given is not None), *options.set]


def _as_toml(name: str, given: str | list[str]) -> str:
    from fscrawl.config.settings import Settings  # noqa: PLC0415 - --help need not load it

    section, _, setting = name.partition(".")
    is_text = isinstance(getattr(getattr(Settings(), section), setting), str)
    return to_toml(given) if is_text or isinstance(given, list) else given


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=not_negative,
        default=4,
        metavar="N",
        help="number of worker processes (default 4); 0: one worker, in this process",
    )
    parser.add_argument(
        "--threads",
        type=positive,
        default=16,
        metavar="N",
        help="fetches at the same time in each worker, at most 1000 (default 16)",
    )


def add_allow_env(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-env",
        action="append",
        type=_variable,
        default=[],
        metavar="NAME",
        help="allow settings to use this environment variable, as they may use $FSCRAWL_...; repeatable",
    )


def _variable(text: str) -> str:
    if not (text.isascii() and text.isidentifier()):
        raise argparse.ArgumentTypeError("must be the name of an environment variable, without $ and value")
    return text


def directory(text: str) -> Path:
    """Read the path of a directory. An empty one is a mistake: `Path` takes it for the working directory."""
    return _path(text, "directory")


def file(text: str) -> Path:
    """Read the path of a file. `Path` forgets a slash at its end, and what is written would be a file all the same."""
    if text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{text}: ends with a slash, as directories do; name a file")
    return _path(text, "file")


def _path(text: str, what: str) -> Path:
    if not text:  # as of --root "$ROOT", where ROOT is not set
        raise argparse.ArgumentTypeError(f"is empty; name a {what}")
    if text == "~" or text.startswith("~/"):  # as of --root=~/tree: most shells replace ~ only where a word begins
        meant = shown(text[1:])
        raise argparse.ArgumentTypeError(
            f"~{meant}: the shell has not replaced ~; write $HOME{meant}, or ./~{meant} for what has that name"
        )
    return Path(text)


def positive(text: str) -> int:
    return _whole_number(text, 1)


def not_negative(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text) >= least:
        return int(text)
    typed = shlex.quote(shown(text))
    raise argparse.ArgumentTypeError(f"{typed}: must be a whole number, {least} or more, for example 8")


def open_tree(root: Path, *, writing: bool = False) -> Tree:
    """Open a tree for a command that takes no part in the crawl; NotATreeError if there is none.

    `writing`: the command makes files there. Then this process makes files that are as open as the tree's root.
    """
    from fscrawl.fleet.heartbeat import new_machine_id  # noqa: PLC0415 - --help need not load it
    from fscrawl.store import Tree  # noqa: PLC0415

    tree = Tree(root, new_machine_id())
    if writing:
        tree.files.adopt_umask()
    return tree


# -- site files

MOST_LOADING_S = 30.0


def add_site(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--site",
        type=file,
        metavar="FILE",
        help="a Python file of rules; the same on all machines",
    )


def with_site(chosen: Settings, path: Path | None, root: Path | None) -> Settings:
    """Give the settings with the classes of a site file, which is run here; UsageError if it has a mistake.

    One that does not end is such a mistake. `root`: as for `read_file`.
    """
    if path is None:
        return chosen
    from fscrawl.sites.code import load  # noqa: PLC0415 - it loads the parsers

    file = read_file(path, root)
    with time_limit(MOST_LOADING_S):
        return chosen.with_code(load(file))


_MOST_CODE_BYTES = 1 << 20


def read_file(path: Path, root: Path | None) -> SiteFile:
    """Read a site file; UsageError if that is not possible, or if others may change it. It is not run.

    `root`: of the tree, if there is one.
    """
    from fscrawl.sites.rules import SiteFile  # noqa: PLC0415 - as above

    check_site_file(path, root)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_CODE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--site {path}: cannot be read: {reason(error)}") from error
    if len(data) > _MOST_CODE_BYTES:
        raise UsageError(f"--site {path}: must be a Python file of at most {_MOST_CODE_BYTES:,} bytes")
    return SiteFile(str(path), decode(data))
