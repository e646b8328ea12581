"""The extensions of documents, which are part of the tree's format."""

import re
from pathlib import Path

from fscrawl.parse.extensions import EXTENSIONS, TEXTS, extension
from fscrawl.storage.layout import EXTENSION

FORMAT = Path(__file__).parents[2] / "docs/design/tree-format.md"


def test_documented():
    """The tree format has the same table."""
    lines = FORMAT.read_text(encoding="utf-8").partition("### Extensions")[2].splitlines()
    for each, types in EXTENSIONS.items():
        assert f"| `{each}` | {', '.join(f'`{name}`' for name in types)} |" in lines


def test_each_is_one():
    """Each extension may stand in a record, none is that of another directory, and no type has two."""
    assert all(re.match(EXTENSION, each) for each in EXTENSIONS)
    assert {"html", "tmp", "torn"}.isdisjoint(EXTENSIONS)
    types = [each for some in EXTENSIONS.values() for each in some]
    assert len(types) == len(set(types))
    assert set(EXTENSIONS) >= TEXTS


def test_of_other_types():
    """A type that is not in the table has the extension of its syntax, or of its kind."""
    names = ("a/b+json", "a/b+xml", "a/b+zip", "a/b+cbor", "text/b", "a/b", "", "unknown/unknown")
    assert [extension(name) for name in names] == ["json", "xml", "zip", "bin", "txt", "bin", "bin", "bin"]
