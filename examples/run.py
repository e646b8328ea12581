"""`make example NAME=…`: serve the imitation of a site, crawl it as its example says, and make a dataset.

<into>/tree       a copy of the example's tree/: settings and seeds; the crawl stores its pages here
<into>/dataset    what `fscrawl merge` makes of it
"""

from __future__ import annotations

import argparse
import errno
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from demo.run import run_to_end
from demo.server import Server
from tests.imitations.frame import Imitation
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
    if options.into is not None and options.into.exists():
        parser.error(f"--into {options.into}: it is there already; name a new directory")
    imitation = IMITATIONS[options.name]()
    server = Server(imitation, [imitation.host], imitation.port, deadline_s=DEADLINE_S)
    try:
        server.start()
    except OSError as error:
        reason = "is taken; does this example run already?" if error.errno == errno.EADDRINUSE else error.strerror
        print(f"example: port {imitation.port} of {imitation.host} {reason}", file=sys.stderr)
        return 1
    try:
        print(f"the imitation answers on {server.url(imitation.host, '/')}", flush=True)
        if options.serve:
            server.wait()
            return 0
        into = options.into or Path(tempfile.mkdtemp(prefix=f"fscrawl-{options.name}-"))
        return _crawl_and_merge(options.name, imitation, into)
    except OSError as error:
        print(f"example: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        server.stop()


def site_words(folder: Path) -> list[str]:
    """Give the option of commands for the site file of an example, if it has one."""
    return ["--site", str(folder / "site.py")] if (folder / "site.py").exists() else []


def _crawl_and_merge(name: str, imitation: Imitation, into: Path) -> int:
    """Return the exit code of the first command that fails; 1 if the tree has not as many pages as the site."""
    folder, root = HERE / name, into / "tree"
    shutil.copytree(folder / "tree", root)
    site = site_words(folder)
    crawl = ["crawl", "--root", str(root), *site, "--workers", "2"]
    status = _run(crawl)
    if status == 0 and imitation.is_ill:
        imitation.is_ill = False
        print("\nthe site is well again: what failed is tried again", flush=True)
        status = _run(["retry", "--root", str(root)]) or _run(crawl)
    status = status or _run(["merge", "--root", str(root), *site, "--out", str(into / "dataset"), *EXTRA.get(name, [])])
    if status == 0:
        expected, stored = len(imitation.stored()), sum(1 for _ in (root / "links").rglob("*.json"))
        print(f"\nexpected {expected:,} pages, stored {stored:,}; the answer: {into / 'dataset'}")
        return 0 if expected == stored else 1
    return status


def _run(words: list[str]) -> int:
    print("$ fscrawl", shlex.join(words), flush=True)
    return run_to_end([sys.executable, "-m", "fscrawl", *words])


if __name__ == "__main__":
    sys.exit(main())
