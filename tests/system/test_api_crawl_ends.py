"""How `fscrawl.crawl` ends: Ctrl-C, STOP, a limit, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import fscrawl
from fscrawl.api import running
from tests.support.api_crawls import DEADLINE_S, SETTINGS, script, seed, wait_for
from tests.support.crawling import CHECKOUT, check_tree
from tests.support.web import Web, linked_site


@pytest.fixture(scope="module")
def endless() -> Iterator[Web]:
    with Web(linked_site(100_000, 3)) as web:
        yield web


INTERRUPTED = """
    import fscrawl, os
    print(os.getpid(), flush=True)
    try:
        fscrawl.crawl({root!r}, {seed!r}, workers=1, SETTINGS)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def begun(tmp_path: Path, endless: Web, text: str = INTERRUPTED) -> subprocess.Popen[str]:
    """Start a script that crawls without end; it has stored pages."""
    root = tmp_path / "tree"
    words = script(tmp_path / "plain.py", text.format(root=str(root), seed=seed(endless)))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    wait_for(lambda: len(list(root.glob("links/*/*.json"))) > 5)
    return process


def is_crawled(root: Path) -> bool:
    """Tell whether a process works on a tree."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"fscrawl.api.child" in path.read_bytes() and _is_of(path.parent, root):
                return True
        except OSError:
            continue
    return False


def _is_of(process: Path, root: Path) -> bool:
    return f"FSCRAWL_TEST={root}".encode() in (process / "environ").read_bytes().split(b"\0")


def test_ctrl_c(tmp_path: Path, endless: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C stops a crawl cleanly, and is raised when the pages in flight are stored; the next call goes on."""
    monkeypatch.setenv("FSCRAWL_TEST", str(tmp_path))
    with begun(tmp_path, endless) as process:
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out.split()[1:]) == (0, ["interrupted"]), err
    assert "Traceback" not in err
    assert not is_crawled(tmp_path)
    check_tree(tmp_path / "tree")
    assert fscrawl.open(tmp_path / "tree").status().state == "stopped"


def test_ctrl_c_while_the_process_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt in the moment when the process has been started leaves none behind."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **options))
        return started[-1]

    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.subprocess, "Popen", start)
    monkeypatch.setattr("tqdm.std.tqdm.monitor_interval", 0)  # or the first bar of a process starts a thread
    monkeypatch.setattr(running.threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fscrawl.crawl(tmp_path / "tree", "http://a.example/", progress=False)
    try:
        assert started[0].returncode is not None
    finally:
        started[0].kill()
        started[0].stderr.close()


def test_a_script_that_is_killed(tmp_path: Path, endless: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the process that has asked for a crawl is killed, the crawl stops, cleanly."""
    monkeypatch.setenv("FSCRAWL_TEST", str(tmp_path))
    with begun(tmp_path, endless) as process:
        process.kill()
        wait_for(lambda: not is_crawled(tmp_path))
    assert fscrawl.open(tmp_path / "tree").status().state == "stopped"
    check_tree(tmp_path / "tree")


FORKED = """
    import fscrawl, os, pathlib, threading, time
    def fork():
        while not pathlib.Path({root!r}).exists():
            time.sleep(0.01)
        if os.fork() == 0:
            pathlib.Path({root!r} + ".forked").write_text(str(os.getpid()))
            time.sleep(60)
            os._exit(0)
    threading.Thread(target=fork).start()
    fscrawl.crawl({root!r}, {seed!r}, workers=1, SETTINGS)
"""


def test_a_script_that_is_killed_and_has_forked(tmp_path: Path, endless: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it does if a copy of that process, such as a worker of a pool, lives on."""
    monkeypatch.setenv("FSCRAWL_TEST", str(tmp_path))
    with begun(tmp_path, endless, FORKED) as process:
        copy = tmp_path / "tree.forked"
        wait_for(lambda: copy.exists() and copy.read_text())
        try:
            process.kill()
            wait_for(lambda: not is_crawled(tmp_path))
        finally:
            os.kill(int(copy.read_text()), signal.SIGKILL)
    check_tree(tmp_path / "tree")


def test_stop(tmp_path: Path, endless: Web) -> None:
    """A crawl that is stopped by STOP says so; so does one that has reached its limit."""
    root = tmp_path / "tree"
    results: list[fscrawl.CrawlResult] = []
    settings = {**SETTINGS, "crawl": {"max_pages": 5}}
    assert fscrawl.crawl(root, seed(endless), workers=1, progress=False, **settings).reason == "max_pages"
    toml = root / "crawl.toml"
    toml.write_text(toml.read_text().replace("max_pages = 5", "max_pages = 90000"))
    crawling = threading.Thread(target=lambda: results.append(fscrawl.crawl(root, workers=1, progress=False)))
    crawling.start()
    wait_for(lambda: len(fscrawl.open(root)) > 8)
    (root / "STOP").touch()
    crawling.join(DEADLINE_S)
    assert [result.reason for result in results] == ["stopped"]
    with pytest.raises(fscrawl.FscrawlError, match="no machine may run"):
        fscrawl.crawl(root)


def test_a_process_that_is_killed(tmp_path: Path, endless: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the process of a crawl is killed, that is an error, which says that what is stored is kept."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(running.subprocess, "Popen", start)
    root = tmp_path / "tree"

    def kill() -> None:
        wait_for(lambda: len(list(root.glob("links/*/*.json"))) > 3)
        started[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(fscrawl.FscrawlError, match="killed by signal 9; what is stored is kept"):
        fscrawl.crawl(root, seed(endless), workers=1, progress=False, **SETTINGS)
    killer.join(DEADLINE_S)


def test_fscrawl_is_deleted(tmp_path: Path, endless: Web) -> None:
    """A crawl whose `.fscrawl` somebody deletes ends with an error, which says to start it again."""
    root = tmp_path / "tree"

    def delete() -> None:
        wait_for(lambda: len(list(root.glob("links/*/*.json"))) > 5)
        (root / ".fscrawl").rename(tmp_path / "aside")

    thread = threading.Thread(target=delete)
    thread.start()
    settings = {**SETTINGS, "fleet": {"beat": 0.25, "dead_after": 2}}
    with pytest.raises(fscrawl.FscrawlError, match=r"tree\.json: it was deleted while .* start the same command again"):
        fscrawl.crawl(root, seed(endless), workers=0, progress=False, **settings)
    thread.join()
    assert not (root / ".fscrawl").exists()
