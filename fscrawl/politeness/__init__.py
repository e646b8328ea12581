"""How a host wants to be asked: robots.txt, its cache, delays, and whether a host or our own network is down."""

ROBOTS_VALID_S = 24 * 3600.0  # RFC 9309 2.4: then a robots.txt must be asked for again
