"""A fresh Debian 12 to type commands in, as root, with the packages that this machine's apt and pip can get.

Vocabulary:
  layer  what one command has changed below the root directory; a command sees the layers of those before it

What a command finds depends only on the commands before it. So ways that begin with the same commands share the layers
of these, and each command runs once. Where apt and pip get their packages from is this machine's own business: it is
found out when the test runs, and told to the programs inside by files and variables that they have for it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.support.crawling import CHECKOUT
from tests.support.installing.inside import Work

PROGRAMS = ("debootstrap", "unshare", "chroot", "mount", "ip")
RELEASE = "bookworm"
COMMAND_S = 400.0
_WHEELS, _CERTIFICATES, _CACHE = "/run/test/wheels", "/run/test/ca.pem", "/run/test/cache"
_OF_APT = re.compile(r"^Acquire::(?:https?|Retries|Check-[\w-]+)\b.*", re.MULTILINE | re.IGNORECASE)


class Debian:
    """The root directory and its layers in `place`, best in memory. `wheels`: where pip finds fscrawl."""

    def __init__(self, place: Path, wheels: Path) -> None:
        self._place, self._wheels = place, wheels
        self._cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fscrawl/installing"
        self._base = place / "base"
        self._count = 0
        self._layers: dict[tuple[str, ...], tuple[list[Path], str]] = {}
        self._bootstrap()

    def type(self, commands: list[str], directory: str, *, site: bool) -> tuple[Path, str]:
        """Type commands one after the other; give the last one's layer, and what it has printed.

        `site`: the last one sees the test's web instead of the network. A command that fails fails the test.
        """
        done: tuple[str, ...] = ()
        layers, printed = [self._base], ""
        for number, command in enumerate(commands):
            done = (*done, command if command.startswith("apt-get ") else f"cd {directory}; {command}")
            is_last = number == len(commands) - 1
            if done not in self._layers:
                self._count += 1
                new = self._place / f"layer-{self._count}"
                printed = self._run(command, directory, layers, new, site=site and is_last)
                self._layers[done] = ([new / "upper", *layers], printed)
            layers, printed = self._layers[done]
        return layers[0], printed

    def _run(self, command: str, directory: str, layers: list[Path], new: Path, *, site: bool) -> str:
        (new / "upper").mkdir(parents=True)
        work = Work(
            lower=[str(each) for each in layers],
            upper=str(new / "upper"),
            scratch=str(new),
            command=command,
            directory=directory,
            environment=self._environment(),
            binds=self._binds(),
            site=site,
        )
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", *(["--net"] if site else [])]
        words = ["unshare", *namespaces, sys.executable, "-m", "tests.support.installing.inside"]
        words.append(json.dumps(asdict(work)))
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
        done = subprocess.run(
            words, cwd=CHECKOUT, capture_output=True, text=True, timeout=COMMAND_S, check=False, env=environment
        )
        assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _bootstrap(self) -> None:
        packages = self._cache / "debs"  # these are not downloaded again
        packages.mkdir(parents=True, exist_ok=True)
        words = ["debootstrap", "--variant=minbase", f"--cache-dir={packages}", RELEASE, str(self._base), _mirror()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        for name in ("resolv.conf", "hosts"):
            shutil.copyfile(f"/etc/{name}", self._base / "etc" / name)
        told = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
        (self._base / "etc/apt/apt.conf.d/99test").write_text("\n".join(_OF_APT.findall(told)) + "\n")
        copy_of_checkout(self._base / "root/checkout")

    def _binds(self) -> dict[str, str]:
        binds = {str(self._wheels): _WHEELS}
        certificates = _of_pip("cert") or os.environ.get("SSL_CERT_FILE", "")
        if certificates:
            binds[certificates] = _CERTIFICATES
        cache = self._cache / "packages"
        cache.mkdir(exist_ok=True)
        return {**binds, str(cache): _CACHE}

    def _environment(self) -> dict[str, str]:
        """Give the variables of a login, and those that tell pip and uv where this machine gets packages from."""
        given = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        given |= {"DEBIAN_FRONTEND": "noninteractive", "USER": "root", "LANG": "C.UTF-8"}
        given |= {"PIP_FIND_LINKS": _WHEELS, "UV_FIND_LINKS": _WHEELS}
        given |= {"PIP_CACHE_DIR": f"{_CACHE}/pip", "UV_CACHE_DIR": f"{_CACHE}/uv", "UV_LINK_MODE": "copy"}
        for name in ("index-url", "extra-index-url", "trusted-host", "proxy"):
            words = [each for each in _of_pip(name).split() if not each.startswith("file:")]
            if words:
                given[f"PIP_{name.upper().replace('-', '_')}"] = " ".join(words)
        if "PIP_INDEX_URL" in given:
            given["UV_DEFAULT_INDEX"] = given["PIP_INDEX_URL"]
        if _CERTIFICATES in self._binds().values():
            given |= dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE"), _CERTIFICATES)
        return given | {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}


def missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]


def copy_of_checkout(target: Path) -> None:
    """Copy what git knows of the checkout, as somebody gets it who clones it."""
    told = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, told.stdout.split("\0")):
        source = CHECKOUT / name
        if source.is_file() and not source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def _mirror() -> str:
    words = ["apt-get", "indextargets", "--format", "$(SITE)"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return next(site for site in told if "security" not in site)


def _of_pip(name: str) -> str:
    """Give a setting of this machine's pip; "" if it has none."""
    for section in (":env:", "install", "global"):
        words = [sys.executable, "-m", "pip", "config", "get", f"{section}.{name}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return ""
