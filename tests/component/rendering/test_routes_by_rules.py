"""Pages behind `#/` that the rules of a site find: a `follow`, or what a site file gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.request import read
from tests.support.crawling import crawl, errors, pages
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.74.1"
ITEMS = 6
APP = """<!DOCTYPE html><body><script>
const number = Number(location.hash.split("/")[2] || 0);
const numbers = [2 * number + 1, 2 * number + 2].filter(n => n <= ITEMS);
const links = numbers.map(n => `<a class=item href="#/item/${n}">n</a>`);
document.body.innerHTML = `<h1>Item ${number}</h1>${links.join("")}<a class=other href="#/other/${number}">o</a>`;
</script>""".replace("ITEMS", str(ITEMS))
SITE = f"""\
from fscrawl.site import Request, Site

class App(Site):
    hosts = ["{HOST}"]

    def seeds(self):
        yield "http://{HOST}:PORT/"

    def follow(self, page):
"""
SETTINGS = f"""\
[politeness]
delay = 0
user_agent = "tests (+mailto:tests@example.org)"
[fetch]
allow_addresses = ['127.0.0.0/8']
[render]
hosts = ["{HOST}"]
[[site]]
hosts = ["{HOST}"]
seeds = ["http://{HOST}:PORT/"]
follow = FOLLOW
# end of settings (leave this line: it shows that the file was read to its end)
"""


def serve(request: Request) -> Response:
    return Response(404) if request.path == "/robots.txt" else Response(200, HTML, APP.encode())


def found(root: Path) -> list[str]:
    assert errors(root) == {}
    return sorted(read(url).fragment for url in pages(root))


ALL_ITEMS = ["", *(f"/item/{number}" for number in range(1, ITEMS + 1))]


@pytest.mark.parametrize(
    "gives",
    [
        "yield from page.css('a.item::attr(href)')",
        "yield from (link for link in page.links if 'item' in link)",
        "yield from (Request(link, session='a') for link in page.links if 'item' in link)",
    ],
)
def test_a_site_file(tmp_path: Path, gives: str) -> None:
    """References and links that lead to a route are requests for it."""
    with Web(serve, [HOST]) as web:
        file = tmp_path / "site.py"
        file.write_text(SITE.replace("PORT", str(web.port)) + f"        {gives}\n")
        settings = {"render.hosts": f'["{HOST}"]'}
        done = crawl(tmp_path / "tree", "--site", str(file), settings=settings)
        assert done.code == 0, done
        assert found(tmp_path / "tree") == ALL_ITEMS


def test_a_table(tmp_path: Path) -> None:
    """`follow` finds routes; after an edit, in pages that are stored already."""
    root = tmp_path / "tree"
    root.mkdir()
    with Web(serve, [HOST]) as web:
        for follow, fragments in (
            ('["css:a.item"]', ALL_ITEMS),
            ('["css:a.item", "css:a.other"]', sorted([*ALL_ITEMS, *(f"/other/{n}" for n in range(ITEMS + 1))])),
        ):
            text = SETTINGS.replace("PORT", str(web.port)).replace("FOLLOW", follow)
            (root / "crawl.toml").write_text(text)
            done = crawl(root)
            assert done.code == 0, done
            assert found(root) == fragments
    assert max(web.counts().values()) == len(pages(root))  # each page was asked for once
