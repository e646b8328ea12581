"""What all tests share: the checkout on the import path, and no silent skips where everything is there.

In CI (environment CI=true) a skipped test of one of the marks below fails: there, root, the corpora, chromium and the
file systems are a given, and a skip means that a test has been lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # `from tests.web import Web`, `from demo.server import Server`

# half an hour of guests: not even as a skip, which in CI would be a test that has been lost
collect_ignore = [] if os.environ.get("FSCRAWL_NFS") == "all" else ["mounts/test_nfs_all.py"]

NEVER_SKIPPED_IN_CI = ("root", "corpus", "fleet", "browser", "mounts", "faults", "power")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        marks = [name for name in NEVER_SKIPPED_IN_CI if item.get_closest_marker(name)]
        if marks:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"marked {', '.join(marks)}, which CI never skips: {reason}"
    return report
