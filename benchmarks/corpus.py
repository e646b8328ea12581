"""The two sites that everything is measured on: Debian's python3-doc and rust-doc, served by nginx on loopback.

    python -m benchmarks.corpus [--port N] [--seconds S]

Promise: inside `with serve()` two sites answer, and nothing is left running after it. All traffic stays on
127.0.0.0/8.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOC = Path("/usr/share/doc")
PACKAGES = {  # package → what it leaves on the disk
    "nginx-light": "/usr/sbin/nginx",
    "python3-doc": "/usr/share/doc/python3-doc/html/index.html",
    "rust-doc": "/usr/share/doc/rust-doc/html/index.html",
    "wget2": "/usr/bin/wget2",
}
START_S = 10  # nginx starts in milliseconds; if it takes longer, it never starts

_CONFIG = """\
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log {log};
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
{servers}}}
"""
_SERVER = "    server {{ listen {address}:{port}; root {root}; }}\n"


@dataclass(frozen=True, slots=True)
class Site:
    """One served folder. `url` is its front page and the seed; `host` is its name in a tree of pages."""

    name: str
    address: str
    port: int
    root: Path

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}/index.html"

    @property
    def origin(self) -> str:
        return f"http://{self.address}:{self.port}"

    @property
    def host(self) -> str:
        return f"{self.address}_{self.port}"


@dataclass(frozen=True, slots=True)
class Served:
    """The sites while they are served. `pid`: nginx's master process; `access_log`: its log, if one was asked for."""

    python: Site
    rust: Site
    pid: int
    access_log: Path | None

    @property
    def sites(self) -> tuple[Site, Site]:
        return self.python, self.rust

    def cpu_s(self) -> float:
        """CPU seconds that nginx has used so far."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
        return sum(_cpu_s(int(pid)) for pid in [self.pid, *children])


def missing() -> list[str]:
    """Name the Debian packages that are not installed."""
    return [package for package, sign in PACKAGES.items() if not Path(sign).exists()]


def install() -> None:
    """Install missing packages; SystemExit with one line if that is not possible."""
    wanted = missing()
    if not wanted:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *wanted]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"the benchmarks need Debian's {' '.join(wanted)}; as root: {' '.join(command)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update"], check=False, env=environment, stdout=subprocess.DEVNULL)
    if subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL).returncode or missing():
        sys.exit(f"apt-get could not install {' '.join(wanted)}; see its message above")


@contextlib.contextmanager
def serve(port: int = 0, *, access_log: bool = False) -> Iterator[Served]:
    """Serve both sites while the block runs. `port` 0: one that is free on both addresses."""
    with tempfile.TemporaryDirectory(prefix="fscrawl-corpus-") as name:
        directory = Path(name)
        port = port or _free_port()
        python = Site("python3-doc", "127.0.1.1", port, DOC / "python3-doc" / "html")
        rust = Site("rust-doc", "127.0.1.2", port, DOC / "rust-doc" / "html")
        log = directory / "access.log" if access_log else None
        config = directory / "nginx.conf"
        config.write_text(_config(directory, (python, rust), log), encoding="utf-8")
        nginx = subprocess.Popen([PACKAGES["nginx-light"], "-e", directory / "error.log", "-c", config])
        try:
            for site in (python, rust):
                _await(site, nginx, directory / "error.log")
            yield Served(python, rust, nginx.pid, log)
        finally:
            nginx.terminate()
            nginx.wait()


def exit_on_terminate() -> None:
    """Make SIGTERM unwind the stack like an exit, so that everything a benchmark started is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _config(directory: Path, sites: tuple[Site, ...], log: Path | None) -> str:
    servers = "".join(_SERVER.format(address=site.address, port=site.port, root=site.root) for site in sites)
    return _CONFIG.format(directory=directory, servers=servers, log=log or "off")


def _free_port() -> int:
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.1.1", 0))
            port: int = one.getsockname()[1]
            with contextlib.suppress(OSError):
                two.bind(("127.0.1.2", port))
                return port


def _await(site: Site, nginx: subprocess.Popen[bytes], error_log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_S
    while True:
        if nginx.poll() is not None:
            sys.exit(f"nginx ended at once: {error_log.read_text(encoding='utf-8').strip()}")
        try:
            opener.open(site.url, timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"nginx does not answer at {site.url}: {error}")
            time.sleep(0.02)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, see proc(5)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description="Serve the two sites.")
    parser.add_argument("--port", type=int, default=0, help="the same for both addresses; default: a free one")
    parser.add_argument("--seconds", type=float, default=600, help="stop by itself after this long (default 600)")
    arguments = parser.parse_args()
    exit_on_terminate()
    install()
    with serve(arguments.port) as served:
        for site in served.sites:
            print(f"{site.name:12} {site.url}", flush=True)
        print(f"until Ctrl-C or for {arguments.seconds:g} s", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(arguments.seconds)


if __name__ == "__main__":
    main()
