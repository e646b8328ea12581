"""The documentation says what the program does."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import textwrap
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from fscrawl import cli, site
from fscrawl.site import Page
from fscrawl.sites.code import load
from fscrawl.sites.site_file import SiteFile
from tools.site.anchors import slug

CHECKOUT = Path(__file__).parent.parent.parent
DOCUMENTS = [
    file for below in ("", "docs/**/", "examples/**/", "benchmarks/") for file in CHECKOUT.glob(f"{below}*.md")
]


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Give the parser of each command."""
    [choice] = [action.choices for action in cli.parser()._actions if isinstance(action.choices, dict)]
    return dict(choice)


@pytest.mark.parametrize("command", ["", *sorted(parsers())])
def test_help_fits_a_screen(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What --help prints has at most forty lines, on a terminal of eighty columns, and examples."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help"])
    said = capsys.readouterr().out
    assert len(said.splitlines()) <= 40
    assert "example" in said or not command


def blocks(document: str, language: str) -> list[str]:
    """Give a document's code blocks of a language."""
    text = (CHECKOUT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_systemd_unit_is_one() -> None:
    """The unit that the documents name is one with which systemd, where it is installed, finds no fault."""
    path = CHECKOUT / "deploy/systemd/fscrawl.service"
    words = re.search(r"^ExecStart=\S+ \S+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert words is not None
    assert cli.parser().parse_args(words[1].split()).follow
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze")
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "fscrawl" in line]) == (0, [])


def test_the_cloud_init_file_is_one() -> None:
    """The file for cloud-init is YAML of the modules it means, and writes the unit that it starts."""
    yaml = pytest.importorskip("yaml")
    text = (CHECKOUT / "deploy/cloud-init/user-data.yaml").read_text(encoding="utf-8")
    assert text.startswith("#cloud-config\n")
    config = yaml.safe_load(text)
    assert {"packages", "users", "write_files", "mounts", "runcmd"} == set(config)
    assert all({"path", "content"} <= set(file) for file in config["write_files"])
    assert all(len(mount) == 6 and all(isinstance(field, str) for field in mount) for mount in config["mounts"])
    unit = (CHECKOUT / "deploy/systemd/fscrawl.service").read_text(encoding="utf-8")
    short = next(file["content"] for file in config["write_files"] if file["path"].endswith(".service"))
    assert set(filter(None, short.splitlines())) <= set(unit.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_in_documents_is_python(document: Path) -> None:
    """Every Python snippet of the documents compiles; those of the export are run by test_merge_readers."""
    for snippet in re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        compile(snippet, document.name, "exec")


def test_every_make_target_has_a_help_line() -> None:
    """Each target that is declared phony says after ## what it does, so that `make` lists it."""
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    declared = re.search(r"^\.PHONY:((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    assert declared is not None
    targets = set(declared[1].replace("\\", " ").split())
    explained = set(re.findall(r"^([a-z-]+):.*?## \S", makefile, re.MULTILINE))
    named = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert targets == explained == named


def test_documents_link_to_what_is_there() -> None:
    """Every relative link of the documents leads to a file."""
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    for document in DOCUMENTS:
        targets = link.findall(document.read_text(encoding="utf-8"))
        assert [target for target in targets if not (document.parent / target).exists()] == [], document.name


FAILURES = (CHECKOUT / "docs/design/failures.md").read_text(encoding="utf-8")
PROMISES = re.findall(
    r"`(test_\w+\.py)::(\w+)`", FAILURES.partition("\n## Promises and their tests\n")[2].partition("\n## ")[0]
)


@pytest.mark.parametrize(("file", "name"), sorted(set(PROMISES)))
def test_every_promise_has_its_test(file: str, name: str) -> None:
    """A test that the design names for a promise exists."""
    texts = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "tests").rglob(file)]
    assert any(re.search(rf"^(def {name}\(|class {name}\b|{name} = )", text, re.MULTILINE) for text in texts)


def test_promises_are_found() -> None:
    """The table of promises has rows, and each names a test."""
    rows = FAILURES.partition("\n## Promises and their tests\n")[2].partition("\n## ")[0].strip().splitlines()[2:]
    assert len(rows) >= 20
    assert all("::" in row for row in rows)


def test_answers_of_the_exercise_name_files_that_exist() -> None:
    """CONTRIBUTING names one or two files for each of its twelve changes, and each of them exists."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    answers = text.partition("<!-- answers:")[2].partition("<!-- end of the answers -->")[0]
    rows = re.findall(r"^\| (\d+)\. [^|]*\|([^|]*)\|", answers, re.MULTILINE)
    named = {int(number): re.findall(r"`([^`]+)`", files) for number, files in rows}
    assert list(named) == list(range(1, 13))
    assert [number for number, files in named.items() if not 1 <= len(files) <= 2] == []
    assert [file for files in named.values() for file in files if not (CHECKOUT / file).is_file()] == []


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {slug(heading) for heading in headings}


def test_documents_link_to_headings_that_are_there() -> None:
    """Every link of the documents to a heading leads to one."""
    link = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")
    for document in DOCUMENTS:
        for target, anchor in link.findall(document.read_text(encoding="utf-8")):
            assert anchor in anchors(document.parent / target if target else document), (document.name, target, anchor)


def test_links_to_other_sites_have_the_right_form() -> None:
    """A link that leaves the documents is a complete URL by https. Whether it still leads anywhere is not asked."""
    link = re.compile(r"\]\((\w+:[^)]*)\)")
    for document in DOCUMENTS:
        for target in link.findall(document.read_text(encoding="utf-8")):
            assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/\S*)?", target), (document.name, target)


def test_documents_name_modules_that_are_there() -> None:
    """Every module that the documents name, from the checkout, from `fscrawl/` or beside the document, exists."""
    for document in DOCUMENTS:
        tops = (CHECKOUT, CHECKOUT / "fscrawl", document.parent)
        named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", document.read_text(encoding="utf-8"))
        missing = [name for name in named if not any((top / name).is_file() for top in tops)]
        assert missing == [], document.name


def test_documents_name_constants_that_are_there() -> None:
    """A constant that the documents name with its module, as a bound for example, stands in that module."""
    sources = {path.with_suffix("").parts: path.read_text("utf-8") for path in (CHECKOUT / "fscrawl").rglob("*.py")}
    for document in DOCUMENTS:
        for module, name in re.findall(r"`((?:[a-z_]+\.)+)(_?[A-Z][A-Z_]+)`", document.read_text(encoding="utf-8")):
            place = tuple(module.split(".")[:-1])
            found = [text for parts, text in sources.items() if parts[-len(place) :] == place]
            assert any(re.search(rf"^{name}\b|^\w.*, {name}\b.* = ", text, re.MULTILINE) for text in found), (
                document.name,
                name,
            )


def test_the_package_map_has_every_package_in_its_layer() -> None:
    """The design's map of packages has all that lies in `fscrawl/`, from top to bottom as imports may run."""
    text = (CHECKOUT / "docs/design.md").read_text(encoding="utf-8").partition("\n## Packages\n")[2]
    rows = re.findall(r"^\| ((?:`\w+(?:/|\.py)`(?:, )?)+) \|", text, re.MULTILINE)
    mapped = [re.findall(r"`(\w+)", row) for row in rows]
    config = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [each for each in config["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    floor = {name: number for number, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    assert {name for row in mapped for name in row} == set(floor) - {"__main__"}
    floors = [[floor[name] for name in row] for row in mapped]
    assert [(above, below) for above, below in pairwise(floors) if min(above) > min(below)] == []


def test_every_test_that_the_security_page_names_is_there() -> None:
    """Each row of docs/security.md names a test that can be run."""
    named = set(re.findall(r"`((?:tests/)?[\w/.]*\btest_\w+(?:\.py)?)`", (CHECKOUT / "docs/security.md").read_text()))
    sources = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "tests").rglob("test_*.py"))
    functions = {f"test_{name}" for name in re.findall(r"\bdef test_(\w+)\(", sources)}
    assert {each for each in named if not (CHECKOUT / each).is_file()} <= functions


SITE_FILES = (CHECKOUT / "docs/reference/site-files.md").read_text(encoding="utf-8")


def test_the_example_of_site_files_is_one() -> None:
    """The complete example of the reference is a site file; so is the one in the module's own words."""
    for text in (
        SITE_FILES.partition("```python\n")[2].partition("```")[0],
        textwrap.dedent(_example(site.__doc__ or "")),
    ):
        [found] = load(SiteFile("site.py", text))
        assert found.hosts == ("search.example",)
        first, _ = next(found.seeds())
        assert "2024-01-01" in first
        page = Page(first, b"<h1>T</h1><i class=author>A</i><a class=hit href=/1>x</a>")
        assert found.understand(page).requests == ("https://search.example/1",)
        assert found.fields(page).values == {"heading": "T", "authors": ["A"]}


def _example(doc: str) -> str:
    return doc[doc.index("    from fscrawl.site") : doc.index("All but `open_session`")]


def test_settings_of_examples_do_not_age() -> None:
    """People copy them, and no release looks at them: the User-Agent has no version of fscrawl."""
    files = list((CHECKOUT / "examples").glob("*/tree/crawl.toml"))
    assert len(files) == 5
    agents = [tomllib.loads(file.read_text(encoding="utf-8"))["politeness"]["user_agent"] for file in files]
    assert not [agent for agent in agents if re.search(r"fscrawl/\d", agent)]
