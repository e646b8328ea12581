"""Sites of our own that behave as those which `examples/` crawl: servers on loopback that know what is on them."""
