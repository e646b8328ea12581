"""The parts of the reference that are made from the code are there, and are what the code says now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fscrawl
from fscrawl import site
from fscrawl.admin.audit.report import Report as AuditReport
from fscrawl.commands.try_url import _as_json
from fscrawl.config import settings
from fscrawl.engine.progress import Counts
from fscrawl.monitor.attempt import Attempt
from fscrawl.monitor.explain.facts import Explanation
from fscrawl.storage.records import PageRecord
from tools.reference import __main__ as write
from tools.reference import commands, declared, docstrings, records
from tools.reference.made import makers, sections
from tools.reference.parts import BEGIN, END, Part, PartError, updated
from tools.reference.python_names import reference, signature

CHECKOUT = Path(__file__).parents[2]
MADE = {"one": Part("docs/a.md", lambda: "new\n")}


def test_the_reference_is_what_the_code_says() -> None:
    """No document has a part that is missing or old. If this fails: make docs-write."""
    assert [str(path.relative_to(CHECKOUT)) for path in updated(CHECKOUT, makers())] == []


def rows(text: str) -> list[str]:
    return re.findall(r"^\| `", text, re.MULTILINE)


@pytest.mark.parametrize("section", sections(), ids=" ".join)
def test_every_option_has_a_row(section: tuple[str, ...]) -> None:
    """A section's table has each option of its commands, but --help; the synopsis names each of them, too."""
    made, called = commands.options(section), commands.synopsis(section)
    for command in section:
        for action in commands.parsers()[command]._actions:
            for name in [*action.option_strings, *([] if action.option_strings else [action.metavar])]:
                if name not in ("-h", "--help"):
                    assert f"`{name}" in made
                    assert name in called or name == "-v"


def test_defaults_are_those_of_the_parser() -> None:
    """A default is said once, in its column; what is required, off or all is said, too."""
    made = commands.options(("crawl",)) + commands.options(("retry",)) + commands.options(("merge",))
    for row in (
        "| `--workers N` | `4` | number of worker processes; 0: one worker, in this process |",
        "| `--verbose`, `-v` | off |",
        "| `--root DIR` | required |",
        "| `--class C,C` | all but robots | only these classes |",
        "| `--format F` | `parquet` |",
        "| `--status S` | all |",
    ):
        assert row in made
    assert "(default" not in made
    assert (
        "| `--host HOST` | the whole crawl | only this host; may be repeated (only `pause`, `resume`) |"
        in commands.options(("pause", "resume", "stop"))
    )


def test_every_setting_and_column_has_a_row() -> None:
    """The tables of settings and of columns are whole."""
    made = "".join(declared.setting_rows(section) for section in settings.SECTIONS)
    assert len(rows(made)) == len(settings.names())
    assert "| `max_depth` | `absent` | how many links" in made
    for name, columns in declared.TABLES.items():
        assert len(rows(declared.column_rows(name))) == len(columns)


def test_every_field_of_a_record_has_a_row() -> None:
    """A record whose docstring lacks a field cannot be described; the message names the field."""
    assert "| `url`, `key` | string |" in records.record_rows("links")
    assert "| `truncated` | true, optional |" in records.record_rows("links")

    class Longer(PageRecord):
        """No field is explained."""

    with pytest.raises(LookupError, match="does not say what url, key"):
        records.record_rows_of(Longer)


def test_every_public_name_of_site_files_is_described() -> None:
    """The reference of site files has each name, and each public method, attribute and field."""
    made = reference(site, 3)
    names = {*site.__all__, *site.Request._fields, *site.Seed._fields, "form", "json"}
    names |= {name for name in vars(site.Site) if not name.startswith("_")}
    names |= {name for name in vars(site.Page) if not name.startswith("_")} - {
        "documents",
        "join",
        "join_all",
        "parsed",
        "route",
    }
    assert names <= set(re.findall(r"\w+", made))
    assert "parsed" not in made
    assert "def open_session(self, session: str, send: Send) -> None" in made


def names_in(path: str, heading: str) -> set[str]:
    """Give what stands in backquotes below a heading of a document."""
    text = f"\n{(CHECKOUT / path).read_text(encoding='utf-8')}"
    level = heading.partition(" ")[0]
    part = text.split(f"\n{heading}\n", 1)[1]
    return set(re.findall(r"`(\w+)`", re.split(rf"\n#{{1,{len(level)}}} ", part)[0]))


@pytest.mark.parametrize(
    ("path", "heading", "printed"),
    [
        ("docs/reference/cli.md", "### JSON lines", vars(Counts())),
        ("docs/reference/cli.md", "## fscrawl show", Explanation("http://a.example/").as_json()),
        ("docs/reference/cli.md", "## fscrawl try", _as_json(Attempt("u", None, None, None, None, (), ()))),
        ("docs/how-to/audit.md", "# How to audit a tree", AuditReport("r").as_json()),
    ],
)
def test_every_field_of_json_is_described(path: str, heading: str, printed: dict[str, object]) -> None:
    """Programs that read what --json and --log-json print find each field in the reference."""
    assert set(printed) - names_in(path, heading) == set()


def test_every_reason_of_show_is_described() -> None:
    """So do people and programs that ask why a page is missing."""
    code = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "fscrawl/monitor/explain").glob("*.py"))
    names = set(re.findall(r"Reason\(\s*\"([a-z_-]+)\"", code))
    assert len(names) > 20
    text = (CHECKOUT / "docs/reference/cli.md").read_text(encoding="utf-8")
    table = text.split("\n| reason | meaning |\n", 1)[1].split("\n\n", 1)[0]
    assert names - set(re.findall(r"`([a-z_-]+)`", table)) == set()


def test_signatures_are_written_as_python() -> None:
    """Types have short names, what must be named stands behind a star, and a long one has a line for each argument."""

    def short(path: Path, *rest: int, deep: bool = False, **more: str) -> list[Path]: ...
    def long(
        first_of_the_arguments: int = 1, second_of_the_arguments: int = 2, *, third_of_the_arguments: str = "three"
    ) -> None: ...

    expected = "short(path: Path, *rest: int, deep: bool = False, **more: str) -> list[Path]"
    assert signature("short", short) == f"```py\n{expected}\n```\n"
    assert signature("long", long).splitlines()[1:5] == [
        "long(",
        "    first_of_the_arguments: int = 1,",
        "    second_of_the_arguments: int = 2,",
        "    *,",
    ]


def test_python_is_described_once_it_has_public_names() -> None:
    """The names of `fscrawl.__all__` must be in the reference, once there is one."""
    assert ("python fscrawl" in makers()) == hasattr(fscrawl, "__all__")


def test_docstrings_become_markdown() -> None:
    """Lists of names are tables, examples are Python, indented lines are code, and the rest is prose."""
    doc = "About <a>.\n\n    code\n\n>>> 1\n1\n\nurl   where\n      it is\n"
    made = docstrings.as_markdown(doc)
    assert made == (
        "About &lt;a>.\n\n    code\n\n```pycon\n>>> 1\n1\n```\n\n"
        "| attribute | meaning |\n|---|---|\n| `url` | where it is |\n"
    )


def document(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_a_part_is_written_where_it_stands(tmp_path: Path) -> None:
    """What stands between the two lines is replaced, and nothing else; a second time nothing changes."""
    path = document(tmp_path, f"before\n{BEGIN.format('one')}\nold\n{END}\nbehind\n")
    [text] = updated(tmp_path, MADE).values()
    assert text == f"before\n{BEGIN.format('one')}\n\nnew\n\n{END}\nbehind\n"
    path.write_text(text, encoding="utf-8")
    assert updated(tmp_path, MADE) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing\n", "docs/a.md: the part 'one' must stand there once, and does 0 times"),
        (2 * f"{BEGIN.format('one')}\n{END}\n", "does 2 times"),
        (f"{BEGIN.format('one')}\n{END}\n{BEGIN.format('two')}\n{END}\n", "docs/a.md: nothing makes the part 'two'"),
        (f"{BEGIN.format('one')}\n", "must be followed by one"),
        (f"{BEGIN.format('one')}\n{BEGIN.format('one')}\n{END}\n", "nothing makes|must be followed by one"),
        (f"{BEGIN.format('one')}\n{END}\n{END}\n", "must be followed by one"),
    ],
)
def test_a_part_that_is_not_where_it_should_be_is_named(tmp_path: Path, text: str, message: str) -> None:
    """A document whose parts are not whole is an error that names the document, and what to write."""
    document(tmp_path, text)
    with pytest.raises(PartError, match=message):
        updated(tmp_path, MADE)


def test_the_command_writes_and_says_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`make docs-write` brings a document up to date; without the parts it ends with one line and exit code 1."""
    for path in (CHECKOUT / "docs").rglob("*.md"):
        copy = tmp_path / path.relative_to(CHECKOUT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(
            path.read_text(encoding="utf-8").replace("`4` | number of", "`5` | number of"), encoding="utf-8"
        )
    assert write.main(["--checkout", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "written: docs/reference/cli.md\n"
    for path in (CHECKOUT / "docs").rglob("*.md"):
        assert (tmp_path / path.relative_to(CHECKOUT)).read_text("utf-8") == path.read_text("utf-8")
    (tmp_path / "docs/reference/cli.md").write_text("", encoding="utf-8")
    assert write.main(["--checkout", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("docs/reference/cli.md: the part 'commands' must stand there once")
