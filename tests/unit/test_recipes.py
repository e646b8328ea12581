"""The commands and files of docs/recipes.md are read by the real parsers; tests/system/test_recipes.py runs them."""

from __future__ import annotations

import re
import shlex

import pytest

from fscrawl import cli
from fscrawl.config import settings
from fscrawl.sites.code import load
from fscrawl.sites.site_file import SiteFile
from tests.support.recipes import DOCUMENT, Recipe, commands, files, recipes

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_there_are_twenty_recipes_or_more() -> None:
    """Each section is a recipe, and has commands."""
    assert len(recipes()) >= 20
    assert [each.title for each in recipes() if not each.blocks] == []


def test_every_block_of_commands_is_run() -> None:
    """No fenced block is of another kind than those that the tests run."""
    assert TEXT.count("```") == 2 * sum(len(each.blocks) for each in recipes())


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_commands_and_files_can_be_read(recipe: Recipe) -> None:
    """Each command of fscrawl is one, with settings that it knows; each file is what its name says."""
    for block in recipe.blocks:
        for line in commands(block):
            words = shlex.split(line)
            if words[0] == "fscrawl":
                options = cli.parser().parse_args(words[1:])
                settings.apply(settings.Settings(), getattr(options, "set", []))
        for name, text in files(block):
            if name.endswith("crawl.toml"):
                settings.parse(text)
            elif name.endswith(".py"):
                assert load(SiteFile(name, text))
            elif name == "python":
                compile(text, recipe.title, "exec")


def test_every_recipe_is_in_the_overview() -> None:
    """The table at the beginning leads to each recipe, once."""
    overview = TEXT.partition("\n## ")[0]
    targets = re.findall(r"\(#([^)]+)\)", overview)
    assert len(targets) == len(set(targets)) == len(recipes())
