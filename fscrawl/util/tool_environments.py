"""How an extra is added to an environment that pipx or uv has made for the command alone.

Each leaves a file in it:
  pipx    pipx_metadata.json. `pipx inject` adds packages, and all that is there stays
  uv      uv-receipt.toml, and no pip. uv must be told everything again: the extras and packages that it was asked for
          before, and the new extra
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PIPX, _UV = "pipx_metadata.json", "uv-receipt.toml"
_NAMED = {"name", "extras", "specifier"}  # what uv writes of a package of an index


def to_add(environment: Path, name: str, extras: Sequence[str], packages: Sequence[str]) -> str | None:
    """Give the command that adds extras of the package `name`; None if neither program has made the environment.

    `packages`: those of the extras, such as "numpy>=1.26".
    """
    if (environment / _PIPX).is_file():
        return shlex.join(["pipx", "inject", environment.name, *packages])
    receipt = environment / _UV
    if not receipt.is_file():
        return None
    try:
        return shlex.join(_asked_again(tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"], name, extras))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # another form, or the wheel is gone
        return shlex.join(["uv", "pip", "install", "--python", str(environment / "bin/python"), *packages])


def _asked_again(tool: dict[str, Any], name: str, extras: Sequence[str]) -> list[str]:
    """Give the words that install the tool as the receipt says, and with more extras. ValueError if they cannot."""
    words = ["uv", "tool", "install", "--force"]
    if "python" in tool:
        words += ["--python", tool["python"]]
    for asked in tool["requirements"]:
        if asked["name"] == name:
            words += _with_extras(asked, extras)
        elif asked.keys() <= _NAMED:
            words += ["--with", _named(asked)]
        else:
            raise ValueError(asked)
    return words


def _with_extras(asked: dict[str, Any], extras: Sequence[str]) -> list[str]:
    asked = {**asked, "extras": sorted({*asked.get("extras", ()), *extras})}
    if asked.keys() <= _NAMED:
        return [_named(asked)]
    [place] = asked.keys() - _NAMED
    if place not in {"path", "directory", "editable"} or not Path(asked[place]).exists():
        raise ValueError(asked)
    return [*(["--editable"] if place == "editable" else []), _named({**asked, "name": asked[place]})]


def _named(asked: dict[str, Any]) -> str:
    extras = ",".join(asked.get("extras", ()))
    return f"{asked['name']}{f'[{extras}]' if extras else ''}{asked.get('specifier', '')}"
