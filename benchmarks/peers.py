"""The crawlers of others, each in an environment of its own, so that the project does not depend on them.

The first run installs them from their package indexes. Delete the directory to get newer ones. Each version of Python
has directories of its own: crawlers in Python that are compared run by the same interpreter.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOME = Path.home() / ".cache" / "fscrawl-bench"


@dataclass(frozen=True, slots=True)
class Peer:
    """`packages`: what pip or npm installs. `versions`: a program that prints the versions; it fails without them."""

    name: str
    packages: tuple[str, ...]
    versions: str
    npm: bool = False

    @property
    def home(self) -> Path:
        return HOME / f"{self.name}-{'npm' if self.npm else platform.python_version()}"

    @property
    def interpreter(self) -> str:
        return shutil.which("node") or "node" if self.npm else str(self.home / "bin" / "python")

    def install(self) -> str:
        """Install it if need be; give one line with its versions, or the reason why it cannot run."""
        if found := self._found():
            return f"{self.name} {found}"
        print(f"installing {' and '.join(self.packages)} into {self.home}", flush=True)
        pip = [[sys.executable, "-m", "venv", "--clear", str(self.home)]]
        pip += [[self.interpreter, "-m", "pip", "install", "-q", *self.packages]]
        npm = [["npm", "install", "--silent", "--prefix", str(self.home), *self.packages]]
        try:
            for command in npm if self.npm else pip:
                subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            printed = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            return f"{self.name} is left out: {printed[-1] if printed else error}"
        found = self._found()
        return f"{self.name} {found}" if found else f"{self.name} is left out: it is installed, but does not start"

    def ready(self) -> bool:
        return bool(self._found())

    def _found(self) -> str:
        """Give the versions; nothing if it is not installed or does not start."""
        if not self.home.exists() or not shutil.which(self.interpreter):
            return ""
        command = [self.interpreter, "-e" if self.npm else "-c", self.versions]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.home).stdout.strip()


def _of_python(*packages: str) -> str:
    names = ", ".join(f"'{package}'" for package in packages)
    return f"from importlib.metadata import version; print(*(f'{{p}} {{version(p)}}' for p in ({names},)))"


# uvloop: what a Scrapy user who wants speed installs beside it
SCRAPY = Peer("Scrapy", ("scrapy", "uvloop"), _of_python("scrapy", "twisted", "uvloop"))
CRAWLEE = Peer("crawlee", ("crawlee[parsel]",), _of_python("crawlee", "parsel", "impit"))
# 0.0.157: the newest that names its native part as a dependency; 0.0.163 does not start without one
SPIDER_RS = Peer(
    "spider-rs",
    ("@spider-rs/spider-rs@0.0.157",),
    "const s = '@spider-rs/spider-rs'; require(s); console.log(require(s + '/package.json').version, process.version)",
    npm=True,
)
PEERS = (SCRAPY, CRAWLEE, SPIDER_RS)
