"""`make dist`: the wheel, and one file with fscrawl and everything it needs, for machines that have only Python.

    python tools/build_pyz.py dist
    python3 dist/fscrawl.pyz crawl --root /mnt/shared --workers 32

The file has what crawling, watching and auditing need, the dashboard and SOCKS proxies (these two: 0.5 MB). It does not
have what `merge` needs, which is a hundred times as large. Some of it is compiled. So it runs only on the minor version
of Python and the architecture that it was built with; elsewhere it prints an error that says so. It unpacks itself once
on each machine, into `~/.shiv` (or SHIV_ROOT), and runs from there. It refuses a directory where others can write
(`pyz_main.py`).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
EXTRAS = "dashboard,socks"
NAME = "fscrawl.pyz"
MAIN = Path(__file__).with_name("pyz_main.py")
# Runs when fscrawl is unpacked, before it is loaded. SOABI is version, architecture and C library:
# cpython-311-x86_64-linux-gnu
_PREAMBLE = """\
import os, platform, sys, sysconfig
cache = os.path.join(str(site_packages), "__pycache__")
if os.access(str(site_packages), os.W_OK) and not os.path.exists(cache):  # made now, and not by the user's umask
    for directory, _, names in os.walk(str(site_packages), topdown=False):
        if any(name.endswith(".py") for name in names):
            os.makedirs(os.path.join(directory, "__pycache__"), exist_ok=True)
    os.makedirs(cache, exist_ok=True)
os.umask(sys.fscrawl_umask)
built, here = {abi!r}, sysconfig.get_config_var("SOABI")
if here != built:
    sys.stderr.write(
        "fscrawl.pyz: built for Python {version} (%s), but this is Python %s (%s);"
        " run it with python{version}, or build a new one with this Python: make dist PYTHON=%s\\n"
        % (built, platform.python_version(), here, sys.executable)
    )
    sys.exit(2)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the wheel and fscrawl.pyz.")
    parser.add_argument("directory", type=Path, help="where to write them")
    directory: Path = parser.parse_args().directory.absolute()
    directory.mkdir(exist_ok=True)
    os.umask(0o022)  # what is unpacked has the permissions of what is packed
    built = [wheel_of(directory)]
    built.append(pyz_of(built[0], directory / NAME))
    for path in built:
        print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}: {_mb(path)}")
    print(f"{NAME} runs with Python {_minor_version()} on {platform.machine()}: python3 {NAME} crawl --root DIR …")
    return 0


def _mb(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _minor_version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def wheel_of(directory: Path) -> Path:
    """Build the checkout's wheel."""
    for old in directory.glob("fscrawl-*.whl"):
        old.unlink()
    _run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(CHECKOUT))
    return next(directory.glob("fscrawl-*.whl"))


def pyz_of(wheel: Path, path: Path) -> Path:
    """Put the wheel and what it needs into one file. Processes that run the old file are not disturbed."""
    with tempfile.TemporaryDirectory() as scratch:
        preamble = Path(scratch, "preamble.py")
        abi = sysconfig.get_config_var("SOABI")
        preamble.write_text(_PREAMBLE.format(abi=abi, version=_minor_version()), encoding="utf-8")
        made = path.with_name(f".{path.name}.new")
        _run(
            *(
                "shiv",
                "--quiet",
                "--only-binary",
                ":all:",
                "--output-file",
                str(made),
                "--entry-point",
                "fscrawl.__main__:main",
            ),
            *("--python", f"/usr/bin/env python{_minor_version()}", "--preamble", str(preamble)),
            "--extend-pythonpath",  # so that the forkserver, too, can load fscrawl
            "--reproducible",
            f"{wheel}[{EXTRAS}]",
        )
        _replace_main(made, Path(scratch, NAME))
        made.replace(path)
    return path


def _replace_main(path: Path, scratch: Path) -> None:
    """Put `pyz_main.py` in place of shiv's `__main__.py`."""
    with zipfile.ZipFile(path) as old, scratch.open("wb") as file:
        file.write(path.read_bytes().partition(b"\n")[0] + b"\n")  # the line that names the interpreter
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
            for entry in old.infolist():
                new.writestr(entry, MAIN.read_bytes() if entry.filename == "__main__.py" else old.read(entry))
    path.write_bytes(scratch.read_bytes())


def _run(*words: str) -> None:
    environment = {**os.environ, "PIP_CONSTRAINT": str(CHECKOUT / "constraints.txt")}
    subprocess.run([sys.executable, "-m", *words], check=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
