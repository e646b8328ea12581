"""Whose turn it is, and what a proxy's setting says."""

import pytest

from fscrawl.config.credentials import Variables
from fscrawl.config.proxies import LONGEST_REST_S, Proxy, Rotation, check_proxies, read
from fscrawl.errors import SettingsError

THREE = [Proxy("http", "p.example", port) for port in (1, 2, 3)]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("http://p.example:3128", Proxy("http", "p.example", 3128)),
        ("http://p.example:3128/", Proxy("http", "p.example", 3128)),
        ("http://me:$PW@p.example:3128", Proxy("http", "p.example", 3128, "me", "a@b/c")),
        ("http://${ME}:x%20y@[::1]:1", Proxy("http", "::1", 1, "root", "x y")),
        ("socks5h://me@127.0.0.1:1080", Proxy("socks5h", "127.0.0.1", 1080, "me")),
    ],
)
def test_read(text, proxy):
    """A proxy is a scheme, a host, a port, and perhaps a name and password from the environment."""
    assert read(text, Variables({"PW": "a@b/c", "ME": "root"}, {"PW", "ME"})) == proxy


def test_secret_is_not_shown():
    """Neither the address nor the representation of a proxy holds its password."""
    proxy = read("http://me:hunter2@[::1]:1", Variables({}))
    assert (proxy.address, repr(proxy)) == ("http://[::1]:1", "Proxy(http://[::1]:1)")


def test_missing_variable():
    """A password that is not in the environment is a SettingsError."""
    with pytest.raises(SettingsError, match=r"^fetch[.]proxies: the environment variable PW is not set"):
        read("http://me:$PW@p.example:1", Variables({}, {"PW"}))


@pytest.mark.parametrize(
    "text",
    [
        *("", "p.example:3128", "http://p.example", "http://:1", "https://p.example:1", "socks5://p.example:1"),
        *("http://p.example:0", "http://p.example:99999", "http://p.example:1/x", "http://p.example:1?x"),
        *("http://p.example:1#x", "http://[p:1", "http://p.example:1\n"),
    ],
)
def test_check_proxies(text):
    """What is no proxy is refused with what would be right."""
    assert check_proxies([text]).startswith('a list of proxies such as "http://')
    assert check_proxies(["http://me:$UNKNOWN@p.example:1"]) is None


def test_turns():
    """A host's requests go through the proxies in turn, and new hosts begin at different ones."""
    rotation = Rotation(THREE)
    assert [rotation.pick("a") for _ in range(4)] == [0, 1, 2, 0]
    assert [rotation.pick(host) for host in "bcdb"] == [1, 2, 0, 2]


def test_rests():
    """A proxy that fails rests, twice as long each time, and is tried again; success forgets the failures."""
    clock = Clock()
    rotation = Rotation(THREE[:1], clock=clock)
    for pause_s in (1, 2, 4):
        rotation.failed(0)
        clock.now += pause_s - 0.01
        assert rotation.pick("a") is None
        clock.now += 0.01
        assert rotation.pick("a") == 0
    rotation.worked(0)
    rotation.failed(0)
    clock.now += 1
    assert rotation.pick("a") == 0


def test_dropped():
    """With a limit, a proxy that fails so often in a row is not used any more; what hosts do does not count."""
    clock = Clock()
    rotation = Rotation(THREE[:1], failures=3, clock=clock)
    for by_itself in (True, True, False, False):
        rotation.failed(0, by_itself=by_itself)
        clock.now += LONGEST_REST_S
        assert rotation.pick("a") == 0
    rotation.worked(0)
    for _ in range(3):
        clock.now += LONGEST_REST_S
        assert rotation.pick("a") == 0
        rotation.failed(0)
    clock.now += 1e9
    assert rotation.pick("a") is None


def test_one_failure_of_many_requests():
    """Requests that fail together are one failure."""
    clock = Clock()
    rotation = Rotation(THREE[:1], clock=clock)
    for _ in range(5):
        rotation.failed(0)
    clock.now += 1
    assert rotation.pick("a") == 0


def test_longest_rest():
    """Without a limit no proxy is dropped."""
    clock = Clock()
    rotation = Rotation(THREE[:1], clock=clock)
    for _ in range(50):
        rotation.failed(0)
        clock.now += LONGEST_REST_S
    assert rotation.pick("a") == 0


def test_uses():
    """A proxy that was used as often as it may be is passed over, for good."""
    rotation = Rotation(THREE[:2], uses=2)
    assert [rotation.pick("a") for _ in range(5)] == [0, 1, 0, 1, None]


def test_many_hosts(monkeypatch):
    """What is remembered of hosts is bounded."""
    monkeypatch.setattr("fscrawl.config.proxies._REMEMBERED_HOSTS", 10)
    rotation = Rotation(THREE)
    for number in range(100):
        rotation.pick(str(number))
    assert len(rotation._turns) <= 10
