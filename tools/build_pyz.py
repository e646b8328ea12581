"""`make dist`: wheel, source distribution, and one file with what fscrawl needs, for machines that have only Python.

    python tools/build_pyz.py dist [--python python3.13]…
    python3 dist/fscrawl.pyz crawl --root /mnt/shared --workers 32

The file has what crawling, watching and auditing need, the dashboard, SOCKS proxies, and RE2 (these three: 1.1 MB). It
does not have what `merge` needs, which is a hundred times as large. Some of it is compiled. So it runs only on the
minor version of Python and the architecture that it was built with; elsewhere it prints an error that says so. It
unpacks itself once on each machine, into `~/.shiv/fscrawl` (or below SHIV_ROOT), and runs from there. Nobody else can
enter this directory (`pyz_main.py`).

`--python` makes one more file for another Python, such as `fscrawl-3.13.pyz`. One file for all of them would hold every
compiled package several times, and each machine would unpack them all.

Promise: two builds of the same sources give the same bytes, on any day and in any directory, as long as the versions of
constraints.txt are to be had.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
_ENVIRONMENT = "environment.json"  # what shiv's part of the file reads
_FROM = "direct_url.json"  # pip says here where the wheel was
_BIN = "bin/"  # commands of packages: nobody calls them here, and their first line names the Python that builds
MAIN = Path(__file__).with_name("pyz_main.py")
# Runs when fscrawl is unpacked, before it is loaded. SOABI is version, architecture and C library:
# cpython-311-x86_64-linux-gnu
_PREAMBLE = """\
import os, platform, sys, sysconfig
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
    parser = argparse.ArgumentParser(description="Build the wheel, the source distribution and fscrawl.pyz.")
    parser.add_argument("directory", type=Path, help="where to write them")
    parser.add_argument("--python", action="append", default=[], metavar="P", help="build one more for this Python")
    parser.add_argument("--wheel", type=Path, help="build only the one file, from this wheel")
    options = parser.parse_args()
    directory: Path = options.directory.absolute()
    directory.mkdir(exist_ok=True)
    os.umask(0o022)  # what is unpacked has the permissions of what is packed
    if options.wheel:
        pyz_of(options.wheel, directory / f"{Path(NAME).stem}-{_minor_version()}.pyz")
        return 0
    built = [wheel_of(directory), source_of(directory)]
    built.append(pyz_of(built[0], directory / NAME))
    built += [pyz_for(python, built[0], directory) for python in options.python]
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


def source_of(directory: Path) -> Path:
    """Build the source distribution."""
    for old in directory.glob("fscrawl-*.tar.gz"):
        old.unlink()
    _run("build", "--sdist", "--outdir", str(directory), str(CHECKOUT), quiet=True)
    return next(directory.glob("fscrawl-*.tar.gz"))


def pyz_for(python: str, wheel: Path, directory: Path) -> Path:
    """Build the one file with another Python, in an environment of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([python, "-m", "venv", scratch], check=True)
        own = str(Path(scratch, "bin/python"))
        _run("pip", "install", "--quiet", "shiv", python=own)
        subprocess.run([own, __file__, str(directory), "--wheel", str(wheel)], check=True)
        told = subprocess.run(
            [own, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True, capture_output=True, text=True
        )
    return directory / f"{Path(NAME).stem}-{told.stdout.strip()}.pyz"


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
    """Put `pyz_main.py` in place of shiv's `__main__.py`, and drop what another directory would make different."""
    with zipfile.ZipFile(path) as old, scratch.open("wb") as file:
        file.write(path.read_bytes().partition(b"\n")[0] + b"\n")  # the line that names the interpreter
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
            digest = hashlib.sha256()
            for entry in old.infolist():
                if not _is_of_this_machine(entry.filename):
                    content = _content(old, entry)
                    digest.update(entry.filename.encode() + b"\0" + hashlib.sha256(content).digest())
                    new.writestr(entry, content)
            # shiv's own id is of what was dropped here; the directory that the file unpacks itself into is called by it
            environment = {**json.loads(old.read(_ENVIRONMENT)), "build_id": digest.hexdigest()}
            new.writestr(old.getinfo(_ENVIRONMENT), json.dumps(environment))
    path.write_bytes(scratch.read_bytes())


def _is_of_this_machine(name: str) -> bool:
    if name.startswith(f"site-packages/{_BIN}"):
        return name != f"site-packages/{_BIN}preamble.py"
    return name == _ENVIRONMENT or name.endswith(f"/{_FROM}")


def _content(old: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Give what an entry is to have: no path of this machine, or another one would build other bytes."""
    if entry.filename == "__main__.py":
        return MAIN.read_bytes()
    content = old.read(entry)
    if entry.filename.endswith(".dist-info/RECORD"):
        lines = content.decode().splitlines(keepends=True)
        return "".join(
            line for line in lines if f"/{_FROM}," not in line and not line.startswith(f"../../{_BIN}")
        ).encode()
    return content


def _run(*words: str, python: str = sys.executable, quiet: bool = False) -> None:
    environment = {
        **os.environ,
        "PIP_CONSTRAINT": (CHECKOUT / "constraints.txt").as_uri(),
    }  # pip splits a path at blanks
    where = subprocess.DEVNULL if quiet else None
    subprocess.run([python, "-m", *words], check=True, env=environment, stdout=where)


if __name__ == "__main__":
    sys.exit(main())
