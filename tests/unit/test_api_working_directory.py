"""`fscrawl.open` with relative paths, where the working directory changes."""

import pickle

import pytest

import fscrawl
from tests.support.read_trees import HOME, grown_in


@pytest.fixture
def grown(tmp_path):
    return grown_in(tmp_path / "tree")


def test_the_working_directory_changes(grown, tmp_path, monkeypatch):
    """A relative path means what it meant when the tree was opened, also where the crawl is unpickled."""
    monkeypatch.chdir(tmp_path)
    crawl = fscrawl.open(grown.root.name)
    monkeypatch.chdir("/")
    for each in (crawl, pickle.loads(pickle.dumps(crawl))):
        assert each.root == grown.root
        assert each.page(HOME).title == "Ä title"


def test_the_working_directory_is_gone(grown, tmp_path, monkeypatch):
    """Then a relative path leads nowhere, which is one sentence; another one does not need it."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert fscrawl.open(grown.root).page(HOME)
    with pytest.raises(fscrawl.FscrawlError, match="tree: there is no crawl here"):
        fscrawl.open("tree")
