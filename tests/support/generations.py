"""Generations of small trees."""

from fscrawl.config.settings import Settings
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.rules import LinkRules


def begin(tree, settings=None, seeds=(), refresh_before="", reason="test"):
    """Begin the next generation, with the link rules of these settings; give its number."""
    links = LinkRules.of(settings or Settings(), seeds)
    return Generations(tree.files).begin_next(links, refresh_before, reason).number
