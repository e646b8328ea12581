"""`make crawl` without arguments: serve the demo's web, and crawl it into ./shared-tree with crawl.py."""

from __future__ import annotations

import argparse
import errno
import subprocess
import sys
from pathlib import Path

from demo.server import Server
from demo.site import HOSTS, Site, seeds
from demo.web import PORT

CRAWL = Path(__file__).resolve().parent.parent / "crawl.py"
SETTINGS = ("politeness.delay=0.05", "fetch.allow_addresses=['127.0.0.0/8']", 'crawl.scope="any"')
DEADLINE_S = 300.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m demo.run", description="Serve a small web on loopback and crawl it."
    )
    parser.add_argument("--root", type=Path, default=Path("shared-tree"), help="the tree (default ./shared-tree)")
    parser.add_argument("--workers", type=int, default=4, help="worker processes (default 4)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port of the demo's web (default {PORT})")
    options, further = parser.parse_known_args(arguments)  # other options are passed on to crawl.py
    server = Server(Site(), HOSTS, options.port, deadline_s=DEADLINE_S)
    try:
        server.start()
    except OSError as error:
        reason = "is taken; is another demo running?" if error.errno == errno.EADDRINUSE else error.strerror
        print(f"demo: port {options.port} of {HOSTS[0]} to {HOSTS[-1]} {reason}", file=sys.stderr)
        return 1
    try:
        command = _command(options.root, options.workers, server.port)
        print(f"demo: a web of {len(HOSTS)} hosts is up on {seeds(server.port)[0]}", flush=True)
        status = run_to_end([*command, *further])
    finally:
        server.stop()
    if status == 0:
        print("demo: that was a web of our own, on loopback. Yours:")
        print("      make crawl ROOT=/mnt/shared SEEDS=seeds.txt WORKERS=32")
    return status


def _command(root: Path, workers: int, port: int) -> list[str]:
    command = [sys.executable, str(CRAWL), "--root", str(root), "--workers", str(workers)]
    for seed in seeds(port):
        command += ["--seed", seed]
    if not (root / "crawl.toml").exists():  # later somebody may have edited that file
        for setting in SETTINGS:
            command += ["--set", setting]
    return command


def run_to_end(command: list[str]) -> int:
    """Return the exit code of a command. Ctrl-C also reaches the command itself, so we wait until it has ended."""
    with subprocess.Popen(command) as running:  # noqa: S603  our own commands
        while True:
            try:
                status = running.wait()
                return status if status >= 0 else 128 - status
            except KeyboardInterrupt:
                continue


if __name__ == "__main__":
    sys.exit(main())
