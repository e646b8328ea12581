"""A `crawl.toml` that somebody has written by hand, without its last line."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.crawling import crawl
from tests.support.web import HTML, Response, Web

HOST = "127.0.75.1"
TEXT = """\
[politeness]
delay = 0.0
[fetch]
allow_addresses = ['127.0.0.0/8']
[[site]]
hosts = ["{host}"]
seeds = "http://{host}/{{1..2}}"
"""


def test_it_is_not_waited_for(root: Path) -> None:
    """A file that was written a while ago is complete, and one that machines have used before."""
    with Web(lambda request: Response(200, HTML, b"<p>"), [HOST]) as web:
        root.mkdir()
        file = root / "crawl.toml"
        file.write_text(TEXT.format(host=f"{HOST}:{web.port}"))
        os.utime(file, (0, 0))
        done = crawl(root)
        assert (done.code, web.count(HOST, "/2")) == (0, 1), done
        os.utime(file)
        again = crawl(root)
        assert again.code == 0, again
        assert "waiting" not in done.err + again.err
