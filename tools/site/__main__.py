"""`make docs`: build the documentation into build/site, or say what is missing."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from tools.site.check import troubles
from tools.site.pages import NavError, complete, copy_pages

CHECKOUT = Path(__file__).resolve().parents[2]
_ASSETS = ("iframe-worker.js", "style.css")


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, of which only the navigation counts here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda *_: None)


def main(arguments: list[str] | None = None) -> int:
    """Build the site; return 1 if it is not whole."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="Build the documentation as a site.")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose documentation")
    options = parser.parse_args(arguments)
    checkout: Path = options.checkout
    build = checkout / "build"
    try:
        config = _config(checkout, build)
    except NavError as error:
        print(error, file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(config)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(CHECKOUT)}
    # without --quiet, which hides warnings from --strict, too
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr, end="")
        return 1
    found = troubles(build / "site")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    if not found:
        print(f"{build / 'site' / 'index.html'}: {len(list((build / 'site').rglob('*.html')))} pages")
    return 1 if found else 0


def _config(checkout: Path, build: Path) -> Path:
    """Copy the pages, and write the configuration with the whole navigation."""
    pages = copy_pages(checkout, build / "pages")
    (build / "pages" / "assets").mkdir()
    for name in _ASSETS:
        shutil.copyfile(Path(__file__).parent / name, build / "pages" / "assets" / name)
    written = yaml.load((checkout / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    config = build / "mkdocs.yml"
    config.write_text(
        yaml.safe_dump(
            {
                "INHERIT": str(checkout / "mkdocs.yml"),
                "docs_dir": str(build / "pages"),
                "site_dir": str(build / "site"),
                "nav": complete(written["nav"], pages),
            }
        ),
        encoding="utf-8",
    )
    return config


if __name__ == "__main__":
    sys.exit(main())
