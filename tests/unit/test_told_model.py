"""What a frontier hands out of URLs that become known, told, there, and less deep, beside a naive model."""

import random

from hypothesis import HealthCheck
from hypothesis import settings as tuned
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fscrawl import urls
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import End
from tests.support.effort import tries
from tests.support.frontiers import StoredFake, chosen

MAX_DEPTH = 4
SHARDS = 2
URLS = [f"http://{host}.example/{page}" for host in "ab" for page in range(2)]
a_url = st.sampled_from(URLS)
a_depth = st.integers(0, MAX_DEPTH + 1)


class Known:
    """What is known of one URL."""

    def __init__(self, depth):
        self.depth = self.first_depth = depth
        self.told = None
        self.pushed = False  # it was made pending

    @property
    def settled(self):
        return self.told is not None and self.told <= self.depth


class ToldModel(RuleBasedStateMachine):
    """Of what was added, the frontier hands out what is not settled, and nothing else."""

    @initialize(
        deep=st.sampled_from([True, True, False]),
        partition=st.sampled_from(["host", "url"]),
        order=st.sampled_from(["breadth", "depth", "random"]),
        per_host=st.integers(1, 3),
        stored=st.sets(a_url),
    )
    def begin(self, deep, partition, order, per_host, stored):
        self.deep, self.stored = deep, stored
        settings = chosen(
            f"crawl.partition={partition}",
            f"crawl.order={order}",
            f"politeness.per_host={per_host}",
            "politeness.delay=0",
            *([f"crawl.max_depth={MAX_DEPTH}"] if deep else []),
        )
        self.frontier = Frontier(settings, StoredFake(*stored), SHARDS, random.Random(1))
        for shard in range(SHARDS):
            self.frontier.hold(shard)
        self.known: dict[str, Known] = {}
        self.told_first: dict[str, int] = {}  # told, and not known yet
        self.flying = []
        self.asked = set()  # their hosts were asked for them, or are being asked
        self.now = 0.0

    def _shard(self, url):
        return self.frontier.location(url).shard

    @rule(url=a_url, depth=a_depth)
    def add(self, url, depth):
        if self.frontier.holds(self._shard(url)):
            assert self.frontier.add(url, depth, "") is self._learn(url, depth)

    def _learn(self, url, depth):
        """Take a link in; tell whether it is news."""
        if self.deep and depth > MAX_DEPTH:
            return False
        before = self.known.get(url)
        if before is None:
            known = self._know(url, depth if self.deep else 0)
            known.first_depth = depth
            known.pushed = not known.settled
            return True
        news = self.deep and depth < before.depth
        if news:
            before.depth = depth
        if not before.settled:
            before.pushed = True
        return news

    def _know(self, url, depth):
        self.known[url] = Known(depth)
        if url in self.told_first:
            self._tell(url, self.told_first.pop(url))
        return self.known[url]

    @rule(url=a_url, depth=st.integers(0, MAX_DEPTH))
    def learn(self, url, depth):
        """A record has the depth of a URL, which need not become pending."""
        if self.deep and url not in self.known and self.frontier.holds(self._shard(url)):
            self.frontier.learn(self.frontier.location(url), depth)
            self._know(url, depth)

    def _tell(self, url, depth):
        depth = depth if self.deep else 0
        if url in self.known:
            told = self.known[url].told
            self.known[url].told = depth if told is None else min(told, depth)
        else:
            self.told_first[url] = min(depth, self.told_first.get(url, depth))

    @rule(url=a_url, depth=a_depth)
    def hear(self, url, depth):
        """Another machine has told a page, so it is stored."""
        shard = self._shard(url)
        self.frontier.mark_told(shard, urls.fingerprint(urls.key(url)), depth)
        if self.frontier.holds(shard):
            self._tell(url, depth)
            self.asked.add(url)

    @precondition(lambda self: self.known)
    @rule(which=st.integers(0, 3), less=st.integers(1, 2))
    def shorter_way(self, which, less):
        url = sorted(self.known)[which % len(self.known)]
        self.add(url, max(self.known[url].depth - less, 0))

    @rule(number=st.integers(0, 10 * SHARDS))
    def hold_anew(self, number):
        shard = number // 10
        if number % 10 or shard == SHARDS:
            return
        if self.frontier.holds(shard):
            self.frontier.let_go(shard)
            for url in URLS:
                if self._shard(url) == shard:
                    self.known.pop(url, None)
                    self.told_first.pop(url, None)
                    self.asked.discard(url)
        if not self.frontier.in_flight_of(shard):
            self.frontier.hold(shard, deep=self.deep)
            self.frontier.learn_stored()

    @rule()
    def drop_settled(self):
        self.frontier.scheduler.drop_settled()

    @rule()
    def rest(self):
        self.frontier.scheduler.rest("a.example", self.now + 1)

    @rule()
    def take(self):
        task = self.frontier.take(self.now)
        if task is None:
            self.now = max(self.now, self.frontier.next_at() or 0)
            return
        known = self.known[task.url]
        assert known.pushed
        assert not known.settled
        assert task.depth == (known.depth if self.deep else known.first_depth)
        assert task.check == (task.url in self.stored or known.told is not None)
        if not task.check:
            assert task.url not in self.asked, "fetched twice"
            self.asked.add(task.url)
        self.flying.append(task)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9), what=st.sampled_from([End.TOLD, End.TOLD, End.BACK, End.AGAIN]))
    def end(self, which, what):
        task = self.flying.pop(which % len(self.flying))
        self.frontier.finish(task, None, what, at=self.now)
        if self.frontier.holds(self._shard(task.url)):
            if what is End.TOLD:
                self._tell(task.url, task.depth)
            elif self.known[task.url].told is None:
                self.asked.discard(task.url)

    @invariant()
    def agrees(self):
        if not hasattr(self, "frontier"):
            return
        for url in URLS:
            shard = self._shard(url)
            if self.frontier.holds(shard):
                settled = url in self.told_first or (url in self.known and self.known[url].settled)
                assert self.frontier.is_settled(shard, urls.fingerprint(urls.key(url))) == settled
        wanted = [url for url, known in self.known.items() if known.pushed and not known.settled]
        assert self.frontier.pending + len(self.flying) >= len(wanted)

    def teardown(self):
        if hasattr(self, "frontier"):
            try:
                self._finish_all()
            finally:
                self.frontier.close()

    def _finish_all(self):
        """Whatever was done before: in the end all that is known is told, and nothing is left."""
        for _ in range(1000):
            while self.flying:
                self.end(0, End.TOLD)
            if self.frontier.idle:
                break
            self.take()
        assert self.frontier.idle
        assert all(known.settled for known in self.known.values() if known.pushed)


TestToldModel = ToldModel.TestCase
TestToldModel.settings = tuned(
    deadline=None, max_examples=tries(150), stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
