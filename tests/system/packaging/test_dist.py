"""What `make dist` builds: a wheel, and a file that crawls where there is only Python. Needs the package index."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.server import Server
from demo.site import HOSTS, Site, seeds
from tests.support.crawling import CHECKOUT, Running, check_tree, pages
from tests.support.installing.debian import copy_of_checkout
from tests.support.installing.pythons import another
from tests.support.web import Web, linked_site
from tools.build_pyz import pyz_for

pytestmark = [pytest.mark.timeout(400)]

SETTINGS = ("politeness.delay=0", "fetch.allow_addresses=['127.0.0.0/8']", "politeness.user_agent=test/1 (a@b.example)")
MOST_BYTES = 12_000_000
PYTHON = Path("/usr/bin") / f"python{sys.version_info.major}.{sys.version_info.minor}"
# Runs a pyz as if by a Python of another version: what the first argument names is found out first.
ELSEWHERE = """\
import runpy, sys, sysconfig
real = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: "cpython-399-riscv64" if name == "SOABI" else real(name)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def bare(built: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Give the words that run the pyz as a machine does that has only Python: no venv, no environment, no home yet."""
    python = PYTHON if PYTHON.exists() else Path(sys.executable).resolve()

    def words(*arguments: str, flags: tuple[str, ...] = ()) -> list[str]:
        return ["env", "-i", f"HOME={tmp_path}", str(python), *flags, str(built / "fscrawl.pyz"), *arguments]

    return words


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def test_the_file_is_small_and_holds_the_wheel(built: Path) -> None:
    """There is one wheel, and a pyz of at most 12 MB. It has fscrawl, the dashboard, SOCKS and RE2, and no pyarrow."""
    assert len(list(built.glob("fscrawl-*.whl"))) == 1
    assert sorted(path.suffix for path in built.iterdir()) == [".gz", ".pyz", ".whl"]
    path = built / "fscrawl.pyz"
    assert path.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        names = {name.split("/")[1] for name in archive.namelist() if name.startswith("site-packages/")}
    assert {"fscrawl", "starlette", "socks.py", "shtab"} <= names
    assert not {"pyarrow", "pytest", "numpy"} & names


def test_the_index_would_take_them(built: Path) -> None:
    """Twine finds no fault with the metadata, and the wheel has every file of the package, once, and no others."""
    wheel, source = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    for words in (
        ["twine", "check", "--strict", str(wheel), str(source)],
        ["check_wheel_contents", "--package", str(CHECKOUT / "fscrawl"), str(wheel)],
    ):
        done = run([sys.executable, "-m", *words])
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_crawls_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    """Installed by pip, with no extra, its command crawls the demo's web; the manual page comes along."""
    place, root, wheel = tmp_path / "env", tmp_path / "tree", next(built.glob("*.whl"))
    for words in (
        [sys.executable, "-m", "venv", str(place)],
        [str(place / "bin/python"), "-m", "pip", "install", "-q", "-c", str(CHECKOUT / "constraints.txt"), str(wheel)],
    ):
        done = run(words)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "share/man/man1/fscrawl.1").read_bytes() == (CHECKOUT / "docs/man/fscrawl.1").read_bytes()
    with Server(Site(), HOSTS, deadline_s=100) as server:
        words = ["env", "-i", f"HOME={tmp_path}", str(place / "bin/fscrawl"), "crawl", "--root", str(root)]
        words += [word for each in seeds(server.port) for word in ("--seed", each)]
        done = run(words + [word for each in (*SETTINGS, "crawl.scope=any") for word in ("--set", each)])
    assert done.returncode == 0, done.stderr
    assert len(pages(root)) == 90
    check_tree(root)


@pytest.mark.proof
def test_another_directory_builds_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """A copy of the checkout elsewhere builds the same wheel, source and file, with nothing that git does not know.

    With `--python` it builds one file more, the same bytes each time, with which that Python crawls.
    """
    python, copy, out, again = another(), tmp_path / "a copy", tmp_path / "out", tmp_path / "again"
    copy_of_checkout(copy)
    words = [sys.executable, str(copy / "tools/build_pyz.py"), str(out), "--python", python]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for path in built.iterdir():
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name
    with tarfile.open(next(built.glob("*.tar.gz"))) as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    assert {name for name in inside if not (copy / name).exists()} == {"PKG-INFO"}
    assert not [name for name in inside if name.startswith((".ci", ".venv")) or "__pycache__" in name]

    [made] = {path.name for path in out.iterdir()} - {path.name for path in built.iterdir()}
    again.mkdir()
    assert pyz_for(python, next(built.glob("*.whl")), again).read_bytes() == (out / made).read_bytes()
    root = tmp_path / "tree"
    with Web(linked_site(12, 4)) as web:
        words = ["env", "-i", f"HOME={tmp_path}", python, str(out / made), "crawl", "--root", str(root)]
        words += ["--workers", "2", "--seed", web.url("127.0.0.1", "/")]
        crawled = run(words + [word for each in SETTINGS for word in ("--set", each)])
    assert crawled.returncode == 0, crawled.stderr
    assert len(pages(root)) == 13


@pytest.mark.parametrize("flags", [(), ("-I",)], ids=["plain", "isolated"])
def test_it_crawls_with_nothing_but_python(
    bare: Callable[..., list[str]], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """With a system's Python and an empty environment it crawls with several worker processes, and audits the tree."""
    root = tmp_path / "tree"
    with Web(linked_site(40, 4)) as web:
        words = bare("crawl", "--root", str(root), "--workers", "4", "--seed", web.url("127.0.0.1", "/"), flags=flags)
        words += [word for each in SETTINGS for word in ("--set", each)]
        with Running(words) as running:
            done = running.wait(120)
        assert done.code == 0, done
        assert len(pages(root)) == 41
        assert web.duplicates() == {}
    check_tree(root)
    assert run(bare("audit", "--root", str(root), flags=flags)).returncode == 0


@pytest.mark.proof
def test_other_commands_work_too(bare: Callable[..., list[str]], tmp_path: Path) -> None:
    """The commands doctor and completion run from it, too, and merge says what it needs."""
    done = run(bare("doctor", "--root", str(tmp_path / "tree"), "--json", "--workers", "1"))
    assert "optional packages: socks, dashboard" in [json.loads(line)["what"] for line in done.stdout.splitlines()]
    assert "_shtab_fscrawl" in run(bare("completion", "bash")).stdout
    (tmp_path / "tree").mkdir()
    merge = run(bare("merge", "--root", str(tmp_path / "tree"), "--out", str(tmp_path / "out")))
    assert merge.returncode == 2
    assert "use a checkout, or the wheel: fscrawl.pyz cannot have [merge]" in merge.stderr


@pytest.mark.proof
def test_it_unpacks_where_only_its_user_can_write(bare: Callable[..., list[str]], tmp_path: Path) -> None:
    """Whatever the umask is, others cannot enter what was unpacked; where they can, it does not run."""
    done = subprocess.run(bare("--version"), umask=0, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    place = tmp_path / ".shiv" / "fscrawl"
    assert list(place.rglob("fscrawl/__pycache__/cli.*.pyc"))  # what Python writes later is in there, too
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o777)
    refused = run(bare("--version"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{place} must be a directory of yours" in refused.stderr


@pytest.mark.proof
def test_another_python_is_told_what_it_is_for(built: Path, tmp_path: Path) -> None:
    """With another version or architecture it says what it was built for and what to do, with exit code 2."""
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    words = ["env", "-i", f"HOME={tmp_path}", sys.executable, str(script), str(built / "fscrawl.pyz"), "--version"]
    done = run(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert str(sysconfig.get_config_var("SOABI")) in done.stderr
    assert "cpython-399-riscv64" in done.stderr
    assert len(done.stderr.splitlines()) == 1
