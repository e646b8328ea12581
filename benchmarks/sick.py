"""How fast is a healthy host crawled beside hosts that are sick, or mean harm?

    python -m benchmarks.sick [--runs N]

First forty healthy hosts are crawled alone, and then among sixty that are dead, slow or overwhelmed, with the shortest
politeness delay that a crawl of them alone can keep. Wanted: 90 % of their pages in the time that they take alone, and
90 % of the speed. Then one healthy host is crawled for 25 s beside each of the mixes of `tests.support.neighbours`.
Wanted: 60 % of the pages that it gets alone. Then the same with pages that are rendered, beside each of the mixes of
`sick_rendered`, if there is a Chromium. Wanted: 60 %, and less beside scripts and loads without end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import sick_rendered
from benchmarks.corpus import exit_on_terminate
from fscrawl.render import executable
from tests.support import neighbours, ward

WANTED = 0.9
WANTED_BESIDE_HARM = 0.6
WANTED_RENDERED = {"scripts": 0.3, "loads": 0.6, "many": 0.2, "posts": 0.6, "memory": 0.6, "history": 0.6}
MIXES = ("bombs", "slow", "both", "wildcard")
SECONDS, SECONDS_RENDERED = 25.0, 60.0
DELAY_S = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="pairs of crawls (1)")
    arguments = parser.parse_args()
    exit_on_terminate()
    kept = [kept for _ in range(arguments.runs) for kept in (_pair(), _beside_harm(), _rendered())]
    sys.exit(not all(kept))


def _pair() -> bool:
    with tempfile.TemporaryDirectory(prefix="fscrawl-sick-") as directory:
        alone = ward.crawl_alone(Path(directory, "alone"))
        among = ward.crawl_among_sick(Path(directory, "among"))
    if (alone.done.code, among.done.code) != (0, 0):
        raise SystemExit(f"a crawl failed: {alone.done} {among.done}")
    share, pace = ward.in_time(alone, among), alone.served_s[-1] / among.served_s[-1]
    is_kept = min(share, pace) >= WANTED
    print(f"{len(alone.served_s)} pages of healthy hosts: alone {alone.served_s[-1]:.2f} s, among sick ones", end=" ")
    print(f"{among.served_s[-1]:.2f} s: pace {pace:.3f}, in time {share:.1%}: {'ok' if is_kept else 'NO'}", flush=True)
    return is_kept


def _beside_harm() -> bool:
    alone = _healthy_pages("alone")
    print(f"{alone} pages of one healthy host in {SECONDS:.0f} s alone", flush=True)
    kept = []
    for mix in MIXES:
        pages = _healthy_pages(mix)
        kept.append(pages >= WANTED_BESIDE_HARM * alone)
        print(f"{pages:5} beside {mix:9} {pages / alone:.2f}: {'ok' if kept[-1] else 'NO'}", flush=True)
    return all(kept)


def _rendered() -> bool:
    if executable.find() is None:
        print("no Chromium is installed, so nothing was rendered: apt-get install chromium-headless-shell")
        return True
    alone = sick_rendered.healthy_pages("alone", SECONDS_RENDERED)
    print(f"{alone} rendered pages of one healthy host in {SECONDS_RENDERED:.0f} s alone", flush=True)
    kept = []
    for mix, wanted in WANTED_RENDERED.items():
        pages = sick_rendered.healthy_pages(mix, SECONDS_RENDERED)
        kept.append(pages >= wanted * alone)
        print(f"{pages:5} beside {mix:9} {pages / alone:.2f}: {'ok' if kept[-1] else 'NO'}", flush=True)
    return all(kept)


def _healthy_pages(mix: str) -> int:
    with tempfile.TemporaryDirectory(prefix="fscrawl-sick-") as directory:
        return neighbours.healthy_pages(Path(directory), mix, SECONDS, DELAY_S)


if __name__ == "__main__":
    main()
