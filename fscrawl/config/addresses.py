"""Which IP addresses a crawler may connect to. Pure: no disk, no socket, no name is resolved.

Vocabulary:
  public    an address of the public internet: neither private, loopback, link-local, shared (100.64/10) nor reserved
  wrapped   an IPv4 address inside an IPv6 one (mapped, NAT64, 6to4, Teredo). A packet ends up at the IPv4 address
  network   a range of addresses in CIDR notation, 10.0.0.0/8, that the user permits although it is not public

Promise: an address is judged by where a connection to it leads, whichever way it is written.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Some releases of Python 3.11 count these as public: relays of 6to4, metadata hosts, later additions of IANA.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24"),
        *("64:ff9b:1::/48", "100:0:0:1::/64", "3fff::/20", "5f00::/16"),
    )
)


def is_public(address: str) -> bool:
    """Tell whether an IP address is public. Of a wrapped one, the IPv4 address inside decides.

    >>> is_public("93.184.216.34"), is_public("169.254.169.254"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.is_site_local:
            return False
        if ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        wrapped = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if wrapped is not None:
            return is_public(str(wrapped))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved  # reserved: also ::127.0.0.1, ::ffff:0:127.0.0.1


def check_networks(values: Iterable[str]) -> str | None:
    """Return None if all values are networks, else what they must be.

    >>> check_networks(["10.0.0.0/8", "::1"]) is None
    True
    >>> check_networks(["10.1.2.3/8"])
    'a list of networks such as "10.0.0.0/8"; 10.1.2.3/8 has host bits set'
    """
    for value in values:
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            return f'a list of networks such as "10.0.0.0/8"; {error}'
    return None


def permits(networks: Iterable[str]) -> Callable[[str], bool]:
    """Return the function that tells whether an address is permitted: if it is public or in one of `networks`.

    >>> rule = permits(["10.0.0.0/8"])
    >>> rule("10.1.2.3"), rule("::ffff:10.1.2.3"), rule("192.168.0.1"), rule("8.8.8.8")
    (True, True, False, True)
    """
    allowed = [ipaddress.ip_network(network) for network in networks]

    def permitted(address: str) -> bool:
        return is_public(address) or any(_unmapped(address) in network for network in allowed)

    return permitted


def _unmapped(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return ::ffff:a.b.c.d as the IPv4 address that kernels take it for. The other wrapped forms go through relays."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip


def leads_inside(name: str, permitted: Callable[[str], bool]) -> bool:
    """Tell whether a URL's host is certainly not permitted: a forbidden address, or localhost.

    Other names are not resolved. This is for requests through a proxy, which resolves names itself.

    >>> rule = permits([])
    >>> [leads_inside(name, rule) for name in ("[::1]", "10.0.0.1", "a.localhost", "8.8.8.8", "a.example")]
    [True, True, True, False, False]
    """
    bare = name.strip("[]").rstrip(".").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return not permitted("127.0.0.1")
    try:
        return not permitted(bare)
    except ValueError:
        return False  # a name, not an address
