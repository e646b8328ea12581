"""What a crawl prints when it ends: this machine, the tree, what helps against failures, and what to do now."""

from collections import Counter
from pathlib import Path

import pytest

from fscrawl.commands.crawl_summary import summary
from fscrawl.engine.machine import Ending, Result
from fscrawl.engine.progress import Counts
from fscrawl.http.answers import CLASSES, HELP
from fscrawl.util.installed import command
from tests.support.beats import Logs

ROOT = Path("/mnt/shared")
SEEDS = ["http://a.example/?a&b"]


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


def lines(ending: Ending, counts: Counts, logs: Logs | None, code: int = 0) -> dict[str, str]:
    """Give the lines by their first words; the headline's is ""."""
    tree = None if logs is None else logs.observer().look(logs.at(100))
    told = list(summary(ROOT, Result(counts, code, 2.0, ending), tree, SEEDS))
    return {"": told[0], **{line[:14].strip(): line[14:] for line in told[1:]}}


def test_finished(logs: Logs) -> None:
    """A finished crawl says that nothing is left, what is in the tree, and how to make a dataset of it."""
    logs.write("m-1-aa", [logs.bye(20, pages=500, bytes=2_000_000)])
    logs.write("m-2-bb", [logs.bye(90, pages=27, bytes=500_000, errors={"dns": 1}, finished=True)])
    counts = Counts(pages=27, bytes=500_000, redirects=1, others=2, unchanged=3)
    counts.errors.update({"dns": 1})
    told = lines("finished", counts, logs)
    assert told[""] == "finished: nothing is left to fetch"
    assert told["this machine"].startswith(
        "27 pages (500 kB), 1 redirect, 2 of other types, 3 unchanged, 1 failure in 2"
    )
    assert told["the tree"] == "527 pages (2.5 MB), 1 failure, 0 URLs pending"
    assert told["next"].startswith(f"{command()} merge --root /mnt/shared --out dataset")
    assert "1 dns" in "".join(f"{name} {text}" for name, text in told.items())


def test_the_tree_has_at_least(logs: Logs) -> None:
    """Where a machine died the tree has a little more than was counted; who goes on is said."""
    logs.write("m-1-aa", [logs.beat(20, pages=500)])
    logs.write("m-2-bb", [logs.beat(95, pages=27, pending=9)])
    told = lines("interrupted", Counts(pages=3), logs)
    assert told[""] == "stopped: interrupted; 9 URLs are pending, and what is stored is kept"
    assert told["the tree"] == "at least 527 pages (0 B), 0 failures, 9 URLs pending; 1 machine goes on"
    assert told["next"] == f"{command()} crawl --root /mnt/shared    goes on"


@pytest.mark.parametrize(
    ("ending", "why", "then"),
    [
        ("stopped", "by fscrawl stop", "{fscrawl} resume --root /mnt/shared    then {on} goes on"),
        (
            "max_pages",
            "crawl.max_pages is reached",
            "raise crawl.max_pages in /mnt/shared/crawl.toml, then {on} goes on",
        ),
    ],
)
def test_what_to_do_now(ending: Ending, why: str, then: str) -> None:
    """What to do depends on why the crawl ended; also where the other machines cannot be looked at."""
    told = lines(ending, Counts(pending=4), None)
    assert told[""] == f"stopped: {why}; 4 URLs are pending, and what is stored is kept"
    on = f"{command()} crawl --root /mnt/shared"
    assert told["next"] == then.format(fscrawl=command(), on=on)
    assert "the tree" not in told


def test_no_page(logs: Logs) -> None:
    """A crawl that stored no page says how to see why; a shell takes the command as it is."""
    logs.write("m-1-aa", [logs.bye(20, pages=0, errors={"blocked-address": 1}, finished=True)])
    told = lines("finished", Counts(), logs, code=1)
    assert told["next"].startswith(f"{command()} show --root /mnt/shared 'http://a.example/?a&b'")
    counts = Counts(private='allow_addresses = ["127.0.1.1"]')
    line = 'if it is yours, write allow_addresses = ["127.0.1.1"] below [fetch] in /mnt/shared/crawl.toml; then:  '
    tree = logs.observer().look(logs.at(100))
    said = "\n".join(summary(ROOT, Result(counts, 1, 2.0), tree, SEEDS))
    assert f"{line}{command('retry', ROOT)} --class blocked-address" in said


def test_no_page_of_seeds_that_stand_in_no_file(logs: Logs) -> None:
    """Seeds of rules or of a site file are not known by name: a page that failed is named, or who gave no seeds."""
    tree = logs.observer().look(logs.at(100))
    site = Path("/home/me/sites.py")
    failed = Result(Counts(without_page="http://a.example/#method=GET&session=7", errors=Counter(dns=1)), 1, 2.0)
    *_, next_ = summary(ROOT, failed, tree, [], site=site)
    assert next_.startswith(f"next          {command()} show --root /mnt/shared 'GET http://a.example/ (session 7)'")
    *_, next_ = summary(ROOT, Result(Counts(), 1, 2.0), tree, [], site=site)
    on = f"{command()} crawl --root /mnt/shared --site /home/me/sites.py"
    assert (
        next_ == f"next          the site file gives no seeds, or none that may be fetched: edit it, then {on} goes on"
    )
    *_, next_ = summary(ROOT, Result(Counts(), 1, 2.0), tree, [])
    assert next_.startswith("next          /mnt/shared/crawl.toml gives no seeds")


def test_each_class_has_help() -> None:
    """There is a word of help for each class, and its command names the class."""
    assert HELP.keys() == CLASSES.keys()
    for name, text in HELP.items():
        told = text.format(fscrawl="fscrawl", root="/r")
        assert "retry" not in told or told.endswith(f"fscrawl retry --root /r --class {name}")


def test_a_site_file() -> None:
    """The next command has the site file again, and documents that are not HTML have their directory named."""
    site = Path("/home/me/my sites.py")
    told = list(summary(ROOT, Result(Counts(pages=1), 0, 2.0), None, SEEDS, site=site, has_documents=True))
    assert told[-1].startswith(
        f"next          {command()} merge --root /mnt/shared --site '/home/me/my sites.py' --out"
    )
    assert "files/ (documents)" in told[-2]
    told = list(summary(ROOT, Result(Counts(), 130, 2.0, "interrupted"), None, SEEDS, site=site))
    assert "crawl --root /mnt/shared --site '/home/me/my sites.py'    goes on" in told[-1]


def test_seeds_that_are_missing() -> None:
    """A mistake in the site file because of which seeds are missing is in the first line."""
    told = list(summary(ROOT, Result(Counts(pages=1), 1, 2.0, fault="site.py:8: seeds: KeyError: 'x'"), None, SEEDS))
    assert told[0] == "finished: nothing is left to fetch, but seeds are missing: site.py:8: seeds: KeyError: 'x'"


def test_seeds_that_came_late():
    """Seeds that were added at the moment when the crawl ended: who has added them learns what to do."""
    told = list(summary(ROOT, Result(Counts(pages=1), 0, 2.0, late_seeds=2), None, SEEDS))
    assert told[0] == "finished: 2 seeds came while it ended; what no other machine has fetched, the next run does"
    assert told[-1].startswith(f"next          {command('crawl', ROOT)}")
