"""Records that can be read, and that a merge refuses all the same: an audit says so, too."""

import json

import pytest

from fscrawl import merge, urls
from fscrawl.storage.layout import LINKS
from tests.support.audits import BAD, ONE, SEED, Made, flipped_body
from tests.support.trees import inline

OTHER_FORM = "http://a.example/./three"


def edit(made, directory, url, **values):
    """Change what a record says, as by an edit."""
    path = made.file(directory, url)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **values}))


def merged(made, tmp_path):
    """Merge; give what is said of pages that are left out."""
    said = []
    with inline():
        merge.merge(made.root, tmp_path / "out", {}, said.append)
    return said


WRONG = [
    *({"fetched_at": "yesterday"}, {"checked_at": ""}, {"depth": -1}, {"depth": 10**20}, {"status": -1}),
    *({"checked_status": 2**31}, {"bytes": -1}, {"elapsed": 1e12}, {"referrer": "a b"}, {"referrer": "x\nt"}),
]


@pytest.mark.gate
@pytest.mark.parametrize("values", WRONG, ids=str)
def test_wrong_value_of_a_page(any_made, values, tmp_path):
    """A page of which a merge refuses a value is named with the same words, and a repair has it fetched again."""
    made = any_made
    edit(made, "links", ONE, **values)
    before = made.files()
    said = merged(made, tmp_path)
    report = made.audit()
    assert report.found == {"torn_records": 1}
    (told,) = report.examples["torn_records"]
    why = "is wrong" if "fetched_at" in values or "checked_at" in values else "cannot be read"
    assert said == [f"{told.replace(': ', f': its record {why}: ', 1)}; left out"]
    assert made.files() == before
    repaired = made.audit(repair=True)
    assert (repaired.ok, repaired.put_back, repaired.generation) == (True, 1, 2)
    assert made.put_back() == {ONE: (1, urls.key(SEED))}
    assert made.audit().found == {}


@pytest.mark.gate
@pytest.mark.parametrize(
    "values",
    [
        *({"failed_at": "x"}, {"failed_at": "2026-01-01 00:00:00"}, {"depth": -1}, {"status": 2**32}),
        *({"attempts": 10**30}, {"referrer": "a b"}, {"referrer": "x\nt"}),
    ],
    ids=str,
)
def test_wrong_value_of_a_failure(any_made, values):
    """So it is with failures: a merge leaves them out, and a repair has their URLs asked for again."""
    made = any_made
    edit(made, "errs", BAD, **values)
    report = made.audit()
    assert report.found == {"damaged_errors": 1}
    assert next(iter(values)) in report.examples["damaged_errors"][0]
    assert made.audit(repair=True).ok
    assert made.put_back() == {BAD: (1, urls.key(SEED))}


def test_wrong_depth_in_no_log(tmp_path):
    """A depth that no log can hold comes into none, even if nothing else says how deep the page is."""
    made = Made(tmp_path / "root")
    made.page("http://a.example/unlinked", (), depth=10**20)
    report = made.audit(repair=True)
    assert (report.found, report.put_back) == ({"torn_records": 1}, 0)
    assert made.audit().found == {"set_aside": 1, "orphan_bodies": 1}


def test_url_that_is_not_normal(any_made, tmp_path):
    """A page or a failure whose URL is not in its normal form is named, and left: no crawl would fetch it again."""
    made = any_made
    made.page(OTHER_FORM, (SEED,))
    made.fail(f"{OTHER_FORM}/bad")
    said = merged(made, tmp_path)
    where = made.tree.tree_path(LINKS, "a.example", urls.key(OTHER_FORM))
    flaw = f"its URL is {OTHER_FORM}, which is not in its normal form"
    assert said == [f"{where}: its record is wrong: {flaw}; left out"]
    before = made.files()
    report = made.audit(repair=True)
    assert (report.found, report.mended, report.put_back) == ({"not_normal": 2}, {}, 0)
    assert f"{where}: {flaw}" in report.examples["not_normal"]
    assert made.files() == before
    assert not report.ok


def test_damaged_body_of_a_url_that_is_not_normal(made):
    """Nor is such a page removed if its body is damaged."""
    made.page(OTHER_FORM, ())
    body = made.file("htmls", OTHER_FORM)
    body.write_bytes(b"<p>")
    flipped_body(made)
    assert made.audit(repair=True).mended == {"damaged_bodies": 1}
    assert body.read_bytes() == b"<p>"
