"""The documentation says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fscrawl import cli, settings
from fscrawl.dataset import schema

CHECKOUT = Path(__file__).parent.parent.parent
DOCUMENTED = (CHECKOUT / "docs/reference/settings.md").read_text(encoding="utf-8")


def defaults() -> dict[str, str]:
    """Give each setting's default as `crawl.toml` writes it; "absent" where it writes none."""
    section, found = "", {}
    for line in settings.render(settings.Settings()).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif match := re.fullmatch(r"(# )?([a-z_]+) =(?: (.*))?", line):
            found[f"{section}.{match[2]}"] = "absent" if match[1] else match[3]
    return found


@pytest.mark.parametrize("name", settings.names())
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    """The settings reference has a row for the setting, with the default it really has."""
    section, _, short = name.partition(".")
    below = DOCUMENTED.partition(f"\n## [{section}]\n")[2].partition("\n## ")[0]
    assert f"| `{short}` | `{defaults()[name]}` |" in below


def test_no_setting_is_documented_that_does_not_exist() -> None:
    """The settings reference has no row too many."""
    assert len(re.findall(r"^\| `", DOCUMENTED, re.MULTILINE)) == len(settings.names())


@pytest.mark.parametrize("command", ["crawl", "audit", "merge"])
def test_every_option_is_documented(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line reference has a row for every option that the command's --help names, and none too many."""
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert {"--root", "--help"} <= options
    text = (CHECKOUT / "docs/reference/cli.md").read_text(encoding="utf-8")
    below = text if command == "crawl" else text.partition(f"\n## fscrawl {command}\n")[2]
    assert set(re.findall(r"^\| `(--[a-z-]+)", below.partition("\n## ")[0], re.MULTILINE)) == options


@pytest.mark.parametrize("table", [*schema.TABLES, "warc-index"])
def test_every_column_is_documented(table: str) -> None:
    """The dataset reference has each table's columns, in their order, with type and meaning as the files have them."""
    text = (CHECKOUT / "docs/reference/dataset.md").read_text(encoding="utf-8")
    below = text.partition(f"\n### {table}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    columns = schema.TABLES.get(table, schema.WARC_INDEX)
    meanings = [column.metadata[b"comment"].decode().replace("<", "&lt;") for column in columns]
    rows = [f"| `{each.name}` | {each.type} | {meaning} |" for each, meaning in zip(columns, meanings, strict=True)]
    assert re.findall(r"^\| `.*$", below, re.MULTILINE) == rows


@pytest.mark.parametrize(
    "document", [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")], ids=lambda path: path.name
)
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
    for document in [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")]:
        targets = link.findall(document.read_text(encoding="utf-8"))
        assert [target for target in targets if not (document.parent / target).exists()] == [], document.name
