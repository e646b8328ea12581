"""`--workers 0`: one worker in the process of the machine. Here that is the process of the test, or one of its own."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, children_of, command, crawl, pages
from tests.support.pdfs import pdf
from tests.support.web import Request, Response, Web, linked_site, site, slowly

HOST = "127.0.0.1"
BOTH = '["text/html", "application/pdf"]'


@pytest.mark.gate
def test_no_process_is_started(root: Path) -> None:
    """Such a crawl has no child but the one of Python that removes semaphores; its tree is that of any crawl."""
    seen: set[int] = set()

    def look(request: Request) -> Response:
        seen.update(children_of(running.process.pid))
        return linked_site(5, 2)(request)

    with Web(look, [HOST]) as web, Running(command(root, seeds=[web.url(HOST)], workers=0)) as running:
        done = running.wait()
    assert done.code == 0, done
    assert len(pages(root)) == 6
    assert len(seen) <= 1
    check_tree(root)


def test_documents(root: Path) -> None:
    """What a worker lets a process beside it read is read there, too."""
    answers = {
        "/": "<a href=/paper>paper</a>",
        "/paper": Response(200, {"Content-Type": "application/pdf"}, pdf("A paper", ["/found"])),
        "/found": "found",
    }
    with Web(site(answers), [HOST]) as web:
        done = crawl(root, seeds=[web.url(HOST)], settings={"fetch.accept": BOTH, "fetch.accept_links": BOTH})
        assert done.code == 0, done
        assert web.url(HOST, "/found") in pages(root)


def test_the_tree_goes_away(root: Path) -> None:
    """Such a crawl ends, although a thread waits for its host and a process beside it has read a document."""
    paper = Response(200, {"Content-Type": "application/pdf"}, pdf("A paper"))
    answers = {
        "/": "<a href=/paper>paper</a><a href=/slow>slow</a>",
        "/paper": paper,
        "/slow": Response(200, {}, b"", 3.0),
    }
    both = {
        "fetch.accept": '["text/html", "application/pdf"]',
        "fetch.accept_links": '["application/pdf", "text/html"]',
    }
    with (
        Web(site(answers), [HOST]) as web,
        Running(command(root, seeds=[web.url(HOST)], settings=both, workers=0)) as running,
    ):
        running.until(lambda: web.url(HOST, "/paper") in pages(root), "the document")
        shutil.rmtree(root)
        assert running.wait(20).code == 75


def test_the_code_of_a_user_runs_in_this_process(root: Path, tmp_path: Path) -> None:
    """A debugger stops in the site file, when it gives seeds and when it looks at a page."""
    with Web(site({"/": "a page", f"/{os.getpid()}": "linked"}), [HOST]) as web:
        (tmp_path / "site.py").write_text(
            f"""
import os
from fscrawl.site import Site

class Here(Site):
    hosts = ["{HOST}"]

    def seeds(self):
        if os.getpid() == {os.getpid()}:
            yield "{web.url(HOST)}"

    def follow(self, page):
        yield f"/{{os.getpid()}}"
"""
        )
        done = crawl(root, "--site", str(tmp_path / "site.py"))
        assert done.code == 0, done
        assert set(pages(root)) == {web.url(HOST), web.url(HOST, f"/{os.getpid()}")}


def test_interrupted_and_continued(root: Path) -> None:
    """A signal ends it after the pages in flight; the same command goes on, and asks for no page twice."""
    with Web(slowly(linked_site(60, 3), 0.01), [HOST]) as web:
        with Running(command(root, seeds=[web.url(HOST)], workers=0, threads=2)) as running:
            running.until(lambda: len(pages(root)) > 5, "some pages")
            running.signal(signal.SIGTERM)
            assert running.wait().code == 143
        assert len(pages(root)) < 61
        assert crawl(root).code == 0
        assert len(pages(root)) == 61
        assert web.duplicates() == {}
