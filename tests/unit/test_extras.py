"""The extras of pyproject.toml, and the places that name them all: who adds one must not forget any."""

import re
import tomllib
from pathlib import Path

from fscrawl.admin.doctor.this_machine import EXTRAS
from tools.build_pyz import EXTRAS as OF_PYZ

CHECKOUT = Path(__file__).parents[2]
DECLARED = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
OF_DEVELOPERS = {"dev", "docs"}  # for work in a checkout: tests, and the site of the documentation
OF_USERS = sorted(DECLARED.keys() - OF_DEVELOPERS - {"all"})


def named(requirement: str) -> list[str]:
    """Give the extras in "fscrawl[one,two]"."""
    found = re.fullmatch(r"fscrawl\[([a-z,-]+)\]", requirement)
    assert found is not None, requirement
    return found[1].split(",")


def test_all_is_all() -> None:
    """The extra `all` has each extra that users have, once, and nothing else."""
    [requirement] = DECLARED["all"]
    assert sorted(named(requirement)) == OF_USERS


def test_doctor_looks_for_each() -> None:
    """The command doctor says of each extra whether it is installed."""
    assert sorted(EXTRAS) == OF_USERS


def test_one_file_has_some() -> None:
    """What `fscrawl.pyz` brings along are extras."""
    assert set(OF_PYZ.split(",")) < set(OF_USERS)


def test_each_is_documented() -> None:
    """How to install has a row for each extra that users have, and for no other."""
    text = (CHECKOUT / "docs/how-to/install.md").read_text(encoding="utf-8")
    table = text.partition("\n## Extras\n")[2].partition("\n| way |")[0]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == sorted([*OF_USERS, "all"])
