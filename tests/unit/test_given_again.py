"""The same command on a tree that is there: the same settings are accepted, others are named with their line."""

import pytest

from fscrawl import cli
from fscrawl.config.given_again import check_same
from fscrawl.config.settings import Settings, apply, render
from fscrawl.errors import SettingsError

GIVEN = ["politeness.delay=0.5", 'crawl.allow=["a+"]', "crawl.max_pages=20"]
TREE = apply(Settings(), GIVEN)
TEXT = render(TREE)


@pytest.mark.parametrize("again", [[], GIVEN, GIVEN[:1], ["politeness.delay=5e-1"], ["fleet.shards=512"]])
def test_what_the_tree_has(again):
    """Values that the tree has already are accepted, however they are written."""
    check_same(TREE, again, TEXT, "crawl.toml")


def refusal(assignments, text=TEXT, current=TREE):
    with pytest.raises(SettingsError) as caught:
        check_same(current, assignments, text, "/t/crawl.toml")
    return str(caught.value)


def test_each_difference_is_named():
    """All differing values are named, with what the tree has and the line to edit."""
    told = refusal([*GIVEN[:1], "crawl.max_pages=30", "crawl.max_depth=3"])
    number = TEXT.splitlines().index("max_pages = 20") + 1
    commented = TEXT.splitlines().index("# max_depth =") + 1
    assert told.split("; --set ") == [
        f"--set crawl.max_depth: the tree has no max_depth; edit /t/crawl.toml:{commented}:1",
        f"crawl.max_pages: the tree has max_pages = 20; edit /t/crawl.toml:{number}:1",
    ]


def test_a_setting_that_the_file_does_not_have():
    """Where the file lacks the setting, the section is named in which to write it."""
    assert refusal(["crawl.max_pages=30"], "[politeness]\nmax_pages = 3\n") == (
        "--set crawl.max_pages: the tree has max_pages = 20; write it below [crawl] in /t/crawl.toml"
    )


def test_what_was_fixed():
    """What was fixed when the tree was made cannot be edited, and so no line is named."""
    told = refusal(["fleet.shards=7"])
    assert told == (
        "--set fleet.shards: the tree has shards = 512, which was fixed when it was created; start a new tree elsewhere"
    )


def test_secrets_are_not_shown():
    """Neither the tree's password nor the given one is in the message."""
    current = apply(Settings(), ["fetch.auth={'a.example' = 'me:first'}"])
    told = refusal(["fetch.auth={'a.example' = 'me:second'}"], render(current), current)
    assert "the tree has another value" in told
    assert "first" not in told
    assert "second" not in told


def test_places():
    """The place where a setting stands counts more than one where it is commented out before."""
    text = "[fetch]\n# accept = []\n[crawl]  # max_depth = 2\n# max_pages = 2\n  max_pages=20\n# max_depth =\n"
    assert refusal(["crawl.max_pages=3"], text).endswith("edit /t/crawl.toml:5:3")
    assert refusal(["crawl.max_depth=3"], text).endswith("edit /t/crawl.toml:6:1")
    assert refusal(["crawl.order=depth"], text).endswith("write it below [crawl] in /t/crawl.toml")
    assert refusal(["fleet.beat=3"], text).endswith("write it below [fleet] in /t/crawl.toml")


def test_the_command(tmp_path, capsys):
    """`crawl` on a tree of other settings ends with code 2 and one line, before a machine leaves a trace."""
    root = tmp_path / "tree"
    from tests.support.trees import Grown

    Grown(root)
    (root / "crawl.toml").write_text(TEXT)
    code = cli.main(["crawl", "--root", str(root), "--set", "politeness.delay=9", "--quiet"])
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert line.startswith("fscrawl: --set politeness.delay: the tree has delay = 0.5; edit ")
    assert not list((root / ".fscrawl/machines").iterdir())
