"""What the frontier learns of a tree."""

from fscrawl import urls
from fscrawl.frontier.shards import StoredOnTree
from tests.support.trees import Grown

PAGE, REDIRECT, FAILED = (f"http://a.example/{name}" for name in ("page", "redirect", "failed"))


def test_stored_on_tree(tmp_path):
    """Stored pages and failures are told by their keys, and only pages with a body are counted."""
    tree = Grown(tmp_path / "tree")
    tree.page(PAGE)
    tree.redirect(REDIRECT, PAGE)
    tree.fail(FAILED)
    stored = StoredOnTree(tree.tree)
    stored.list_hosts()
    assert stored.hosts == {"a.example"}
    assert sorted(stored.keys("a.example")) == sorted(map(urls.key, (PAGE, REDIRECT, FAILED)))
    assert stored.page_count("a.example") == 1


def test_a_host_that_was_not_listed(tmp_path):
    """A host that had no directory when the hosts were last listed costs no call, and nothing is stored of it."""
    tree = Grown(tmp_path / "tree")
    stored = StoredOnTree(tree.tree)
    stored.list_hosts()
    tree.page(PAGE)
    assert (stored.keys("a.example"), stored.page_count("a.example")) == ([], 0)


def test_documents_are_pages(tmp_path):
    """A page is counted by its body, in whichever directory; one that is changing its type is counted once."""
    tree = Grown(tmp_path / "tree")
    tree.page(PAGE)
    files = tree.tree.root / "files/a.example"
    files.mkdir()
    (files / f"{urls.key(PAGE)}.pdf").write_bytes(b"x")
    (files / f"{urls.key(FAILED)}.jpg").write_bytes(b"x")
    stored = StoredOnTree(tree.tree)
    stored.list_hosts()
    assert (stored.page_count("a.example"), tree.tree.all_pages(), tree.tree.page_count("a.example")) == (2, 2, 2)
