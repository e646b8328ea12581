"""How this copy of fscrawl was installed: the command that runs it here, and the one that adds an extra to it.

A copy is one of three:
  pyz        fscrawl.pyz, which has unpacked itself
  installed  by pip, pipx or uv, from a wheel or, editable, from a checkout
  checkout   of which pip knows nothing: `python crawl.py`
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from fscrawl import __version__
from fscrawl.util import tool_environments

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NAME = "fscrawl"
_PACKAGE = Path(__file__).resolve().parents[1]
_OF_EXTRA = re.compile(r"(?P<what>[^;]+?)\s*;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")


def command(verb: str = "", root: str | Path = "") -> str:
    """Give the words by which the user calls fscrawl in this directory, such as "fscrawl" or ".venv/bin/fscrawl".

    With `verb` and `root`, these follow: "fscrawl resume --root '/mnt/my crawl'".
    """
    return here().command() + (f" {verb} --root {path_word(root)}" if verb else "")


def path_word(path: str | Path) -> str:
    """Give a path as a word of a command line, of any program: one that begins with "-" would be an option.

    >>> path_word("/mnt/my crawl"), path_word("-x")
    ("'/mnt/my crawl'", './-x')
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def to_install(*extras: str) -> str:
    """Give what to do to get extras, such as "merge": a command, or why this copy cannot have them."""
    return here().to_install(*extras)


@dataclass(frozen=True)
class Copy:
    """A copy of fscrawl.

    package    its directory of modules
    python     the interpreter that runs it
    pyz        the file that it has unpacked itself from; None for other copies
    script     the command that pip has made; None if pip does not know this copy
    wheel      the file that it was installed from; None if it is not known, or not there any more
    checkout   the directory of its source, with a Makefile; None for other copies
    requires   what pip is to install for extras, such as "numpy>=1.26; extra == 'merge'"
    environment    the root of the environment that it was installed into; None if pip does not know this copy
    """

    package: Path
    python: Path
    pyz: Path | None = None
    script: Path | None = None
    wheel: Path | None = None
    checkout: Path | None = None
    requires: tuple[str, ...] = ()
    environment: Path | None = None

    def command(self) -> str:
        if self.pyz is not None:
            return f"{_called(self.python)} {_shown(self.pyz)}"
        if self.script is not None:
            return _called(self.script)
        made = self.package.parent / ".venv/bin" / _NAME  # by make, and another Python runs
        if made.exists():
            return _called(made)
        where = "" if self.package.parent == _directory() else f"PYTHONPATH={_shown(self.package.parent)} "
        return f"{where}{_called(self.python)} -m {_NAME}"

    def to_install(self, *extras: str) -> str:
        named = ",".join(extras)
        if self.pyz is not None:
            wheel = f"{_NAME}-{__version__}-py3-none-any.whl"
            return f"use a checkout, or the wheel: pip install '{wheel}[{named}]'; {self.pyz.name} cannot have it"
        if self.checkout is not None and (self.script is None or self.checkout / ".venv" in self.script.parents):
            where = "" if self.checkout == _directory() else f"-C {_shown(self.checkout)} "
            return f"make {where}setup EXTRAS={named}"
        found = (_OF_EXTRA.fullmatch(each) for each in self.requires)
        packages = [each["what"] for each in found if each and each["extra"] in extras]
        if self.environment is not None:
            words = tool_environments.to_add(self.environment, _NAME, extras, packages)
            if words is not None:
                return words
        pip = f"{_called(self.python)} -m pip install"
        if self.checkout is not None:
            return f"{pip} -e {shlex.quote(f'{self.checkout}[{named}]')}"
        if self.wheel is not None:
            return f"{pip} {shlex.quote(f'{self.wheel}[{named}]')}"
        return f"{pip} {shlex.join(packages or [f'{_NAME}[{named}]'])}"


def here(package: Path = _PACKAGE) -> Copy:
    """Find out which copy the modules in `package` are."""
    python = Path(sys.executable)
    if hasattr(sys, "fscrawl_umask"):  # `tools/pyz_main.py` has set it
        return Copy(package, python, pyz=Path(sys.argv[0]))
    above = package.parent
    checkout = above if (above / "Makefile").is_file() and (above / "crawl.py").is_file() else None
    from importlib.metadata import distributions  # noqa: PLC0415 - it takes a tenth of the start of a command

    for each in distributions(name=_NAME):
        said = _direct_url(each)
        source = Path(unquote(urlsplit(said.get("url", "")).path)).resolve()
        is_editable = bool(said.get("dir_info", {}).get("editable"))
        if (source == above) if is_editable else Path(str(each.locate_file(_NAME))).resolve() == package:
            return Copy(
                package,
                python,
                script=_script(each),
                wheel=source if source.suffix == ".whl" and source.is_file() else None,
                checkout=checkout if is_editable else None,
                requires=tuple(each.requires or ()),
                environment=Path(sys.prefix),
            )
    return Copy(package, python, checkout=checkout)


def _direct_url(made: Distribution) -> dict[str, Any]:
    """Read from where pip says it has made an installation; nothing if that is not known."""
    try:
        said = json.loads(made.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _script(made: Distribution) -> Path | None:
    """Give the command among the files of an installation."""
    paths = (Path(os.path.normpath(str(each.locate()))) for each in made.files or ())
    return next((path for path in paths if path.name == _NAME and path.parent.name == "bin" and path.exists()), None)


def _called(program: Path) -> str:
    """Give the words that run a program: its name alone, if PATH leads to it, or to a link to it.

    A link to an interpreter is another interpreter: it may be that of a virtual environment.
    """
    found = shutil.which(program.name)
    if found is not None:
        one, other = (
            (Path(found).parent, program.parent) if program.name.startswith("python") else (Path(found), program)
        )
        if os.path.realpath(one) == os.path.realpath(other):
            return program.name
    shown = _shown(program)
    return shown if "/" in shown else f"./{shown}"


def _shown(path: Path) -> str:
    """Give a path for a command line: short if it is in the working directory."""
    directory = _directory()
    inside = directory is not None and path.is_relative_to(directory)
    return shlex.quote(str(path.relative_to(directory) if inside and directory is not None else path))


def _directory() -> Path | None:
    """Give the working directory; None if it has been removed."""
    try:
        return Path(os.getcwd())  # noqa: PTH109 - it is not a path that somebody has given
    except FileNotFoundError:
        return None
