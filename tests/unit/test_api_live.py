"""A tree that is read from Python while others work on it, and what is wrong in it."""

import errno
import json
import os
import shutil

import pytest

import fscrawl
from fscrawl.api import page as api_page
from fscrawl.api import pages as api_pages
from tests.support.trees import Grown

HOST = "a.example"


def url(number):
    return f"http://{HOST}/{number}"


@pytest.fixture
def grown(tmp_path, monkeypatch):
    monkeypatch.setattr(api_page, "_MOMENT_S", 0.01)
    tree = Grown(tmp_path / "tree")
    for number in range(12):
        tree.page(url(number), f"<p>body {number}".encode())
    return tree


@pytest.fixture
def in_order(grown):
    """Give the URLs in the order of an iteration."""
    return [page.url for page in fscrawl.open(grown.root)]


def test_a_record_that_is_cut_in_half(grown):
    """A torn record is left out and counted, and at the end a warning names the first."""
    for number, data in ((3, b""), (4, grown.file("links", url(4)).read_bytes()[:100]), (5, b"[1]"), (6, b"\xff\xfe")):
        grown.file("links", url(number)).write_bytes(data)
    pages = fscrawl.open(grown.root).pages()
    with pytest.warns(UserWarning, match=r"^4 pages were left out; the first: .*\.json: its record"):
        found = {page.url for page in pages}
    assert found == {url(number) for number in (0, 1, 2, 7, 8, 9, 10, 11)}
    assert pages.skipped == 4
    assert {path for path, _ in pages.problems} == {str(grown.file("links", url(number))) for number in (3, 4, 5, 6)}
    with pytest.raises(fscrawl.FscrawlError, match=r"links/a\.example/.*json: its record cannot be read"):
        fscrawl.open(grown.root).page(url(4))


def test_bodies_that_somebody_has_removed(grown, monkeypatch):
    """They are not waited for, but for the instant in which sshfs replaces a name: there may be a million of them."""
    waited = []
    monkeypatch.setattr(api_page.time, "sleep", waited.append)
    shutil.rmtree(grown.root / "htmls" / HOST)
    with pytest.warns(UserWarning, match="12 pages were left out; the first: .*its body is missing"):
        assert list(fscrawl.open(grown.root).pages(bodies=True)) == []
    assert waited == [api_page._INSTANT_S] * 12


def test_the_directory_of_all_bodies_is_missing(grown):
    """Then no page is left out as one without a body: the share where they lie may not be mounted."""
    pages = fscrawl.open(grown.root).pages(bodies=True)
    (grown.root / "htmls").rename(grown.root / "elsewhere")
    with pytest.raises(fscrawl.FscrawlError, match=r"/htmls: it is not there; is the share mounted\?"):
        next(pages)


@pytest.mark.parametrize("planted", ["link", "directory", "fifo"])
def test_what_is_no_file(grown, planted):
    """A link, a directory or a FIFO in place of a record is left out, and not followed or waited for."""
    path = grown.file("links", url(3))
    path.unlink()
    make = {"link": lambda: path.symlink_to("/etc/passwd"), "directory": path.mkdir, "fifo": lambda: os.mkfifo(path)}
    make[planted]()
    with pytest.warns(UserWarning, match="1 page was left out"):
        assert len(list(fscrawl.open(grown.root).pages())) == 11


def test_permission_denied(grown, monkeypatch):
    """A record that may not be read is left out and counted; a directory that may not be listed is one clear error."""
    real, denied = os.open, grown.file("links", url(3)).name

    def refuse(path, *arguments, **options):
        if str(path).endswith(denied):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.warns(UserWarning, match="1 page was left out.*permission denied"):
        assert len(list(fscrawl.open(grown.root).pages())) == 11

    def refuse_list(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse_list)
    with pytest.raises(fscrawl.FscrawlError, match=r"links/a\.example: permission denied"):
        list(fscrawl.open(grown.root).pages())


WRONG = [
    *(("status", value) for value in ("ok", -1, 2**31, None)),
    *(("depth", value) for value in (-1, 2**31, True)),
    *(("bytes", value) for value in (-1, 2**63)),
    *(("elapsed", value) for value in (-1, 2**31, "long", None)),
    *(("fetched_at", value) for value in ("yesterday", 5)),
    *(("checked_at", value) for value in ("", "0001-01-01T00:00:00+14:00")),
    ("headers", {"a": 1}),
    ("links", [1]),
    ("file", "../../x"),
    ("url", url(3) + "#here"),
    ("url", url(99)),
    ("key", "0" * 24),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_record_that_was_edited(grown, name, value):
    """A record that a merge would not take is left out of pages, rows, tables and links; to ask for it is an error."""
    path = grown.file("links", url(3))
    path.write_text(json.dumps({**json.loads(path.read_bytes()), name: value}))
    crawl = fscrawl.open(grown.root)
    with pytest.raises(fscrawl.FscrawlError, match=f"^{path}: its record "):
        crawl.page(url(3))
    for ask in (lambda: list(crawl.pages()), lambda: list(crawl.rows()), crawl.to_arrow):
        with pytest.warns(UserWarning, match=f"1 page was left out; the first: {path}: its record "):
            assert len(ask()) == 11
    with pytest.warns(UserWarning, match="1 page was left out"):
        assert all(link.source != url(3) for link in crawl.links())


def test_a_record_of_another_page(grown):
    """A record that was copied to another name is left out."""
    shutil.copy(grown.file("links", url(1)), grown.file("links", url(2)))
    with pytest.warns(UserWarning, match="which has another file"):
        assert len(list(fscrawl.open(grown.root).pages())) == 11


def test_a_large_record(grown):
    """A record with many long links is read."""
    grown.page(url(4), b"<p>", links=tuple(f"http://{HOST}/{'x' * 1000}{number}" for number in range(1100)))
    assert len(fscrawl.open(grown.root).page(url(4)).links) == 1100


# -- bodies


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("cut", "differs from its record"),
        ("longer", "differs from its record"),
        ("gone", "is missing"),
        ("link", "cannot be read: .* symbolic link"),
    ],
)
def test_a_body_that_is_damaged(grown, what, how):
    """Asking for a damaged body is an error that names the file; whole pages do not have it."""
    path = grown.file("htmls", url(3))
    data = path.read_bytes()
    path.unlink()
    if what == "link":
        path.symlink_to("/etc/passwd")
    elif what != "gone":
        path.write_bytes(data[:5] if what == "cut" else data + b"x")
    crawl = fscrawl.open(grown.root)
    with pytest.raises(fscrawl.FscrawlError, match=f"{path}: its body {how}"):
        _ = crawl.page(url(3)).html
    assert len(list(crawl.pages())) == 12
    pages = crawl.pages(bodies=True)
    with pytest.warns(UserWarning, match="1 page was left out"):
        assert all(page.html.startswith(b"<p>body") for page in pages)
    assert pages.skipped == 1
    with pytest.warns(UserWarning, match="1 page was left out"):
        assert crawl.to_arrow(["text"]).num_rows == 11


def test_a_body_that_may_not_be_read(grown, monkeypatch):
    """A body of another user may be whole: it is neither missing nor wrong."""
    path, real = grown.file("htmls", url(3)), os.open

    def denied(name, flags, *more, **options):
        if name == path.name:
            raise PermissionError(errno.EACCES, "permission denied")
        return real(name, flags, *more, **options)

    page = fscrawl.open(grown.root).page(url(3))
    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(fscrawl.FscrawlError, match=f"{path}: permission denied"):
        _ = page.html


def test_a_body_of_the_same_size(grown):
    """The digest is compared, so it is found, too."""
    grown.file("htmls", url(3)).write_bytes(b"<p>b0dy 3")
    crawl = fscrawl.open(grown.root)
    with pytest.raises(fscrawl.FscrawlError, match="its body differs from its record"):
        _ = crawl.page(url(3)).html
    with pytest.warns(UserWarning, match="its body differs from its record"):
        assert len(list(crawl.pages(bodies=True))) == 11


def test_a_rendered_page_that_is_damaged(grown):
    """The same holds for what scripts have made."""
    grown.rendered(url(3), b"<p>before", b"<p>after")
    path = grown.root / grown.tree.dom_path(HOST, grown.records[url(3)].key)
    path.write_bytes(b"<p>")
    page = fscrawl.open(grown.root).page(url(3))
    assert page.html == b"<p>before"
    with pytest.raises(fscrawl.FscrawlError, match=f"{path}: "):
        _ = page.text


def test_a_page_that_is_refreshed(grown, in_order):
    """A page that is stored again between its record and its body is the new one, with all its attributes."""
    pages = fscrawl.open(grown.root).pages()
    page = next(pages)
    assert page.title is None
    grown.page(page.url, b"<title>New</title><p>much longer than before")
    assert page.text == "much longer than before"
    assert (page.title, page.bytes) == ("New", len(page.html))
    assert [page.url, *(each.url for each in pages)] == in_order


def test_a_page_in_the_moment_of_its_refresh(grown, monkeypatch):
    """A new body stands there a moment before its record: whoever comes between waits."""
    page = fscrawl.open(grown.root).page(url(3))
    new = b"<title>New</title>"
    grown.file("htmls", url(3)).write_bytes(new)
    waited = []

    def wait(seconds):
        waited.append(seconds)
        if len(waited) == 2:
            grown.page(url(3), new)

    monkeypatch.setattr(api_page.time, "sleep", wait)
    assert (page.html, page.title) == (new, "New")


def test_a_page_that_became_a_redirect(grown):
    """A refresh may find a redirect, whose record has no body."""
    page = fscrawl.open(grown.root).page(url(3))
    grown.redirect(url(3), url(4))
    grown.file("htmls", url(3)).unlink()
    assert (page.html, page.fetch_redirect) == (None, url(4))


# -- iterations


def test_pages_that_are_removed(grown, in_order, monkeypatch):
    """What was removed since its directory was listed is not there, and is no damage."""
    monkeypatch.setattr(api_page, "_INSTANT_S", 0.0)
    pages = fscrawl.open(grown.root).pages()
    first = next(pages)
    for each in in_order[6:]:
        grown.file("links", each).unlink()
    assert [first.url, *(page.url for page in pages)] == in_order[:6]
    assert pages.skipped == 0


def test_a_tree_that_grows(grown, in_order):
    """Pages and hosts that come while a tree is read may be found or not; no page is found twice or lost."""
    found = []
    for page in fscrawl.open(grown.root):
        found.append(page.url)
        grown.page(f"http://{HOST}/new/{len(found)}")
        grown.page(f"http://z{len(found)}.example/")
        grown.page(in_order[len(found) % 12], b"<p>again")
    assert len(found) == len(set(found))
    assert set(found) >= set(in_order)


def test_a_share_that_is_gone(grown, monkeypatch):
    """When the share is unmounted, an iteration is an error, and does not look like its end."""
    monkeypatch.setattr(api_page, "_INSTANT_S", 0.0)
    crawl = fscrawl.open(grown.root)
    pages = crawl.pages()
    next(pages)
    grown.root.rename(grown.root.parent / "elsewhere")
    with pytest.raises(fscrawl.FscrawlError, match="is the share mounted"):
        list(pages)
    with pytest.raises(fscrawl.FscrawlError, match="is the share mounted"):
        crawl.page(url(3))


@pytest.mark.parametrize(
    ("directory", "asks"),
    [
        ("links", [len, list, lambda crawl: list(crawl.links()), lambda crawl: list(crawl.failures())]),
        ("errs", [lambda crawl: list(crawl.failures())]),
    ],
)
def test_a_directory_of_the_tree_that_is_gone(grown, directory, asks):
    """Without the directory of all records, or of all failures, a tree does not look empty."""
    grown.fail(url(99))
    crawl = fscrawl.open(grown.root)
    (grown.root / directory).rename(grown.root / "elsewhere")
    for ask in asks:
        with pytest.raises(fscrawl.FscrawlError, match=f"/{directory}: it is not there; is the share mounted"):
            ask(crawl)


def test_failures_of_a_share_that_goes(grown):
    """When the share is unmounted while failures are read, that is an error, and not their end."""
    grown.fail(url(98))
    grown.fail(url(99))
    failures = fscrawl.open(grown.root).failures()
    next(failures)
    grown.root.rename(grown.root.parent / "elsewhere")
    with pytest.raises(fscrawl.FscrawlError, match="is the share mounted"):
        list(failures)


def test_the_status_of_a_share_that_is_gone(grown):
    """An unmounted share, whose directory is empty, is no new crawl."""
    crawl = fscrawl.open(grown.root)
    grown.root.rename(grown.root.parent / "elsewhere")
    grown.root.mkdir()
    with pytest.raises(fscrawl.FscrawlError, match="is the share mounted"):
        crawl.status()


def test_an_iterator_stays_in_its_process(grown, monkeypatch):
    """After a fork, an iterator that was begun before says that it is of the other process; the crawl works on."""
    monkeypatch.setattr(api_pages, "_FILES", 2)
    crawl = fscrawl.open(grown.root)
    pages = crawl.pages()
    next(pages)
    real = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: real + 1)
    with pytest.raises(fscrawl.FscrawlError, match="another process"):
        list(pages)
    assert len(list(crawl.pages())) == 12
