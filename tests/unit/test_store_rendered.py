"""The files of a page that was rendered: its response, its DOM, its picture."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl.errors import RecordError
from fscrawl.storage.records import FORMAT, PageRecord, RenderRecord, TreeRecord
from fscrawl.store import Tree, create
from tests.support.stored_files import KEY

HOST = "a.example"
BODY, DOM, PICTURE = (
    b"<script src=/a.js></script>",
    b"<x-a><template shadowrootmode=open>b</template></x-a>",
    b"\x89PNG",
)
RENDERED = RenderRecord("host", "done", 0.1, len(DOM), sha256(DOM).hexdigest(), screenshot=len(PICTURE))
PAGE = PageRecord(
    f"http://{HOST}/", KEY, 0, "", "t", "m", 200, {"content-type": "text/html; charset=latin1"}, len(BODY),
    sha256(BODY).hexdigest(), 0.1, (), rendered=RENDERED,
)  # fmt: skip
PATHS = [f"htmls/{HOST}/{KEY}.html", f"htmls/{HOST}/{KEY}.dom.html", f"files/{HOST}/{KEY}.png"]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    create(tmp_path / "root", TreeRecord(FORMAT, "c1", "t", 512, "host", "0" * 32), "", "")
    tree = Tree(tmp_path / "root", "m-1-aa")
    tree.put_page(HOST, PAGE, BODY, {PATHS[1]: DOM, PATHS[2]: PICTURE})
    return tree


def test_files(tree: Tree) -> None:
    """The three stand side by side, and the record names them; they are one page."""
    assert [path for path in PATHS if (tree.root / path).exists()] == PATHS
    assert tree.bodies(HOST, KEY) == PATHS
    assert list(tree.bodies_of(HOST, PAGE)) == PATHS
    assert tree.page_count(HOST) == 1


def test_what_a_page_looks_like(tree: Tree) -> None:
    """It is the DOM, in UTF-8; without one it is the body."""
    assert tree.seen(HOST, PAGE) == DOM
    assert (PAGE.as_seen.headers["content-type"], PAGE.as_seen.encoding) == ("text/html; charset=utf-8", "utf-8")
    plain = replace(PAGE, rendered=None)
    assert tree.seen(HOST, plain) == BODY
    assert plain.as_seen is plain


def test_a_page_that_is_rendered_no_more(tree: Tree) -> None:
    """What the new record does not name is removed, and the body stays."""
    now = replace(PAGE, rendered=RenderRecord("empty", "failed"))
    tree.put_record(HOST, now)
    tree.drop_bodies(HOST, PAGE, now)
    assert tree.bodies(HOST, KEY) == PATHS[:1]


def test_a_record_in_its_file() -> None:
    """The record is read back equal; what says nothing is not in the file."""
    assert PageRecord.from_json(PAGE.to_json()) == PAGE
    assert b'"blocked"' not in PAGE.to_json()


def test_files_of_others(tree: Tree) -> None:
    """Only what carries the key is a body of the page."""
    (tree.root / f"files/{HOST}/{'0' * 24}.pdf").write_bytes(b"")
    (tree.root / f"files/{HOST}/readme").write_bytes(b"")
    assert tree.bodies(HOST, KEY) == PATHS


def test_a_record_whose_rendering_is_none() -> None:
    """A record says of its rendering what a machine writes, or it is damaged."""
    text = PAGE.to_json().decode()
    assert PageRecord.from_json(text.encode()) == PAGE
    with pytest.raises(RecordError):
        PageRecord.from_json(text.replace('"why":"host"', '"why":1').encode())
