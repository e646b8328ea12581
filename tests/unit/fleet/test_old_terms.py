"""Files of terms that cannot count any more are removed; all others stay, whoever may need them."""

import dataclasses
import os
import time

import pytest

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet import terms as module
from fscrawl.fleet.terms import OldTerms, Term, Terms
from fscrawl.storage.layout import heartbeat_path, term_path
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(FORMAT, "c", "", 9, "host", 32 * "a")
OTHER = TreeRecord(FORMAT, "c", "", 9, "host", 32 * "b")
DAY_S = 86400.0


def term(generation, record=RECORD, **crawl):
    return Term.of(Settings(CrawlSettings(**crawl)), ["http://a.example/"], record, generation)


WITHOUT_SITEMAPS = dataclasses.replace(term(1), sitemaps=False)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    create(root, RECORD, "", "")
    tree = Tree(root, "m-1-aa")
    (root / heartbeat_path("m-1-aa")).write_text("\n")
    return tree


def put(tree, of, days, data=None):
    """Write the file of a term, so many days ago."""
    path = tree.root / term_path(of.digest)
    path.write_bytes(of.to_json() if data is None else data)
    at = time.time() - days * DAY_S
    os.utime(path, (at, at))
    return path


def test_what_goes(tree):
    """A term of an earlier generation that is weeks old goes."""
    gone = [put(tree, term(generation), 15) for generation in (0, 1, 2)]
    kept = [
        put(tree, term(2, scope="any"), 13),
        put(tree, term(3), 400),
        put(tree, term(3, scope="any"), 400),
        put(tree, term(4), 400),
        put(tree, term(1, OTHER), 400),
        put(tree, WITHOUT_SITEMAPS, 400),  # who reads it later knows that the tree may lack URLs of sitemaps
        put(tree, term(1, scope="host"), 400, b"torn"),
    ]
    OldTerms(tree.files).remove(term(3))
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)


def test_each_is_read_once(tree, monkeypatch):
    """A look costs a listing, not all the files: they have the hosts of all seeds."""
    put(tree, term(3), 400)
    old = put(tree, term(1), 1)
    read = []
    real = module.read_term
    monkeypatch.setattr(module, "read_term", lambda files, digest: read.append(digest) or real(files, digest))
    terms = OldTerms(tree.files)
    terms.remove(term(3))
    terms.remove(term(3))
    assert read == [term(1).digest]
    at = time.time() - 20 * DAY_S
    os.utime(old, (at, at))
    terms.remove(term(3))
    assert not old.exists()
    assert read == [term(1).digest]


def test_without_the_times_of_the_share(tree):
    """Who cannot compare times removes nothing."""
    old = put(tree, term(1), 400)
    (tree.root / heartbeat_path("m-1-aa")).unlink()
    OldTerms(tree.files).remove(term(3))
    assert old.exists()


def test_a_machine_that_goes_on_by_a_removed_term(tree):
    """It makes the file again, should it begin once more; its marks count for nobody who knows the generation."""
    old, new = term(1), term(3)
    OldTerms(tree.files).remove(new)
    assert not Terms(tree.files, new).covers(old.digest)
    assert Terms(tree.files, old).covers(old.digest)
    assert (tree.root / term_path(old.digest)).exists()
