"""Places: what sites, addresses and slow hosts may have in flight, and who gets the next free place."""

import random

import pytest

from fscrawl.frontier.task import PageTask, RobotsTask
from tests.support.frontiers import fill

SECOND = 1.0


def wild(count, *, first=0):
    return [f"http://n{n}.wild.example/" for n in range(first, first + count)]


def take_all(frontier, now):
    """Take all that may be had at `now`; nothing comes back."""
    tasks = []
    while (task := frontier.take(now)) is not None:
        tasks.append(task)
    return tasks


def answer(frontier, task, now, latency_s=0.1, address=""):
    frontier.scheduler.answered(task.host, latency_s, address)
    frontier.finish(task, now)


def prove(frontier, *links, now=0.0, address=""):
    """Let hosts answer promptly once."""
    fill(frontier, *links)
    while tasks := take_all(frontier, now):
        for task in tasks:
            answer(frontier, task, now, address=address)


def test_places_of_a_site(make_frontier, few_places):
    """The names of one domain have so many tasks in flight, half of it before they have answered."""
    few_places(PER_SITE=4)
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, *wild(9), "http://other.test/")
    tasks = take_all(frontier, 0)
    assert [task.host for task in tasks] == ["n0.wild.example", "n1.wild.example", "other.test"]
    for task in tasks:
        answer(frontier, task, 0)
    fill(frontier, *(url + "2" for url in wild(2)))
    assert len(take_all(frontier, 0)) == 4


def test_prompt_hosts_of_a_site(make_frontier, few_places):
    """Also hosts that answer at once have so many tasks in flight together, and who waits gets the next place."""
    few_places(PER_SITE=4)
    frontier = make_frontier("politeness.delay=0")
    prove(frontier, *wild(9))
    fill(frontier, *(f"{url}2" for url in wild(9)))
    tasks = take_all(frontier, 0)
    assert [task.host for task in tasks] == [f"n{n}.wild.example" for n in range(4)]
    answer(frontier, tasks[0], 0)
    assert [task.host for task in take_all(frontier, 0)] == ["n4.wild.example"]


def test_prompt_hosts_of_an_address(make_frontier, few_places):
    """The same holds for the hosts of an address, however it is written."""
    few_places(PER_ADDRESS=2)
    frontier = make_frontier("politeness.delay=0")
    hosts = [f"http://{letter}.example/" for letter in "abc"]
    prove(frontier, *hosts, address="192.0.2.7")
    frontier.scheduler.answered("a.example", 0.1, "::ffff:192.0.2.7")
    fill(frontier, *(f"{url}2" for url in hosts))
    tasks = take_all(frontier, 0)
    assert [task.host for task in tasks] == ["a.example", "b.example"]
    answer(frontier, tasks[0], 0, address="192.0.2.7")
    assert [task.host for task in take_all(frontier, 0)] == ["c.example"]


def test_a_host_that_rests_when_its_turn_comes(make_frontier, few_places):
    """A free place goes to the next host that waits if the first one has been told to rest meanwhile."""
    few_places(PER_SITE=1)
    frontier = make_frontier("politeness.delay=0")
    prove(frontier, *wild(3))
    fill(frontier, *(f"{url}2" for url in wild(3)))
    (task,) = take_all(frontier, 0)
    frontier.scheduler._by_name["n1.wild.example"].ready_at = 100
    answer(frontier, task, 0)
    assert [task.host for task in take_all(frontier, 0)] == ["n2.wild.example"]


def test_a_host_that_moves(make_frontier, few_places):
    """A host of which nothing is in flight may turn out to be at another address: then it counts there."""
    few_places(PER_ADDRESS=1)
    frontier = make_frontier("politeness.delay=0")
    prove(frontier, "http://a.example/", address="192.0.2.7")
    prove(frontier, "http://b.example/", address="192.0.2.8")
    frontier.scheduler.answered("a.example", 0.1, "192.0.2.8")
    fill(frontier, "http://a.example/2", "http://b.example/2")
    assert len(take_all(frontier, 0)) == 1


def test_who_waits_gets_a_free_place_in_turn(make_frontier, few_places):
    """Hosts of a site that wait for a place get it in the order in which they began to wait."""
    few_places(PER_SITE=2)
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, *wild(5))
    order = []
    (task,) = take_all(frontier, 0)
    while task is not None:
        order.append(task.host)
        answer(frontier, task, 0, latency_s=3.0)
        task = frontier.take(0)
    assert order == [f"n{n}.wild.example" for n in range(5)]
    assert frontier.idle


def test_places_of_an_address(make_frontier, few_places):
    """Hosts of several sites at one address have so many tasks in flight together, once it is known."""
    few_places(PER_ADDRESS=2)
    frontier = make_frontier("politeness.delay=0")
    links = [f"http://a{n}.test{n}/" for n in range(6)]
    prove(frontier, *links, address="192.0.2.1")
    fill(frontier, *(url + "2" for url in links))
    tasks = take_all(frontier, 1)
    assert len(tasks) == 2
    answer(frontier, tasks[0], 1)
    assert len(take_all(frontier, 1)) == 1


def test_ports_of_one_address(make_frontier):
    """Three hundred ports of one address get no more than ten requests in a second at default settings."""
    frontier = make_frontier()
    fill(frontier, *(f"http://192.0.2.1:{8000 + n}/{page}" for n in range(300) for page in (1, 2)))
    taken, now = [], 0.0
    while now < 5 * SECOND:
        while (task := frontier.take(now)) is not None:
            taken.append(now)
            answer(frontier, task, now)
        now += 0.01
    busiest = max(sum(at <= each < at + SECOND for each in taken) for at in taken)
    assert 6 <= busiest <= 10


def test_floor_counts_what_was_asked(make_frontier):
    """What is known from the tree costs an address nothing: the next task need not wait."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(f"http://192.0.2.1:{8000 + n}/" for n in range(50)))
    for _ in range(50):
        frontier.finish(frontier.take(0), None)
    assert frontier.idle


def test_names_count_for_the_address_of_their_site(make_frontier, few_places):
    """A name that has not answered counts for the address that answered for its domain."""
    few_places(ADDRESS_DELAY_S=0.5)
    frontier = make_frontier("politeness.delay=1")
    prove(frontier, *wild(1), address="192.0.2.1")
    fill(frontier, *wild(3, first=1))
    assert len(take_all(frontier, 10)) == 1
    assert frontier.next_at() == 10.5
    assert len(take_all(frontier, 10.5)) == 1


@pytest.mark.parametrize("latency_s", [20.0, 3.0])
def test_slow_hosts_leave_places(make_frontier, latency_s):
    """Late and new hosts have half of all places while a quick host has turns, and all of them otherwise."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.places.limit_slow(8, 16)
    prove(frontier, "http://good.test/")
    fill(frontier, "http://good.test/2", *(f"http://new{n}.new{n}/" for n in range(100)))
    good, *slow = take_all(frontier, 1)
    assert len(slow) == 8
    answer(frontier, good, 1)
    for _ in range(2):
        answer(frontier, slow.pop(), 20, latency_s)
        slow += take_all(frontier, 20)
    assert len(slow) == 16, "no quick host had a turn lately"
    fill(frontier, "http://good.test/3")
    (good,) = take_all(frontier, 20)
    for _ in range(8):
        answer(frontier, slow.pop(), 21, latency_s)
        assert take_all(frontier, 21) == []
    answer(frontier, slow.pop(), 21, latency_s)
    assert len(take_all(frontier, 21)) == 1


def test_a_new_host_that_comes_late(make_frontier):
    """It gets the first or the second place that is free, behind hundreds of new hosts that hang; and these go on."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.places.limit_slow(2, 2)
    fill(frontier, *(f"http://new{n}.new{n}/" for n in range(300)))
    tasks = take_all(frontier, 1)
    fill(frontier, "http://late.test/")
    assert take_all(frontier, 1) == []
    for task in tasks:
        frontier.scheduler.failed(task, "timeout", 30)
        frontier.finish(task, 1)
    assert [task.host for task in take_all(frontier, 30)] == ["new2.new2", "late.test"]


def test_a_quick_host_beside_slow_ones(make_frontier):
    """A host that answers goes on while all places of slow hosts are taken."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.places.limit_slow(4, 8)
    prove(frontier, "http://good.test/")
    fill(frontier, *(f"http://new{n}.new{n}/" for n in range(100)))
    take_all(frontier, 1)
    for n in range(20):
        fill(frontier, f"http://good.test/{n}")
        (task,) = take_all(frontier, 1)
        answer(frontier, task, 1)


@pytest.mark.parametrize(("class_", "quick"), [("connect", [True, True, False]), ("timeout", [False] * 3)])
def test_failures_make_slow(make_frontier, class_, quick):
    """A host that fails three times in a row, or with a timeout, is slow until it answers."""
    frontier = make_frontier("politeness.delay=0")
    prove(frontier, "http://good.test/")
    host = frontier._by_name["good.test"]
    found = []
    for _ in range(3):
        frontier.scheduler.failed(PageTask("http://good.test/", "good.test", "", 0, "", 1), class_, 0)
        found.append(host.is_quick)
    assert found == quick
    frontier.scheduler.answered("good.test", 0.1)
    assert host.is_quick


def test_hosts_that_hang_after_good_pages(make_frontier):
    """After one timeout each, quick hosts share the places of slow ones: they do not take all threads again."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.places.limit_slow(2, 4)
    prove(frontier, *(f"http://hangs{n}.test/" for n in range(20)))
    fill(frontier, *(f"http://hangs{n}.test/{page}" for n in range(20) for page in range(2)))
    tasks = take_all(frontier, 1)
    assert len(tasks) == 20
    for task in tasks:
        frontier.scheduler.failed(task, "timeout", 30)
        frontier.finish(task, 1)
    assert len(take_all(frontier, 200)) == 4


def test_given_up_hosts_need_no_place(make_frontier, few_places):
    """What is only written down waits for no place, also if its host was waiting for one."""
    few_places(PER_SITE=2)
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, *wild(6))
    (flying,) = take_all(frontier, 0)
    for n in range(1, 6):
        frontier.scheduler.give_up(f"n{n}.wild.example", "dns")
    tasks = take_all(frontier, 0)
    assert len(tasks) == 5
    for task in (flying, *tasks):
        frontier.finish(task, 0)
    assert frontier.idle


def counts(places):
    groups = (*places._sites.values(), *places._addresses.values(), *places._slow_of_site.values())
    return [each.in_flight for each in (*groups, places._slow)]


@pytest.mark.parametrize("seed", range(5))
def test_no_place_is_lost(make_frontier, few_places, seed):
    """Whatever hosts do, limits are kept, everything is handed out in the end, and no place stays taken."""
    rng = random.Random(seed)
    few_places(PER_SITE=3, PER_ADDRESS=2)
    frontier = make_frontier("politeness.delay=0.1")
    places = frontier.scheduler.places
    places.limit_slow(2, 4)
    urls = [f"http://h{h}.site{h % 4}/{n}" for h in range(24) for n in range(4)]
    fill(frontier, *urls)
    flying, done, now = [], 0, 0.0
    while done < len(urls):
        now += 0.05
        assert now < 500, "a host waits for ever"
        flying += take_all(frontier, now)
        for group in places._sites.values():
            assert group.in_flight <= 3
        rng.shuffle(flying)
        for task in flying[: rng.randrange(1 + len(flying))]:
            flying.remove(task)
            latency_s = rng.choice([0.1, 0.1, 0.1, 3.0, 20.0])
            frontier.scheduler.answered(task.host, latency_s, f"192.0.2.{rng.randrange(6)}")
            if rng.random() < 0.1:
                frontier.scheduler.rest(task.host, now + 1)
            asked = rng.random() < 0.8
            frontier.finish(task, now if asked else None)
            done += 1
    assert frontier.idle
    assert not any(counts(places))
    places.forget_past(now + 1000)
    assert not places._sites
    assert not places._addresses
    assert not places._slow_of_site


def test_a_shard_that_is_let_go(make_frontier, few_places):
    """The places of hosts that are forgotten while their tasks are in flight are free again."""
    few_places(PER_SITE=4)
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, *wild(8))
    tasks = take_all(frontier, 0)
    assert len(tasks) == 2
    for shard in list(frontier.shards):
        frontier.let_go(shard)
    for task in tasks:
        frontier.finish(task, 0)
    assert not any(counts(frontier.scheduler.places))
    fill(frontier, *wild(8))
    assert len(take_all(frontier, 0)) == 2


def test_requests_that_were_held_up(make_frontier):
    """If several requests to an address arrive together, as many times the floor pass before the next one."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(f"http://192.0.2.1:{8000 + n}/" for n in range(8)))
    tasks = [task for n in range(4) for task in take_all(frontier, n / 8)]
    for task in tasks:
        answer(frontier, task, 2.0)
    assert take_all(frontier, 2.49) == []
    assert len(take_all(frontier, 2.5)) == 1


def test_a_host_that_was_given_up_makes_nobody_wait(make_frontier, few_places):
    """Its tasks are only written down as failed: its address is not asked, and others there need not wait for it."""
    few_places(ADDRESS_DELAY_S=5)
    frontier = make_frontier("politeness.delay=0")
    prove(frontier, "http://a.example/", address="192.0.2.7")
    fill(frontier, "http://a.example/2")
    frontier.scheduler.give_up("a.example", "connect")
    [task] = take_all(frontier, 100)
    assert task.flags.given_up == "connect"
    prove(frontier, "http://b.example/", now=100, address="192.0.2.7")
    fill(frontier, "http://b.example/2")
    assert len(take_all(frontier, 100)) == 1


def test_a_quick_robots_txt_proves_nothing(make_frontier):
    """Hosts whose robots.txt comes at once, and whose pages hang, count as slow: the others keep their threads."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0")
    frontier.scheduler.places.limit_slow(4, 4)
    fill(frontier, *(f"http://slow{n}.test/" for n in range(20)))
    hanging = []
    while tasks := take_all(frontier, 0):
        for task in tasks:
            if isinstance(task, RobotsTask):
                frontier.scheduler.answered(task.host, 0.1, by_page=False)
                frontier.scheduler.open(task.host, 0.0, 0)
                frontier.finish(task, 0)
            else:
                hanging.append(task)
    assert len(hanging) == 4
    frontier.scheduler.failed(hanging[0], "timeout", 30)
    frontier.finish(hanging[0], 30)
    assert len(take_all(frontier, 30)) == 1
    answer(frontier, hanging[1], 30)
    assert frontier._by_name[hanging[1].host].is_quick
