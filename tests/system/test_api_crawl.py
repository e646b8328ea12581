"""`fscrawl.crawl`: a machine is run from scripts, threads and notebooks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import fscrawl
from fscrawl.api import running
from tests.support.api_crawls import DEADLINE_S, SETTINGS, script, seed
from tests.support.crawling import CHECKOUT, check_tree
from tests.support.web import Web, linked_site

PAGES = 20


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(linked_site(PAGES, 3)) as web:
        yield web


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        words, capture_output=True, text=True, timeout=DEADLINE_S, check=False, cwd="/", env=environment
    )


def test_a_crawl_and_what_it_gives(tmp_path: Path, web: Web, capfd: pytest.CaptureFixture[str]) -> None:
    """A crawl stores the site and says what it did; once more, there is nothing to do. This process stays as it is."""
    root = tmp_path / "tree"
    before = (os.umask(0o022), signal.getsignal(signal.SIGINT), dict(os.environ))
    os.umask(before[0])
    result = fscrawl.crawl(root, [seed(web)], workers=1, **SETTINGS)
    assert (result.reason, result.pages, result.pending, result.fault) == ("finished", PAGES + 1, 0, "")
    assert result.root == root
    assert result.seconds > 0
    assert sum(result.errors.values()) == 0
    crawl = fscrawl.open(root)
    assert len(crawl) == PAGES + 1
    assert crawl.status().state == "finished"
    check_tree(root)
    again = fscrawl.crawl(str(root), progress=False)
    assert (again.reason, again.pages) == ("finished", 0)
    now = (os.umask(0o022), signal.getsignal(signal.SIGINT), dict(os.environ))
    os.umask(now[0])
    assert now == before
    assert capfd.readouterr().out == ""


def test_a_plain_script(tmp_path: Path, web: Web) -> None:
    """A script needs no main guard: it is run once, whatever processes a crawl has."""
    words = script(
        tmp_path / "plain.py",
        f"""
        import fscrawl
        print("began")
        result = fscrawl.crawl({str(tmp_path / "tree")!r}, {seed(web)!r}, workers=2, SETTINGS)
        print(result.pages, len(fscrawl.open({str(tmp_path / "tree")!r})))
        """,
    )
    done = run(words)
    assert (done.returncode, done.stdout) == (0, f"began\n{PAGES + 1} {PAGES + 1}\n"), done.stderr


def test_a_script_on_standard_input(tmp_path: Path, web: Web) -> None:
    """There need not even be a file."""
    code = f"import fscrawl; print(fscrawl.crawl({str(tmp_path / 'tree')!r}, {seed(web)!r}, **{SETTINGS!r}).pages)"
    done = run([sys.executable, "-c", code])
    assert (done.returncode, done.stdout) == (0, f"{PAGES + 1}\n"), done.stderr


def test_modules_of_the_working_directory_are_not_loaded(tmp_path: Path, web: Web) -> None:
    """A file beside the script that is called like a module of Python's does no harm to the crawl."""
    (tmp_path / "selectors.py").write_text("raise SystemExit('loaded')")
    words = script(
        tmp_path / "plain.py",
        f"""
        import os, sys
        here = os.path.dirname(__file__)
        sys.path[:] = [each for each in sys.path if each != here]
        import fscrawl
        os.chdir(here)
        print(fscrawl.crawl("tree", {seed(web)!r}, SETTINGS).pages)
        """,
    )
    done = run(words)
    assert (done.returncode, done.stdout) == (0, f"{PAGES + 1}\n"), done.stderr


def test_threads_and_an_event_loop(tmp_path: Path, web: Web) -> None:
    """Two crawls at the same time, in threads of a program whose main thread runs an event loop."""
    words = script(
        tmp_path / "loop.py",
        f"""
        import asyncio, fscrawl
        async def main():
            one = asyncio.to_thread(fscrawl.crawl, {str(tmp_path / "one")!r}, {seed(web)!r}, SETTINGS)
            two = asyncio.to_thread(fscrawl.crawl, {str(tmp_path / "two")!r}, {seed(web)!r}, SETTINGS)
            print(*(each.pages for each in await asyncio.gather(one, two)))
            print(fscrawl.crawl({str(tmp_path / "one")!r}).reason)
        asyncio.run(main())
        """,
    )
    done = run(words)
    assert (done.returncode, done.stdout) == (0, f"{PAGES + 1} {PAGES + 1}\nfinished\n"), done.stderr


def test_machines_on_one_tree(tmp_path: Path, web: Web) -> None:
    """Two calls on one tree are two machines; each page is stored once."""
    results: list[fscrawl.CrawlResult] = []

    def work() -> None:
        results.append(fscrawl.crawl(tmp_path / "tree", seed(web), workers=1, progress=False, **SETTINGS))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sum(result.pages for result in results) == len(fscrawl.open(tmp_path / "tree")) == PAGES + 1


# -- mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"politeness": {"delai": 1}}, "politeness.delai: unknown setting; did you mean politeness.delay?"),
        ({"seeds": ["nope"]}, "nope: not an http or https URL"),
        ({"seeds": []}, "to make a new tree, give a URL"),
        ({"refresh": "soon"}, "refresh soon: must be an age"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: dict[str, object], said: str) -> None:
    """A mistake is a FscrawlError with the sentence of `fscrawl crawl`."""
    with pytest.raises(fscrawl.FscrawlError) as caught:
        fscrawl.crawl(tmp_path / "tree", **{"seeds": ["http://a.example/"], "progress": False, **arguments})
    assert said in str(caught.value)
    assert not (tmp_path / "tree/links").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"threads": 0}, "threads=0: must be a whole number"),
        ({"seeds": 3}, "seeds=3: must be URLs"),
        ({"root": ""}, "root is empty; name a directory"),
        ({"root": "~/tree"}, "root='~/tree': Python does not replace ~; write os.path.expanduser('~/tree')"),
        ({"refresh": 7}, 'refresh=7: must be an age, like "7d"'),
        ({"allow_env": [7]}, "allow_env=[7]: must be the names"),
        ({"politeness": 0.5}, 'must be settings of a section, like politeness={"delay": 0.5}'),
        ({"politeness": {"delay": None}}, "politeness.delay = None: must be a text, a number"),
    ],
)
def test_mistakes_that_need_no_process(
    arguments: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument that is none is refused before anything is started."""
    monkeypatch.setattr(running.subprocess, "Popen", None)
    with pytest.raises(fscrawl.FscrawlError) as caught:
        fscrawl.crawl(**{"root": "tree", **arguments})
    assert said in str(caught.value)


def test_one_variable_is_allowed(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """One name is a name, and not a list of its letters."""
    monkeypatch.setenv("PASS", "secret")
    settings = {**SETTINGS, "fetch": {"allow_addresses": ["127.0.0.0/8"], "auth": {"127.0.0.1": "me:$PASS"}}}
    result = fscrawl.crawl(tmp_path / "tree", seed(web), workers=1, progress=False, allow_env="PASS", **settings)
    assert result.pages > 0


def test_settings_of_every_kind(tmp_path: Path, web: Web) -> None:
    """Settings are plain values of Python, whatever TOML would write."""
    result = fscrawl.crawl(
        tmp_path / "tree",
        seed(web),
        progress=False,
        politeness={"delay": 0, "robots": False, "user_agent": 'a "quoted" \\ one'},
        fetch={"allow_addresses": ["127.0.0.0/8"], "accept": ("text/html",), "headers": {"X-Of": "tests"}},
        crawl={"max_depth": 1},
    )
    assert result.pages > 0
    text = (tmp_path / "tree/crawl.toml").read_text()
    assert 'accept = ["text/html"]' in text
    assert {exchange.path for exchange in web.requests(path="/robots.txt")} <= {"/robots.txt"}


def test_a_python_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python inside of another program says that it can start no crawl."""
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(fscrawl.FscrawlError, match="can start no crawl"):
        fscrawl.crawl("tree", "http://a.example/", progress=False)


def test_the_copy_of_fscrawl(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds this copy of fscrawl, whatever the caller did to find it."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert running._environment()["PYTHONPATH"] == str(CHECKOUT)
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert running._environment()["PYTHONPATH"] == f"{CHECKOUT}{os.pathsep}/elsewhere"
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    assert running._environment()["PYTHONPATH"] == str(CHECKOUT)
    monkeypatch.setattr(running, "__file__", "/usr/lib/python3/site-packages/fscrawl/api/running.py")
    assert running._environment() == dict(os.environ)


# -- data sets


def test_workers_of_a_loader(tmp_path: Path, web: Web) -> None:
    """Processes of every start method read a pickled crawl, each a part of it; also after a fork."""
    root = tmp_path / "tree"
    fscrawl.crawl(root, seed(web), progress=False, **SETTINGS)
    words = script(
        tmp_path / "workers.py",
        f"""
        import json, multiprocessing, sys, fscrawl
        def read(crawl, shard):
            return [row["url"] for row in crawl.rows(("url", "text"), shard=shard)]
        if __name__ == "__main__":
            crawl = fscrawl.open({str(root)!r})
            next(crawl.pages())
            found = {{}}
            for method in ("fork", "spawn", "forkserver"):
                pool = multiprocessing.get_context(method).Pool(2)
                parts = pool.starmap(read, [(crawl, (number, 3)) for number in range(3)])
                pool.close()  # the end of a `with` would kill its processes, and coverage may let that hang
                pool.join()
                found[method] = sorted(sum(parts, []))
            print(json.dumps(found))
        """,
    )
    done = run(words)
    assert done.returncode == 0, done.stderr
    expected = sorted(page.url for page in fscrawl.open(root))
    assert json.loads(done.stdout) == dict.fromkeys(("fork", "spawn", "forkserver"), expected)


def test_hugging_face(tmp_path: Path, web: Web) -> None:
    """`datasets` reads the pages as they come, and divides shards among its workers."""
    datasets = pytest.importorskip("datasets")
    root = tmp_path / "tree"
    fscrawl.crawl(root, seed(web), progress=False, **SETTINGS)
    crawl = fscrawl.open(root)

    def rows(shards):  # type: ignore[no-untyped-def]
        for shard in shards:
            yield from crawl.rows(("url", "text"), shard=shard)

    data = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": [(number, 4) for number in range(4)]})
    expected = sorted(page.url for page in crawl)
    assert data.num_shards == 4
    assert sorted(row["url"] for row in data) == expected
    halves = [[row["url"] for row in data.shard(2, number)] for number in range(2)]
    assert sorted([*halves[0], *halves[1]]) == expected
    assert all(len(half) < len(expected) for half in halves)
