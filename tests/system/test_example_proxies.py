"""The example of journals through proxies: each is used as often as the settings allow, and one of them dies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from examples.run import HERE, site_words
from fscrawl import cli
from fscrawl.request import read
from tests.imitations.journals import Journals
from tests.support.crawling import Running, check_tree, command, errors, pages
from tests.support.web import Request, Response, Web

pytestmark = pytest.mark.proof

FOLDER = HERE / "journals"
USES = 20  # three proxies together: not enough for all pages


def small_site() -> Journals:
    days, classes = ("2024-01-01", "2024-01-02"), ("Q1", "R2")
    return Journals(days, classes, results=(13, 0, 4, 31), a_page=5, is_ill=False)


def behind_a_proxy(imitation: Journals) -> Callable[[Request], Response]:
    """Answer as a proxy to the imitation, which listens nowhere itself: no request can go around the proxies."""
    site = f"http://{imitation.host}:{imitation.port}"

    def serve(request: Request) -> Response:
        assert request.path.startswith(site), request
        return imitation(replace(request, path=request.path.removeprefix(site)))

    return serve


def make_tree(root: Path, imitation: Journals, proxies: Sequence[Web]) -> None:
    """Copy the example's tree, with the seeds of this imitation, and proxies as its comments show them."""
    shutil.copytree(FOLDER / "tree", root)
    lines = (root / "seeds.txt").read_text().splitlines(keepends=True)
    wanted = [f"day={day}&class={class_} " for day in imitation.days for class_ in imitation.classes]
    (root / "seeds.txt").write_text("".join(line for line in lines if any(words in line for words in wanted)))
    addresses = [f"http://{proxy.hosts[0]}:{proxy.port}" for proxy in proxies]
    settings = (root / "crawl.toml").read_text().replace("[politeness]", "[politeness]\ngive_up_after = 2", 1)
    lines = settings.splitlines()
    [listed] = [number for number, line in enumerate(lines) if line.startswith("# proxies = [")]
    [used] = [number for number, line in enumerate(lines) if line.startswith("# proxy_uses = ")]
    lines[listed], lines[used] = f"proxies = {addresses}", f"proxy_uses = {USES}"
    (root / "crawl.toml").write_text("\n".join(lines) + "\n")


def test_proxies_that_are_used_up_and_one_that_dies(tmp_path: Path) -> None:
    """The others take over from a dead proxy; what is left when all are used up is tried again with new uses."""
    root, imitation = tmp_path / "tree", small_site()
    with ExitStack() as stack:
        proxies = [stack.enter_context(Web(behind_a_proxy(imitation))) for _ in range(3)]
        make_tree(root, imitation, proxies)
        words = command(root, *site_words(FOLDER), workers=1)
        with Running(words) as machine:
            machine.until(lambda: proxies[0].count() > 5, "requests through the first proxy")
            proxies[0].stop()
            assert machine.wait().code == 0
        assert [proxy.count() for proxy in proxies[1:]] == [USES, USES]
        assert {each.class_ for each in errors(root).values()} == {"proxy"}
        assert cli.main(["retry", "--root", str(root), "--class", "proxy"]) == 0
        with Running(words) as machine:
            assert machine.wait().code == 0
    assert errors(root) == {}
    assert {read(spelling).url for spelling in pages(root)} == urls_of(imitation)
    assert len(pages(root)) == len(imitation.stored())
    check_tree(root)


def urls_of(imitation: Journals) -> set[str]:
    return {f"http://{imitation.host}:{imitation.port}{path}" for path, _ in imitation.stored()}
