"""Measurements of fscrawl against other crawlers and against arithmetic; see README.md for how to read them."""
