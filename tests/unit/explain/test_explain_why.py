"""Why a URL is not stored: rules, limits, signs, and what machines do."""

import json
import shlex
import time

import pytest

from fscrawl import urls
from fscrawl.frontier.scope import WHY_TRAP
from fscrawl.storage.layout import rules_path
from fscrawl.storage.records import RobotsRecord, timestamp
from tests.support.explained import MISSING, SEED, Writer, ask, begin_with, line_of, names, say
from tests.support.trees import Grown

HELLO = {"hello": "h-9-bb", "host": "elsewhere", "boot": "b", "pidns": "p", "pid": 9, "start": "1"}


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


# -- rules and limits


@pytest.mark.parametrize(
    ("url", "assignment", "name", "text"),
    [
        ("http://b.example/", "crawl.scope=host", "scope", 'crawl.scope = "host": it is outside the scope'),
        (MISSING, 'crawl.deny=["miss"]', "deny", 'crawl.deny = "miss": it is outside the scope'),
        (MISSING, 'crawl.allow=["zzz"]', "allow", "crawl.allow: it is outside the scope"),
        (SEED + "a/" * 10, "crawl.scope=host", "trap", f"{WHY_TRAP}: sites that make up paths do so without end"),
    ],
)
def test_the_rule_of_the_scope_is_named(tree, url, assignment, name, text):
    """A URL outside the scope gives the setting that says so, traps among them."""
    found = ask(tree, url, assignment)
    assert names(found)[0] == name
    assert found.reasons[0].text == text


def test_the_scope_of_a_site_file(tree):
    """Without the site file that gives the seeds, everything is outside. The advice is to give it, not to edit."""
    [reason] = [each for each in ask(tree, MISSING, seeds=()).reasons if each.name == "scope"]
    assert reason.advice == "no seed is known: if a site file gives the seeds, add --site FILE"


def test_a_bad_port_is_told(tree):
    """A URL with a port of another protocol gives that as the reason, and no setting to edit."""
    found = ask(tree, "http://a.example:25/", "crawl.scope=any")
    assert names(found)[0] == "bad-port"
    assert found.reasons[0].text == "port 25 is of another protocol than HTTP, and never asked"


def test_a_seed_is_not_kept_out_by_the_scope(tree):
    """What somebody asked for as a seed is not refused by `deny`; it waits."""
    found = ask(tree, MISSING, 'crawl.deny=["miss"]', seeds=(SEED, MISSING))
    assert names(found) == ["waiting"]
    assert found.lines[0].machine == ""


def test_depth_is_told_by_lines_or_by_links(tree):
    """A URL beyond max_depth is told so, by its lines in logs, or by the pages that link to it."""
    assert names(ask(tree, MISSING, "crawl.max_depth=0", all_inlinks=True)) == ["max_depth", "left-out"]
    say(tree, line_of(tree, MISSING, depth=3))
    assert names(ask(tree, MISSING, "crawl.max_depth=2")) == ["max_depth"]
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
    """A host that rests, fails or is slow by a live machine's status file is told so; one that does well is not."""
    beat(tree)
    hosts = {"a.example": {"failures": 7, "latency_s": 4.5, "cause": "retry-after", "wait_s": 30.5}}
    (tree.root / ".fscrawl/machines" / "h-9-bb.status.json").write_text(json.dumps({"hosts": hosts}))
    found = ask(tree, MISSING)
    assert names(found) == ["resting", "failing", "slow", "not-discovered"]
    assert "for 30.5 s more" in found.reasons[0].text
    assert names(ask(tree, "http://b.example/", "crawl.scope=any")) == ["not-discovered"]
    beat(tree, now=1e9)
    assert names(ask(tree, MISSING)) == ["not-discovered"]


def test_a_waiting_url_names_its_holder(tree):
    """A URL that waits names its shard and who holds it: nobody, a machine at work or paused, dead, or gone."""
    say(tree, line_of(tree, MISSING))
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


def test_lines_of_all_logs_are_found(tree):
    """A URL's lines tell who discovered it, where and how deep, in any log; others' lines do not."""
    logs = say(tree, line_of(tree, MISSING + "/more"), line_of(tree, SEED, referrer=""))
    logs.say(line_of(tree, MISSING, depth=4, mark="sitemap"))
    say(tree, line_of(tree, MISSING, referrer="http://nowhere.example/"), machine="h-1-aa")
    one, two = ask(tree, MISSING).lines
    assert (one.machine, one.depth, one.found_on, one.mark) == ("h-1-aa", 1, None, "")
    assert (two.machine, two.depth, two.found_on, two.mark) == ("h-9-bb", 4, SEED, "sitemap")
    assert {one.source, two.source} == {"log"}


# -- what became of it


def test_a_page_that_was_told_and_is_gone(tree):
    """A page whose record was removed is not waiting: machines do not fetch again what was told."""
    Writer(tree).say(line_of(tree, MISSING)).tell(MISSING, 1)
    found = ask(tree, MISSING)
    assert names(found) == ["gone"]
    assert "--repair" in found.reasons[0].advice
    (mark,) = found.marks
    assert (mark.machine, mark.counts, mark.failed_at) == ("h-9-bb", True, "")


def test_a_failure_that_is_gone(tree):
    """A failure whose record was removed counts, unless somebody has asked for another try."""
    writer = Writer(tree).say(line_of(tree, MISSING)).tell(MISSING, 1, failed_at="2026-01-01")
    found = ask(tree, MISSING)
    assert names(found) == ["gone"]
    assert "it failed at 2026-01-01" in found.reasons[0].text
    writer.say(line_of(tree, MISSING, mark="again=2026-01-01"))
    assert names(ask(tree, MISSING)) == ["waiting"]


def test_a_failure_that_is_to_be_tried_again(tree):
    """Its record says so in every generation; it has failed, and waits."""
    tree.fail(MISSING, again=True)
    begin_with(tree)
    assert names(ask(tree, MISSING)) == ["failed", "waiting"]


def test_marks_that_do_not_count(tree):
    """After the rules became wider, or a shorter way was found, a page waits though it was told."""
    begin_with(tree, 'crawl.deny=["x"]')
    Writer(tree).say(line_of(tree, MISSING)).tell(MISSING, 1)
    found = ask(tree, MISSING)
    assert (names(found), found.marks[0].counts) == (["waiting"], False)
    begin_with(tree, "crawl.max_depth=5")
    Writer(tree, "h-1-aa").say(line_of(tree, MISSING)).tell(MISSING, 2)
    assert names(ask(tree, MISSING, "crawl.max_depth=5")) == ["waiting"]
    Writer(tree, "h-2-aa").tell(MISSING, 1)
    assert names(ask(tree, MISSING, "crawl.max_depth=5")) == ["gone"]


def test_a_hundred_lines_are_enough(tree):
    """Of more lines than anyone reads the first hundred are given."""
    say(tree, *[line_of(tree, MISSING)] * 120)
    assert len(ask(tree, MISSING).lines) == 100


# -- links


def test_without_a_line_it_was_never_discovered(tree):
    """A URL that no log has was not discovered; reading all link files tells whether a page links to it."""
    url = "http://a.example/never"
    assert names(ask(tree, url)) == ["not-discovered"]
    found = ask(tree, url, all_inlinks=True)
    assert (names(found), found.inlinks) == (["not-linked"], [])
    assert found.reasons[0].advice.endswith("seeds.txt")


def test_advice_can_be_pasted_into_a_shell(tmp_path):
    """A URL with quotes and commands in it, and so a path, is one word of the advice for a shell."""
    url, tree = "http://a.example/';$(touch", Grown(tmp_path / "my tree's")
    advice = ask(tree, url, all_inlinks=True).reasons[0].advice
    assert shlex.split(advice.partition(":  ")[2]) == ["echo", url, ">>", str(tree.root / "seeds.txt")]


def test_links_that_are_not_followed_are_told(tree):
    """A URL that only nofollow links lead to says that, if such links are not followed."""
    url = "http://a.example/never"
    tree.page("http://a.example/n", b"<a rel=nofollow href=/never>n</a>")
    assert names(ask(tree, url, all_inlinks=True)) == ["nofollow"]
    assert names(ask(tree, url, "crawl.follow_nofollow=true", all_inlinks=True)) == ["links-not-read-yet"]


def test_a_link_of_a_page_that_is_not_told(tree):
    """A machine may have been killed between storing a page and saying its links: the next crawl says them."""
    found = ask(tree, MISSING, all_inlinks=True)
    assert (names(found), found.inlinks[0].url) == (["links-not-read-yet"], SEED)
    assert "fscrawl crawl" in found.reasons[0].advice


def test_a_link_of_a_page_that_is_told(tree):
    """If the page that links to it is told, and no log has it, a part of a log is missing: it is for the audit."""
    Writer(tree).tell(SEED)
    found = ask(tree, MISSING, all_inlinks=True)
    assert names(found) == ["lost"]
    assert "fscrawl audit" in found.reasons[0].advice


@pytest.mark.parametrize(
    ("assignment", "rule"),
    [
        ('crawl.deny=["miss"]', 'crawl.deny = "miss"'),
        ("crawl.max_depth=0", "crawl.max_depth = 0"),
        ('crawl.allow=["zzz"]', "crawl.allow"),
    ],
)
def test_a_link_that_was_left_out(tree, assignment, rule):
    """A page was told under narrower settings: the setting that left the link out is named."""
    begin_with(tree, assignment)
    Writer(tree).tell(SEED)
    found = ask(tree, MISSING, all_inlinks=True)
    assert names(found) == ["links-read-by-other-rules"]
    assert found.reasons[0].text.startswith(SEED)
    assert found.reasons[0].text.endswith(rule)


def test_a_link_of_a_page_that_is_told_by_unknown_rules(tree):
    """Where the rules of a generation cannot be read its logs do not count, so the page is told again."""
    number = begin_with(tree, 'crawl.deny=["miss"]')
    Writer(tree).tell(SEED)
    (tree.root / rules_path(number)).write_bytes(b"{")
    assert names(ask(tree, MISSING, all_inlinks=True)) == ["links-not-read-yet"]
