"""Labels of seeds: what a task leads to is counted as its own, and a task may be stopped and go on."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, errors, fscrawl, pages
from tests.support.web import HTML, Request, Response, Web, site

A, B = "127.0.94.1", "127.0.94.2"
SETTINGS = (
    "[crawl]\nscope = 'host'\nsitemaps = false\n{crawl}\n[politeness]\ndelay = {delay}\nrobots = false\n"
    "[fetch]\nretries = 0\n"
    "allow_addresses = ['127.0.0.0/8']\n[fleet]\nbeat = 0.2\ndead_after = 6\nshards = 16\n{tables}\n"
    "# end of settings (leave this line: it shows that the file was read to its end)\n"
)


def write(root: Path, *tables: str, crawl_: str = "", delay_s: float = 0.0) -> None:
    """Write a `crawl.toml`, whole at once."""
    root.mkdir(exist_ok=True)
    new = root / "crawl.toml.new"
    new.write_text(SETTINGS.format(crawl=crawl_, delay=delay_s, tables="\n".join(tables)))
    new.rename(root / "crawl.toml")


def seeds(root: Path, *lines: str) -> None:
    (root / "seeds.txt").write_text("".join(f"{line}\n" for line in lines))


def stop(*labels: str) -> str:
    return f"stopped_labels = {json.dumps(labels)}"


def labels(root: Path) -> dict[str, str | None]:
    """Give the label of every record, by host and path."""
    return {_short(url): record.label for url, record in {**pages(root), **errors(root)}.items()}


def _short(url: str) -> str:
    host, _, path = url.split("/", 2)[2].partition("/")
    return f"{host.partition(':')[0]}/{path}"


def of_task(host: str, name: str) -> set[str]:
    """Give what belongs to one of the two lists."""
    return {f"{host}{path}" for path in (name, f"{name}/bad", "/both", *(f"{name}/{number}" for number in range(10)))}


def figures(root: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(fscrawl("status", "--root", root, "--json").out)["labels"]
    return found


def tasks(request: Request) -> Response:
    """Two lists of ten pages, each of which links to a page of both, and to one that fails."""
    if request.path in {"/a", "/b"}:
        links = [*(f"{request.path}/{number}" for number in range(10)), "/both", f"{request.path}/bad"]
        return Response(200, HTML, "".join(f"<a href={link}>x</a>" for link in links).encode())
    return Response(500 if request.path.endswith("bad") else 200, HTML, b"x")


def test_what_a_task_leads_to_has_its_label(root: Path) -> None:
    """Seeds of a line and of a site file; records, failures, figures, report and dataset agree."""
    with Web(tasks, [A, B]) as web:
        write(root)
        file = root.parent / "site.py"
        file.write_text(
            "from fscrawl.site import Seed, Site\n\nclass B(Site):\n"
            f"    hosts = ['{B}']\n    def seeds(self):\n        yield Seed({web.url(B, '/b')!r}, 'of code')\n"
        )
        seeds(root, f"{web.url(A, '/a')}  # day 1, ü", web.url(A, "/alone"), f"{web.url(A, '/c')} #" + "x" * 101)
        done = crawl(root, "--site", str(file))
        assert done.code == 0, done
    by_label: dict[str | None, set[str]] = {}
    for path, label in labels(root).items():
        by_label.setdefault(label, set()).add(path)
    assert by_label == {
        "day 1, ü": of_task(A, "/a"),
        "of code": of_task(B, "/b"),
        None: {f"{A}/alone", f"{A}/c"},
    }
    assert errors(root)[web.url(A, "/a/bad")].label == "day 1, ü"
    nothing = {"other": 0, "pending": 0, "stopped": False}
    assert figures(root) == {
        "day 1, ü": {"found": 13, "stored": 12, "failed": 1, **nothing},
        "of code": {"found": 13, "stored": 12, "failed": 1, **nothing},
    }
    shown = fscrawl("status", "--root", root).out
    assert [line.split()[-5:] for line in shown.splitlines() if line.startswith("day 1")] == [
        ["13", "12", "1", "0", "done"]
    ]
    report = root.parent / "report.html"
    assert fscrawl("report", "--root", root, "--out", report).code == 0
    assert '"day 1, \\u00fc":{"found":13,"stored":12,' in report.read_text()
    assert _in_dataset(root, root.parent / "dataset") == set(labels(root).items())
    assert fscrawl("audit", "--root", root).code == 0
    check_tree(root)


def _in_dataset(root: Path, out: Path) -> set[tuple[str, str | None]]:
    import pyarrow.parquet as pq

    assert fscrawl("merge", "--root", root, "--out", out).code == 0
    rows = [row for name in ("pages", "errors") for row in pq.read_table(out / name).to_pylist()]
    return {(_short(row["url"]), row["label"]) for row in rows}


@pytest.mark.gate
def test_retry_and_refresh_keep_the_label(root: Path) -> None:
    """So does a survey: nothing but the records is left, and what they lead to still has the label."""
    state = {"answer": 500}

    def serve(request: Request) -> Response:
        if request.path == "/later":
            return Response(state["answer"], HTML, b"<a href=/last>x</a>")
        return Response(200, HTML, b"<a href=/later>x</a>" if request.path == "/" else b"x")

    with Web(serve, [A]) as web:
        write(root)
        seeds(root, f"{web.url(A)}  # one")
        assert crawl(root).code == 0
        assert labels(root) == {f"{A}/": "one", f"{A}/later": "one"}
        assert figures(root)["one"]["failed"] == 1
        state["answer"] = 200
        seeds(root, web.url(A))  # the label was in seeds.txt only when it was fetched
        assert fscrawl("retry", "--root", root).code == 0
        assert crawl(root).code == 0
        assert labels(root) == {f"{A}/": "one", f"{A}/later": "one", f"{A}/last": "one"}
        assert figures(root)["one"] == {
            "found": 3, "stored": 3, "other": 0, "failed": 0, "pending": 0, "stopped": False,
        }  # fmt: skip
        assert crawl(root, "--refresh", "0s").code == 0
        assert set(labels(root).values()) == {"one"}
        assert figures(root)["one"]["stored"] == 3
        shutil.rmtree(root / ".fscrawl")
        for path in (root / "links").rglob("*.json"):
            if json.loads(path.read_bytes())["url"] == web.url(A, "/last"):
                path.unlink()
        assert crawl(root).code == 0
        assert labels(root)[f"{A}/last"] == "one"


@pytest.mark.gate
def test_a_task_is_stopped_while_it_runs_and_goes_on(root: Path) -> None:
    """Nothing of it is fetched meanwhile but what another task leads to, too; then all of it is fetched, once."""
    with Web(tasks, [A]) as web:
        write(root, delay_s=0.3)
        seeds(root, f"{web.url(A, '/a')}  # a")
        with Running(command(root, "--wait")) as running:
            running.until(lambda: len(pages(root)) >= 3, "some pages of the task are stored")
            write(root, crawl_=stop("a"), delay_s=0.3)
            running.until(lambda: _is_still(web), "nothing more of the task is fetched")
            before = set(labels(root))
            assert len(before) < 12
            with (root / "seeds.txt").open("a") as file:
                file.write(f"{web.url(A, '/b')}  # b\n")
            running.until(lambda: set(labels(root)) == before | of_task(A, "/b"), "the other task is done")
            assert labels(root)[f"{A}/both"] == "b"
            assert figures(root)["a"]["stopped"] is True
            missing = next(f"/a/{n}" for n in range(10) if f"{A}/a/{n}" not in before)
            shown = fscrawl("show", "--root", root, web.url(A, missing)).out
            assert ", label a\n" in shown
            assert "crawl.stopped_labels: what has the label a is not fetched\n" in shown
            assert "label     b\n" in fscrawl("show", "--root", root, web.url(A, "/both")).out
            assert " stopped" in fscrawl("status", "--root", root).out
            write(root, delay_s=0.0)
            running.until(lambda: set(labels(root)) == of_task(A, "/a") | of_task(A, "/b"), "all is fetched")
        assert web.duplicates() == {}


def _is_still(web: Web) -> bool:
    before = web.count()
    time.sleep(1.5)
    return web.count() == before


def test_a_stopped_task_that_was_never_begun(root: Path) -> None:
    """The crawl ends without it; later it is fetched, also if other machines have forgotten their memory of links."""
    with Web(tasks, [A, B]) as web:
        write(root, crawl_=stop("later"))
        seeds(root, f"{web.url(A, '/a')}  # now", f"{web.url(B, '/b')}  # later")
        done = crawl(root)
        assert done.code == 0, done
        assert done.out.startswith("finished: all other tasks are done\n")
        assert "not fetched   what has a label of crawl.stopped_labels: later\n" in done.out
        assert set(labels(root).values()) == {"now"}
        write(root)
        assert crawl(root).code == 0
        assert len(labels(root)) == 26
        assert web.duplicates() == {}


@pytest.mark.gate
def test_two_machines_and_a_kill(root: Path) -> None:
    """Figures are added up; those of a machine that is killed lack only its last seconds, and records have them all."""
    with Web(site({f"/{n}": "x" for n in range(60)}), [A, B]) as web:
        write(root)
        seeds(root, *(f"{web.url(host, f'/{n}')}  # {host} {n}" for host in (A, B) for n in range(60)))
        with Running(command(root)) as first, Running(command(root)) as second:
            first.until(lambda: len(pages(root)) >= 20, "some pages are stored")
            first.kill()
            assert second.wait().code == 0
        assert crawl(root).code == 0
        assert {url: record.label for url, record in pages(root).items()} == {
            web.url(host, f"/{n}"): f"{host} {n}" for host in (A, B) for n in range(60)
        }
        assert all(each["pending"] == 0 for each in figures(root).values())
        assert len(figures(root)) <= 120
    check_tree(root, whole=False)


def test_what_somebody_wrote_into_records_is_no_label(root: Path) -> None:
    """A label that none may be is passed over, by machines and by the figures."""
    with Web(site({"/": "<a href=/1>x</a>", "/1": "x"}), [A]) as web:
        write(root)
        seeds(root, f"{web.url(A)}  # one")
        assert crawl(root).code == 0
        for path in (root / "links").rglob("*.json"):
            record = json.loads(path.read_bytes())
            if record["url"] == web.url(A, "/1"):
                path.unlink()
            else:
                path.write_text(json.dumps({**record, "label": "\x1b[31m" + "x" * 500}))
        for path in (root / ".fscrawl" / "machines").glob("*.status.json"):
            path.write_text('{"labels": {"one": {"stored": "x", "pending": -1e999}, "\\u001b": {}, "x": 1}}')
        assert crawl(root, "--reseed").code == 0
        assert labels(root)[f"{A}/1"] is None
        assert figures(root) == {}


@pytest.mark.gate
def test_found_for_both_before_one_is_stopped(root: Path) -> None:
    """A worker that has reported a link for one task reports it for the other, too, which may go on alone."""
    with Web(tasks, [A]) as web:
        write(root, delay_s=0.25)
        seeds(root, f"{web.url(A, '/a')}  # a", f"{web.url(A, '/b')}  # b")
        with Running(command(root, "--wait", workers=1, threads=1)) as running:
            running.until(lambda: {f"{A}/a", f"{A}/b"} <= set(labels(root)), "both lists are stored")
            write(root, crawl_=stop("a"), delay_s=0.25)
            running.until(lambda: of_task(A, "/b") <= set(labels(root)), "all of the other task is fetched")
            assert len(labels(root)) < 25
            assert labels(root)[f"{A}/both"] == "b"
        assert web.duplicates() == {}
