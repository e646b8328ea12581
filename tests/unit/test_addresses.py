"""Which addresses are refused, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.config.addresses import check_networks, is_public, leads_inside, permits
from fscrawl.urls import hostname, normalise

NOT_PUBLIC = """
    0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
    192.0.2.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
    64:ff9b:1::1 100::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1
    168.63.129.16 192.88.99.1 3fff::1 5f00::1 100:0:0:1::1 fd00:ec2::254 2002:a9fe:a9fe::1 192.0.0.192 100.100.100.200
    2001:0:0:0:0:0:80ff:fffe ff02::1 ff0e::1 ::ffff:0:127.0.0.1 ::ffff:224.0.0.1
"""
PUBLIC = """
    1.1.1.1 8.8.8.8 93.184.216.34 172.15.0.1 172.32.0.1 192.167.1.1 2606:4700::1111 2a00:1450:4001::1
    ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
"""


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_not_public(address):
    """Private, loopback, link-local, documentation and multicast addresses are not public, however wrapped."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public(address):
    """Addresses of the public internet are public, also when wrapped."""
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.0.1.", "%31%32%37.0.0.1", "①②⑦.0.0.1"]
)
def test_other_spellings_become_dotted(host):
    """Decimal, octal, hexadecimal and shortened forms of an IPv4 address are one normal form, the dotted one."""
    assert normalise(f"http://{host}/") == "http://127.0.0.1/"


def test_networks_permit():
    """An address inside a permitted network may be fetched from, its mapped form too; its neighbours may not."""
    rule = permits(["10.0.0.0/8", "fd00::/8", "127.0.0.1"])
    allowed = ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "127.0.0.1", "8.8.8.8"]
    assert [rule(address) for address in allowed] == [True] * 5
    assert [rule(address) for address in ("11.0.0.0", "127.0.0.2", "fe80::1%eth0", "64:ff9b::a01:203")] == [
        True,  # 11.0.0.0 is public
        False,
        False,
        False,
    ]


@given(st.ip_addresses())
def test_all_networks(address):
    """With all networks allowed, there is no address that is refused; without, no address raises."""
    assert permits(["0.0.0.0/0", "::/0"])(str(address))
    assert permits([])(str(address)) == is_public(str(address))


@pytest.mark.parametrize("value", ["10.0.0.0/8", "10.1.2.3", "::1/128", "fd00::/8", "0.0.0.0/0"])
def test_networks(value):
    """Networks of both families are networks, single addresses too."""
    assert check_networks([value]) is None


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("10.1.2.3/8", "10.1.2.3/8 has host bits set"),
        ("10.0.0.0/33", "'10.0.0.0/33' does not appear to be an IPv4 or IPv6 network"),
        ("intranet", "'intranet' does not appear to be an IPv4 or IPv6 network"),
        ("", "'' does not appear to be an IPv4 or IPv6 network"),
    ],
)
def test_check_networks(value, complaint):
    """What is no network is said to be none, with what would be right."""
    right = check_networks(["::1", value])
    assert right.startswith('a list of networks such as "10.0.0.0/8"; ')
    assert right.endswith(complaint)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://[::1]:8/", "http://LOCALHOST./", "http://x.localhost/", "http://[fe80::1]/"]
)
def test_plainly_inside(url):
    """A literal private address, and localhost, are refused with no look-up; and allowed where they are permitted."""
    name = hostname(normalise(url))
    assert leads_inside(name, permits([]))
    assert not leads_inside(name, permits(["0.0.0.0/0", "::/0"]))


def test_names_are_not_judged():
    """A name that only a look-up could judge is not."""
    assert not leads_inside("intranet.example", permits([]))
