"""What a host's robots.txt says to this crawler, by RFC 9309; hosts answer from a list."""

import time
import tracemalloc
from types import SimpleNamespace

import pytest

from fscrawl.frontier.task import RobotsTask
from fscrawl.http.answers import Failed, Fetched, Limits
from fscrawl.politeness import robots_cache as module
from fscrawl.politeness.redirects import Hops, follow
from fscrawl.politeness.robots import MAX_BYTES, Rules
from fscrawl.politeness.robots_cache import RobotsCache
from fscrawl.storage.records import RobotsRecord, TreeRecord, timestamp
from fscrawl.store import Tree, create

HOST = "a.example"
URL = f"http://{HOST}/robots.txt"
TASK = RobotsTask(f"http://{HOST}/private/x", HOST, 1)
PRIVATE = b"User-agent: *\nDisallow: /private\n"
DAY_S = 24 * 3600.0


class Host:
    """A fetcher whose hosts answer what the test says, in turn; the last answer for ever."""

    limits = Limits(30.0, 10_000_000)

    def __init__(self, *answers):
        self.answers, self.asked, self.wanted = list(answers), [], []

    def get(self, url, *, limits):
        self.asked.append(url)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Fetched):
            self.wanted.append(limits.wants(answer.status, answer.headers))
        return answer


def fetched(status=200, body=PRIVATE, **headers):
    return Fetched(status, headers, body, 0.0, 0.1)


@pytest.fixture
def tree(tmp_path):
    record = TreeRecord(format=3, machinery="0" * 32, crawl="c", created_at="t", shards=4, partition="host")
    create(tmp_path / "root", record, "", "")
    return Tree(tmp_path / "root", "m-1-aa")


@pytest.fixture
def learn(tree):
    """Learn the rules of HOST, which gives these answers, with nothing in memory."""

    def learn(*answers):
        host = Host(*answers)
        rules, asked = RobotsCache(tree, host, "fscrawl/1").rules_for(TASK.host, TASK.url)
        return SimpleNamespace(rules=rules, asked=asked, host=host)

    return learn


@pytest.fixture
def clock(monkeypatch):
    """The time that passes while rules are remembered."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now, time=time.time))
    return clock


# -- what an answer means (RFC 9309 2.3.1)


def test_rules_that_are_found(learn, tree):
    """Rules that are found count, and are kept in the tree as they came."""
    found = learn(fetched())
    assert (found.asked, found.host.asked, found.host.wanted) == (True, [URL], [True])
    assert not found.rules.allows(TASK.url)
    kept = tree.robots(HOST)
    assert (kept.url, kept.status, kept.text.encode()) == (URL, 200, PRIVATE)


@pytest.mark.parametrize("status", [204, 400, 401, 403, 404, 410, 451])
def test_rules_that_are_not_there(learn, tree, status):
    """A 4xx allows everything, whatever stands in its body, and so does an answer without one."""
    found = learn(fetched(status, b"" if status == 204 else PRIVATE))
    assert found.rules.allows(TASK.url)
    assert found.host.wanted == [status == 204]
    assert tree.robots(HOST).status == status


@pytest.mark.parametrize(("status", "class_"), [(429, "http-4xx"), (500, "http-5xx"), (503, "http-5xx")])
def test_rules_that_cannot_be_had(learn, tree, status, class_):
    """A 5xx, or a 429, refuses everything for now; it says when it may be asked again, and nothing is kept."""
    failure = learn(fetched(status, **{"retry-after": "7"})).rules
    assert (failure.class_, failure.status, failure.retry) == (class_, status, True)
    assert failure.headers == {"retry-after": "7"}
    assert failure.message == f"robots.txt could not be fetched: the server answered {status}"
    assert tree.robots(HOST) is None


@pytest.mark.parametrize(("class_", "retry"), [("dns", True), ("connect", True), ("timeout", True), ("tls", False)])
def test_host_that_cannot_be_reached(learn, tree, class_, retry):
    """Without an answer nothing may be fetched for now, and the failure says whether it may pass."""
    found = learn(Failed(class_, "why", retry))
    assert isinstance(found.rules, Failed)
    assert found.rules == Failed(class_, "robots.txt could not be fetched: why", retry)
    assert tree.robots(HOST) is None


@pytest.mark.parametrize("class_", ["too-large", "decode"])
def test_rules_that_cannot_be_read(learn, class_):
    """A robots.txt that is there, but too large or garbled by its coding, says nothing."""
    assert learn(Failed(class_, "why", retry=False)).rules.allows(TASK.url)


def test_rules_that_are_too_long(learn, tree):
    """Of a long robots.txt the first 500 KiB count."""
    found = learn(fetched(body=PRIVATE + b"#" * MAX_BYTES + b"\nDisallow: /public\n"))
    assert not found.rules.allows(TASK.url)
    assert found.rules.allows(f"http://{HOST}/public")
    assert len(tree.robots(HOST).text) == MAX_BYTES


def test_bytes_that_are_no_text(learn):
    """Bytes that are not UTF-8 spoil their line only."""
    assert not learn(fetched(body=b"Disallow: /\xff\n" + PRIVATE)).rules.allows(TASK.url)


# -- redirects


def moved(to):
    return fetched(301, b"", **({} if to is None else {"location": to}))


def test_redirects_are_followed(learn, tree):
    """Five hops are followed on the host itself; http and https are one."""
    hops = ["/1", f"https://{HOST}/2", "3", "/4", "5"]
    found = learn(*map(moved, hops), fetched())
    assert found.host.asked[1:] == [
        f"http://{HOST}/1",
        f"https://{HOST}/2",
        f"https://{HOST}/3",
        f"https://{HOST}/4",
        f"https://{HOST}/5",
    ]
    assert not found.rules.allows(TASK.url)
    assert tree.robots(HOST).url == URL


def test_rules_of_another_host(learn, tree):
    """Where a robots.txt redirects to that of another host, its rules count, and are kept for both."""
    found = learn(moved("https://b.example/robots.txt"), moved("//c.example/robots.txt"), fetched())
    assert found.host.asked == [URL, "https://b.example/robots.txt", "https://c.example/robots.txt"]
    assert not found.rules.allows(TASK.url)
    for host in ("a.example", "b.example", "c.example"):
        assert tree.robots(host).text.encode() == PRIVATE
    assert tree.robots(HOST).url == URL


def test_rules_of_another_host_that_are_known(learn, tree):
    """A host whose rules are in the tree is not asked for them once more."""
    known = RobotsRecord("http://b.example/robots.txt", timestamp(time.time()), 200, PRIVATE.decode())
    tree.put_robots("b.example", known)
    found = learn(moved("//b.example/robots.txt"), Failed("dns", "why", retry=True))
    assert found.host.asked == [URL]
    assert not found.rules.allows(TASK.url)


@pytest.mark.parametrize("to", ["//b.example/", "//b.example/rules", "//b.example/robots.txt?x", "//a.example:81/x"])
def test_other_files_of_other_hosts(learn, to):
    """Nothing else of another host is asked; then the robots.txt counts as not there."""
    found = learn(moved(to), fetched())
    assert found.host.asked == [URL]
    assert found.rules.allows(TASK.url)


def test_redirects_keep_to_the_scope(tree):
    """A target outside the scope is not asked, at home and elsewhere."""
    for to in (f"http://{HOST}/secret/robots.txt", "http://b.example/robots.txt"):
        host = Host(moved(to), fetched())
        hops = Hops(lambda url: "deny" if "secret" in url or "b.example" in url else None)
        rules, _ = RobotsCache(tree, host, "fscrawl/1", hops).rules_for(HOST, TASK.url)
        assert host.asked == [URL]
        assert rules.allows(TASK.url)
        tree.put_robots(HOST, RobotsRecord(URL, timestamp(0), 200, ""))  # an old one


@pytest.mark.parametrize("to", [f"https://{HOST}/robots.txt", "https://www.a.example/robots.txt"])
def test_scope_is_that_of_hosts(tree, to):
    """Settings that keep all text files out do not keep out the rules of hosts."""
    host = Host(moved(to), fetched())
    hops = Hops(lambda url: "deny" if url.endswith(".txt") else None)
    rules, _ = RobotsCache(tree, host, "fscrawl/1", hops).rules_for(HOST, TASK.url)
    assert host.asked == [URL, to]
    assert not rules.allows(TASK.url)


def test_host_to_which_others_redirect(tree, clock):
    """A host that fails is not asked again for each of the hosts that redirect to its robots.txt."""
    host = Host(moved("//b.example/robots.txt"), fetched(503), moved("//b.example/robots.txt"), fetched())
    cache = RobotsCache(tree, host, "fscrawl/1")
    first, second = (cache.rules_for(name, f"http://{name}/").rules for name in ("1.example", "2.example"))
    assert (first.status, second.class_, second.retry) == (503, "http-5xx", True)
    assert host.asked == ["http://1.example/robots.txt", "http://b.example/robots.txt", "http://2.example/robots.txt"]
    clock.now = module._ASKED_FOR_OTHERS_S
    host.answers.insert(0, moved("//b.example/robots.txt"))
    assert not cache.rules_for("2.example", "http://2.example/").rules.allows(TASK.url)


@pytest.mark.parametrize(("looks", "asked"), [(0, []), (1, ["http://1.example/robots.txt"])])
def test_machine_that_lost_its_permit(tree, looks, asked):
    """Without the permit nothing is asked. If it ends while a hop waits, nothing is learned from the redirect."""
    host = Host(moved("/1"), fetched())
    permits = iter([True] * looks)
    hops = Hops(delay_s=7.0, sleep=lambda _: None, permitted=lambda: next(permits, False))
    rules, _ = RobotsCache(tree, host, "fscrawl/1", hops).rules_for("1.example", "http://1.example/")
    assert host.asked == asked
    assert (rules.class_, rules.retry, tree.robots("1.example")) == ("timeout", True, None)


def test_hops_wait_for_the_delay(tree):
    """Before each hop the delay passes, within bounds; a machine that lost its permit meanwhile asks no more."""
    slept = []
    host = Host(moved("/1"), moved("//b.example/robots.txt"), fetched())
    hops = Hops(delay_s=7.0, sleep=slept.append)
    assert RobotsCache(tree, host, "fscrawl/1", hops).rules_for(HOST, TASK.url).was_asked
    assert slept == [7.0, 7.0]
    lost = Host(moved("//c.example/robots.txt"), fetched())
    hops = Hops(delay_s=1e6, sleep=slept.append, permitted=lambda: len(slept) < 3)
    rules, _ = RobotsCache(tree, lost, "fscrawl/1", hops).rules_for("d.example", "http://d.example/")
    assert (rules.class_, rules.retry, slept[2:]) == ("timeout", True, [48.0])
    assert lost.asked == ["http://d.example/robots.txt"]


@pytest.mark.parametrize("at_home", [False, True])
def test_hosts_that_redirect_to_each_other(learn, at_home):
    """Hosts that redirect to each other for ever, and on themselves, are asked at most six times together."""
    hops = [moved(to) for n in range(20) for to in [f"/{n}"] * at_home + [f"//h{n}.example/robots.txt"]]
    found = learn(*hops)
    assert len(found.host.asked) == 6
    assert found.rules.allows(TASK.url)


@pytest.mark.parametrize("others", [["b.example"], ["b.example", "c.example"]])
def test_hosts_in_a_circle(learn, tree, others):
    """Where each redirects to the next one and the last to the first, no host has a robots.txt; each is asked once."""
    found = learn(*(moved(f"//{each}/robots.txt") for each in [*others, HOST]))
    assert found.host.asked == [f"http://{each}/robots.txt" for each in [HOST, *others]]
    assert found.rules.allows(TASK.url)
    assert [tree.robots(each).status for each in [HOST, *others]] == [301] * (1 + len(others))


@pytest.mark.parametrize("answers", [[moved("/robots.txt")], [moved(None)], [moved("mailto:a@b")]])
def test_redirects_to_nowhere(learn, answers):
    """After five hops, or where it leads nowhere, a robots.txt counts as not there."""
    found = learn(*answers)
    assert found.rules.allows(TASK.url)
    assert len(found.host.asked) <= 6


def test_redirect_to_a_dead_host(learn):
    """A failure behind a redirect is a failure."""
    failure = Failed("dns", "no such host", retry=True)
    assert follow(Host(moved("/b"), failure), URL, Hops()).answer == failure
    assert learn(moved("//b.example/robots.txt"), failure).rules.class_ == "dns"


# -- memory and tree


def test_rules_are_remembered(tree, clock):
    """A host is asked for its rules once in a day."""
    host = Host(fetched())
    cache = RobotsCache(tree, host, "fscrawl/1")
    asked = []
    for clock.now in (0.0, DAY_S - 1):
        rules, was_asked = cache.rules_for(TASK.host, TASK.url)
        asked.append(was_asked)
        assert not rules.allows(TASK.url)
    assert (asked, len(host.asked)) == ([True, False], 1)


def test_memory_ends_after_a_day(tree, clock):
    """After a day neither memory nor tree count any more, and the host is asked again (RFC 9309 2.4)."""
    host = Host(fetched(), fetched(body=b""))
    cache = RobotsCache(tree, host, "fscrawl/1")
    cache.rules_for(TASK.host, TASK.url)
    clock.now = DAY_S
    tree.put_robots(HOST, RobotsRecord(URL, timestamp(time.time() - DAY_S), 200, PRIVATE.decode()))
    rules, asked = cache.rules_for(TASK.host, TASK.url)
    assert (asked, rules.allows(TASK.url)) == (True, True)
    assert tree.robots(HOST).text == ""


@pytest.mark.parametrize(("age_h", "is_used"), [(23, True), (25, False), (-23, True), (-25, False)])
def test_age_of_what_is_stored(learn, tree, age_h, is_used):
    """What another run stored is used for a day. Its clock may be ahead, but not by so much that this never ends."""
    age_s = age_h * 3600
    tree.put_robots(HOST, RobotsRecord(URL, timestamp(time.time() - age_s), 200, PRIVATE.decode()))
    found = learn(fetched(body=b""))
    assert (found.asked, found.rules.allows(TASK.url)) == (not is_used, not is_used)


@pytest.mark.parametrize("fetched_at", ["2026-01-01T00:00:00", "yesterday", ""])
def test_what_tells_no_age(learn, tree, fetched_at):
    """Rules of which nobody knows how old they are, are asked for again."""
    tree.put_robots(HOST, RobotsRecord(URL, fetched_at, 200, PRIVATE.decode()))
    assert learn(fetched(body=b"")).asked


def test_what_is_stored_is_used_for_the_rest_of_its_day(tree, clock):
    """Rules that were 23 hours old when they were read are remembered for one more."""
    tree.put_robots(HOST, RobotsRecord(URL, timestamp(time.time() - 23 * 3600), 200, ""))
    host = Host(fetched())
    cache = RobotsCache(tree, host, "fscrawl/1")
    assert cache.rules_for(TASK.host, TASK.url).was_asked is False
    tree.put_robots(HOST, RobotsRecord(URL, timestamp(0), 200, ""))
    clock.now = 3500.0
    assert cache.rules_for(TASK.host, TASK.url).was_asked is False
    clock.now = 3700.0
    assert cache.rules_for(TASK.host, TASK.url).was_asked is True


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_stored_failures_are_no_rules(learn, tree, status):
    """A robots.txt that another program stored as a failure is asked for again."""
    tree.put_robots(HOST, RobotsRecord(URL, timestamp(time.time()), status, ""))
    assert learn(fetched()).asked


NOW = timestamp(time.time())


def hosts(count):
    return [TASK._replace(host=f"{n}.example", url=f"http://{n}.example/") for n in range(count)]


def test_what_is_forgotten_is_read_from_the_tree(tree, monkeypatch):
    """What is forgotten, because of many hosts, is read from the tree again and not from the host."""
    monkeypatch.setattr(module, "_KEPT_BYTES", 2000)
    host = Host(fetched())
    cache = RobotsCache(tree, host, "fscrawl/1")
    for task in hosts(5) * 2:
        cache.rules_for(task.host, task.url)
    assert len(host.asked) == 5
    assert len(cache._known) < 5


def test_small_rules_of_many_hosts_are_remembered(tree, monkeypatch):
    """The rules of 2,000 hosts that forbid nothing take a small part of the memory for rules: none is read twice."""
    stored = []
    monkeypatch.setattr(tree, "robots", lambda host: stored.append(host) or RobotsRecord(URL, NOW, 200, ""))
    cache = RobotsCache(tree, Host(), "fscrawl/1")
    for task in hosts(2000) * 2:
        cache.rules_for(task.host, task.url)
    assert len(stored) == 2000
    assert cache._known.weight < module._KEPT_BYTES / 10


def test_giant_rules_cannot_fill_the_memory(tree, monkeypatch):
    """A robots.txt of many thousand lines pushes others out, so memory has a limit in bytes."""
    monkeypatch.setattr(module, "_KEPT_BYTES", 100_000)
    giant = "User-agent: *\n" + "".join(f"Disallow: /{n}/\n" for n in range(200))
    monkeypatch.setattr(tree, "robots", lambda host: RobotsRecord(URL, NOW, 200, giant))
    cache = RobotsCache(tree, Host(), "fscrawl/1")
    for task in hosts(10):
        cache.rules_for(task.host, task.url)
    assert len(cache._known) == 1
    assert cache._known.weight <= 100_000


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /private/dir/",
        "Disallow: /*?x=1/a*b",
        "Allow: /*/1/*/b$",
        "Sitemap: http://a.example/1",
        "Disallow: /?" + "*ab" * 300,
    ],
)
def test_size_of_rules(line):
    """The size that rules say is right within a third, whatever their lines are like."""
    text = "User-agent: *\nDisallow: /\n" + "".join(f"{line}{n}\n" for n in range(300))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    rules = Rules(text, "fscrawl/1")
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 2 / 3 < rules.size_bytes / taken < 4 / 3
