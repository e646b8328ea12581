"""What a tree tells of a URL, and why it is not stored."""

import json
import shlex
import time
from pathlib import Path

import pytest

from fscrawl import cli, urls
from fscrawl.config import settings
from fscrawl.config.settings import apply
from fscrawl.monitor.explain import explain
from fscrawl.monitor.explain.inlinks import host_of, inlinks, record_of
from fscrawl.monitor.explain.why import why_no_url
from fscrawl.storage.records import SITEMAP, PageRecord, RobotsRecord, timestamp
from tests.support.trees import Grown

SEED = "http://a.example/"
MISSING = "http://a.example/missing"
HELLO = {"hello": "h-9-bb", "host": "elsewhere", "boot": "b", "pidns": "p", "pid": 9, "start": "1"}


@pytest.fixture
def tree(tmp_path):
    grown = Grown(tmp_path / "tree")
    grown.page(SEED, b"<title>A</title><a href=b>b</a><a href=missing>m</a>", depth=0)
    return grown


def ask(tree, url, *assignments, all_inlinks=False, seeds=(SEED,)):
    chosen = apply(settings.Settings(), ["crawl.scope=host", *assignments])
    return explain(tree.tree, chosen, frozenset(seeds), url, all_inlinks=all_inlinks)


def names(found):
    return [reason.name for reason in found.reasons]


def feed(tree, *lines, machine="h-9-bb", segment=""):
    path = tree.root / ".fscrawl/feed" / f"{machine}{segment}.log"
    with path.open("ab") as file:
        file.writelines(line.encode() + b"\n" for line in lines)


def line_of(tree, url, depth=1, referrer=SEED, mark=""):
    shard = urls.shard(urls.host(url), tree.tree.record.shards)
    return f"{shard} {depth} {urls.key(referrer) if referrer else ''} {url}{mark}"


def lease(tree, url, holder="h-9-bb", epoch=1):
    shard = urls.shard(urls.host(url), tree.tree.record.shards)
    path = tree.root / ".fscrawl/leases" / f"{shard}.{epoch}"
    path.write_text(json.dumps({"holder": holder, "by": holder, "nonce": ""}))


def beat(tree, machine="h-9-bb", now=None, **facts):
    """Have a machine on another host beat, a moment ago by our clock."""
    at = timestamp(time.time() if now is None else now)
    lines = [{**HELLO, "hello": machine, "at": at}, {"beat": 1, "at": at, **facts}]
    path = tree.root / ".fscrawl/machines" / f"{machine}.log"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


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
    assert found.shard == urls.shard("a.example", 16)
    assert (found.reasons, found.inlinks) == ([], None)


def test_what_is_asked_for_is_brought_to_its_normal_form(tree):
    """A URL written another way is the page all the same."""
    assert ask(tree, "HTTP://A.example:80/x/../#top").url == SEED


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a.example/x", "it has no scheme; write the full URL: https://a.example/x"),
        ("a.example:80/x", "it has no scheme; write the full URL: https://a.example:80/x"),
        ("mailto:me@a.example", "its scheme is mailto; only http and https are crawled"),
        ("http://a.example/" + "x" * 2100, "it is longer than 2083 characters"),
        ("http://[::1", "it cannot be parsed as a URL (https://url.spec.whatwg.org/)"),
    ],
)
def test_what_is_no_url_is_explained(tree, text, why):
    """What has no normal form is said to have none, and why."""
    found = ask(tree, text)
    assert (found.url, found.stored, names(found)) == (None, False, ["no-url"])
    assert found.reasons[0].text == why == why_no_url(text)


def test_a_chain_of_redirects_is_followed_as_far_as_it_is_stored(tree):
    """A redirect names its target, that one's, and so on until one is not stored, or has been seen."""
    tree.redirect("http://a.example/1", "http://b.example/2")
    tree.redirect("http://b.example/2", "http://a.example/3")
    assert [tuple(hop) for hop in ask(tree, "http://a.example/1").redirects] == [
        ("http://b.example/2", 301),
        ("http://a.example/3", None),
    ]
    tree.redirect("http://a.example/3", "http://a.example/1")
    chain = ask(tree, "http://a.example/1").redirects
    assert [hop.url for hop in chain] == ["http://b.example/2", "http://a.example/3", "http://a.example/1"]


def test_a_redirect_to_what_is_no_page_ends_there(tree):
    """A redirect to another scheme is told, and not looked for."""
    tree.redirect("http://a.example/1", "mailto:me@a.example")
    assert [tuple(hop) for hop in ask(tree, "http://a.example/1").redirects] == [("mailto:me@a.example", None)]


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


def test_a_torn_record_is_not_stored(tree):
    """A record that cannot be read is told as that, with what mends it."""
    tree.file("links", SEED).write_bytes(b'{"url":"http')
    found = ask(tree, SEED)
    assert not found.stored
    assert names(found)[0] == "torn"
    assert "--repair" in found.reasons[0].advice


# -- by key


def test_a_key_is_looked_for_among_pages_failures_lines_and_seeds(tree):
    """A key finds its URL by the names of files on any host, or in a feed, or among the seeds."""
    tree.page("http://b.example/deep")
    tree.fail("http://c.example/gone")
    feed(tree, line_of(tree, "http://d.example/later"))
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
    assert "fscrawl retry" in found.reasons[0].advice
    assert found.found_on == SEED


def test_a_failure_that_is_to_be_tried_again_waits(tree):
    """After `fscrawl retry` a failed URL waits, too."""
    tree.fail(MISSING)
    feed(tree, line_of(tree, MISSING, mark=f" again={tree.failures[MISSING].failed_at}"))
    assert names(ask(tree, MISSING)) == ["failed", "waiting"]


def test_a_torn_failure_is_told(tree):
    """A failure that cannot be read is told as that."""
    tree.fail(MISSING)
    tree.file("errs", MISSING).write_bytes(b"{")
    assert names(ask(tree, MISSING))[0] == "torn"


# -- rules and limits


@pytest.mark.parametrize(
    ("url", "assignment", "name", "text"),
    [
        ("http://b.example/", "crawl.scope=host", "scope", 'crawl.scope = "host": it is outside the scope'),
        (MISSING, 'crawl.deny=["miss"]', "deny", 'crawl.deny = "miss": it is outside the scope'),
        (MISSING, 'crawl.allow=["zzz"]', "allow", "crawl.allow: it is outside the scope"),
        (SEED + "a/" * 40, "crawl.max_repeats=99", "max_path_depth", "crawl.max_path_depth: it is outside the scope"),
        (SEED + "a/" * 10, "crawl.scope=host", "max_repeats", "crawl.max_repeats: it is outside the scope"),
    ],
)
def test_the_rule_of_the_scope_is_named(tree, url, assignment, name, text):
    """A URL outside the scope gives the setting that says so, traps among them."""
    found = ask(tree, url, assignment)
    assert names(found)[0] == name
    assert found.reasons[0].text == text


def test_a_seed_is_not_kept_out_by_the_scope(tree):
    """What somebody asked for as a seed is not refused by `deny`; it waits."""
    found = ask(tree, MISSING, 'crawl.deny=["miss"]', seeds=(SEED, MISSING))
    assert names(found) == ["waiting"]
    assert found.lines[0].machine == ""


def test_depth_is_told_by_lines_or_by_links(tree):
    """A URL beyond max_depth is told so, by its lines in feeds, or by the pages that link to it."""
    assert names(ask(tree, MISSING, "crawl.max_depth=0", all_inlinks=True)) == ["max_depth", "not-fed"]
    feed(tree, line_of(tree, MISSING, depth=3))
    assert names(ask(tree, MISSING, "crawl.max_depth=2")) == ["max_depth", "waiting"]
    assert names(ask(tree, MISSING, "crawl.max_depth=3")) == ["waiting"]


def test_limits_that_are_reached_are_told(tree):
    """The limits of pages, of pages of a host, and of hosts of a domain are compared with what is stored."""
    assert "max_pages_per_host" in names(ask(tree, MISSING, "crawl.max_pages_per_host=1"))
    assert "max_pages" in names(ask(tree, MISSING, "crawl.max_pages=1"))
    tree.page("http://w1.a.example:8080/")
    few = ("crawl.scope=domain", "crawl.max_hosts_per_domain=2")
    assert "max_hosts_per_domain" in names(ask(tree, "http://w2.a.example/", *few))
    assert "max_hosts_per_domain" not in names(ask(tree, MISSING, *few))
    assert names(ask(tree, MISSING, "crawl.max_pages=3", "crawl.max_pages_per_host=3")) == ["not-discovered"]


def test_the_line_of_robots_txt_is_told(tree):
    """A stored robots.txt that forbids gives its line; one that allows, or is not stored or asked for, is a note."""
    assert "has not been fetched yet" in ask(tree, MISSING).notes[0]
    tree.tree.put_robots("a.example", RobotsRecord("u", "2026-01-01", 200, "User-agent: *\nDisallow: /miss"))
    found = ask(tree, MISSING)
    assert found.reasons[0].name == "robots"
    assert found.reasons[0].text.endswith("does not allow it: Disallow: /miss")
    assert "allows it" in ask(tree, "http://a.example/x").notes[0]
    assert "robots" not in names(ask(tree, MISSING, "politeness.robots=false"))
    tree.tree.put_robots("a.example", RobotsRecord("u", "2026-01-01", 404, "User-agent: *\nDisallow: /"))
    assert "robots" not in names(ask(tree, MISSING))


def test_a_query_may_not_count(tree):
    """With drop_query a URL is looked up without its query, unless it is a seed as it stands."""
    assert ask(tree, SEED + "?q", "crawl.drop_query=true").stored
    assert ask(tree, SEED, "crawl.drop_query=true").notes == []
    assert not any("drop_query" in note for note in ask(tree, MISSING, "crawl.drop_query=true").notes)
    seeds = (SEED, SEED + "?q")
    assert ask(tree, SEED + "?q", "crawl.drop_query=true", seeds=seeds).url == SEED + "?q"


# -- signs and machines


def test_signs_are_told(tree):
    """STOP, PAUSE and the pause of its host are reasons; that of another host is none."""
    for name in ("STOP", "PAUSE", "PAUSE.a.example", "PAUSE.b.example"):
        (tree.root / name).touch()
    found = ask(tree, MISSING)
    assert names(found) == ["stopped", "paused", "paused", "not-discovered"]
    assert found.reasons[2].advice.endswith("--host a.example")


def test_a_pause_without_port_is_for_all_ports(tree):
    """A host with a port is paused by its own sign and by that of its name; the advice is what was paused."""
    url = "http://a.example:8080/"
    for name in ("PAUSE.a.example_8080", "PAUSE.a.example"):
        (tree.root / name).touch()
    advice = [reason.advice for reason in ask(tree, url).reasons if reason.name == "paused"]
    assert [text.partition("--host ")[2] for text in advice] == ["a.example", "a.example:8080"]


def test_what_machines_say_of_its_host_is_told(tree):
    """A host that rests, fails or is slow by a live machine's last beat is told so; one that does well is not."""
    says = {"rests": {"a.example": 30.5}, "failing": {"a.example": 7}, "slow": {"a.example": 4.5}}
    beat(tree, **says)
    found = ask(tree, MISSING)
    assert names(found) == ["resting", "failing", "slow", "not-discovered"]
    assert "for 30.5 s more" in found.reasons[0].text
    assert names(ask(tree, "http://b.example/", "crawl.scope=any")) == ["not-discovered"]
    beat(tree, now=1e9, **says)
    assert names(ask(tree, MISSING)) == ["not-discovered"]


def test_a_waiting_url_names_its_holder(tree):
    """A URL that waits names its shard and who holds it: nobody, a machine at work or paused, dead, or gone."""
    feed(tree, line_of(tree, MISSING))
    found = ask(tree, MISSING)
    assert "no machine has held shard" in found.reasons[0].text
    assert "no machine is running" in found.reasons[0].advice
    lease(tree, MISSING, "h-1-aa")
    lease(tree, MISSING, "h-9-bb", epoch=2)
    assert "is dead" in ask(tree, MISSING).reasons[0].text
    beat(tree)
    found = ask(tree, MISSING)
    assert (found.holder, found.holder_state, found.reasons[0].advice) == ("h-9-bb", "alive", "")
    assert found.reasons[0].text.endswith("is alive")
    beat(tree, state="paused")
    assert ask(tree, MISSING).reasons[0].text.endswith("is alive (paused)")
    with (tree.root / ".fscrawl/machines/h-9-bb.log").open("a") as log:
        log.write(json.dumps({"bye": True, "finished": False, "pages": 1}) + "\n")
    assert "has left" in ask(tree, MISSING).reasons[0].text


def test_lines_of_all_feeds_are_found(tree):
    """A URL's lines tell who discovered it, where and how deep, in any segment; others' lines and torn ones do not."""
    feed(tree, line_of(tree, MISSING + "/more"), line_of(tree, SEED, referrer=""), f"x {MISSING}", f"1 y  {MISSING}")
    feed(tree, line_of(tree, MISSING, depth=4, mark=" sitemap"), segment=".1")
    feed(tree, line_of(tree, MISSING, referrer="http://nowhere.example/"), machine="h-1-aa")
    one, two = ask(tree, MISSING).lines
    assert (one.machine, one.depth, one.found_on, one.mark) == ("h-1-aa", 1, None, "")
    assert (two.machine, two.depth, two.found_on, two.mark) == ("h-9-bb", 4, SEED, "sitemap")


def test_a_hundred_lines_are_enough(tree):
    """Of more lines than anyone reads the first hundred are given."""
    feed(tree, *[line_of(tree, MISSING)] * 120)
    assert len(ask(tree, MISSING).lines) == 100


# -- links


def test_without_a_line_it_was_never_discovered(tree):
    """A URL that no feed has was not discovered; reading all link files tells whether a page links to it."""
    url = "http://a.example/never"
    assert names(ask(tree, url)) == ["not-discovered"]
    found = ask(tree, url, all_inlinks=True)
    assert (names(found), found.inlinks) == (["not-linked"], [])
    assert found.reasons[0].advice.endswith("seeds.txt")


def test_advice_can_be_pasted_into_a_shell(tree):
    """A URL with quotes and commands in it stands in the advice as a shell takes it: as one word."""
    url = "http://a.example/';$(touch"
    advice = ask(tree, url, all_inlinks=True).reasons[0].advice
    command = advice.partition(":  ")[2]
    assert shlex.split(command)[:2] == ["echo", url]


def test_links_that_are_not_followed_are_told(tree):
    """A URL that only nofollow links lead to says that; one that a link leads to, and no feed has, is for the audit."""
    tree.page("http://a.example/n", b"<a rel=nofollow href=/never>n</a>")
    assert names(ask(tree, "http://a.example/never", all_inlinks=True)) == ["nofollow"]
    found = ask(tree, MISSING, all_inlinks=True)
    assert (names(found), found.inlinks[0].url) == (["not-fed"], SEED)


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


def test_a_bar_shows_how_far_it_is(tree, capsys):
    """With a bar the same is found, and standard error shows how many records there are."""
    assert [each.url for each in inlinks(tree.tree, MISSING, bar=True)] == [SEED]
    assert "records" in capsys.readouterr().err


def test_a_sitemap_of_sitemaps_names_them():
    """A URL among a sitemap's sitemaps is named by it."""

    class Record:
        redirect, links, sitemaps, skipped, nofollow = None, (), ("u",), SITEMAP, None

    assert PageRecord.names(Record, "u") == "sitemap"


def test_names_are_asked_for_on_the_likely_host_first(tree):
    """A key is found on the host that is asked first, or another, or nowhere."""
    key = urls.key(SEED)
    tree.page("http://b.example/")
    assert host_of(tree.tree, key, "links", "a.example") == host_of(tree.tree, key, "links", "b.example") == "a.example"
    assert host_of(tree.tree, "0" * 24, "links") is None
    assert record_of(tree.tree, "0" * 24) is None


# -- the command


def show(tree, capsys, *words):
    code = cli.main(["show", "--root", str(tree.root), *words])
    return code, capsys.readouterr().out


def test_the_command_tells_by_its_exit_code_whether_it_is_stored(tree, capsys):
    """Exit code 0: stored; 1: not."""
    assert show(tree, capsys, SEED)[0] == 0
    assert show(tree, capsys, MISSING)[0] == 1


def test_the_command_shows_all_there_is(tree, capsys):
    """A page's title, headers, checks, directives, files, source and inlinks are lines of their own."""
    facts = {"checked_at": "2026-02-02", "checked_status": 0, "robots": ("noindex",), "skipped": "why", "depth": 1}
    tree.page("http://a.example/b", b"<title>B</title>", referrer=urls.key(SEED), **facts)
    code, out = show(tree, capsys, "http://a.example/b", "--inlinks")
    assert code == 0
    for text in ("title     B", "checked   2026-02-02: no answer", "robots    noindex", "no body   why"):
        assert text in out
    assert f"found on  {SEED}" in out
    assert "inlink    http://a.example/\ninlinks   1 pages" in out


def test_the_command_shows_why(tree, capsys):
    """What is not stored has its lines of feeds, its reasons, and what to do."""
    feed(tree, *[line_of(tree, MISSING, mark=" sitemap")] * 12, line_of(tree, MISSING, referrer=""))
    with (tree.root / "seeds.txt").open("a") as seeds:
        seeds.write(f"{MISSING}\n")
    code, out = show(tree, capsys, f"{MISSING}#top")
    assert code == 1
    assert f"url       {MISSING}, the normal form of {MISSING}#top" in out
    assert "in seeds.txt" in out
    assert f"discovered by h-9-bb, depth 1, on {SEED}, sitemap" in out
    assert "and 4 more" in out
    assert "it waits for its turn" in out
    assert "fscrawl crawl --root" in out


def test_the_command_shows_failures_and_redirects(tree, capsys):
    """A failure and a chain of redirects are shown; a URL that is none has no key."""
    tree.fail(MISSING)
    tree.redirect("http://a.example/1", MISSING)
    assert "failed    http-4xx: it failed" in show(tree, capsys, MISSING)[1]
    assert f"redirect  to {MISSING}: not stored" in show(tree, capsys, "http://a.example/1")[1]
    assert "key" not in show(tree, capsys, "nothing")[1]


def test_what_comes_from_the_web_is_printed_plainly(tree, capsys):
    """Terminal escapes in a title are not printed as they are."""
    tree.page("http://a.example/b", title="\x1b[31mred")
    assert "\x1b" not in show(tree, capsys, "http://a.example/b")[1]


def test_the_command_gives_json(tree, capsys):
    """--json is one object with all of it; of the record the number of links."""
    tree.fail(MISSING)
    code, out = show(tree, capsys, SEED, "--json", "--inlinks")
    facts = json.loads(out)
    assert (code, facts["stored"], facts["record"]["links"], facts["inlinks"]) == (0, True, 2, [])
    facts = json.loads(show(tree, capsys, MISSING, "--json")[1])
    assert (facts["record"], facts["error"]["class"], facts["reasons"][0]["name"]) == (None, "http-4xx", "failed")


def test_it_writes_nothing(tree):
    """Asking leaves no file behind, changed or new."""
    before = {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")}
    ask(tree, MISSING, all_inlinks=True)
    assert {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")} == before
