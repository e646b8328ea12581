"""`make example NAME=…`: serve the imitation of a site, crawl it as its example says, and make a dataset.

<into>/tree       a copy of the example's tree/: settings and seeds; the crawl stores its pages here
<into>/dataset    what `fscrawl merge` makes of it
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from demo.server import Server
from tests.imitations.known import IMITATIONS

HERE = Path(__file__).resolve().parent
DEADLINE_S = 3600.0
EXTRA = {"gallery": ["--files"], "complaints": ["--format", "csv"]}  # of the merge


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.run", description="Crawl the imitation of a site.")
    parser.add_argument("name", choices=sorted(IMITATIONS), help="the example")
    parser.add_argument("--into", type=Path, help="a new directory (default: a temporary one)")
    parser.add_argument("--serve", action="store_true", help="only serve the imitation, for an hour or until Ctrl-C")
    options = parser.parse_args(arguments)
    imitation = IMITATIONS[options.name]()
    with Server(imitation, [imitation.host], imitation.port, deadline_s=DEADLINE_S) as server:
        print(f"the imitation answers on {server.url(imitation.host, '/')}", flush=True)
        if options.serve:
            server.wait()
            return 0
        into = options.into or Path(tempfile.mkdtemp(prefix=f"fscrawl-{options.name}-"))
        return _crawl_and_merge(options.name, into)


def site_words(folder: Path) -> list[str]:
    """Give the option of commands for the site file of an example, if it has one."""
    return ["--site", str(folder / "site.py")] if (folder / "site.py").exists() else []


def _crawl_and_merge(name: str, into: Path) -> int:
    folder, root = HERE / name, into / "tree"
    shutil.copytree(folder / "tree", root)
    site = site_words(folder)
    return _run("crawl", "--root", str(root), *site, "--workers", "2") or _run(
        "merge", "--root", str(root), *site, "--out", str(into / "dataset"), *EXTRA.get(name, [])
    )


def _run(*words: str) -> int:
    print("$ fscrawl", *words, flush=True)
    return subprocess.run([sys.executable, "-m", "fscrawl", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
