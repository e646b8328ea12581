"""How a host wants to be asked: robots.txt, its cache, delays, and whether a host or our own network is down."""
