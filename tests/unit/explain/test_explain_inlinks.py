"""Which pages, sitemaps and redirects name a URL."""

from fscrawl import urls
from fscrawl.config.settings import parse
from fscrawl.monitor.explain import explain, host_of, inlinks, record_of
from fscrawl.storage.records import SITEMAP, PageRecord
from tests.support.explained import MISSING, SEED, names
from tests.support.steps import Steps


def test_all_ways_to_name_a_url_are_inlinks(tree):
    """Links, nofollow links, redirects and sitemaps are inlinks; a page's link to itself is not."""
    target = "http://b.example/t"
    tree.page("http://a.example/1", b"<a href=//b.example/t>t</a>", depth=2)
    tree.page("http://a.example/2", b"<a rel=nofollow href=//b.example/t>t</a>")
    tree.page("http://a.example/3", b"", canonical=target)
    tree.redirect("http://a.example/4", target)
    tree.skipped("http://a.example/5", SITEMAP, links=(target,))
    tree.page("http://a.example/6", b"<a href=//b.example/t2>t</a>")
    tree.page(target, links=(target,))
    tree.file("links", SEED).write_bytes(f'"{target}"'.encode())
    found = sorted(inlinks(tree.tree, target))
    assert [(each.url[-1], each.how, each.depth) for each in found] == [
        ("1", "link", 3),
        ("2", "nofollow", 2),
        ("4", "redirect", 2),
        ("5", "sitemap", 1),
    ]


def test_a_line_shows_how_far_it_is(tree):
    """With a progress line the same is found, and it shows how many records there are and are read."""
    with Steps() as line:
        assert [each.url for each in inlinks(tree.tree, MISSING, line)] == [SEED]
    (_, _, listed), (name, total, read) = line.steps
    assert (name, total, read) == ("reading records", listed, listed)
    assert listed > 0


def test_a_sitemap_of_sitemaps_names_them():
    """A URL among a sitemap's sitemaps is named by it."""

    class Record:
        redirect, requests, links, sitemaps, skipped, nofollow = None, None, (), ("u",), SITEMAP, None

    assert PageRecord.names(Record, "u") == "sitemap"


def test_names_are_asked_for_on_the_likely_host_first(tree):
    """A key is found on the host that is asked first, or another, or nowhere."""
    key = urls.key(SEED)
    tree.page("http://b.example/")
    assert host_of(tree.tree, key, "links", "a.example") == host_of(tree.tree, key, "links", "b.example") == "a.example"
    assert host_of(tree.tree, "0" * 24, "links") is None
    assert record_of(tree.tree, "0" * 24) is None


def test_a_link_that_rules_do_not_follow(tree):
    """A link that the rules of a site leave out is explained with the table, also when the table is gone."""
    tree.page(SEED, b"<a href=/missing>", requests=(SEED + "other",), rules="0" * 16)
    rules = "[crawl]\nscope = 'host'\n[[site]]\nhosts = ['b.example']\n[[site]]\nhosts = ['a.example']\nfollow = []\n"
    for text, which in ((rules, "[[site]] 2 (a.example)"), ("", "the site file, or a [[site]] that is gone")):
        found = explain(tree.tree, parse(text), {SEED: ""}, MISSING, all_inlinks=True)
        assert [link.how for link in found.inlinks] == ["unfollowed"]
        assert names(found)[-1] == "not-followed"
        assert found.reasons[-1].text == f"{SEED} links to it, and is cut by {which}: its rules follow other links"
