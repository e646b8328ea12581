"""What all tests share: the checkout on the import path, markers from folders, and no silent skips where all is there.

In CI (environment CI=true) a skipped test of one of the marks below fails: there, root, the corpora, chromium and the
file systems are a given, and a skip means that a test has been lost.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

HERE = Path(__file__).parent
MEMORY = "/dev/shm"
sys.path.insert(0, str(HERE.parent))  # for `from tests.support.web import Web` and `from demo.server import Server`

from tests.support import effort  # noqa: E402
from tests.support.fixtures import layout, mount, names, place, root  # noqa: E402, F401 (fixtures, for all folders)

effort.set_profile()
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # of the make that runs the tests; tests run make, too
    os.environ.pop(name, None)
# half an hour of guests: not even as a skip, which in CI would be a test that has been lost
collect_ignore = [] if os.environ.get("FSCRAWL_NFS") == "all" else ["system/nfs/test_nfs_all.py"]

# A test has the markers of the folders that it is in. `root`, `fleet` and `timeout` are written at the test.
MARKERS = {
    "unit": ("unit",),
    "component": ("component",),
    "system": ("system",),
    "system/browser": ("browser",),
    "component/rendering": ("render",),
    "system/corpus": ("corpus",),
    "system/packaging": ("dist",),
    "system/cluster": ("cluster",),
    "system/install": ("install",),
    "system/mounts": ("mounts",),
    "system/nfs": ("mounts", "nfs"),
    "faults": ("faults",),
    "faults/power": ("power",),
    "harness": ("harness",),
}
# When a test runs: by `make test`; by `make gate`, too; or by `make test-all` alone. This is what a folder says; a test
# may say otherwise by a mark of its own.
LEVELS = ("quick", "gate", "proof")
LEVEL = {
    "unit": "quick",
    "component": "quick",
    "component/rendering": "proof",
    "harness": "gate",
    "system": "gate",
    "system/browser": "proof",
    "system/corpus": "proof",
    "system/cluster": "proof",
    "system/install": "proof",
    "system/mounts": "proof",
    "system/nfs": "proof",
    "faults": "proof",
}
NEVER_SKIPPED_IN_CI = (
    "root",
    "shells",
    "install",
    "corpus",
    "fleet",
    "browser",
    "render",
    "mounts",
    "cluster",
    "faults",
    "power",
)


def pytest_configure(config: pytest.Config) -> None:
    """Let the trees of quick tests lie in memory: to make and to remove 100,000 files was a third of their time."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and _has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def _has_room(directory: str) -> bool:
    """Tell whether programs may be put there, and two gigabytes; a container often has 64 megabytes."""
    if not os.access(directory, os.W_OK):
        return False
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize > 2 << 30 and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(optionalhook=True)  # a guest has no xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run `pytest` alone in a process for each core. Named files run in one process."""
    return len(os.sched_getaffinity(0)) if config.args_source is pytest.Config.ArgsSource.TESTPATHS else 0


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the modules and the thousands of items, which stay. They were a tenth of all work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    markers, level = _markers_of(item.path)
    for marker in markers:
        item.add_marker(marker)
    levels = {mark.name for mark in item.iter_markers() if mark.name in LEVELS}
    if not levels:
        item.add_marker(level)
    elif len(levels) > 1:
        raise pytest.UsageError(f"{item.nodeid} has two levels: {', '.join(sorted(levels))}")


@cache  # a file has dozens of tests
def _markers_of(path: Path) -> tuple[list[str], str]:
    """Give the markers of the folders of a file, and its level: that of the innermost one."""
    markers = [each for folder, markers in MARKERS.items() if path.is_relative_to(HERE / folder) for each in markers]
    levels = [level for folder, level in LEVEL.items() if path.is_relative_to(HERE / folder)]
    return markers, levels[-1] if levels else "gate"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run `pytest` alone as `make test` does: the quick tests. Files that are named run whole."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        others = [item for item in items if not item.get_closest_marker("quick")]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if item.get_closest_marker("quick")]


@pytest.fixture(autouse=True)
def _own_umask_and_environment() -> Generator[None]:
    """A command in this process takes the umask that fits its tree, and says in the environment how children begin."""
    os.umask(before := os.umask(0o077))
    with mock.patch.dict(os.environ):
        yield
    os.umask(before)


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
