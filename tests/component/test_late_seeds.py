"""A seed that is added while the only machine leaves: the summary says so, and the next run fetches it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crawling import check_tree, crawl, pages
from tests.support.web import Web, site

_PROGRAM = """
import sys

from fscrawl.__main__ import main
from fscrawl.fleet.membership import Membership

leave = Membership.leave


def add_and_leave(self, **how):
    with open("{seeds}", "a") as file:
        file.write("{url}\\n")
    leave(self, **how)


if __name__ == "__main__":
    Membership.leave = add_and_leave
    sys.exit(main(["crawl", *sys.argv[1:]]))
"""


@pytest.mark.gate
def test_a_seed_that_comes_too_late(root: Path, tmp_path: Path) -> None:
    """Nobody can look after the goodbye and be there, so the one that has added it is told what to do."""
    with Web(site({"/": "", "/late": ""}), ["127.0.5.9"]) as web:
        late = web.url("127.0.5.9", "/late")
        program = tmp_path / "late.py"
        program.write_text(_PROGRAM.format(seeds=root / "seeds.txt", url=late))
        first = crawl(root, seeds=[web.url("127.0.5.9")], program=program)
        assert first.code == 0, first
        assert "1 seed came while it ended; what no other machine has fetched, the next run does" in first.out
        assert late not in pages(root)
        again = crawl(root)
        assert again.code == 0, again
        assert "nothing is left to fetch" in again.out
        assert late in pages(root)
        check_tree(root)
