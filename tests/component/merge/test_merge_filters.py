"""What filters and options leave out of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import urls
from tests.support.merging import EVERY, A, archived, refused
from tests.support.trees import ALL, Grown, Made, check, contents, stamps


def test_noindex(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """Pages that ask not to be indexed are left out and counted once, unless --keep-noindex."""
    for number, robots in enumerate(["noindex", "none, nofollow"]):
        tree.page(f"http://a.example/no{number}", f"<meta name=robots content='{robots}'>{number}".encode())
    tree.page("http://a.example/yes", b"<meta name=robots content=nofollow>3")
    _, printed, _ = fscrawl()
    assert "left out: 2 pages marked noindex (--keep-noindex keeps such pages)" in printed
    assert Made(out).keys() == tree.keys("http://a.example/no0", "http://a.example/no1")
    assert fscrawl()[2] == "nothing new since the last run\n"
    refused(fscrawl("--keep-noindex"), 2, "noindex = false, not true", "--rebuild")
    assert fscrawl("--keep-noindex", "--rebuild")[0] == 0
    assert Made(out).keys() == tree.keys()
    assert Made(out).by_url()["http://a.example/no1"]["noindex"] is True


@pytest.fixture
def varied(tmp_path: Path) -> Grown:
    """Make a tree of pages that filters tell apart."""
    grown = Grown(tmp_path / "varied")
    for number, host in enumerate(["a.example", "a.example:81", "www.a.example", "a_b.example", "[::1]", "[::1]:81"]):
        grown.page(f"http://{host}/{number}", host.encode(), status=(200, 203, 404)[number % 3])
        grown.fail(f"http://{host}/gone")
    grown.page("http://a.example/late.html", b"<p>late", fetched_at="2026-11-05T00:00:00.000Z")
    grown.redirect("http://a.example/old", "http://a.example/0")
    return grown


def hosts(made: Made, table: str = "pages") -> set[str]:
    return {row["url"].split("/")[2] for row in made.rows(table)}


@pytest.mark.gate
@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["a.example"], {"a.example", "a.example:81"}),
        (["*.Example"], {"a.example", "a.example:81", "www.a.example", "a_b.example"}),
        (["?.example", "www.*"], {"a.example", "a.example:81", "www.a.example"}),
        (["a_b.example"], {"a_b.example"}),
        (["*_b.example"], {"a_b.example"}),
        (["[::1]"], {"[::1]", "[::1]:81"}),
        (["*::1*"], {"[::1]", "[::1]:81"}),
        (["nowhere"], set()),
    ],
)
def test_host_filter(varied: Grown, out: Path, globs: list[str], expected: set[str]) -> None:
    """--host takes shell patterns on the host name, whatever the port; failures are held to it, too."""
    made = varied.merge(out, hosts=tuple(globs))
    assert hosts(made) == expected
    assert hosts(made, "errors") == expected


def test_a_host_that_is_not_there(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A host that no page is of is told, with the nearest; what is no host is refused before anything is made."""
    assert "--host: no host here is a.exampel; nearest: a.example" in fscrawl("--host", "a.exampel")[2]
    refused(fscrawl("--host", "a b"), 2, "--host a b: must be a host or a pattern, like example.org")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"status": ("200",)}, {200}),
        ({"status": ("2xx",)}, {200, 203}),
        ({"status": ("404", "3xx")}, {404, 301}),
        ({"status": ("500",)}, set()),
    ],
)
def test_status_filter(varied: Grown, out: Path, given: dict[str, tuple[str, ...]], expected: set[int]) -> None:
    """--status takes statuses and classes of them; failures are none of its business."""
    made = varied.merge(out, **given)
    assert {row["fetch_status"] for row in made.rows()} == expected
    assert len(made.rows("errors")) == 6


def test_since_filter(varied: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """--since leaves out what was fetched, or failed, before."""
    code, printed, _ = fscrawl("--since", "2026-11-05", root=varied.root)
    assert code == 0
    assert set(Made(out).by_url()) == {"http://a.example/late.html"}
    assert Made(out).rows("errors") == []
    assert "left out: 7 pages older than --since" in printed


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--include", r"\.html$"], {"/late.html"}),
        (["--include", r"late", "--include", "old"], {"/late.html", "/old"}),
        (["--include", r"a\.example/", "--exclude", r"/\d$", "--exclude", "old"], {"/late.html"}),
    ],
)
def test_url_filters(
    varied: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]], flags: list[str], expected: set[str]
) -> None:
    """--include takes any of its expressions, --exclude none of them."""
    assert fscrawl(*flags, root=varied.root)[0] == 0
    assert {urls.normalise(url)[url.rindex("/") :] for url in Made(out).by_url()} == expected


def test_filtered_stays_filtered(varied: Grown, out: Path) -> None:
    """What a filter left out is not read again by the next run."""
    made = varied.merge(out, status=("404",))
    assert varied.merge(out).said == ["nothing new since the last run"]
    assert made.manifest["left_out"] == {"status": 6}


def test_nothing_passes(varied: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A dataset that the filters leave no page is made, with exit code 1."""
    code, printed, _ = fscrawl("--include", "nowhere", root=varied.root)
    assert (code, printed.splitlines()[0].rpartition(", in ")[0]) == (
        1,
        "records: 0 pages, 0 redirects, 0 of other types; failures: 0",
    )
    assert "left out: 8 pages with a URL that --include does not match" in printed
    check(Made(out))


@pytest.mark.parametrize("dedupe", [False, True])
def test_limit(
    tree: Grown, out: Path, monkeypatch: pytest.MonkeyPatch, fscrawl: Callable[..., tuple[int, str, str]], dedupe: bool
) -> None:
    """--limit is how many pages there are in all, to the page, over all runs; past it nothing is done."""
    monkeypatch.setattr("fscrawl.dataset.plan.BATCH_PAGES", 2)
    if dedupe:
        tree.page("http://a.example/0", tree.bodies[A])
    flags = ["--dedupe"] if dedupe else []
    assert fscrawl("--limit", "7", *flags)[0] == 0
    made = Made(out)
    assert len(made.keys()) == 5
    for number in range(5):
        tree.page(f"http://z.example/{number}", f"{number} is {'quite ' * number} another page".encode())
    assert fscrawl()[0] == 0
    assert len(made.keys()) == 7
    check(made)
    before = contents(out), stamps(out)
    code, printed, err = fscrawl("--limit", "7")
    assert (code, err) == (0, "the limit of 7 records has been reached; nothing was done\n")
    assert printed.startswith("records: 5 pages, 1 redirect, 1 of other types;")
    assert (contents(out), stamps(out)) == before


def test_limit_within_a_batch(tree: Grown, out: Path) -> None:
    """A limit is exact also where a batch has more pages, in archives too."""
    made = tree.merge(out, limit=2, formats=ALL)
    assert made.manifest["counts"]["records"] == len(made.keys()) == 2
    assert sum(each["rows"] for each in made.manifest["files"] if each["path"].endswith(".warc.gz")) == 2
    check(made)


def test_no_html(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """--no-html leaves bodies out of tables, not out of archives; --text none leaves out the text."""
    assert fscrawl("--no-html", "--text", "none", *EVERY)[0] == 0
    made = Made(out)
    assert {"html", "text"}.isdisjoint(made.table().column_names)
    assert archived(made) == tree.bodies
    assert made.rows()[0]["sha256"] is not None


def test_main_text(tree: Grown, out: Path) -> None:
    """--text main is the article without the navigation around it."""
    article = "".join(
        f"<p>Sentence {n} of the article tells what there is to tell at some length.</p>" for n in range(9)
    )
    tree.page("http://m.example/", f"<nav><a href=/>Home</a></nav><article>{article}</article>".encode())
    text = tree.merge(out, text="main").by_url()["http://m.example/"]["text"]
    assert "Sentence 8" in text
    assert "Home" not in text
