"""How a host wants to be asked: robots.txt, delays, and whether the host or our own network is down."""
