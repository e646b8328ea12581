"""Pages whose scripts lead elsewhere at once: that is a redirect, and followed whatever the rules of a site follow."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.crawling import crawl, errors, pages
from tests.support.web import HTML, Response, Web

HOST = "127.0.76.1"
PAGES = {
    "/": '<!DOCTYPE html><a href="/unwanted">x</a><script>location.href = "/enter?as=guest"</script>',
    "/enter?as=guest": '<!DOCTYPE html><a href="/unwanted">x</a><script>location.replace("/list")</script>',
    "/list": '<!DOCTYPE html><a href="/unwanted">x</a><a class=item href="/item">x</a>',
    "/item": "<!DOCTYPE html><h1>Item</h1>",
}
TABLE = f"""\
[politeness]
delay = 0
user_agent = "tests (+mailto:tests@example.org)"
robots = false
[fetch]
allow_addresses = ['127.0.0.0/8']
[render]
hosts = ["{HOST}"]
SITE
# end of settings (leave this line: it shows that the file was read to its end)
"""
FOLLOW = """
[[site]]
hosts = ["HOST"]
follow = ["css:a.item"]
"""
CODE = f"""\
from fscrawl.site import Site

class App(Site):
    hosts = ["{HOST}"]

    def requests(self, page):
        yield from page.css('a.item::attr(href)')
"""


@pytest.mark.parametrize("by_code", [False, True])
def test_followed(root: Path, tmp_path: Path, by_code: bool) -> None:
    """The pages to which scripts lead are stored, and other links are left out."""
    root.mkdir()
    (root / "crawl.toml").write_text(TABLE.replace("SITE", "" if by_code else FOLLOW.replace("HOST", HOST)))
    file = tmp_path / "site.py"
    file.write_text(CODE)
    with Web(lambda asked: Response(200, HTML, PAGES[asked.path].encode()), [HOST]) as web:
        done = crawl(root, *(("--site", str(file)) if by_code else ()), seeds=[web.url(HOST)])
        assert done.code == 0, done
        assert errors(root) == {}
        assert {url.partition(urlsplit(url).netloc)[2] for url in pages(root)} == PAGES.keys()
        assert web.duplicates() == {}
