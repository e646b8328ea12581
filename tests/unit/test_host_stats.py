"""How hosts fail."""

from __future__ import annotations

import pytest

from fscrawl.frontier import host_scheduler as host_stats
from fscrawl.frontier.host_scheduler import HostStats


def test_a_bounded_number_of_hosts_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit, the hosts of the last exchanges are kept: after weeks, the first ones are over long ago."""
    monkeypatch.setattr(host_stats, "_KEPT", 2)
    stats = HostStats()
    for number, host in enumerate(("a", "b", "c", "a")):
        stats.answered(host)
        stats.failed(host, 1 + number, "dns")
    assert [stats.fails(host) for host in ("a", "b", "c")] == [(4, "dns"), None, (3, "dns")]
