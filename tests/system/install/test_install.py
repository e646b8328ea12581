"""The ways to install are true: each is typed word for word in a fresh Debian 12, and its last command crawls a site.

A way is the first block of commands below a comment `<!-- way: NAME -->` of docs/how-to/install.md, or of README.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, check_tree, pages
from tests.support.installing import debian
from tests.support.installing.debian import Debian
from tests.support.installing.inside import NAME, PAGES

pytestmark = [pytest.mark.root, pytest.mark.proof, pytest.mark.timeout(900)]

MOST_COMMANDS = 5
_WAY = re.compile(
    r"^<!-- way: ([^\n,]*)(, in a checkout)? -->\n+(?:```sh\n(.*?)^```|((?:    [^\n]*\n)+))", re.MULTILINE | re.DOTALL
)


def ways(text: str) -> dict[str, tuple[str, list[str]]]:
    """Read the ways of a document: name → the directory where they begin, and the commands.

    >>> ways("<!-- way: x, in a checkout -->\\n\\n    make  # all\\n    run\\n\\n    other\\n")
    {'x': ('/root/checkout', ['make  # all', 'run'])}
    """
    return {
        name: ("/root/checkout" if checkout else "/root", [line.strip() for line in (fenced or indented).splitlines()])
        for name, checkout, fenced, indented in _WAY.findall(text)
    }


WAYS = ways((CHECKOUT / "docs/how-to/install.md").read_text(encoding="utf-8"))
README = ways((CHECKOUT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def system(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debian]:
    """Give a Debian in memory, and beside it the wheel."""
    lacking = debian.missing()
    if os.geteuid() != 0 or lacking:
        pytest.skip(f"a root directory of its own needs root and {', '.join(lacking or debian.PROGRAMS)}")
    wheels, place = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("debian")
    shutil.copy2(next(built.glob("*.whl")), wheels)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6g,mode=755", "tmpfs", str(place)], check=True)
    try:
        yield Debian(place, wheels)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_the_ways_are_found() -> None:
    """The page has three ways and README has its quick start; none has more than five commands."""
    assert set(WAYS) == {"a wheel", "one file", "a checkout"}
    assert set(README) == {"the quick start"}
    for _, commands in (WAYS | README).values():
        assert 2 <= len(commands) <= MOST_COMMANDS


@pytest.mark.parametrize("way", WAYS)
def test_each_way_ends_with_a_crawl(system: Debian, way: str) -> None:
    """Every command of the way ends well, and the last one has stored the site."""
    directory, commands = WAYS[way]
    layer, printed = system.type(commands, directory, site=True)
    assert "finished" in printed
    assert_crawled(layer / directory.lstrip("/") / "tree")


def test_the_quick_start_of_readme(system: Debian) -> None:
    """README's quick start crawls the demo web first, then the seeds of a file."""
    directory, commands = README["the quick start"]
    layer, _ = system.type(commands[:-1], directory, site=False)
    assert len(list((layer / "root/checkout/shared-tree/links").rglob("*.json"))) == 90
    (layer / "root/checkout/seeds.txt").write_text(f"http://{NAME}/\n")
    (layer / "mnt/shared").mkdir(parents=True)
    layer, _ = system.type(commands, directory, site=True)
    assert_crawled(layer / "mnt/shared")


def assert_crawled(root: Path) -> None:
    found = pages(root)
    assert {record.url.split("/")[2] for record in found.values()} == {NAME}
    assert len(found) == PAGES + 1
    check_tree(root)
