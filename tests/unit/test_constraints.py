"""constraints.txt: the versions that are tested together must suit every Python that the project is for."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

CHECKOUT = Path(__file__).parents[2]
PINNED = dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (CHECKOUT / "constraints.txt").read_text("utf-8"), re.MULTILINE))


def oldest_python() -> str:
    """Give the first release of the oldest Python that pyproject.toml allows."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = re.fullmatch(r">=(3\.\d+)", project["requires-python"])
    assert found is not None
    return f"{found[1]}.0"


@pytest.mark.gate
def test_oldest_python_may_have_all() -> None:
    """A pinned version that needs a later patch release cannot be installed: Debian 12 has Python 3.11.2."""
    wanted: dict[str, str] = {}
    for name, version in PINNED.items():
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # it is for other Pythons than this one
            continue
        if found.version == version:
            wanted[f"{name}=={version}"] = found.metadata.get("Requires-Python") or ""
    assert len(wanted) > 0.9 * len(PINNED)
    assert [each for each, python in wanted.items() if not SpecifierSet(python).contains(oldest_python())] == []
