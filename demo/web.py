"""`python -m demo.web`: serve the demo's web on loopback for some time. Prints its seed URLs, one per line."""

from __future__ import annotations

import argparse
import sys

from demo.server import Server
from demo.site import HOSTS, Site, seeds

PORT = 8713  # always the same, so that a second run has the same URLs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m demo.web", description="Serve the demo's web on loopback.")
    parser.add_argument("--port", type=int, default=PORT, help=f"default {PORT}; 0: any free port")
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after this time (default 600)")
    options = parser.parse_args(arguments)
    server = Server(Site(), HOSTS, options.port, deadline_s=options.seconds)
    try:
        server.start()
    except OSError as error:
        print(f"demo: cannot listen on port {options.port} of {HOSTS[0]} …: {error.strerror}", file=sys.stderr)
        return 1
    try:
        print(*seeds(server.port), sep="\n", flush=True)
        server.wait()
    except KeyboardInterrupt:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
