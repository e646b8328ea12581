"""Starts and ends a Chromium of the system: its arguments, its directory, its processes.

Promise: when the keeper is gone, however it ended, the browser's processes are gone a moment later, and so is its
directory. A process in a session of its own sees to it (`reaper`). If that one is killed, too,
`remove_left_directories` finds the directory at the next start.

The browser gets no environment variable but those it needs, so none with a password.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from fscrawl.render import reaper
from fscrawl.render.devtools import DevTools

_DIRECTORY = "fscrawl-browser-"
_ENDS_S = 10.0
_LOW = 5  # as nice(1): a third of what others get
_BEGINS_S = 60.0  # a younger directory may be of a browser that is being started: its lock comes a moment later
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")
_FEATURES_OFF = (
    "AcceptCHFrame,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,"
    "GlobalMediaControls,InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Prerender2,"
    "SpeculationRulesPrefetchFuture,Translate,WebTransport,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable"
)
_ARGUMENTS = (
    *("--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-extensions", "--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection", "--disable-dev-shm-usage"),
    *("--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--mute-audio"),
    *("--disable-renderer-backgrounding", "--metrics-recording-only"),
    *("--no-pings", "--no-service-autorun", "--password-store=basic", "--block-new-web-contents"),
    *("--deny-permission-prompts", "--disable-notifications", "--dns-prefetch-disable", "--disable-print-preview"),
    *(
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    ),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-bypass-list=<-loopback>", "--window-size=1280,2000"),
    *("--hide-scrollbars", "--disable-site-isolation-trials", f"--disable-features={_FEATURES_OFF}"),
)


class Usage(NamedTuple):
    """`memory_bytes`: that processes have for themselves now. `processor_s`: that those which still run have taken."""

    memory_bytes: int
    processor_s: float


class Chromium:
    """One browser that runs. `devtools`: the way to it. `is_lowered`: others go first at the processor, for good."""

    def __init__(self, executable: str, proxy: str, longest_bytes: int) -> None:
        """Start a browser whose proxy is `proxy`, host:port. OSError if it cannot be started.

        `longest_bytes`: of what it says at a time.
        """
        self._directory = Path(tempfile.mkdtemp(prefix=_DIRECTORY))
        lock = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        browser_reads, we_write = os.pipe()
        we_read, browser_writes = os.pipe()
        life, self._life = os.pipe()
        theirs = (browser_reads, browser_writes, life, lock)
        given = [*map(str, theirs[:3]), str(self._directory)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the settings name
                [sys.executable, "-I", "-S", reaper.__file__, *given, executable, *self._arguments(proxy)],
                pass_fds=theirs,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._directory,
                env=self._environment(),
                start_new_session=True,
            )
        except OSError:
            for each in (we_read, we_write, self._life):
                os.close(each)
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        finally:
            for each in theirs:
                os.close(each)
        self.is_lowered = False
        self.devtools = DevTools(we_read, we_write, longest_bytes)

    def _arguments(self, proxy: str) -> list[str]:
        own = [f"--user-data-dir={self._directory}/profile", f"--proxy-server=http://{proxy}"]
        return [*_ARGUMENTS, *own, *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        here = str(self._directory)
        return {**kept, "HOME": here, "TMPDIR": here}

    def end(self) -> None:
        """Wait until the browser's processes and its directory are gone. Its `devtools` are closed before."""
        with contextlib.suppress(OSError):
            os.close(self._life)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_S)

    def lower_priority(self) -> None:
        """Let others go first at the processor. Only root could take that back."""
        if not self.is_lowered:
            self.is_lowered = True
            for first in _children(self._process.pid):  # the first process of the browser's group, and of its session
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PGRP, first, _LOW)
                    Path(f"/proc/{first}/autogroup").write_text(str(_LOW))  # sessions share the cores, see sched(7)

    def usage(self) -> Usage:
        """Tell what the browser's processes take: those in the session of the first one, the reaper's child (Linux)."""
        sessions = _children(self._process.pid)
        of_each = [_usage(pid) for pid in _all_pids() if _session(pid) in sessions]
        return Usage(sum(each.memory_bytes for each in of_each), sum(each.processor_s for each in of_each))


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough


def _session(pid: int) -> int:
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return 0


def _children(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return set()


def _usage(pid: int) -> Usage:
    with contextlib.suppress(OSError, ValueError, IndexError):
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        memory_bytes = (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
        return Usage(memory_bytes, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
    return Usage(0, 0.0)


def remove_left_directories() -> None:
    """Remove the directories of browsers that are no more, and whose reaper was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_DIRECTORY}*"):
        with contextlib.suppress(OSError):
            about = path.stat(follow_symlinks=False)
            if about.st_uid != os.geteuid() or time.time() - about.st_mtime < _BEGINS_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
