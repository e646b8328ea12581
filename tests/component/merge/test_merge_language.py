"""The columns of `--language`: what is in them, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.merging import refused
from tests.support.trees import ALL, Grown, check

GERMAN = (
    "Der Turm steht seit vielen Jahren am Rand der Stadt, und niemand weiß noch, wer ihn gebaut hat oder wozu. "
    "Von oben sieht man bei gutem Wetter bis zu den Bergen."
)
FRENCH = (
    "La vieille tour se dresse depuis longtemps au bord de la ville, et personne ne sait plus qui l'a construite. "
    "Par beau temps on voit les montagnes."
)
NAMES = {"language", "language_score"}


@pytest.fixture
def several(tree: Grown) -> Grown:
    tree.page("http://l.example/de", f"<html lang=en><p>{GERMAN}".encode())
    tree.page("http://l.example/fr", f"<nav>Accueil</nav><article><p>{FRENCH}</article>".encode())
    tree.page("http://l.example/short", b"<p>Guten Tag")
    return tree


@pytest.mark.parametrize("text", ["visible", "main", "none"])
def test_detected(several: Grown, out: Path, text: str) -> None:
    """It is what the text is in, whatever the page says of itself; null where there is too little, or no text."""
    made = several.merge(out, language=True, text=text)
    rows = made.by_url()
    found = {url: (row["language"], row["content_languages"]) for url, row in rows.items() if "//l." in url}
    assert found == {
        "http://l.example/de": ("de", "en"),
        "http://l.example/fr": ("fr", None),
        "http://l.example/short": (None, None),
    }
    assert 0.5 <= rows["http://l.example/de"]["language_score"] <= 1
    assert rows["http://l.example/short"]["language_score"] is None
    assert {rows[f"http://a.example/{name}"]["language"] for name in ("old", "pdf")} == {None}
    assert ("text" in rows["http://l.example/de"]) is (text != "none")


def test_documents(several: Grown, out: Path) -> None:
    """Documents that are not HTML have a language, too."""
    several.page("http://l.example/t.txt", GERMAN.encode(), headers={"content-type": "text/plain"}, file="txt")
    several.page("http://l.example/i.png", b"\x89PNG", headers={"content-type": "image/png"}, file="png")
    rows = several.merge(out, language=True).by_url()
    assert rows["http://l.example/t.txt"]["language"] == "de"
    assert rows["http://l.example/i.png"]["language"] is None


def test_every_format(several: Grown, out: Path) -> None:
    """All tables have the columns, and the card explains them."""
    made = several.merge(out, language=True, formats=ALL)
    check(made)
    (line,) = (row for row in made.json_lines() if row["url"] == "http://l.example/de")
    assert line["language"] == "de"
    assert "| `language_score` | double |" in (out / "README.md").read_text()


def test_nothing_else_changes(several: Grown, out: Path) -> None:
    """The other columns have the same values with and without, and without it there are no new ones."""
    without = several.merge(out.with_name("without"))
    made = several.merge(out, language=True)
    assert set(made.table().column_names) == {*without.table().column_names, *NAMES}
    assert made.table().drop_columns(sorted(NAMES)).equals(without.table())


@pytest.mark.gate
def test_later_runs(several: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """A dataset keeps what it was made with: later runs detect without the option, or are refused with it."""
    assert fscrawl("--language")[0] == 0
    several.page("http://l.example/new", f"<p>{FRENCH}".encode())
    assert fscrawl()[0] == 0
    assert fscrawl("--language")[0] == 0
    other = out.with_name("other")
    assert fscrawl(to=other)[0] == 0
    refused(fscrawl("--language", to=other), 2, "language = false, not true", "--rebuild")


@pytest.mark.gate
@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_field_of_that_name(
    several: Grown, out: Path, tmp_path: Path, fscrawl: Callable[..., tuple[int, str, str]], name: str
) -> None:
    """With the option, a field cannot have the name of such a column; without it, it can."""
    path = tmp_path / "fields.toml"
    path.write_text(f'[hosts."*"]\n{name} = {{ css = "html::attr(lang)" }}\n')
    refused(fscrawl("--language", "--fields", str(path)), 2, f"--language makes a column {name}:")
    assert fscrawl("--fields", str(path))[0] == 0
