"""The first commands that people type, with the habits of wget, curl, Scrapy, restic and git.

Each of them works, or says in one line what to type.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import SETTINGS, Done, fscrawl, lines_of
from tests.support.trees import Grown
from tests.support.web import Web, linked_site

HOST = "127.0.61.1"
SET = " ".join(f"--set {name}={shlex.quote(value)}" for name, value in SETTINGS.items() if name != "crawl.scope")
QUICK = f"--workers 0 {SET}"


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(linked_site(4, 2), [HOST]) as web:
        yield web


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a tree `t`, a file of URLs, and no crawl around it."""
    grown = Grown(tmp_path / "t")
    grown.page("http://a.example/")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSCRAWL_ROOT", raising=False)
    monkeypatch.setattr("sys.argv", ["/usr/bin/fscrawl"])
    monkeypatch.setattr("fscrawl.commands.crawl.start_server", lambda modules: None)  # no worker is needed
    return tmp_path


def typed(line: str, url: str = "") -> Done:
    """Run a line as a shell does. URL stands for that of a web server."""
    return fscrawl(*shlex.split(line.replace("URL", url).removeprefix("fscrawl")))


WORKS = [
    # a first crawl
    f"fscrawl crawl --root new URL {QUICK}",
    f"fscrawl crawl URL --root new {QUICK}",
    f"fscrawl crawl --root new --seed URL {QUICK}",
    f"fscrawl crawl --root new URL {QUICK} --depth 1 --max-pages 3 --scope host --delay 0",
    f"fscrawl crawl --root new URL {QUICK} --allow 'p' --deny '[.]pdf$' --user-agent 'me (+https://a.example)'",
    f"fscrawl crawl --root new --seeds urls.txt {QUICK}",
    f"fscrawl crawl --root new URL --quiet {QUICK}",
    f"fscrawl crawl --root=new URL {QUICK}",
    # looking at a tree
    "fscrawl status t",
    "fscrawl status --root t",
    "fscrawl status --json t",
    "fscrawl audit t",
    "fscrawl show t http://a.example/",
    "fscrawl show http://a.example/ --root t",
    "fscrawl report t --out report.html",
    "fscrawl doctor t",
    "fscrawl pause t",
    "fscrawl stop t",
    "fscrawl resume t",
    "fscrawl retry t --class dns",
    "fscrawl retry t --class dns,timeout",
    # exports
    "fscrawl export t --out dataset",
    "fscrawl export t --format csv -o out.csv",
    "fscrawl merge --root t --out dataset --format jsonl",
    # help
    "fscrawl --version",
    "fscrawl -V",
    "fscrawl --help",
    "fscrawl -h",
    "fscrawl help",
    "fscrawl help crawl",
    "fscrawl crawl --help",
    "fscrawl help export",
]


@pytest.mark.parametrize("line", WORKS)
def test_it_works(line: str, here: Path, web: Web) -> None:
    """What people type first does what they mean."""
    (here / "urls.txt").write_text(web.url(HOST) + "\n")
    done = typed(line, web.url(HOST))
    assert done.code == 0 or (done.code == 1 and "doctor" in line), done
    assert "Traceback" not in done.err


TOLD = [
    # wget
    ("fscrawl https://example.org", "fscrawl crawl --root DIR https://example.org"),
    ("fscrawl example.org", "crawl"),
    ("fscrawl -r -l 3 https://example.org", "crawl --root DIR URL; unknown option -r: leave it out, links"),
    ("fscrawl --recursive --level=3 https://example.org", "--level: type --depth N"),
    ("fscrawl crawl --root x -r -l 3 https://example.org", "-l: type --depth N"),
    ("fscrawl crawl --root x -i urls.txt", "-i: type --seeds FILE"),
    ("fscrawl crawl --root x urls.txt", "did you mean --seeds urls.txt?"),
    ("fscrawl crawl --root x example.org", "write https://example.org/"),
    ("fscrawl crawl --root x -np -w 2 https://example.org", "-w: type --delay S"),
    ("fscrawl crawl --root x --wait=2 https://example.org", "--wait"),
    ("fscrawl crawl -P out https://example.org", "-P: type --root DIR"),
    ("fscrawl mirror https://example.org", "fscrawl crawl --root DIR URL"),
    # curl
    ("fscrawl -L https://example.org", "targets of redirects are always fetched"),
    ("fscrawl crawl --root x -A me/1.0 https://example.org", "type --allow RE"),
    ("fscrawl crawl --root x -o out https://example.org", "-o: type --root DIR"),
    ("fscrawl get https://example.org", "fscrawl crawl --root DIR URL"),
    # Scrapy
    ("fscrawl startproject mine", "fscrawl crawl --root DIR URL"),
    ("fscrawl runspider spider.py", "fscrawl crawl --root DIR URL"),
    ("fscrawl shell https://example.org", "fscrawl try URL"),
    ("fscrawl crawl --root x -s DOWNLOAD_DELAY=1 https://example.org", "-s: type --set NAME=VALUE"),
    ("fscrawl crawl --root x --set DOWNLOAD_DELAY=1 https://example.org", "politeness.delay"),
    ("fscrawl crawl --root x https://example.org --javascript example.org", "--javascript: type --render HOST"),
    # restic and git
    ("fscrawl init", "fscrawl crawl --root DIR URL"),
    ("fscrawl init --repo t", "fscrawl crawl --root DIR URL"),
    ("fscrawl -C t status", "-C: type --root DIR"),
    ("fscrawl --repo t stats", "--repo: type --root DIR"),
    ("fscrawl stats", "fscrawl status"),
    ("fscrawl ls", "fscrawl status"),
    ("fscrawl check", "fscrawl audit"),
    ("fscrawl log", "fscrawl show URL"),
    ("fscrawl clone https://example.org", "fscrawl crawl --root DIR URL"),
    ("fscrawl version", "fscrawl --version"),
    # nothing, or too little
    ("fscrawl crawl", "which tree? type:  fscrawl crawl --root DIR"),
    ("fscrawl crawl https://example.org/", "which tree? type:  fscrawl crawl --root DIR"),
    ("fscrawl crawl --root new", "give a URL, --seeds FILE"),
    ("fscrawl crawl new https://example.org/", "which tree? type:  fscrawl crawl --root DIR"),
    ("fscrawl status", "which tree? type:  fscrawl status --root DIR"),
    ("fscrawl export", "-o/--out"),
    ("fscrawl dump t", "fscrawl merge --out DIR"),
    ("fscrawl stauts t", "fscrawl status"),
    ("fscrawl dashboard t --host 0.0.0.0", "--host: type --bind ADDRESS"),
    ("fscrawl crawl --root x --follow https://example.org", "--follow: type --wait"),
]


@pytest.mark.parametrize(("line", "says"), TOLD)
def test_it_is_told(line: str, says: str, here: Path) -> None:
    """What does not work is one line that says what to type, and nothing is made."""
    (here / "urls.txt").write_text("http://a.example/\n")
    there = sorted(here.rglob("*"))
    done = typed(line)
    assert done.code == 2, done
    (said,) = lines_of(done.err)
    assert says in said
    assert sorted(here.rglob("*")) == there


def test_the_first_failure_of_a_seed(here: Path, web: Web) -> None:
    """A seed whose host fails is told at once, and once; a seed of a host that answers is not."""
    quick = f"--workers 0 {SET} --set politeness.give_up_after=0"
    done = typed(f"fscrawl crawl --root new URL http://127.0.61.9:8711/ {quick}", web.url(HOST))
    [said] = [line for line in lines_of(done.err) if "fails" in line]
    assert said.startswith("127.0.61.9:8711 fails (connect): "), done


def test_a_private_address(here: Path, web: Web) -> None:
    """A crawl of an own server says the line that allows its address, at once and in the summary."""
    done = typed("fscrawl crawl --root new --workers 0 URL", web.url(HOST))
    line = f'write allow_addresses = ["{HOST}"] below [fetch]'
    assert f"{HOST} is a private address; if it is yours, {line}" in done.err
    assert f"{line} in new/crawl.toml; then:  fscrawl retry --root new --class blocked-address" in done.out
    assert typed("fscrawl show new /missing").out.count("https://example.org/missing") == 1


def test_inside_a_tree(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a tree, as inside of a repository of git, and with FSCRAWL_ROOT, no tree need be named."""
    monkeypatch.chdir(here / "t/links")
    assert typed("fscrawl status").code == 0
    monkeypatch.chdir(here)
    monkeypatch.setenv("FSCRAWL_ROOT", "t")
    assert typed("fscrawl status").code == 0
