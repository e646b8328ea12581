"""What a tree tells of a URL that it has stored, and of what it failed to fetch."""

from pathlib import Path

import pytest

from fscrawl import urls
from fscrawl.util.installed import command
from tests.support.explained import MISSING, SEED, ask, line_of, names, say

# -- what is stored


def test_a_stored_page_is_shown_with_its_files(tree):
    """A stored page has its record, its files with their sizes, its key and its shard, and no reason."""
    found = ask(tree, SEED)
    assert found.stored
    assert found.page == tree.records[SEED]
    assert (found.key, found.host) == (urls.key(SEED), "a.example")
    assert {Path(place).parts[0]: size for place, size in found.files.items()} == {
        "htmls": tree.file("htmls", SEED).stat().st_size,
        "links": tree.file("links", SEED).stat().st_size,
    }
    assert found.shard == urls.shard("a.example", 512)
    assert (found.reasons, found.inlinks) == ([], None)


def test_what_is_asked_for_is_brought_to_its_normal_form(tree):
    """A URL written another way is the page all the same."""
    assert ask(tree, "HTTP://A.example:80/x/../#top").url == SEED


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("faq", "not an http or https URL"),
        ("mailto:me@a.example", "not an http or https URL"),
        ("http://a.example/" + "x" * 2100, "not an http or https URL, since it is longer than 2083 characters"),
        ("POST faq a=1", "behind POST there must be a complete URL; write POST https://example.org/"),
    ],
)
def test_what_is_no_url_is_explained(tree, text, why):
    """What has no normal form is said to have none, and why."""
    found = ask(tree, text)
    assert (found.url, found.stored, names(found)) == (None, False, ["no-url"])
    assert found.reasons[0].text == why


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("a.example", SEED),
        ("A.example/#top", SEED),
        ("a.example/new", "https://a.example/new"),
        ("b.example:8080/x", "http://b.example:8080/x"),
        ("b.example_8080/x", "http://b.example:8080/x"),
    ],
)
def test_a_url_without_its_scheme(tree, text, url):
    """Without a scheme, the URL that has files is meant, else that with https."""
    tree.redirect("http://b.example:8080/x", SEED)
    assert ask(tree, text).url == url


def test_a_chain_of_redirects_is_followed_as_far_as_it_is_stored(tree):
    """A redirect names its target, that one's, and so on until one is not stored, or has been seen."""
    tree.redirect("http://a.example/1", "http://b.example/2")
    tree.redirect("http://b.example/2", "http://a.example/3")
    assert [(hop.url, hop.status) for hop in ask(tree, "http://a.example/1").redirects] == [
        ("http://b.example/2", 301),
        ("http://a.example/3", None),
    ]
    tree.redirect("http://a.example/3", "http://a.example/1")
    chain = ask(tree, "http://a.example/1").redirects
    assert [hop.url for hop in chain] == ["http://b.example/2", "http://a.example/3", "http://a.example/1"]


def test_a_redirect_to_what_is_no_page_ends_there(tree):
    """A redirect to another scheme is told, and not looked for."""
    tree.redirect("http://a.example/1", "mailto:me@a.example")
    assert [(hop.url, hop.status) for hop in ask(tree, "http://a.example/1").redirects] == [
        ("mailto:me@a.example", None)
    ]


def test_the_page_that_led_there_is_found_by_its_key(tree):
    """The referrer's key becomes a URL, on the same host or another; one that is not stored stays a key."""
    tree.page("http://b.example/", depth=1, referrer=urls.key(SEED))
    tree.page("http://a.example/b", depth=1, referrer=urls.key(SEED))
    tree.page("http://a.example/c", depth=1, referrer="f" * 24)
    assert ask(tree, "http://b.example/").found_on == SEED
    assert ask(tree, "http://a.example/b").found_on == SEED
    assert ask(tree, "http://a.example/c").found_on is None


def test_a_missing_body_is_noted(tree):
    """A record whose body is gone is stored, with a note."""
    tree.file("htmls", SEED).unlink()
    found = ask(tree, SEED)
    assert found.stored
    assert "body is missing" in found.notes[0]


def test_a_body_that_was_cut_is_noted(tree):
    """So is a record whose body has another length than it says."""
    size = tree.records[SEED].bytes
    assert not ask(tree, SEED).notes
    tree.file("htmls", SEED).write_bytes(b"<")
    found = ask(tree, SEED)
    assert found.stored
    assert found.notes[0].startswith(f"its body has 1 byte, but the record says {size}; to fetch it again: ")


def test_a_torn_record_is_not_stored(tree):
    """A record that cannot be read is told as that, with what mends it."""
    tree.file("links", SEED).write_bytes(b'{"url":"http')
    found = ask(tree, SEED)
    assert not found.stored
    assert names(found)[0] == "torn"
    assert "--repair" in found.reasons[0].advice


@pytest.mark.parametrize(
    ("directory", "old", "new", "flaw"),
    [
        ("links", b'"fetched_at":"2', b'"fetched_at":"x', "fetched_at is 'x026-09-21T14:13:20.000Z', which is no time"),
        ("errs", b'"failed_at":"2', b'"failed_at":"x', "failed_at is 'x026-09-21T14:13:20.000Z', which is no time"),
        ("links", urls.key(SEED).encode(), b"0" * 24, f"its key is '{'0' * 24}', which has another file"),
    ],
)
def test_a_record_that_a_merge_refuses(tree, directory, old, new, flaw):
    """What is wrong with a record that can be read is noted, with the command that finds all such records."""
    url = SEED if directory == "links" else MISSING
    tree.fail(MISSING)
    tree.rewrite(url, old, new, directory)
    found = ask(tree, url)
    more = f"to look for all such records:  {command('audit', tree.root)}"
    assert found.notes == [f"its record is wrong: {flaw}; a merge leaves it out; {more}"]
    assert found.stored == (directory == "links")


def test_a_record_whose_url_is_not_normal(tree):
    """So is a URL that is not in its normal form, which only its key can find."""
    url = "http://a.example/./x"
    tree.page(url)
    (note,) = ask(tree, urls.key(url)).notes
    assert note.startswith(f"its record is wrong: its URL is {url}, which is not in its normal form; ")


# -- by key


def test_a_key_is_looked_for_among_pages_failures_lines_and_seeds(tree):
    """A key finds its URL by the names of files on any host, or in a log, or among the seeds."""
    tree.page("http://b.example/deep")
    tree.fail("http://c.example/gone")
    say(tree, line_of(tree, "http://d.example/later"))
    seeds = (SEED, "http://e.example/")
    for url in (SEED, "http://b.example/deep", "http://c.example/gone", "http://d.example/later", "http://e.example/"):
        found = ask(tree, urls.key(url), seeds=seeds)
        assert (found.url, found.host, found.key) == (url, urls.host(url), urls.key(url))


def test_an_unknown_key_is_said_to_be_unknown(tree):
    """A key that nothing has is no URL of which more could be said."""
    found = ask(tree, "0" * 24)
    assert (found.url, names(found), found.shard) == (None, ["unknown-key"], -1)


def test_a_torn_record_found_by_its_key_has_no_url(tree):
    """A key whose record is torn leaves the URL unknown, and says that it is torn."""
    tree.file("links", SEED).write_bytes(b"")
    assert names(ask(tree, urls.key(SEED))) == ["torn", "unknown-key"]


# -- failures


def test_a_failure_is_the_reason(tree):
    """A failed URL gives its class and message, and how to try it once more; nothing else is looked for."""
    tree.fail(MISSING, referrer=urls.key(SEED))
    found = ask(tree, MISSING, "crawl.max_pages=1")
    assert names(found) == ["failed"]
    assert found.reasons[0].text == "http-4xx: it failed"
    assert found.reasons[0].advice.endswith(f"retry --root {tree.root} --class http-4xx")
    assert found.found_on == SEED


def test_a_failure_that_is_to_be_tried_again_waits(tree):
    """After `fscrawl retry` a failed URL waits, too."""
    tree.fail(MISSING)
    say(tree, line_of(tree, MISSING, mark=f"again={tree.failures[MISSING].failed_at}"))
    assert names(ask(tree, MISSING)) == ["failed", "waiting"]


def test_a_torn_failure_is_told(tree):
    """A failure that cannot be read is told as that."""
    tree.fail(MISSING)
    tree.file("errs", MISSING).write_bytes(b"{")
    assert names(ask(tree, MISSING))[0] == "torn"
