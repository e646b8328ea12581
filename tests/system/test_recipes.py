"""docs/recipes.md is true: the commands of each recipe are run as they stand, and bring what the recipe promises.

What differs from a reader's world is replaced: the two directories, and the names of sites, which are on loopback. A
crawl waits no second between two pages, and may ask private addresses.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from demo.site import HOSTS, Site
from fscrawl.render.executable import BROWSERS
from fscrawl.request import url_of
from tests.support.crawling import Running, check_tree, errors, pages
from tests.support.recipes import ADDRESS, Recipe, RecipeWeb, on_loopback, recipes
from tests.support.web import Request, Web

pytestmark = pytest.mark.proof

CHECKOUT = Path(__file__).resolve().parents[2]
SETTINGS = ("politeness.delay=0", 'fetch.allow_addresses=["127.0.0.0/8"]', "fleet.beat=1", "fleet.dead_after=5")
DEADLINE_S = 90.0
_FSCRAWL = """\
#!/bin/sh
case "$1" in crawl|try) [ -e {root}/crawl.toml ] || exec {python} -m fscrawl "$@" {settings} ;; esac
exec {python} -m fscrawl "$@"
"""


class Run(NamedTuple):
    """A recipe that was run: where, what was printed, and against which web."""

    directory: Path
    root: Path
    printed: str
    web: Web

    def urls(self, root: Path | None = None) -> set[str]:
        """Give what is stored, as the recipes name it: "example.org/docs/one"."""
        names = {address: name for name, address in ADDRESS.items()}
        found = set()
        for record in pages(root or self.root).values():
            host, _, path = record.url.removeprefix("http://").partition("/")
            found.add(f"{names[host.partition(':')[0]]}/{url_of(path)}")
        return found

    def dataset(self, where: str) -> list[dict[str, object]]:
        """Give the rows of Parquet files."""
        import pyarrow.parquet as pq

        return [row for path in sorted(self.directory.glob(where)) for row in pq.read_table(path).to_pylist()]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    pdf = Site()(Request("GET", HOSTS[5], "/leaflet.pdf", {"host": f"{HOSTS[5]}:80"}, 0.0)).body
    with Web(RecipeWeb(pdf), hosts=list(ADDRESS.values()), deadline_s=900) as served:
        yield served


class World:
    """A directory in which recipes are run, with a `fscrawl` of its own in PATH."""

    def __init__(self, directory: Path, web: Web) -> None:
        self.directory, self.web = directory, web
        self.root = directory / "srv" / "crawl"
        for name in ("srv", "mnt", "bin"):
            (directory / name).mkdir()
        words = " ".join(f"--set {shlex.quote(each)}" for each in SETTINGS)
        program = directory / "bin" / "fscrawl"
        program.write_text(_FSCRAWL.format(root=self.root, python=sys.executable, settings=words), encoding="utf-8")
        program.chmod(0o755)
        path = f"{program.parent}:{CHECKOUT / '.venv/bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT), "COLUMNS": "200"}

    def here(self, block: str) -> str:
        """Give a block as it is run here."""
        text = on_loopback(block, self.web.port)
        if "crawl.toml <<" in text:
            ours = "[politeness]\ndelay = 0\n[fleet]\nbeat = 1\n[fetch]\nallow_addresses = ['127.0.0.0/8']\n"
            text = text.replace("[fetch]\n", "", 1).replace("crawl.toml <<'END'\n", f"crawl.toml <<'END'\n{ours}", 1)
        return text.replace("/srv/crawl", str(self.root)).replace("/mnt/large", str(self.directory / "mnt/large"))

    def run(self, block: str, code: int = 0) -> str:
        """Run a block; give what it printed. Each command but the last must succeed."""
        done = subprocess.run(
            ["bash", "-e", "-c", self.here(block)],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == code, f"{block}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def at_work(self) -> Running:
        """Start a machine that stays."""
        words = [str(self.directory / "bin/fscrawl"), "crawl", "--root", str(self.root), "--workers", "2", "--wait"]
        return Running(words, cwd=self.directory, env=self.environment)


@pytest.fixture(scope="module")
def crawled(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the crawl that a recipe begins with."""
    world = World(tmp_path_factory.mktemp("crawled"), web)
    accept = '\'fetch.accept=["text/html", "application/pdf"]\''
    world.run(f"fscrawl crawl --root /srv/crawl --seed https://example.org/ --set crawl.scope=any --set {accept}")
    return world.root


ALL = {
    *("example.org/", "example.org/docs/", "example.org/docs/one", "example.org/docs/two", "example.org/news"),
    *("example.org/de", "example.org/leaflet.pdf", "www.example.net/", "www.example.net/two"),
}


def only(*urls: str) -> Callable[[Run], None]:
    """Make a check that exactly these pages are stored."""

    def check(run: Run) -> None:
        assert run.urls() == set(urls)
        check_tree(run.root)

    return check


def _pdf(run: Run) -> None:
    assert re.search(r"files/.*\.pdf", run.printed)
    [row] = [row for row in run.dataset("dataset/pages/*.parquet") if row["file"]]
    assert row["body"].startswith(b"%PDF")
    assert "almanac" in row["text"]


def _json(run: Run) -> None:
    titles = [row["heading"] for row in run.dataset("dataset/pages/*.parquet")]
    assert {title for title in titles if title} == {f"Item {number}" for number in range(2, 8)}


def _search(run: Run) -> None:
    assert len(run.urls()) == 7  # the URL of the search has six requests
    assert len(pages(run.root)) == 12
    assert "2024-01-03 R2" in run.printed


def _secret_stays(*urls: str) -> Callable[[Run], None]:
    def check(run: Run) -> None:
        only(*urls)(run)
        assert not [path for path in run.root.rglob("*") if path.is_file() and b":secret" in path.read_bytes()]

    return check


def _proxied(run: Run) -> None:
    assert "example.org/docs/one" in run.urls()
    assert run.web.count(ADDRESS["proxy.example"]) >= 5


def _members(run: Run) -> None:
    assert run.urls() == {"members.example/", "members.example/mine", "members.example/help"}
    assert errors(run.root) == {}
    assert "follow" in run.printed


def _slower(run: Run) -> None:
    assert "delay = 5" in (run.root / "crawl.toml").read_text(encoding="utf-8").splitlines()


def _added(run: Run) -> None:
    assert "www.example.net/two" in run.urls()


def _moved(run: Run) -> None:
    large = run.directory / "mnt/large"
    assert run.urls(large) == ALL
    check_tree(large)
    assert (run.root / "STOP").exists()
    assert not (large / "STOP").exists()


def _thrown_away(run: Run) -> None:
    assert run.urls() == {url for url in ALL if url.startswith("example.org")}
    check_tree(run.root, whole=False)


def _german(run: Run) -> None:
    [row] = run.dataset("german.parquet")
    assert row["url"].endswith("/de")
    assert "Leuchtturm" in row["text"]


def _archives(run: Run) -> None:
    assert list(run.directory.glob("archive/warc/*.warc.gz"))


def prints(*words: str) -> Callable[[Run], None]:
    """Make a check that these words are printed."""

    def check(run: Run) -> None:
        assert [word for word in words if word not in run.printed] == []

    return check


PROMISES: dict[str, Callable[[Run], None]] = {
    "See what a crawl would make of a page": prints("follow", "cut", "Docs"),
    "Crawl a site on localhost or in your intranet": only("wiki.example/", "wiki.example/more"),
    "Crawl three levels deep": only("example.org/", *(url for url in ALL if url.startswith("example.org/"))),
    "See what has changed since yesterday": prints("before", "after", "0 rows"),
    "Export text for an LLM": prints("part-0001"),
    "Crawl only one section of a site": only("example.org/docs/", "example.org/docs/one", "example.org/docs/two"),
    "Fetch a list of URLs, and nothing else": only("example.org/docs/one", "www.example.net/two"),
    "Take at most 100 pages of each host": only(*ALL),
    "Collect PDF files": _pdf,
    "Crawl a site behind a password": _secret_stays("intranet.example/", "intranet.example/more"),
    "Crawl a site behind a login form": _members,
    "Crawl a JSON interface": _json,
    "Crawl what a search form finds": _search,
    "Crawl JavaScript pages": only("app.example.org/", "app.example.org/made"),
    "Use a proxy": _proxied,
    "Add seeds while machines run": _added,
    "Slow down or speed up while machines run": _slower,
    "Pause one host": prints("created: PAUSE.", "removed: PAUSE."),
    "Stop all machines, and continue later": prints("created: STOP", "removed: STOP", "0 URLs pending"),
    "Continue after a power cut": prints("0 URLs pending", "nothing is wrong"),
    "Find out why a page is missing": prints("Disallow: /private/", "found on"),
    "Retry what failed": prints("will be tried again: 1 URL", "1 failure"),
    "Refresh the pages each week": prints("pages"),
    "Move the crawl to another disk": _moved,
    "Remove a host": _thrown_away,
    "Export Parquet, and query it with DuckDB": prints("url_host_name", "127.0.43.1"),
    "Export the text of German pages only": _german,
    "Export WARC or WACZ, and replay it": _archives,
    "Export a spreadsheet (CSV)": prints("url,", "http://127.0.43.1:"),
    "Use it from Python": prints("lighthouse", "Front"),
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_a_recipe_does_what_it_says(recipe: Recipe, web: Web, crawled: Path, tmp_path: Path) -> None:
    """The commands of the recipe run as they stand, with the exit code that it says, and bring what it promises."""
    if "needs chromium" in recipe.said and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no Chromium is installed")
    world = World(tmp_path, web)
    if "a crawl" in recipe.said or "running" in recipe.said:
        shutil.copytree(crawled, world.root)
    code = int((re.search(r"exit (\d+)", recipe.said) or [0, 0])[1])
    if "running" not in recipe.said:
        printed = "".join(world.run(block, code) for block in recipe.blocks)
        PROMISES[recipe.title](Run(tmp_path, world.root, printed, web))
        return
    if "seeds" in recipe.title:  # which would be there already
        shutil.rmtree(world.root)
        world.run("fscrawl crawl --root /srv/crawl --seed https://example.org/docs/ --set crawl.max_depth=1")
    with world.at_work() as machine:
        machine.until(lambda: at_work(world.root), "a machine is at work")
        printed = ""
        for block in recipe.blocks:
            printed += world.run(block)
            if "fscrawl stop" in block:
                assert machine.wait(30).code == 0
        check_soon(lambda: PROMISES[recipe.title](Run(tmp_path, world.root, printed, web)))
        if machine.process.poll() is None:
            machine.signal(signal.SIGINT)
            machine.wait(30)


def at_work(root: Path) -> bool:
    """Tell whether a machine that has not left has said something."""
    logs = (root / ".fscrawl/machines").glob("*.log")
    return any('"beat"' in (text := log.read_text(encoding="utf-8")) and '"bye"' not in text for log in logs)


def check_soon(check: Callable[[], None]) -> None:
    """Wait until a check holds: machines do what they are told at their next heartbeat."""
    until = time.monotonic() + 60
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > until:
                raise
        time.sleep(0.1)
