"""The frontier beside a model of plain sets."""

import random

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as tuned
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fscrawl import urls
from fscrawl.config.settings import Settings, apply
from fscrawl.frontier import hosts
from fscrawl.frontier.flags import parse_flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import End, PageTask, RobotsTask
from tests.support.effort import tries


class FrontierModel(RuleBasedStateMachine):
    """The frontier beside a model of plain sets: every URL once for each attempt, and manners kept.

    A URL that is wanted again is due once more, also while it is due already, or in flight.
    """

    @initialize(
        order=st.sampled_from(["breadth", "depth", "random"]),
        per_host=st.integers(1, 3),
        delay=st.sampled_from([0, 1, 5]),
        robots=st.booleans(),
        memory=st.sampled_from([40, 200, 10**6]),
    )
    def begin(self, order, per_host, delay, robots, memory):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(hosts, "_MEMORY_BYTES", memory)
        self.settings = apply(
            Settings(),
            [
                f"crawl.order={order}",
                f"politeness.per_host={per_host}",
                f"politeness.delay={delay}",
                f"politeness.robots={'true' if robots else 'false'}",
            ],
        )
        self.frontier = Frontier(self.settings, rng=random.Random(1))
        self.now = 0.0
        self.met, self.due, self.flying = set(), [], []  # due: (url, attempt, not before)
        self.not_before: dict[str, float] = {}
        self.open = set()
        self.given_up = set()

    @rule(host=st.sampled_from("ab"), page=st.integers(0, 30))
    def add(self, host, page):
        url = f"http://{host}.example/{page}"
        assert self.frontier.add(url, page, host) == (url not in self.met)
        if url not in self.met:
            self.met.add(url)
            self.due.append((url, 1, 0.0))

    @rule(seconds=st.sampled_from([0.5, 1, 7]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def take(self):
        task = self.frontier.take(self.now)
        if task is None:
            later = self.frontier.next_at()
            assert later is None or later > self.now
            assert later is not None or self.flying or not self.due
            return
        assert self.now >= self.not_before.get(task.host, 0) or task.host in self.given_up
        assert sum(flying.host == task.host for flying in self.flying) < self.settings.politeness.per_host
        assert isinstance(task, RobotsTask) or task.url not in self._pages_flying()
        self.flying.append(task)
        if self.settings.politeness.per_host > 1:
            self._rest(task.host, self.now + self.settings.politeness.delay)
        if isinstance(task, RobotsTask):
            assert task.host not in self.open | self.given_up
            assert [flying.host for flying in self.flying].count(task.host) == 1
            return
        assert task.host in self.open | self.given_up or not self.settings.politeness.robots
        assert task.flags.given_up == "dns" or task.host not in self.given_up
        assert (task.key, str(task.depth)) == (urls.key(task.url), task.url.rpartition("/")[2])
        entry = min(each for each in self.due if each[:2] == (task.url, task.attempt))
        assert entry[2] <= self.now
        self.due.remove(entry)

    def _pages_flying(self):
        return [task.url for task in self.flying if isinstance(task, PageTask)]

    def _rest(self, host, until):
        self.not_before[host] = max(self.not_before.get(host, 0), until)

    def _finish(self, task, *, asked, end=End.OPEN):
        self.flying.remove(task)
        self.frontier.finish(task, self.now if asked else None, end)
        if asked:
            self._rest(task.host, self.now + self.settings.politeness.delay)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9), asked=st.booleans())
    def finish(self, which, asked):
        task = self.flying[which % len(self.flying)]
        self._finish(task, asked=asked)
        if isinstance(task, RobotsTask):
            self.frontier.scheduler.open(task.host, 0, 0)
            self.open.add(task.host)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9), wait=st.sampled_from([0, 2, 20]))
    def fail(self, which, wait):
        task = self.flying[which % len(self.flying)]
        self.frontier.retry(task, self.now + wait)
        self._finish(task, asked=True)
        if isinstance(task, RobotsTask):
            self._rest(task.host, self.now + wait)
        else:
            self.due.append((task.url, task.attempt + 1, self.now + wait))

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9))
    def give_back(self, which):
        task = self.flying[which % len(self.flying)]
        self._finish(task, asked=False, end=End.BACK)
        if isinstance(task, PageTask):
            self.due.append((task.url, task.attempt, 0.0))

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 99), wait=st.sampled_from([1, 10]))
    def rest(self, which, wait):
        host = urls.host(sorted(self.met)[which % len(self.met)])
        self.frontier.scheduler.rest(host, self.now + wait)
        self._rest(host, self.now + wait)

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 99))
    def give_up(self, which):
        host = urls.host(sorted(self.met)[which % len(self.met)])
        self.frontier.scheduler.give_up(host, "dns")
        self.given_up.add(host)

    @rule()
    def tidy(self):
        self.frontier._crowded = 0
        self.frontier.forget_what_is_over(self.now)

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 3), word=st.sampled_from(["again=t", "refresh"]), foreign=st.booleans())
    def again(self, which, word, foreign):
        url = sorted(self.met)[which % len(self.met)]
        assert self.frontier.add(url, int(url.rpartition("/")[2]), "", flags=parse_flags(word), foreign=foreign)
        self.due.append((url, 1, 0.0))
        if word == "again=t":
            self.given_up.discard(urls.host(url))

    @invariant()
    def counts(self):
        if hasattr(self, "frontier"):
            assert self.frontier.pending == len(self.due)
            assert self.frontier.in_flight == len(self.flying)
            assert self.frontier.known == len(self.met)
            assert self.frontier.idle == (not self.due and not self.flying)
            assert len(self.frontier.scheduler) == len({urls.host(url) for url in self.met})
            assert self.frontier.scheduler.gave_up == len(self.given_up)

    def teardown(self):
        if hasattr(self, "frontier"):
            try:
                self.finish_all()
            finally:
                self.frontier.close()
                self.patch.undo()

    def finish_all(self):
        """Whatever was done before, everything that is due is handed out in the end."""
        while self.due or self.flying:
            while self.flying:
                self.finish(0, asked=False)
            self.take()
            if not self.flying and self.due:
                self.now = max(self.now, self.frontier.next_at())
        assert self.frontier.take(self.now + 1000) is None
        assert self.frontier.idle


TestFrontierModel = FrontierModel.TestCase
TestFrontierModel.settings = tuned(
    deadline=None, max_examples=tries(100), stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
