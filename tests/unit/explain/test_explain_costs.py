"""At how many hosts an explanation looks: a tree may have 100,000."""

import pytest

from fscrawl import urls
from fscrawl.storage.files import TreeFiles
from tests.support.explained import MISSING, SEED, ask, line_of, say

FAR = "http://z.example/page"  # the last host that is tried


@pytest.fixture
def tree(tree):
    for number in range(20):
        tree.page(f"http://host-{number}.example/", b"page", depth=1)
    tree.page(FAR, b"page", depth=1)
    return tree


@pytest.fixture
def looked(monkeypatch):
    """The records that were looked for, as (directory, host)."""
    found = []

    def look_on(name):
        real = getattr(TreeFiles, name)

        def looks(files, path, *more):
            if path.endswith(".json") and path.startswith(("links/", "errs/")):
                found.append(tuple(path.split("/")[:2]))
            return real(files, path, *more)

        monkeypatch.setattr(TreeFiles, name, looks)

    look_on("read")
    look_on("exists")
    return found


def test_target_of_a_redirect_that_is_not_stored(tree, looked):
    """Its URL says which host it has: no other one is looked at."""
    tree.redirect("http://a.example/1", "http://b.example/nowhere")
    assert [(hop.url, hop.status) for hop in ask(tree, "http://a.example/1").redirects] == [
        ("http://b.example/nowhere", None)
    ]
    assert {host for _, host in looked} == {"a.example", "b.example"}


def test_key_that_is_found(tree, looked):
    """A key whose record was found is not looked for among the failures of all hosts."""
    tree.fail("http://b.example/x")
    assert ask(tree, urls.key(FAR)).url == FAR
    assert {host for directory, host in looked if directory == "errs"} == {"z.example"}


def test_referrer_of_many_lines(tree, looked):
    """A page that many lines name is looked for once."""
    say(tree, *(line_of(tree, MISSING, referrer=FAR, depth=depth) for depth in range(1, 6)))
    assert [line.found_on for line in ask(tree, MISSING).lines] == [FAR] * 5
    assert looked.count(("links", "host-7.example")) == 1
    assert ask(tree, SEED).stored
