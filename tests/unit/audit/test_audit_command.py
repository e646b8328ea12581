"""What `fscrawl audit` says to people and to programs."""

import errno
import json
import os
import pkgutil
import re
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.admin.audit import KINDS
from fscrawl.util.installed import command
from tests.support.audits import error_beside, flipped_body, missing_body, orphan, torn_record
from tests.support.steps import Steps

CHECKOUT = Path(__file__).parents[3]


# -- the report


def test_examples_are_few_and_plain(made):
    """Of each kind five examples are shown, and no terminal obeys what came from the web."""
    for number in range(8):
        (made.root / f"htmls/a.example/\x1b[31m{number}").write_bytes(b"")
    report = made.audit()
    lines = list(report.lines())
    assert "files that do not belong to the crawl: 8" in lines
    assert len([line for line in lines if line.startswith("    htmls/a.example/?[31m")]) == 5
    assert "\x1b" not in "".join(lines)
    assert lines[-1].startswith("problems: 8; ")


def test_what_a_repair_would_remove(made):
    """Before it is removed, the audit says of how many pages there is something that no site may have any more."""
    said = "note: a repair removes 1 page, for the next crawl to fetch; if a site is gone, copy the tree first"
    missing_body(made)
    assert said not in list(made.audit().lines())
    torn_record(made)
    assert said in list(made.audit().lines())
    assert said not in list(made.audit(repair=True).lines())


def test_words_of_a_repair(made):
    """A repair says how much of each kind it mended, and how to fetch what was put back."""
    flipped_body(made)
    error_beside(made)
    lines = list(made.audit(repair=True).lines())
    assert "bodies that differ from their record: 1, 1 repaired" in lines
    assert lines[-1] == f"repaired: all 2; URLs to fetch: 1; to fetch them:  {command()} crawl --root {made.root}"


def test_steps(made):
    """Each step is named, and counts what it reads; a repair has steps of its own."""
    flipped_body(made)
    with Steps() as line:
        report = made.audit(repair=True, line=line)
    steps = {name: (total, done) for name, total, done in line.steps}
    files = report.records + report.errors
    assert steps["listing records"] == (None, files)
    assert steps["checking records and bodies"] == (files, files)
    assert steps["reading logs"][1] > 0
    assert steps["putting URLs back"] == (None, 1)
    assert steps["mending files"] == (1, 1)


# -- the command


def run(made, *words):
    return cli.main(["audit", "--root", str(made.root), *words])


def test_exit_codes(made, capsys):
    """Exit 0 says that nothing is wrong, 1 that something is, and 0 again that all has been mended."""
    assert run(made) == 0
    flipped_body(made)
    assert run(made) == 1
    assert "bodies that differ from their record: 1" in capsys.readouterr().out
    assert run(made, "--repair") == 0
    assert run(made) == 0


def test_json(made, capsys):
    """--json prints one object, with all kinds."""
    orphan(made)
    assert run(made, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert set(told["found"]) == set(KINDS)
    assert told["found"]["orphan_bodies"]["count"] == 1
    assert (told["ok"], told["records"], told["repaired"]) == (False, 6, False)


@pytest.mark.parametrize("there", [True, False])
def test_no_tree(tmp_path, capsys, there):
    """A directory that is no tree, or is not there, is exit code 75."""
    root = tmp_path if there else tmp_path / "none"
    assert cli.main(["audit", "--root", str(root)]) == 75
    assert "is the share mounted" in capsys.readouterr().err


def test_tree_that_cannot_be_read(made, monkeypatch, capsys):
    """An input/output error is exit code 75, with the place."""

    def failing(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "scandir", failing)
    assert run(made) == 75
    assert "input/output error" in capsys.readouterr().err


@pytest.mark.parametrize("directory", ["htmls", "links", "errs"])
@pytest.mark.parametrize("words", [[], ["--repair"]], ids=["audit", "repair"])
def test_missing_directory(made, capsys, directory, words):
    """A directory that is missing means that the share is gone, and not that all of its files are."""
    (made.root / directory).rename(made.root.with_name("away"))
    before = {path: path.read_bytes() for path in made.root.rglob("*") if path.is_file()}
    assert run(made, *words) == 75
    assert f"{made.root}/{directory}: it is not there; is the share mounted?" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in made.root.rglob("*") if path.is_file()} == before
    made.root.with_name("away").rename(made.root / directory)
    assert run(made) == 0


@pytest.mark.parametrize("directory", ["leases", "machines", "generations"])
def test_missing_part_of_the_machinery(made, capsys, directory):
    """What is missing in `.fscrawl` is wrong, and what helps is said. No repair is made for a crawl that cannot be."""
    (made.root / ".fscrawl" / directory).rename(made.root.with_name("away"))
    advice = f"when no machine runs on this tree:  rm -r {made.root}/.fscrawl && "
    assert run(made) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == ["directories of .fscrawl that are missing: 1", f"    .fscrawl/{directory}"]
    assert lines[-2].startswith(f"note: {advice}")
    assert lines[-1] == "problems: 1; a crawl needs all of .fscrawl: see the note"
    flipped_body(made)
    assert run(made, "--repair") == 75
    assert f"{made.root}/.fscrawl/{directory} is missing; {advice}" in capsys.readouterr().err
    made.root.with_name("away").rename(made.root / ".fscrawl" / directory)
    assert run(made, "--repair") == 0


@pytest.mark.parametrize("directory", ["htmls", "links"])
@pytest.mark.parametrize("step", ["scan", "repair"])
def test_directory_that_goes_away_meanwhile(made, capsys, monkeypatch, directory, step):
    """The same while the audit runs: nothing is removed for want of its other half."""
    where = {"scan": "fscrawl.admin.audit.scanner.Scanner.run", "repair": "fscrawl.admin.audit.repair.Repair._mend"}
    owner, _, name = where[step].rpartition(".")
    real = getattr(pkgutil.resolve_name(owner), name)

    def unmounting(*arguments):
        if (made.root / directory).exists():
            (made.root / directory).rename(made.root.with_name("away"))
        return real(*arguments)

    flipped_body(made)
    monkeypatch.setattr(where[step], unmounting)
    other = made.root / {"htmls": "links", "links": "htmls"}[directory]
    before = sorted(other.rglob("*"))
    assert run(made, "--repair") == 75
    assert "is the share mounted?" in capsys.readouterr().err
    assert sorted(other.rglob("*")) == before


def test_documented(capsys):
    """The command line reference names every option of the audit, and the how-to every kind it knows."""
    with pytest.raises(SystemExit):
        cli.main(["audit", "--help"])
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)) - {"--help"}
    assert {"--root", "--repair", "--json"} <= options
    reference = (CHECKOUT / "docs/reference/cli.md").read_text(encoding="utf-8").partition("## fscrawl audit")[2]
    assert {option for option in options if f"`{option}" not in reference} == set()
    how_to = (CHECKOUT / "docs/how-to/audit.md").read_text(encoding="utf-8")
    assert {kind for kind in KINDS if f"`{kind}`" not in how_to} == set()
