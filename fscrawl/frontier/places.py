"""How many tasks one site, one address, and all hosts that are slow may have in flight; who waits, and who is next.

Vocabulary:
  site      a registrable domain, or the host itself if it has none
  address   the IP address that answered for a host last; of IPv6 the network of 64 bits. A host that has not answered
            yet counts for the address that answered for its site last; nothing is resolved here
  quick     a host that answers soon, and has answered for a page. If a request times out, it is slow until it answers
  slow      a host that is not quick: slow, new or failing. While quick hosts have turns, all slow ones together have
            half of the machine's fetches, so quick hosts always find a thread; else they may have all. Of the places
            of a site, slow hosts have half
  group     what shares a limit: the hosts of a site or of an address, or all slow hosts
  floor     seconds between two requests to one address

Promise: no group has more in flight than its limit, and two tasks of an address are handed out at least the floor
apart. A host that finds no place waits in a queue of the group that is full. Whenever a place is free, the host that
has waited for it longest gets its turn. Only of slow hosts, it takes turns with the one that came last and has not
failed: that one need not wait behind hundreds that hang. The cost of a task does not grow with the number of hosts
that wait.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Any

from fscrawl import urls
from fscrawl.config.settings import PolitenessSettings
from fscrawl.frontier.hosts import Host
from fscrawl.util.lru import Lru

_NO_LIMIT = 2**63
_QUICK_S = 10.0  # so long after the turn of a quick host, there are quick hosts
_LAST = 64  # of so many hosts that came last, the last one has its turn that has not failed
_SITES = 10_000  # of so many, the last address is remembered


class Group:
    """Hosts that share a limit."""

    __slots__ = ("asked_until", "has_turn", "in_flight", "next_at", "waiting")

    def __init__(self) -> None:
        self.asked_until = 0.0  # of an address: until when the floor counts of what was really asked
        self.in_flight = 0
        self.waiting: deque[Host] = deque()
        self.next_at = 0.0  # of an address: no task is handed out before
        self.has_turn = False  # the scheduler will ask it to `wake` a host at `next_at`


PER_SITE, PER_ADDRESS = 8, 8  # requests of a machine to a registrable domain, and to an IP address, at the same time
ADDRESS_DELAY_S = 0.125  # between two requests of a machine to an IP address; never more than the delay of a host

Schedule = Callable[[float, Host | Group], None]


class Places:
    """The places of one machine. `schedule`: sets when a host, or a group whose host is to be woken, has its turn."""

    def __init__(self, settings: PolitenessSettings, schedule: Schedule) -> None:
        self._schedule = schedule
        self._sites: defaultdict[int, Group] = defaultdict(Group)
        self._addresses: defaultdict[str, Group] = defaultdict(Group)
        self._slow_of_site: defaultdict[int, Group] = defaultdict(Group)
        self._slow = Group()
        self._slow_beside_quick = self._slow_alone = _NO_LIMIT
        self._quick_until = 0.0
        self._address_of_site: Lru[int, str] = Lru(_SITES)
        self._last_comes_first = False  # of the slow hosts that wait, the next time
        self._now = 0.0
        self.use(settings)

    def use(self, settings: PolitenessSettings) -> None:
        """Go by edited settings. One host may always have its `per_host`."""
        self._per_site = max(PER_SITE, settings.per_host)
        self._slow_per_site = max(PER_SITE // 2, settings.per_host)
        self._per_address = max(PER_ADDRESS, settings.per_host)
        self._floor_s = min(ADDRESS_DELAY_S, settings.delay)

    def limit_slow(self, beside_quick: int, alone: int) -> None:
        """Give all slow hosts so many places, beside quick ones and alone; without this call they have no limit."""
        self._slow_beside_quick, self._slow_alone = beside_quick, alone

    def _most_slow(self, now: float) -> int:
        return self._slow_beside_quick if now < self._quick_until else self._slow_alone

    # -- tasks go out and come back

    def enter(self, host: Host, now: float, *, waits: bool = True) -> bool:
        """Give a host a place; False if there is none. Then, if it `waits`, it is scheduled when there is one.

        A host that was given up gets a place in any case: it is asked nothing.
        """
        self._now = now
        site = self._sites[host.site]
        if host.address is None:
            host.address = _literal(host.name) or self._address_of_site.get(host.site) or ""
        address = self._addresses[host.address] if host.address else None
        if not host.given_up:
            full = self._full_group(host, site, address, now)
            if full is not None:
                if waits:
                    self._wait(host, full)
                return False
        host.woken_by = None
        site.in_flight += 1
        if address is not None:
            address.in_flight += 1
            if not host.given_up:
                address.next_at = now + self._floor_s
            if address.waiting:
                self._set_turn(address)
        if host.is_quick:
            self._quick_until = now + _QUICK_S
        else:
            self._enter_slow(host, 1)
        return True

    def _full_group(self, host: Host, site: Group, address: Group | None, now: float) -> Group | None:
        if site.in_flight >= self._per_site:
            return site
        if address is not None:
            if address.in_flight >= self._per_address:
                return address
            if address.next_at > now:
                self._set_turn(address)
                return address
        return None if host.is_quick else self._full_of_slow(host, now)

    def _full_of_slow(self, host: Host, now: float) -> Group | None:
        site = self._slow_of_site[host.site]
        if site.in_flight >= self._slow_per_site:
            return site
        return self._slow if self._slow.in_flight >= self._most_slow(now) else None

    def _wait(self, host: Host, full: Group) -> None:
        woken_by, host.woken_by = host.woken_by, None
        if woken_by is full:
            full.waiting.appendleft(host)
        else:
            full.waiting.append(host)
        host.waits_for = full
        if woken_by is not None and woken_by is not full:
            self._wake(woken_by)

    def pass_on(self, host: Host) -> None:
        """A host that was woken has nothing to hand out now: its place is for the next one."""
        group, host.woken_by = host.woken_by, None
        if group is not None:
            self._wake(group)

    def leave(self, host: Host, asked_at: float | None, count: int = 1) -> None:
        """Take tasks of a host back, or a host that is forgotten with all that it has in flight.

        `asked_at`: when the request was surely with the host; None: there was none, so the floor need not be kept.
        """
        site = self._sites[host.site]
        site.in_flight -= count
        if site.waiting:
            self._wake(site, count)
        if host.address:
            address = self._addresses[host.address]
            address.in_flight -= count
            if asked_at is not None:
                # Requests that were held up arrive together: then the next ones wait for as many times the floor.
                address.asked_until = max(address.asked_until, asked_at) + self._floor_s
                address.next_at = max(address.next_at, address.asked_until)
            elif not address.in_flight:
                address.next_at = min(address.next_at, address.asked_until)
            if address.waiting:
                self._wake(address, count)
        if not host.is_quick:
            self._leave_slow(host, count)

    # -- what becomes known of a host

    def answered_from(self, host: Host, address: str) -> None:
        """A host answered, from an address ("": nobody knows, because a proxy was asked)."""
        if address and address != host.address:
            network = _network(address)
            if network != host.address:
                self._move(host, network)
            self._address_of_site.put(host.site, network)

    def _move(self, host: Host, address: str) -> None:
        if host.in_flight:
            if host.address:
                before = self._addresses[host.address]
                before.in_flight -= host.in_flight
                self._wake(before, host.in_flight)
            self._addresses[address].in_flight += host.in_flight
        host.address = address

    def judge(self, host: Host, *, by_page: bool = True) -> None:
        """Take in that a host has answered or failed: is it quick from now on?

        `by_page`: it has answered for a page. A host does not become quick by its robots.txt: its pages may hang.
        """
        is_quick = host.pace.is_quick
        if is_quick is host.is_quick or (is_quick and not by_page):
            return
        fetching = host.in_flight - host.parked
        if fetching and is_quick:
            self._leave_slow(host, fetching)
        host.is_quick = is_quick
        if fetching and not is_quick:
            self._enter_slow(host, fetching)

    def park(self, host: Host) -> None:
        """A page of a host waits to be read or rendered: no place of slow hosts is taken for it."""
        host.parked += 1
        if not host.is_quick:
            self._leave_slow(host, 1)

    def unpark(self, host: Host) -> None:
        """Undo `park`: the task of the page is about to leave its places."""
        host.parked -= 1
        if not host.is_quick:
            self._enter_slow(host, 1)

    def _enter_slow(self, host: Host, count: int) -> None:
        self._slow.in_flight += count
        self._slow_of_site[host.site].in_flight += count

    def _leave_slow(self, host: Host, count: int) -> None:
        self._slow.in_flight -= count
        self._wake(self._slow, max(count, self._most_slow(self._now) - self._slow.in_flight))
        site = self._slow_of_site[host.site]
        site.in_flight -= count
        self._wake(site, count)

    def limit_of(self, host: Host) -> str:
        """Say which limit a host waits for: of its "site", of its "address", or of "slow" hosts."""
        if host.waits_for is self._sites.get(host.site):
            return "site"
        return "address" if host.waits_for is self._addresses.get(host.address or "") else "slow"

    # -- groups

    def _set_turn(self, group: Group) -> None:
        if not group.has_turn:
            group.has_turn = True
            self._schedule(group.next_at, group)

    def has_turn(self, group: Group) -> None:
        """The time of a group has come."""
        group.has_turn = False
        self._wake(group)

    def _wake(self, group: Group, count: int = 1) -> None:
        """Give the next hosts their turn that wait for a place of a group."""
        while group.waiting and count:
            host = self._pop(group)
            if host.waits_for is group:  # else it was given up meanwhile
                host.waits_for, host.woken_by = None, group
                self._schedule(self._now, host)
                count -= 1

    def _pop(self, group: Group) -> Host:
        if group is self._slow:
            self._last_comes_first = not self._last_comes_first
            if not self._last_comes_first:
                return _pop_last(group.waiting)
        return group.waiting.popleft()

    def forget_past(self, now: float) -> None:
        """Forget the groups of which nothing is in flight, and whose floor is over."""
        all_groups: tuple[dict[Any, Group], ...] = (self._sites, self._slow_of_site, self._addresses)
        for groups in all_groups:
            for key in [key for key, group in groups.items() if _is_idle(group, now)]:
                del groups[key]


def _pop_last(waiting: deque[Host]) -> Host:
    """Take the host that came last; of the last ones, one that has not failed, since who fails comes back again."""
    for back in range(1, min(len(waiting), _LAST) + 1):
        if not waiting[-back].pace.failures:
            host = waiting[-back]
            del waiting[-back]
            return host
    return waiting.pop()


def _is_idle(group: Group, now: float) -> bool:
    return not (group.in_flight or group.waiting or group.has_turn or group.next_at > now)


def _literal(name: str) -> str:
    """Give the IPv4 address if the name of a host directory is one; "" if it is not.

    >>> _literal("127.0.0.1_8080"), _literal("a.example_8080")
    ('127.0.0.1', '')
    """
    bare = urls.without_port(name)
    return bare if bare.rpartition(".")[2].isdigit() else ""


@lru_cache(_SITES)  # it is asked for with each answer
def _network(address: str) -> str:
    """Give what counts as one address: of IPv6, what one customer of a network has.

    >>> _network("192.0.2.7"), _network("2001:db8:1::7"), _network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1::', '192.0.2.7')
    """
    if ":" not in address:
        return address
    parsed = IPv6Address(address)
    return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))
