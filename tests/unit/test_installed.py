"""How this copy of fscrawl is called, and how an extra is added to it: what messages tell the user to type."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from fscrawl import __version__, cli
from fscrawl.util import installed
from fscrawl.util.installed import Copy, here

REQUIRES = (
    "Requires-Dist: requests>=2\nRequires-Dist: pyarrow>=17; extra == 'merge'\nRequires-Dist: numpy; extra == 'merge'\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a directory, with nothing on PATH, and with no other installation to be found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "lib")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env/bin/python3"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    return tmp_path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def pip_installs(place: Path, url: str, **said) -> Path:
    """Make what pip leaves; give the command."""
    info = place / "lib/fscrawl-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fscrawl\nVersion: 0.1.0\n{REQUIRES}")
    (info / "RECORD").write_text("../env/bin/fscrawl,,\nfscrawl/__init__.py,,\n")
    if url:
        (info / "direct_url.json").write_text(json.dumps({"url": url, **said}))
    return program(place / "env/bin/fscrawl")


def checkout(place: Path) -> Path:
    for name in ("Makefile", "crawl.py", "fscrawl/__init__.py"):
        path = place / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return place / "source"


def test_a_wheel(place):
    """A copy from a wheel is called by its path, or by its name if PATH leads to it; extras come from that wheel."""
    wheel = place / "a b.whl"
    wheel.touch()
    pip_installs(place, wheel.as_uri(), archive_info={})
    copy = here(place / "lib/fscrawl")
    assert copy.command() == "env/bin/fscrawl"
    assert copy.to_install("merge") == f"env/bin/python3 -m pip install '{wheel}[merge]'"
    (place / "bin").mkdir()
    (place / "bin/fscrawl").symlink_to(place / "env/bin/fscrawl")
    assert here(place / "lib/fscrawl").command() == "fscrawl"


@pytest.mark.parametrize("url", ["", "file:///gone/fscrawl.whl"])
def test_a_wheel_that_is_gone(place, url):
    """Where the wheel is not known any more, the packages of the extra are named."""
    pip_installs(place, url)
    copy = here(place / "lib/fscrawl")
    assert copy.to_install("merge") == "env/bin/python3 -m pip install 'pyarrow>=17' numpy"


def test_another_fscrawl_on_the_path(place):
    """A command of the same name that is of another copy is not meant; nor is one that has another directory."""
    pip_installs(place, "")
    program(place / "bin/fscrawl")
    assert here(place / "lib/fscrawl").command() == "env/bin/fscrawl"
    os.chdir(place / "env/bin")
    assert here(place / "lib/fscrawl").command() == "./fscrawl"


def test_python_of_an_environment(place):
    """The interpreter of an environment, a link to that of the system, is not called by the system's name."""
    program(place / "bin/python3")
    (place / "env/bin").mkdir(parents=True)
    (place / "env/bin/python3").symlink_to(place / "bin/python3")
    assert Copy(place, Path(sys.executable), pyz=Path("x.pyz")).command() == "env/bin/python3 x.pyz"
    assert Copy(place, place / "bin/python3", pyz=Path("x.pyz")).command() == "python3 x.pyz"


def test_a_checkout_of_make(place):
    """A checkout with its own .venv: make adds extras to it."""
    source = checkout(place)
    pip_installs(place, source.as_uri(), dir_info={"editable": True})
    script = program(source / ".venv/bin/fscrawl")
    (place / "lib/fscrawl-0.1.0.dist-info/RECORD").write_text("../source/.venv/bin/fscrawl,,\n")
    copy = here(source / "fscrawl")
    assert (copy.script, copy.checkout) == (script, source)
    assert copy.command() == "source/.venv/bin/fscrawl"
    assert copy.to_install("merge") == "make -C source setup EXTRAS=merge"
    os.chdir(source)
    assert copy.command() == ".venv/bin/fscrawl"
    assert copy.to_install("merge") == "make setup EXTRAS=merge"


def test_a_checkout_in_another_environment(place):
    """An editable installation elsewhere gets extras by pip."""
    source = checkout(place)
    pip_installs(place, source.as_uri(), dir_info={"editable": True})
    copy = here(source / "fscrawl")
    assert copy.command() == "env/bin/fscrawl"
    assert copy.to_install("socks") == f"env/bin/python3 -m pip install -e '{source}[socks]'"


def test_a_checkout_that_pip_does_not_know(place):
    """`python crawl.py`, with the installation of another copy beside it: modules, or what make has made."""
    source = checkout(place)
    pip_installs(place, "")
    copy = here(source / "fscrawl")
    assert copy.command() == "PYTHONPATH=source env/bin/python3 -m fscrawl"
    assert copy.to_install("merge") == "make -C source setup EXTRAS=merge"
    os.chdir(source)
    assert copy.command() == f"{place}/env/bin/python3 -m fscrawl"
    program(source / ".venv/bin/fscrawl")
    assert copy.command() == ".venv/bin/fscrawl"


def test_modules_that_nobody_knows(place):
    """Modules that were put somewhere by hand: pip adds fscrawl with the extra."""
    (place / "somewhere/fscrawl").mkdir(parents=True)
    copy = here(place / "somewhere/fscrawl")
    assert copy.to_install("merge") == "env/bin/python3 -m pip install 'fscrawl[merge]'"
    assert copy.to_install("merge", "pdf") == "env/bin/python3 -m pip install 'fscrawl[merge,pdf]'"


def test_one_file(place, monkeypatch):
    """fscrawl.pyz is called by its path, and says which extras it cannot have."""
    monkeypatch.setattr(sys, "fscrawl_umask", 0o022, raising=False)
    monkeypatch.setattr(sys, "argv", [str(place / "fscrawl.pyz")])
    assert installed.command() == "env/bin/python3 fscrawl.pyz"
    wheel = f"fscrawl-{__version__}-py3-none-any.whl"
    said = f"use a checkout, or the wheel: pip install '{wheel}[merge]'; fscrawl.pyz cannot have it"
    assert installed.to_install("merge") == said


def test_a_directory_that_is_gone(place):
    """Where the working directory was removed, whole paths are told."""
    (place / "gone").mkdir()
    os.chdir(place / "gone")
    (place / "gone").rmdir()
    assert Copy(place, Path(sys.executable), pyz=place / "x.pyz").command() == f"{place}/env/bin/python3 {place}/x.pyz"


def test_a_root_with_a_blank():
    """A command in a message can be copied to a shell, whatever the tree is called."""
    words = shlex.split(installed.command("resume", Path("/mnt/my crawl's")))
    assert words[-3:] == ["resume", "--root", "/mnt/my crawl's"]


def test_pipx(place):
    """A copy of pipx gets the packages of the extra, whatever its environment is called; nothing is installed anew."""
    wheel = place / "x.whl"
    wheel.touch()
    pip_installs(place, wheel.as_uri(), archive_info={})
    (place / "env/pipx_metadata.json").write_text("{}")
    assert here(place / "lib/fscrawl").to_install("merge") == "pipx inject env 'pyarrow>=17' numpy"


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        ('requirements = [{name = "fscrawl"}]', "'fscrawl[merge]'"),
        (
            'python = "3.13"\nrequirements = [{name = "fscrawl", extras = ["socks"], specifier = "==1"}, {name = "x"}]',
            "--python 3.13 'fscrawl[merge,socks]==1' --with x",
        ),
        (
            'requirements = [{name = "fscrawl", extras = ["pdf", "merge"], path = "a b.whl"},'
            ' {name = "x", extras = ["y"], specifier = ">2"}]',
            "'a b.whl[merge,pdf]' --with 'x[y]>2'",
        ),
        ('requirements = [{name = "fscrawl", directory = "source"}]', "'source[merge]'"),
    ],
)
def test_uv(place, receipt, words):
    """A copy of `uv tool` is told anew what it was made of, with the extra."""
    (place / "a b.whl").touch()
    checkout(place)
    pip_installs(place, "")
    (place / "env/uv-receipt.toml").write_text(f"[tool]\n{receipt}\n")
    assert here(place / "lib/fscrawl").to_install("merge") == f"uv tool install --force {words}"
    assert "[dask,merge" in here(place / "lib/fscrawl").to_install("merge", "dask")


def test_uv_with_a_checkout(place):
    """An editable copy of `uv tool` stays one."""
    source = checkout(place)
    pip_installs(place, source.as_uri(), dir_info={"editable": True})
    asked = f'requirements = [{{name = "fscrawl", editable = "{source}"}}]'
    (place / "env/uv-receipt.toml").write_text(f"[tool]\n{asked}\n")
    said = f"uv tool install --force --editable '{source}[merge]'"
    assert here(source / "fscrawl").to_install("merge") == said


@pytest.mark.parametrize(
    "receipt",
    [
        "",
        "[tool",
        "tool = 1",
        "[tool]\nrequirements = 1",
        '[tool]\nrequirements = ["fscrawl"]',
        '[tool]\npython = 3\nrequirements = [{name = "fscrawl"}]',
        '[tool]\nrequirements = [{name = "fscrawl", path = "gone.whl"}]',
        '[tool]\nrequirements = [{name = "fscrawl", git = "https://a.example/x"}]',
        '[tool]\nrequirements = [{name = "fscrawl"}, {name = "x", path = "x.whl"}]',
    ],
)
def test_uv_with_a_receipt_that_says_something_else(place, receipt):
    """What cannot be told anew is left as it is: the packages are put beside it. The environment has no pip."""
    pip_installs(place, "")
    (place / "env/uv-receipt.toml").write_text(receipt)
    said = f"uv pip install --python {place}/env/bin/python 'pyarrow>=17' numpy"
    assert here(place / "lib/fscrawl").to_install("merge") == said


@pytest.mark.parametrize("text", ["{", "[]", "7"])
def test_what_pip_says_is_damaged(place, text):
    """A copy whose origin cannot be read is called by its command all the same."""
    pip_installs(place, "file:///x.whl")
    (place / "lib/fscrawl-0.1.0.dist-info/direct_url.json").write_text(text)
    copy = here(place / "lib/fscrawl")
    assert (copy.command(), copy.wheel) == ("env/bin/fscrawl", None)


@pytest.mark.parametrize("root", ["-x", "my tree", "it's", "a;b", '-"'])
def test_a_printed_command_can_be_copied(root):
    """A shell and the command take the root for what it is, whatever its name is."""
    words = shlex.split(installed.command("status", root))
    assert cli.parser(["status"]).parse_args(words[words.index("status") :]).root == Path(root)
