"""What a machine does with the files of terms."""

import os
import time

from fscrawl.config.settings import Settings
from tests.support.members import MINE, url


def test_terms_of_earlier_generations(world, monkeypatch):
    """A machine that runs for a while removes them; what is stored is not fetched or told once more for that."""
    monkeypatch.setattr(Settings, "reads_sitemaps", True)  # a term without sitemaps stays
    world.create(url(MINE[0]))
    first = world.join("a")
    first.crawl()
    first.leave(finished=True)
    (old,) = (world.root / ".fscrawl/terms").iterdir()
    at = time.time() - 15 * 86400
    os.utime(old, (at, at))
    second = world.join("b", reseed=True)
    second.crawl()
    world.pass_time(600, second)
    assert not old.exists()
    assert len(list((world.root / ".fscrawl/terms").iterdir())) == 1
    third = world.join("c")
    third.crawl()
    assert third.membership.survey.records_read == 0
    assert world.fetched[url(MINE[0])] == 1
    assert [member.warnings for member in (first, second, third)] == [[]] * 3
